"""Whose turn it is this week: of what is too much for every run, each run takes a share, and the shares of some weeks are the whole.

A share follows from names, so that what is added or removed changes no other one's turn, and from the number of the week.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from .shares import SHARES

WEEK = "GRAPH_COMPILER_TEST_WEEK"  # all processes of a run take the same one; set it to repeat a run of another week


def this_week() -> str:
    """The number of the week since the year 1, Mondays first."""
    return str((datetime.date.today().toordinal() - 1) // 7)


def turn(name: str, count: int, weeks: int = 1) -> int:
    """A number below ``count``, another one for each of so many names, that goes up by one after each of so many ``weeks``."""
    return (zlib.crc32(name.encode()) + int(os.environ.get(WEEK) or this_week()) // weeks) % count


# Of these JAX compiles many cases as one program, which a share of them would not shorten.
_COMPILED_TOGETHER = frozenset({"tests/test_numpy_samples.py", "tests/test_kinks.py"})


def rests(file: str, test: str, case: str) -> bool:
    """Whether a test in :data:`SHARES`, or a case of a table there, rests this week.

    >>> rests("tests/test_kinks.py", "test_derivatives", "abs-jax"), rests("tests/test_api.py", "test_sample", "abs-torch")
    (False, False)
    """
    shares = SHARES.get(file, {}).get(test, 1)
    if shares == 1 or file in _COMPILED_TOGETHER and "jax" in case.split("-"):
        return False
    drawn = hashlib.blake2b(f"{os.environ.get(WEEK) or this_week()} {file} {case or test}".encode(), digest_size=2)
    return int.from_bytes(drawn.digest(), "big") % shares != 0


def is_jitted(name: str, to: str) -> bool:
    """Whether a test of ``name`` runs as one compiled function: JAX takes half the time for it, or less, that it takes to compile operation
    by operation.

    Three of four do; which ones changes after four weeks, when each of them has been the turn of each target.
    """
    return to == "jax" and turn(f"{name} operation by operation", 4, weeks=4) != 0


def marks(name: str, target: str, targets: Sequence[str]) -> list[Any]:
    """The marks of a test of ``name`` in one of these targets, of which a run takes one, another one each week."""
    return [] if target == targets[turn(name, len(targets))] else [pytest.mark.out_of_turn]


def in_turn(what: str, names: Iterable[str], targets: Sequence[str], always: Sequence[str] = ()) -> list[Any]:
    """Tests of ``what``: (name, target), of each name in one of the targets in turn, and in those where it is ``always`` taken."""
    taken = (
        (name, target, [] if target in always else marks(f"{what} {name}", target, targets))
        for name in names
        for target in (*always, *targets)
    )
    return [pytest.param(name, target, marks=marks) for name, target, marks in taken]


def a_share(what: str, names: Iterable[str], weeks: int) -> list[Any]:
    """Tests of ``what``, of which each of so many ``weeks`` takes a share."""
    return [pytest.param(name, marks=[] if turn(f"{what} {name}", weeks) == 0 else [pytest.mark.out_of_turn]) for name in names]
