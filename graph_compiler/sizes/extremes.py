"""Bounds of sizes whose symbols lie between given bounds."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .algebra import Apply, Scalar, Size, Symbol, apply, hint_of
from .substitution import substitute

Ends = Callable[[Symbol], "tuple[Any, Any] | None"]
"""The least and the greatest number that a symbol stands for; None for one that is known."""


def greatest(size: Scalar, ends: Ends) -> Any:
    """Return an upper bound of `size`, or None if none is known. The bounds of a symbol may depend on other
    bounded symbols.

    >>> from graph_compiler.sizes import Symbol
    >>> n, i = Size.of(Symbol("x", 0, hint=6)), Size.of(Symbol("i", 0, hint=1, kind="item"))
    >>> greatest(n - i - 1, lambda symbol: (0, n - 1) if symbol.source == "i" else None)
    x.shape[0] - 1
    """
    return _extreme(size, ends, True)


def widest(size: Scalar, at: Callable[[Symbol], int]) -> float:
    """Return the greatest absolute value of an integer computed while evaluating `size` with these values of
    its symbols.

    >>> from graph_compiler.sizes import Symbol
    >>> i = Size.of(Symbol("i", 0, hint=1, kind="item"))
    >>> widest(i * 1000 // 64 % 3, lambda symbol: 5)
    5000
    """
    if not isinstance(size, Size):
        return abs(size) if type(size) is int else 0
    parts = [widest(argument, at) for atom in size.atoms() if isinstance(atom, Apply) for argument in atom.arguments]
    try:
        own = abs(hint_of(substitute(size, at))) if size.type is int else 0
    except ArithmeticError:
        return inf
    return max(own, *parts, 0)


def _extreme(size: Any, ends: Ends, is_greatest: bool) -> Any:
    if not isinstance(size, Size) or all(ends(symbol) is None for symbol in size.symbols()):
        return size
    if size.type is not int:
        return None
    total: Any = 0
    for monomial, factor in size.terms():
        found = _of_term(monomial, ends, is_greatest is (factor > 0))
        if found is None:
            return None
        total = total + found * factor
    return total


def _of_term(monomial: Any, ends: Ends, is_greatest: bool) -> Any:
    """Return the bound of a product of atoms. A bounded atom must be the only factor."""
    known = [atom for atom in monomial if all(ends(symbol) is None for symbol in Size.of(atom).symbols())]
    if len(known) == len(monomial):
        product: Any = 1
        for atom in monomial:
            product = product * Size.of(atom)
        return product
    return _of_atom(monomial[0], ends, is_greatest) if len(monomial) == 1 else None


def _of_atom(atom: Any, ends: Ends, is_greatest: bool) -> Any:
    if isinstance(atom, Symbol):
        found = ends(atom)
        assert found is not None
        return _extreme(found[is_greatest], ends, is_greatest)
    return _of_function(atom, ends, is_greatest)


def _of_function(atom: Apply, ends: Ends, is_greatest: bool) -> Any:
    """Return the bound of a function that is monotonic in each argument."""
    arguments = [_extreme(argument, ends, is_greatest) for argument in atom.arguments]
    if any(argument is None for argument in arguments):
        return None
    if atom.function == "floordiv" and type(arguments[1]) is int and arguments[1] > 0:
        return arguments[0] // arguments[1]
    return apply(atom.function, *arguments) if atom.function in ("max", "min") else None
