"""What the newest conversion is doing, for whoever shows it: its stage, and the calls recorded so far.

Telling costs an assignment.
"""

from __future__ import annotations

from collections.abc import Sized


class _Stage:
    """``name`` is empty while nothing is converted."""

    def __init__(self) -> None:
        self.name = ""
        self.calls: Sized = ()

    def __str__(self) -> str:
        count = len(self.calls)
        return f"{self.name}, {count:,} call{'' if count == 1 else 's'}" if count else self.name

    def note(self, problem: Exception) -> None:
        problem.__dict__.setdefault("_graph_compiler_stage", str(self))

    @staticmethod
    def noted(problem: BaseException) -> str:
        return str(getattr(problem, "_graph_compiler_stage", ""))

    def end(self) -> None:
        self.name, self.calls = "", ()


stage = _Stage()
