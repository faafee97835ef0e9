"""Progress of the newest conversion: its stage, and the number of calls recorded so far.

Updating it costs one assignment.
"""

from __future__ import annotations

from collections.abc import Sized


class _Stage:
    """The current stage.

    name: empty while nothing is converted.
    calls: the list of recorded calls, of which only the length is shown.
    """

    def __init__(self) -> None:
        self.name = ""
        self.calls: Sized = ()

    def __str__(self) -> str:
        count = len(self.calls)
        return f"{self.name}, {count:,} call{'' if count == 1 else 's'}" if count else self.name

    def note(self, problem: Exception) -> None:
        """Store the current stage on ``problem``. If an inner conversion already stored one, do nothing."""
        problem.__dict__.setdefault("_graph_compiler_stage", str(self))

    @staticmethod
    def noted(problem: BaseException) -> str:
        return str(getattr(problem, "_graph_compiler_stage", ""))

    def end(self) -> None:
        self.name, self.calls = "", ()


stage = _Stage()
