"""Checks that run in a process of their own, with several devices, or in several processes: each is reported
as passed or with its error.

``python -m tests.parallel.jax_checks`` and its like run all functions of a module whose names begin with
``check_``, or those that are named behind it, and print a line of JSON: name -> ``""`` or the traceback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300  # a process that takes longer is killed, and all of its checks have failed


def checks_in(namespace: Mapping[str, Any]) -> dict[str, Callable[[], None]]:
    """The checks of a module by name, of those that are asked for."""
    return {
        name: item for name, item in namespace.items() if name.startswith("check_") and is_asked_for(name)
    }


def is_asked_for(name: str) -> bool:
    """Whether the command line names it, or none."""
    return len(sys.argv) == 1 or name in sys.argv[1:]


def outcomes_of(checks: Mapping[str, Callable[[], None]]) -> dict[str, str]:
    """Each check, and how it ended."""
    return {name: _outcome(check) for name, check in checks.items()}


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception:
        return traceback.format_exc()
    return ""


def report(outcomes: Mapping[str, str]) -> None:
    """Prints them for :func:`outcomes_in_process`."""
    sys.stdout.write(json.dumps(outcomes) + "\n")


def outcomes_in_process(request: pytest.FixtureRequest, module: str, flags: str = "") -> dict[str, str]:
    """Of the checks of ``tests.parallel.<module>`` that this run of pytest takes, in a fresh process."""
    taken = [
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    ]
    environment = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}"}
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.parallel.{module}", *taken],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    lines = ran.stdout.strip().splitlines()
    assert lines and lines[-1].startswith("{"), (
        f"{module} ended with {ran.returncode}:\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    )
    found: dict[str, str] = json.loads(lines[-1])
    return found


def refuses(call: Callable[[], Any], kind: type[Exception], *words: str) -> None:
    """``call`` raises an error of this kind whose message has all words."""
    try:
        found = call()
    except kind as problem:
        missing = [word for word in words if word not in str(problem)]
        assert not missing, f"{missing} not in: {problem}"
        return
    raise AssertionError(f"no {kind.__name__}, but {found}")
