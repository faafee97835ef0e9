"""Questions about the numbers of steps (``if i == 0:``): whether further steps of a loop have the answer of a recorded one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ops.bounds import nonnegative
from ..sizes import Apply, Size, Symbol, hint_of, substitute
from .node import Origin, Value

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop


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
    """A comparison with something else in the place of the number of a step."""
    return substitute(condition, lambda symbol: other if symbol.source is number else Size.of(symbol))


def _forms(loop: RecordedLoop, left_out: int, seen: Any) -> Iterator[Any]:
    """What the number of a step is for some size: counted from the first one on, and back from the last one."""
    first = loop.start + left_out * loop.step
    done = max(0, (int(seen) - hint_of(first)) // loop.step)
    yield first + Size.of(Symbol(object(), 0, done)) * loop.step
    if abs(loop.step) == 1:
        last = loop.stop - loop.step
        yield last - Size.of(Symbol(object(), 0, max(0, (hint_of(last) - int(seen)) // loop.step))) * loop.step


def _is_true(condition: Size) -> bool:
    atom = next(condition.atoms())
    if not isinstance(atom, Apply) or condition != Size.of(atom) or atom.function not in _PROOFS:
        return False
    return all(type(hint_of(item)) is int for item in atom.arguments) and _PROOFS[atom.function](*atom.arguments)


_PROOFS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda one, other: nonnegative(one - other),
    "gt": lambda one, other: nonnegative(one - other - 1),
    "le": lambda one, other: nonnegative(other - one),
    "lt": lambda one, other: nonnegative(other - one - 1),
    "ne": lambda one, other: nonnegative(one - other - 1) or nonnegative(other - one - 1),
}
