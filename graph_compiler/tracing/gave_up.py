"""Records of what was tried for a graph and failed, so that it went another way."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass

from .faults import owner_of_frame

log = logging.getLogger("graph_compiler")
_MOST_LETTERS = 300  # of the text of an exception


@dataclass(frozen=True)
class GaveUp:
    """A way to make a graph that was left for another one.

    way: what was tried, in words.
    problem: class and first line of the exception that ended it.
    place: file and line of the user's code that led to the exception; of this package, if none did.
    """

    way: str
    problem: str
    place: str

    def __str__(self) -> str:
        return f"{self.way} ({self.problem}, at {self.place})"


def gave_up(name: str, way: str, problem: BaseException) -> GaveUp:
    """Return the record of a ``way`` to make the graph ``name`` that ended with ``problem``, and log it."""
    first = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")[:_MOST_LETTERS]
    made = GaveUp(way, f"{type(problem).__name__}{f': {first}' if first else ''}", _place(problem))
    log.info("%s: gave up: %s", name, made)
    return made


def _place(problem: BaseException) -> str:
    frames = [(owner_of_frame(frame), frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(problem.__traceback__)]
    known = [frame for frame in frames if frame[0] == "user" and not frame[1].startswith("<")] or frames
    return f"{known[-1][1]}:{known[-1][2]}" if known else "an unknown line"
