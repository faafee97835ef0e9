"""Recorded loops of the user's code: where each iteration begins, and the values of variables there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..ops.rules import nonnegative
from ..sizes import Apply, Size, Symbol, hint_of, substitute
from .node import Origin, Value


class LoopComparison(NamedTuple):
    """Comparison of a loop index in the body of a recorded loop.

    place: index of the iteration, counted from 0.
    condition: the comparison, negated if it evaluated to False.
    """

    place: int
    condition: Size
    origin: Origin


LoopIndices = Mapping[Value, "tuple[RecordedLoop, int]"]
"""Loop indices, outer loops first, with their loops and the number of first iterations to leave out."""


def always_holds(condition: Any, numbers: LoopIndices) -> bool:
    """Return True if a comparison is proved to hold in the iterations of loops that ``numbers`` describes."""
    if not isinstance(condition, Size):
        return bool(condition)
    read = {symbol.source: symbol for symbol in condition.symbols()}
    number = next((value for value in reversed(list(numbers)) if value in read), None)
    if number is None:
        return _is_true(condition)
    forms = _forms(*numbers[number], read[number].hint)
    return any(always_holds(with_index(condition, number, form), numbers) for form in forms)


def with_index(condition: Size, number: Value, other: Any) -> Any:
    return substitute(condition, lambda symbol: other if symbol.source is number else Size.of(symbol))


def _forms(loop: RecordedLoop, left_out: int, seen: Any) -> Iterator[Any]:
    # A count of iterations is a new symbol of a size, so it is nonnegative, as proofs need. Some comparisons
    # can be proved only with the count from the first iteration, others only with that from the last one.
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


# The name of a variable, then keys of nested containers.
Path = tuple[Any, ...]
CONDITIONS: Path = ("while",)
"""Path of the conditions of a ``while`` in a mark. The keyword cannot be the name of a variable."""


@dataclass(frozen=True, slots=True)
class VariableState:
    """State of a variable, or of an item inside one, at a mark.

    kind: properties that are compared between marks, such as type and shape.
    item: the ``Value`` of an array, or the ``Size`` that expresses a symbolic number; None for other objects.
    """

    kind: Any
    item: Any = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Point in a recording: before an iteration of a loop, or after the last recorded iteration.

    position: number of nodes that were recorded before this point.
    state: state of the loop's variables, by path.
    """

    position: int
    state: Mapping[Path, VariableState]
    index: Value | None = None
    """Loop index, from which symbols are read. None after the last recorded iteration and in a ``while``."""
    first_condition: int | None = None
    """Number of nodes that were recorded before the first condition of a ``while``; None in a ``for``."""

    def moved(self, places: Sequence[int]) -> Mark:
        return replace(
            self,
            position=places[self.position],
            first_condition=None if self.first_condition is None else places[self.first_condition],
        )


@dataclass(eq=False, slots=True)
class RecordedLoop:
    """Recorded ``for`` or ``while`` loop of the user's code.

    The loop index of a ``for`` has the values of ``range(start, stop, step)``.

    library: name of the module whose ``arange`` and ``logical_and`` express the loop, such as ``jax.numpy``.
    after: names of variables that code after the loop may read.
    conditions: evaluated conditions of a ``while`` in order, with their truth values.
    negated: for each condition of a ``while``, True if it is under ``not``; empty for a ``for``.
    any_of: True if the conditions of a ``while`` are joined by ``or``.
    """

    origin: Origin
    library: str
    start: Any = 0
    stop: Any = 0
    step: int = 1
    after: frozenset[str] = frozenset()
    outer: tuple[RecordedLoop, int] | None = None
    """Enclosing loop, and its iteration."""
    marks: list[Mark] = field(default_factory=list)
    conditions: list[tuple[Value, bool]] = field(default_factory=list)
    comparisons: list[LoopComparison] = field(default_factory=list)
    """Comparisons of the loop index that the code evaluated."""
    negated: tuple[bool, ...] = ()
    any_of: bool = False
    is_open: bool = True
    """False once the loop has to be unrolled, for example because its index was read as a number."""
    is_whole: bool = False
    """True if the loop has ended and may become a loop node."""
    skipped: int = 0
    """Number of last iterations that ran unrecorded, because they repeat earlier ones."""

    @property
    def is_while(self) -> bool:
        return bool(self.negated)

    def numbers(self) -> range:
        return range(hint_of(self.start), hint_of(self.stop), self.step)

    def bounds(self) -> tuple[Size, ...]:
        return tuple(bound for bound in (self.start, self.stop) if isinstance(bound, Size))
