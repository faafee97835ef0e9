"""Whose turn it is this week: of what is too much for every run, each run takes a share, and the shares of some weeks are the whole.

A share follows from names, so that what is added or removed changes no other one's turn, and from the number of the week.
"""

from __future__ import annotations

import datetime
import os
import zlib

WEEK = "GRAPH_COMPILER_TEST_WEEK"  # all processes of a run take the same one; set it to repeat a run of another week


def this_week() -> str:
    """The number of the week since the year 1, Mondays first."""
    return str((datetime.date.today().toordinal() - 1) // 7)


def turn(name: str, count: int, weeks: int = 1) -> int:
    """A number below ``count``, another one for each of so many names, that goes up by one after each of so many ``weeks``."""
    return (zlib.crc32(name.encode()) + int(os.environ.get(WEEK) or this_week()) // weeks) % count
