"""Proofs about symbolic sizes: that a size is never negative, and so that a slice stays inside its axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sizes import Apply, Size, Symbol, product

# Each function in an expression has several bounds to try, so the search stops after this many replacements.
_ROUNDS = 4


def nonnegative(value: Any) -> bool:
    """Return True if ``value`` is provably at least 0 for all array sizes; False means "not proven".

    >>> from graph_compiler.sizes import Symbol
    >>> n = Size.of(Symbol("x", 0, hint=6))
    >>> nonnegative(n), nonnegative(n - 1), nonnegative(n - n // 2), nonnegative(n + 1 - n % 3)
    (True, False, True, True)
    """
    return _nonnegative(value, _ROUNDS)


def at_most(value: Any, bound: Any) -> bool:
    """Return True if ``value <= bound`` is provable for all array sizes; False means "not proven"."""
    return nonnegative(bound - value)


def _nonnegative(value: Any, rounds: int) -> bool:
    if not isinstance(value, Size):
        return bool(value >= 0)
    terms = list(value.terms())
    # The sign of a term is the sign of its coefficient only if all of its atoms are nonnegative.
    if not all(_atom_nonnegative(atom, rounds) for monomial, _ in terms for atom in monomial):
        return False
    if all(coefficient >= 0 for _, coefficient in terms):
        return True
    return rounds > 0 and any(_nonnegative(smaller, rounds - 1) for smaller in _smaller(value))


def _atom_nonnegative(atom: Any, rounds: int) -> bool:
    if isinstance(atom, Symbol):
        # A number that was read from an array may be negative.
        return atom.kind == "size"
    known = [_nonnegative(argument, rounds - 1) for argument in atom.arguments] if rounds > 0 else [False]
    if atom.function == "max":
        return any(known)
    return atom.function == "abs" or (atom.function in ("floordiv", "mod", "min") and all(known))


def _smaller(value: Size) -> Iterator[Any]:
    """Yield lower bounds of ``value``: in each, one function is replaced by a simpler bound."""
    for monomial, coefficient in value.terms():
        for place, atom in enumerate(monomial):
            if isinstance(atom, Apply):
                rest = coefficient * product(_size(other) for i, other in enumerate(monomial) if i != place)
                yield from _relaxed(value, coefficient * product(map(_size, monomial)), rest, atom)


def _relaxed(value: Size, term: Any, rest: Any, atom: Apply) -> Iterator[Any]:
    subtracted = _leading(rest) < 0
    if (
        atom.function == "floordiv"
        and subtracted
        and isinstance(atom.arguments[1], int)
        and atom.arguments[1] > 0
    ):
        # `a // b <= a / b`, and multiplying by the positive `b` keeps the sign.
        yield (value - term) * atom.arguments[1] + rest * atom.arguments[0]
    elif atom.function == "mod" and subtracted:
        # `a % b <= a` for nonnegative `a`.
        yield value - term + rest * atom.arguments[0]
    elif (atom.function == "min" and subtracted) or (atom.function == "max" and not subtracted):
        # `min` is at most, and `max` at least, each of its arguments.
        yield from (value - term + rest * argument for argument in atom.arguments)


def _leading(rest: Any) -> int:
    return next(coefficient for _, coefficient in rest.terms()) if isinstance(rest, Size) else int(rest)


def _size(atom: Any) -> Size:
    return Size.of(atom)


def length(start: Any, stop: Any, step: Any, size: Any) -> Any:
    """Return how many elements a slice selects whose bounds lie inside an axis of ``size`` elements.

    None and negative integers are treated as in Python.

    >>> length(None, -1, 1, 6), length(1, None, 2, 6), length(-2, None, 1, 6)
    (5, 3, 2)
    """
    first, last = position(start, size, 0), position(stop, size, size)
    taken = last - first
    return taken if isinstance(step, int) and step == 1 else (taken + step - 1) // step


def position(bound: Any, size: Any, absent: Any) -> Any:
    """Return ``bound`` counted from the front of an axis of this ``size``, or ``absent`` if it is None."""
    if bound is None:
        return absent
    return bound + size if isinstance(bound, int) and bound < 0 else bound
