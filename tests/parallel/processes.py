"""Groups of torch processes that run checks, forked from a process that has imported everything."""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist

from .checks import is_asked_for, outcomes_of


def outcomes_over(size: int, timeout: int, checks: tuple[Callable[[], None], ...]) -> dict[str, str]:
    """Fork ``size`` processes, run the checks in each, and map their names to an empty string or the
    tracebacks.

    Processes that end early are ignored, unless all do.
    """
    checks = tuple(check for check in checks if is_asked_for(check.__name__))
    if not checks:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        children = [fork(rank, size, timeout, checks, Path(folder)) for rank in range(size)]
        for child in children:
            os.waitpid(child, 0)
        found = [json.loads(file.read_text("utf-8")) for file in sorted(Path(folder).glob("*.json"))]
    return {
        check.__name__: "".join(one[check.__name__] for one in found) if found else "no process has told"
        for check in checks
    }


def fork(rank: int, size: int, timeout: int, checks: tuple[Callable[[], None], ...], folder: Path) -> int:
    """Start a process of a group with ``gloo`` and return its id; the child writes its outcomes to
    ``folder``.
    """
    child = os.fork()
    if child:
        return child
    try:
        waits = datetime.timedelta(seconds=timeout)
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=size, timeout=waits
        )
        outcomes = outcomes_of({check.__name__: check for check in checks})
        (folder / f"{rank}.json").write_text(json.dumps(outcomes), "utf-8")
    finally:
        sys.stderr.flush()
        os._exit(0)
