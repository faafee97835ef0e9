"""Questions whose answer only decides whether an error is raised: ``if not valid.all(): raise ValueError(...)``, or an ``assert``.

A graph that was recorded where no error was raised holds for every call of which the answer is the same, whatever else the elements are.
"""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

from ...registration import trait
from ..reach.origin import OWN
from .syntax import nodes_around


def in_check() -> bool:
    """Whether the code that asks a recording just now, a library's own too, asks only whether to raise an error."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _passes_on(frame.f_globals.get("__name__", "") + "."):
        frame = frame.f_back
    if frame is None:
        return False
    around = nodes_around(frame.f_code, frame.f_lasti)
    if any(isinstance(node, ast.Try) for node in around):  # somebody may catch it and go on
        return False
    return _only_raises(next((node for node in reversed(around) if isinstance(node, ast.stmt)), None))


def _passes_on(module: str) -> bool:
    return module.startswith((f"{OWN}.", *trait("passing_on")))


def _only_raises(statement: Any) -> bool:
    if isinstance(statement, ast.If):
        return not statement.orelse and all(isinstance(inner, ast.Raise) for inner in statement.body)
    return isinstance(statement, ast.Assert)
