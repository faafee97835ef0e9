"""Checks that run in other processes, with several devices each, and report whether they passed.

``python -m tests.parallel.jax_checks`` (and similar modules) runs all functions of the module whose names
begin with ``check_``, or those given as arguments, and prints a line of JSON: name -> ``""`` or the
traceback.
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

# A process that takes longer is killed, and all of its checks have failed.
SECONDS = 300


def checks_in(namespace: Mapping[str, Any]) -> dict[str, Callable[[], None]]:
    """Return the checks of a module that the command line asks for, by name."""
    return {
        name: item for name, item in namespace.items() if name.startswith("check_") and is_asked_for(name)
    }


def is_asked_for(name: str) -> bool:
    """Return True if the command line names the check, or names none."""
    return len(sys.argv) == 1 or name in sys.argv[1:]


def outcomes_of(checks: Mapping[str, Callable[[], None]]) -> dict[str, str]:
    """Run the checks and map their names to an empty string or the traceback."""
    return {name: _outcome(check) for name, check in checks.items()}


def _outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception:
        return traceback.format_exc()
    return ""


def report(outcomes: Mapping[str, str]) -> None:
    """Print the outcomes for :func:`outcomes_in_process`."""
    sys.stdout.write(json.dumps(outcomes) + "\n")


def outcomes_in_process(request: pytest.FixtureRequest, module: str, flags: str = "") -> dict[str, str]:
    """Run ``tests.parallel.<module>`` in a new process and return its outcomes.

    Only the checks that this run of pytest has collected are run. Fail if the process prints no outcomes
    or takes more than 300 seconds; ``flags`` are added to ``XLA_FLAGS``.
    """
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
    """Assert that ``call`` raises an error of the class ``kind`` whose message contains all ``words``."""
    try:
        found = call()
    except kind as problem:
        missing = [word for word in words if word not in str(problem)]
        assert not missing, f"{missing} not in: {problem}"
        return
    raise AssertionError(f"no {kind.__name__}, but {found}")
