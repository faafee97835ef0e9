"""Checks inside of a loop that compare the number of a step, as checks outside: of the first step, and of the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.node import Node, Value
from ..sizes import Apply, Size, apply, substitute

_COMPARISONS = ("le", "lt", "ge", "gt")


def ends_of(steps: Node) -> tuple[Any, Any]:
    """The first and the last number of an ``arange`` that has any."""
    start, stop, step = (steps.params[name] for name in ("start", "stop", "step"))
    return start, stop - 1 if step == 1 else start + (stop - start + step - (1 if step > 0 else -1)) // step * step - step


def at_ends(condition: Any, numbers: Mapping[Value, tuple[Any, Any]]) -> list[Any] | None:
    """A comparison for the first and the last number; None where it compares none of the ``numbers``, or others than sums with them.

    A sum grows, or falls, with a number, so that it is between those of both ends.
    """
    atom = _comparison(condition)
    if atom is None:
        return None
    read = [value for value in numbers if any(symbol.source is value for symbol in condition.symbols())]
    if not read or not all(_is_sum(item, value) for item in atom.arguments for value in read):
        return None
    found = [condition]
    for value in read:
        found = [_placed(item, value, end) for item in found for end in numbers[value]]
    return list(dict.fromkeys(found))


def _comparison(condition: Any) -> Apply | None:
    atoms = list(condition.atoms()) if isinstance(condition, Size) else []
    return atoms[0] if len(atoms) == 1 and isinstance(atoms[0], Apply) and atoms[0].function in _COMPARISONS else None


def _is_sum(item: Any, value: Value) -> bool:
    """Whether a number stands in a sum of integers, if at all, as a term of its own."""
    if not isinstance(item, Size):
        return True
    if item.type is not int:
        return all(symbol.source is not value for symbol in item.symbols())
    for monomial, _ in item.terms():
        is_term = len(monomial) == 1 and not isinstance(monomial[0], Apply)
        if not is_term and any(symbol.source is value for atom in monomial for symbol in Size.of(atom).symbols()):
            return False
    return True


def _placed(condition: Any, value: Value, end: Any) -> Any:
    atom = _comparison(condition)
    if atom is None:  # it holds, whatever the other numbers are
        return condition
    sides = [substitute(item, lambda symbol: end if symbol.source is value else Size.of(symbol)) for item in atom.arguments]
    return apply(atom.function, *sides)


__all__ = ["at_ends", "ends_of"]
