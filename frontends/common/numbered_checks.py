"""Guards on a loop index, replaced by guards outside of the loop for the iteration that is strictest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir.node import Node, Value
from ...sizes import Apply, Size, apply, hint_of, substitute

_COMPARISONS = ("le", "lt", "ge", "gt")


def ends_of(steps: Node) -> tuple[Any, Any]:
    """Return the smallest and the largest element of a nonempty ``arange`` node."""
    start, stop, step = (steps.params[name] for name in ("start", "stop", "step"))
    last = (
        stop - 1
        if step == 1
        else start + (stop - start + step - (1 if step > 0 else -1)) // step * step - step
    )
    return (start, last) if step > 0 else (last, start)


def at_ends(condition: Any, numbers: Mapping[Value, tuple[Any, Any]]) -> Any:
    """Return a condition, without loop indices, under which ``condition`` holds in all iterations, or True.

    ``numbers`` maps each loop index to its smallest and largest value. Each index is replaced by the bound
    that makes the comparison strictest. Return None if ``condition`` is not a comparison by <, <=, > or >=
    that is linear in at least one of these indices, or if the result was false while recording, as may
    happen for a loop without iterations.
    """
    atom = _comparison(condition)
    if atom is None:
        return None
    read = [value for value in numbers if any(symbol.source is value for symbol in condition.symbols())]
    if not read or not all(_is_sum(item, value) for item in atom.arguments for value in read):
        return None
    small, large = atom.arguments if atom.function in ("le", "lt") else atom.arguments[::-1]
    for value in read:
        # ``small <= large`` is strictest where ``large - small`` is smallest: at the first end if the
        # difference grows with the index, else at the last end.
        ends = numbers[value]
        condition = _placed(
            condition, value, ends[0] if _factor(large, value) > _factor(small, value) else ends[1]
        )
    return condition if hint_of(condition) else None


def _factor(item: Any, value: Value) -> int:
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
    """Return True if ``value`` occurs in ``item`` only as a linear term, or not at all."""
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
    # The comparison has become a constant.
    if atom is None:
        return condition
    sides = [
        substitute(item, lambda symbol: end if symbol.source is value else Size.of(symbol))
        for item in atom.arguments
    ]
    return apply(atom.function, *sides)
