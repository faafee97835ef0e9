"""What a ``for`` goes through where Python does not know how often: ranges of sizes and values, rows of arrays, and these side by side."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...ops.bounds import nonnegative
from ...sizes import Size, apply, expression_of, hint_of, is_symbolic
from ..loops.steps import Steps, counted, numbered, side_by_side
from .grown import Grown, Stretch
from .regions import Regions


class Source(Protocol):
    """The items of a loop."""

    def length(self) -> Any:
        """How many there are: a number, a size (an expression), or an array."""

    def arrays(self) -> Sequence[Any]:
        """Those whose rows the items are made of."""

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        """The item at a place, which ``place`` gives, of the rows there."""

    def steps(self, loops: Any) -> Steps | None:
        """As what marks the steps of ``loops`` goes through it."""


@dataclass(frozen=True)
class Range:
    """``range(start, stop, step)``."""

    start: Any
    stop: Any
    step: Any

    def length(self) -> Any:
        parts = (self.start, self.stop, self.step)
        if not all(type(item) is int or is_symbolic(item) for item in parts):
            return -((self.start - self.stop) // self.step)
        start, stop, step = map(expression_of, parts)
        steps = -((start - stop) // step)
        if not isinstance(steps, Size):
            return max(steps, 0)
        return steps if nonnegative(steps) else apply("max", steps, 0)

    def arrays(self) -> Sequence[Any]:
        return ()

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        ahead = place() if type(self.step) is int and self.step == 1 else place() * self.step
        return ahead if type(self.start) is int and self.start == 0 else self.start + ahead

    def steps(self, loops: Any) -> Steps | None:
        return counted(self.start, self.stop, self.step)


@dataclass(frozen=True)
class Rows:
    """The rows of an array."""

    regions: Regions
    array: Any

    def length(self) -> Any:
        return expression_of(self.regions.length(self.array))

    def arrays(self) -> Sequence[Any]:
        return (self.array,)

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return rows[0]

    def steps(self, loops: Any) -> Steps | None:
        found: Steps | None = loops.steps_of(self.array)
        return found


@dataclass(frozen=True)
class Items:
    """The items of a list that a loop has made longer."""

    regions: Regions
    grown: Grown
    whole: Stretch

    def length(self) -> Any:
        return self.whole.length

    def arrays(self) -> Sequence[Any]:
        return self.whole.arrays

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return self.whole.item(self.regions, rows)

    def steps(self, loops: Any) -> Steps | None:
        return None


@dataclass(frozen=True)
class Numbered:
    """``enumerate(source, start)``."""

    source: Source
    start: Any = 0

    def length(self) -> Any:
        return self.source.length()

    def arrays(self) -> Sequence[Any]:
        return self.source.arrays()

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        return (place() if type(self.start) is int and self.start == 0 else place() + self.start), self.source.item(place, rows)

    def steps(self, loops: Any) -> Steps | None:
        steps = self.source.steps(loops)
        return None if steps is None else numbered(steps, self.start)


@dataclass(frozen=True)
class Together:
    """``zip(*sources)``, of one length."""

    sources: tuple[Source, ...]

    def length(self) -> Any:
        return self.sources[0].length()

    def arrays(self) -> Sequence[Any]:
        return [array for source in self.sources for array in source.arrays()]

    def item(self, place: Callable[[], Any], rows: Sequence[Any]) -> Any:
        left, found = list(rows), []
        for source in self.sources:
            count = len(source.arrays())
            found.append(source.item(place, left[:count]))
            left = left[count:]
        return tuple(found)

    def steps(self, loops: Any) -> Steps | None:
        parts = [steps for source in self.sources if (steps := source.steps(loops)) is not None]
        return side_by_side(tuple(parts)) if len(parts) == len(self.sources) else None


def source_of(regions: Regions, item: Any) -> Source | None:
    """The source that something to go through is; None for what Python goes through by itself."""
    if isinstance(item, (Range, Rows, Items, Numbered, Together)):
        return item
    if isinstance(item, Grown):
        found = item.whole(is_kept=True)
        return None if found is None else Items(regions, item, found)
    if type(item) is range:
        return Range(item.start, item.stop, item.step)
    if regions.is_array(item) and regions.kind(item).shape:
        return Rows(regions, item)
    return None


def _range(regions: Regions, *args: Any) -> Any:
    start, stop, step = {1: (0, *args, 1), 2: (*args, 1)}.get(len(args), args)
    is_known = all(type(item) is int for item in (start, stop, step))
    return Range(start, stop, step) if not is_known and _is_step(regions, step) else None


def _is_step(regions: Regions, step: Any) -> bool:
    """Whether a range may have such a step, from here on: of 0 Python's raises an error."""
    if regions.is_open(step):
        regions.expect(regions.truth(step != 0))
        return True
    return type(step) is int and step != 0 or is_symbolic(step) and regions.decide_size(apply("ne", expression_of(step), 0))


def _enumerate(regions: Regions, items: Any, start: Any = 0) -> Any:
    source = source_of(regions, items)
    return None if source is None else Numbered(source, start)


def _zip(regions: Regions, *items: Any, strict: bool = False) -> Any:
    sources = [source_of(regions, item) for item in items]
    if not sources or any(source is None for source in sources):
        return None
    lengths = [source.length() for source in sources if source is not None]
    if not all(_is_same(regions, length, lengths[0]) for length in lengths):
        return None
    return Together(tuple(filter(None, sources)))


def _is_same(regions: Regions, one: Any, other: Any) -> bool:
    """Whether two sizes are equal, from here on."""
    if not all(isinstance(length, (int, Size)) for length in (one, other)):
        return False
    return bool(hint_of(one) == hint_of(other)) and regions.decide_size(apply("eq", one, other))


def _reversed(regions: Regions, items: Any) -> Any:
    if isinstance(items, Grown):
        return source_of(regions, items[::-1])
    if isinstance(source := source_of(regions, items), Rows):
        array = source.array
        return Rows(regions, array.flip(0) if hasattr(array, "flip") else array[::-1])
    if not isinstance(items, Range) or type(items.step) is not int or items.step not in (1, -1) or type(items.length()) is int:
        return None
    return Range(items.stop - items.step, items.start - items.step, -items.step)


_MADE: dict[Any, Callable[..., Any]] = {
    builtins.range: _range, builtins.enumerate: _enumerate, builtins.zip: _zip, builtins.reversed: _reversed,
}  # fmt: skip


def making(regions: Regions, function: Any) -> Any:
    """In the place of ``range`` and the like, a function that gives a source, or what Python's gives."""
    make = next((made for known, made in _MADE.items() if function is known or getattr(function, "__wrapped__", None) is known), None)
    if make is None:
        return function

    def made(*args: Any, **kwargs: Any) -> Any:
        found = make(regions, *args, **kwargs)
        return function(*map(_plain, args), **kwargs) if found is None else found

    return made


def _plain(item: Any) -> Any:
    """A source as Python goes through it."""
    return in_python(item) if isinstance(item, (Range, Rows, Items, Numbered, Together)) else item


def in_python(source: Any) -> Any:
    """The items of a source, one after the other: how many there are is decided."""
    if isinstance(source, Range):
        return range(source.start, source.stop, source.step)
    if isinstance(source, Numbered):
        return enumerate(in_python(source.source), source.start)
    if isinstance(source, Together):
        return zip(*map(in_python, source.sources))
    return source.grown.plain() if isinstance(source, Items) else source.array
