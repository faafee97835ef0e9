"""Substitution of symbols in sizes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .algebra import Apply, Scalar, Size, Symbol, apply

# These operators simplify their result, which ``apply`` does not.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "pow": operator.pow,
}


def substitute(value: Scalar, replace: Callable[[Symbol], Any]) -> Any:
    """Return `value` with each symbol replaced by `replace(symbol)`, a number or size, simplified again."""
    if not isinstance(value, Size):
        return value
    total: Any = None
    for monomial, coefficient in value._terms.values():
        product: Any = None
        for atom in monomial:
            factor = replace(atom) if isinstance(atom, Symbol) else _substitute_apply(atom, replace)
            product = factor if product is None else product * factor
        product = coefficient if product is None else (product if coefficient == 1 else product * coefficient)
        total = product if total is None else total + product
    return total


def _substitute_apply(atom: Apply, replace: Callable[[Symbol], Any]) -> Any:
    arguments = [substitute(argument, replace) for argument in atom.arguments]
    simplify = _OPERATORS.get(atom.function)
    return simplify(*arguments) if simplify else apply(atom.function, *arguments)
