"""Checks inside of a loop that compare the number of a step, as checks outside: of the step in which they are
hardest to meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir.node import Node, Value
from ...sizes import Apply, Size, apply, hint_of, substitute

_COMPARISONS = ("le", "lt", "ge", "gt")


def ends_of(steps: Node) -> tuple[Any, Any]:
    """The least and the greatest number of an ``arange`` that has any."""
    start, stop, step = (steps.params[name] for name in ("start", "stop", "step"))
    last = (
        stop - 1
        if step == 1
        else start + (stop - start + step - (1 if step > 0 else -1)) // step * step - step
    )
    return (start, last) if step > 0 else (last, start)


def at_ends(condition: Any, numbers: Mapping[Value, tuple[Any, Any]]) -> Any:
    """A comparison for the least or the greatest number, whichever makes it harder; None where it compares
    none of the ``numbers``, or others than sums with them, and where it would not hold, as in a loop that has
    no such step.

    A sum grows, or falls, with a number, so that it is between those of both ends.
    """
    atom = _comparison(condition)
    if atom is None:
        return None
    read = [value for value in numbers if any(symbol.source is value for symbol in condition.symbols())]
    if not read or not all(_is_sum(item, value) for item in atom.arguments for value in read):
        return None
    small, large = atom.arguments if atom.function in ("le", "lt") else atom.arguments[::-1]
    for value in read:
        ends = numbers[value]
        condition = _placed(
            condition, value, ends[0] if _factor(large, value) > _factor(small, value) else ends[1]
        )
    return condition if hint_of(condition) else None


def _factor(item: Any, value: Value) -> int:
    """By how much a sum grows with a number."""
    terms = item.terms() if isinstance(item, Size) and item.type is int else ()
    return sum(
        factor
        for monomial, factor in terms
        if any(getattr(atom, "source", None) is value for atom in monomial)
    )


def _comparison(condition: Any) -> Apply | None:
    atoms = list(condition.atoms()) if isinstance(condition, Size) else []
    return (
        atoms[0]
        if len(atoms) == 1 and isinstance(atoms[0], Apply) and atoms[0].function in _COMPARISONS
        else None
    )


def _is_sum(item: Any, value: Value) -> bool:
    """Whether a number stands in a sum of integers, if at all, as a term of its own."""
    if not isinstance(item, Size):
        return True
    if item.type is not int:
        return all(symbol.source is not value for symbol in item.symbols())
    for monomial, _ in item.terms():
        is_term = len(monomial) == 1 and not isinstance(monomial[0], Apply)
        if not is_term and any(
            symbol.source is value for atom in monomial for symbol in Size.of(atom).symbols()
        ):
            return False
    return True


def _placed(condition: Any, value: Value, end: Any) -> Any:
    atom = _comparison(condition)
    if atom is None:  # it holds, whatever the other numbers are
        return condition
    sides = [
        substitute(item, lambda symbol: end if symbol.source is value else Size.of(symbol))
        for item in atom.arguments
    ]
    return apply(atom.function, *sides)
