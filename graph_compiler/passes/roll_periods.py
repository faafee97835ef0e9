"""Finds what repeats itself in a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Stretch(NamedTuple):
    """Items ``first`` to ``end``, each of which is equal to the one ``period`` places before it, but for the first ``period`` ones."""

    first: int
    end: int
    period: int


def periodic(keys: list[Any], fewest: int) -> Iterator[Stretch]:
    """Stretches of the keys that repeat themselves at least ``fewest`` times (3 or more), those of short periods first.

    Keys become numbers, and those of ``2 w`` keys from a place on follow from those of ``w`` (prefix doubling). Where the same ``w`` keys
    stand at two places that lie ``w / 2 < p <= w`` apart, they repeat with the period ``p``. So each doubling is linear.

    >>> [*periodic(["a", *["b", "c"] * 3, "d"], 3)], [*periodic(["a", "b", "a"], 3)]
    ([Stretch(first=1, end=7, period=2)], [])
    """
    single = numbers = _numbered(keys)
    width = 1
    while (width // 2 + 1) * fewest <= len(keys) and len(set(numbers)) < len(numbers):
        yield from _of_width(single, numbers, width, fewest)
        numbers = _numbered(list(zip(numbers, numbers[width:])))
        width *= 2


def _numbered(items: list[Any]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(item, len(known)) for item in items]


def _of_width(keys: list[int], numbers: list[int], width: int, fewest: int) -> Iterator[Stretch]:
    """Stretches whose period is at most ``width`` and more than half of it."""
    last: dict[int, int] = {}
    done, known = 0, 0  # where the stretch was left that was met last, and its period
    for place, number in enumerate(numbers):
        before = last.get(number, -width - 1)
        last[number] = place
        period = place - before
        if not width // 2 < period <= width or (period == known and place < done):
            continue
        end = place
        while end < len(keys) and keys[end] == keys[end - period]:
            end += 1
        done, known = end - period, period
        if end - before >= period * fewest:
            yield Stretch(before, end, period)
