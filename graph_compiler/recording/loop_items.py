"""Iterables of loops whose iterations may be marked: ranges, rows of arrays, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MarkedItems:
    """Iterable of a loop, as ``range(start, stop, step)`` and a function of its numbers.

    item(number): value of the loop variable for a number of the range.
    plain(): the iterable to use if the iterations cannot be marked.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]
    plain: Callable[[], Any]

    @property
    def length(self) -> Any:
        return self.stop - self.start if self.step == 1 else self.start - self.stop

    def at(self, place: Any) -> Any:
        return self.item(self.start + place * self.step)


def range_items(start: Any, stop: Any, step: Any) -> MarkedItems:
    return MarkedItems(start, stop, step, lambda number: number, lambda: range(start, stop, step))


def rows(array: Any, length: Any) -> MarkedItems:
    return MarkedItems(0, length, 1, lambda number: array[number], lambda: array)


def enumerated_items(steps: MarkedItems, first: Any) -> MarkedItems:
    return MarkedItems(
        0,
        steps.length,
        1,
        lambda place: (place + first, steps.at(place)),
        lambda: enumerate(steps.plain(), first),
    )


def reversed_items(steps: MarkedItems) -> MarkedItems:
    length = steps.length
    return MarkedItems(
        0, length, 1, lambda place: steps.at(length - 1 - place), lambda: reversed(steps.plain())
    )


def zipped(parts: tuple[MarkedItems, ...]) -> MarkedItems:
    return MarkedItems(
        0,
        parts[0].length,
        1,
        lambda place: tuple(part.at(place) for part in parts),
        lambda: zip(*(part.plain() for part in parts)),
    )
