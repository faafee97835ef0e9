"""Factorization of sums into a product of two sums, such as ``(a + 1) * (b + 1)`` before it was expanded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Term = tuple[tuple[Any, ...], int]  # atoms, and how often their product is taken
Sum = list[Term]


def two_sums(terms: Sequence[Term]) -> tuple[Sum, Sum] | None:
    """Return two sums whose product equals `terms`, or None. The first factor is a sum in which one atom
    occurs alone.

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
    """Return the sum by which `divisor` is multiplied to get `dividend`, or None. Products of terms must not
    coincide.
    """
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
    """Return a factor of `divisor` whose product contains `term` and consists of terms in `left`, or None."""
    for monomial, count in divisor:
        rest = without(term[0], monomial)
        if rest is not None and term[1] % count == 0:
            times = term[1] // count
            made = [left.get(_key(rest + other), ((), 0))[1] for other, _ in divisor]
            if made == [times * by for _, by in divisor]:
                return rest, times
    return None


def without(monomial: tuple[Any, ...], factors: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the product without these factors, or None if one of them does not occur in it."""
    left = list(monomial)
    for atom in factors:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _key(monomial: tuple[Any, ...]) -> Any:
    return frozenset((atom, monomial.count(atom)) for atom in monomial)
