"""Sums of products that are a product of two sums, as ``(a + 1) * (b + 1)`` was before it was multiplied out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Term = tuple[tuple[Any, ...], int]  # atoms, and how often their product is taken
Sum = list[Term]


def two_sums(terms: Sequence[Term]) -> tuple[Sum, Sum] | None:
    """Two sums whose product these terms are, one of them an atom and what is added to it; ``None`` where there are none.

    >>> two_sums([(("a", "b"), 1), (("a",), 1), (("b",), 1), ((), 1)])
    ([(('a',), 1), ((), 1)], [(('b',), 1), ((), 1)])
    """
    atoms = dict.fromkeys(atom for monomial, _ in terms for atom in monomial) if len(terms) > 3 else {}
    for atom in atoms:
        if any(monomial.count(atom) > 1 for monomial, _ in terms):
            continue
        times = [(without(monomial, (atom,)) or (), count) for monomial, count in terms if atom in monomial]
        beside = [term for term in terms if atom not in term[0]]
        added = _quotient(beside, times) if beside and len(times) > 1 else None
        if added is not None:
            return [((atom,), 1), *added], times
    return None


def _quotient(dividend: Sum, divisor: Sum) -> Sum | None:
    """The sum that ``divisor`` is multiplied by, if no two of its products fall together."""
    left = {_key(monomial): (monomial, count) for monomial, count in dividend}
    found: Sum = []
    while left:
        factor = _factor_of(next(iter(left.values())), left, divisor)
        if factor is None:
            return None
        found.append(factor)
        for monomial, _ in divisor:
            del left[_key(factor[0] + monomial)]
    return found


def _factor_of(term: Term, left: dict[Any, Term], divisor: Sum) -> Term | None:
    """What ``divisor`` is multiplied by to give ``term`` and others that are left."""
    for monomial, count in divisor:
        rest = without(term[0], monomial)
        if rest is not None and term[1] % count == 0:
            times = term[1] // count
            made = [left.get(_key(rest + other), ((), 0))[1] for other, _ in divisor]
            if made == [times * by for _, by in divisor]:
                return rest, times
    return None


def without(monomial: tuple[Any, ...], factors: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The product without these factors, ``None`` where one of them is not in it."""
    left = list(monomial)
    for atom in factors:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _key(monomial: tuple[Any, ...]) -> Any:
    return frozenset((atom, monomial.count(atom)) for atom in monomial)
