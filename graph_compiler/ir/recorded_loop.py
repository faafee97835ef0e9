"""Loops of the user's code as they were recorded: where each step begins, and what the variables held there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..ops.bounds import nonnegative
from ..sizes import Apply, Size, Symbol, hint_of, substitute
from .node import Origin, Value


class Question(NamedTuple):
    """A comparison that was true in the step at a ``place`` of a loop, whose code has asked for it."""

    place: int
    condition: Size
    origin: Origin


Numbers = Mapping[Value, "tuple[RecordedLoop, int]"]
"""Numbers of steps, those of outer loops first: their loops, and how many of the first steps are not meant."""


def always_holds(condition: Any, numbers: Numbers) -> bool:
    """Whether a comparison is known to hold, whatever these numbers and the sizes of arrays are."""
    if not isinstance(condition, Size):
        return bool(condition)
    read = {symbol.source: symbol for symbol in condition.symbols()}
    number = next((value for value in reversed(list(numbers)) if value in read), None)
    if number is None:
        return _is_true(condition)
    forms = _forms(*numbers[number], read[number].hint)
    return any(always_holds(placed(condition, number, form), numbers) for form in forms)


def placed(condition: Size, number: Value, other: Any) -> Any:
    return substitute(condition, lambda symbol: other if symbol.source is number else Size.of(symbol))


def _forms(loop: RecordedLoop, left_out: int, seen: Any) -> Iterator[Any]:
    """What the number of a step is for some size: counted from the first one on, and back from the last one."""
    first = loop.start + left_out * loop.step
    done = max(0, (int(seen) - hint_of(first)) // loop.step)
    yield first + Size.of(Symbol(object(), 0, done)) * loop.step
    if abs(loop.step) == 1:
        last = loop.stop - loop.step
        yield (
            last - Size.of(Symbol(object(), 0, max(0, (hint_of(last) - int(seen)) // loop.step))) * loop.step
        )


def _is_true(condition: Size) -> bool:
    atom = next(condition.atoms())
    if not isinstance(atom, Apply) or condition != Size.of(atom) or atom.function not in _PROOFS:
        return False
    return all(type(hint_of(item)) is int for item in atom.arguments) and _PROOFS[atom.function](
        *atom.arguments
    )


_PROOFS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda one, other: nonnegative(one - other),
    "gt": lambda one, other: nonnegative(one - other - 1),
    "le": lambda one, other: nonnegative(other - one),
    "lt": lambda one, other: nonnegative(other - one - 1),
    "ne": lambda one, other: nonnegative(one - other - 1) or nonnegative(other - one - 1),
}


Path = tuple[Any, ...]  # the name of a variable, then keys of containers
ASKED: Path = ("while",)
"""Where a mark has the conditions of a ``while``, by their numbers: no variable bears this name."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a variable, or a part of one, holds at a mark.

    ``kind`` is equal for what a step cannot tell apart but by its elements: the type and shape of an array,
    the object itself of all else. ``item`` is the value of an array, the size of a symbolic number, and None
    of all else.
    """

    kind: Any
    item: Any = None


@dataclass(frozen=True, slots=True)
class Mark:
    """The moment before a step, or behind the last one: how many nodes there are, and what the variables of
    the loop hold.
    """

    position: int
    state: Mapping[Path, Held]
    index: Value | None = None
    """The number of the step, of which symbols are read. None behind the last step, and in a ``while``."""
    asked: int | None = None
    """How many calls there were when the first of the conditions of a ``while`` had been asked for."""

    def moved(self, places: Sequence[int]) -> Mark:
        return replace(
            self, position=places[self.position], asked=None if self.asked is None else places[self.asked]
        )


@dataclass(eq=False, slots=True)
class RecordedLoop:
    """A ``for`` over ``range(start, stop, step)``, or a ``while``, of a function whose syntax shows that a
    step changes nothing but the variables that a mark tells.

    ``after`` are the variables that code behind the loop may read. ``asked`` are the truth values of a
    ``while`` in the order in which they were asked for, with the answers. It runs as long as each of its
    conditions is true, or false where it is ``negated``; with ``any_of`` them, as long as one is. ``library``
    is the module whose ``arange`` and ``logical_and`` such a loop is written with.
    """

    origin: Origin
    library: str
    start: Any = 0
    stop: Any = 0
    step: int = 1
    after: frozenset[str] = frozenset()
    outer: tuple[RecordedLoop, int] | None = None
    """The loop that was running, and its step."""
    marks: list[Mark] = field(default_factory=list)
    asked: list[tuple[Value, bool]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    """What code has asked of the numbers of steps, where all further steps have the answer; in the first one, where they may not."""
    negated: tuple[bool, ...] = ()
    any_of: bool = False
    is_open: bool = True
    """Whether nothing has asked for the number of a step, or done what a mark cannot tell."""
    is_whole: bool = False
    """Whether it has run to its end."""
    skipped: int = 0
    """How many steps at its end were run without being recorded, for they do what those before did."""

    @property
    def is_while(self) -> bool:
        return bool(self.negated)

    def numbers(self) -> range:
        return range(hint_of(self.start), hint_of(self.stop), self.step)

    def bounds(self) -> tuple[Size, ...]:
        return tuple(bound for bound in (self.start, self.stop) if isinstance(bound, Size))
