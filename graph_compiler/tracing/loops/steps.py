"""What a ``for`` may go through in steps whose number is symbolic: a range, the rows of an array, and several of them side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Steps:
    """The numbers of ``range(start, stop, step)``, for each of which ``item`` gives what the loop's variable holds.

    ``start`` and ``stop`` are symbolic numbers of the user's code, or plain ones. ``plain`` gives what stands there where the steps cannot
    be marked.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]
    plain: Callable[[], Any]

    @property
    def length(self) -> Any:
        """How many there are, where they are counted one by one."""
        return self.stop - self.start if self.step == 1 else self.start - self.stop

    def at(self, place: Any) -> Any:
        """The item at a place."""
        return self.item(self.start + place * self.step)


def counted(start: Any, stop: Any, step: Any) -> Steps:
    """``range``."""
    return Steps(start, stop, step, lambda number: number, lambda: range(start, stop, step))


def rows(array: Any, length: Any) -> Steps:
    """An array."""
    return Steps(0, length, 1, lambda number: array[number], lambda: array)


def numbered(steps: Steps, first: Any) -> Steps:
    """``enumerate``."""
    return Steps(0, steps.length, 1, lambda place: (place + first, steps.at(place)), lambda: enumerate(steps.plain(), first))


def turned(steps: Steps) -> Steps:
    """``reversed``."""
    length = steps.length
    return Steps(0, length, 1, lambda place: steps.at(length - 1 - place), lambda: reversed(steps.plain()))


def side_by_side(parts: tuple[Steps, ...]) -> Steps:
    """``zip`` of what is equally long."""
    return Steps(
        0, parts[0].length, 1, lambda place: tuple(part.at(place) for part in parts), lambda: zip(*(part.plain() for part in parts))
    )
