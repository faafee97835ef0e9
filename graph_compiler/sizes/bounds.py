"""Substitution of symbols in sizes, bounds of sizes, and comparisons solved for the innermost size."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, Union

from .algebra import FUNCTIONS, Apply, Scalar, Size, Symbol, apply, hint_of

# --------------------------------------------------------------------------------- substitution of symbols

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


# --------------------------------------------------------------------------------- bounds and comparisons
Ends = Callable[[Symbol], "tuple[Any, Any] | None"]
"""Function that returns the least and greatest value of a symbol; None for one without bounds."""


def upper_bound(size: Scalar, ends: Ends) -> Any:
    """Return an upper bound of ``size`` in terms of symbols without bounds, or None if none is found.

    ``ends`` returns the bounds of a symbol, which may depend on other bounded symbols, or None.

    >>> from graph_compiler.sizes import Symbol
    >>> n, i = Size.of(Symbol("x", 0, hint=6)), Size.of(Symbol("i", 0, hint=1, kind="item"))
    >>> upper_bound(n - i - 1, lambda symbol: (0, n - 1) if symbol.source == "i" else None)
    x.shape[0] - 1
    """
    return _extreme(size, ends, True)


def largest_magnitude(size: Scalar, at: Callable[[Symbol], int]) -> float:
    """Return the largest absolute value of ``size`` and of the arguments of functions at any depth in it.

    Symbols have the values that ``at`` returns. Only integers count. Return infinity if an evaluation raises
    ``ArithmeticError``.

    >>> from graph_compiler.sizes import Symbol
    >>> i = Size.of(Symbol("i", 0, hint=1, kind="item"))
    >>> largest_magnitude(i * 1000 // 64 % 3, lambda symbol: 5)
    5000
    """
    if not isinstance(size, Size):
        return abs(size) if type(size) is int else 0
    parts = [
        largest_magnitude(argument, at)
        for atom in size.atoms()
        if isinstance(atom, Apply)
        for argument in atom.arguments
    ]
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
    arguments = [_extreme(argument, ends, is_greatest) for argument in atom.arguments]
    if any(argument is None for argument in arguments):
        return None
    if atom.function == "floordiv" and type(arguments[1]) is int and arguments[1] > 0:
        return arguments[0] // arguments[1]
    return apply(atom.function, *arguments) if atom.function in ("max", "min") else None


class Compared(NamedTuple):
    """Comparison of an integer size with an integer.

    size: left operand.
    function: ``"eq"``, ``"ne"``, ``"ge"`` or ``"le"``.
    number: right operand.
    """

    size: Size
    function: str
    number: int


# A bool if the comparison has the same result for all sizes.
Solved = Union[Compared, bool]

# The comparison after its operands are swapped, or both are negated.
MIRRORED = {"eq": "eq", "ne": "ne", "ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}
# For integers, ``n > 3`` is ``n >= 4``.
_STRICT = {"gt": ("ge", 1), "lt": ("le", -1)}


def comparison(condition: Any) -> Solved | None:
    """Return the boolean size ``condition`` as ``Compared`` or bool; None if it is no comparison of integers.

    >>> n, m = (Size.of(Symbol(name, 0, hint=9)) for name in "nm")
    >>> comparison(apply("lt", 2, n))
    Compared(size=n.shape[0], function='ge', number=3)
    >>> comparison(apply("le", n, m)), comparison(apply("le", n - 1, n))
    (Compared(size=n.shape[0] - m.shape[0], function='le', number=0), True)
    """
    atom = next(condition.atoms())
    if not isinstance(atom, Apply) or atom.function not in MIRRORED:
        return None
    (left, right), function = atom.arguments, atom.function
    if not (type(hint_of(left)) is int and type(hint_of(right)) is int):
        return None
    if isinstance(left, Size) and isinstance(right, Size):
        left, right = left - right, 0
        if not isinstance(left, Size):
            return bool(FUNCTIONS[function][0](left, right))
    if isinstance(right, Size):
        left, right, function = right, left, MIRRORED[function]
    assert isinstance(left, Size) and isinstance(right, int)
    function, more = _STRICT.get(function, (function, 0))
    return Compared(left, function, right + more)


def isolate(compared: Solved) -> Solved:
    """Return ``compared`` solved for its size as far as the rules allow, or a bool if they decide it.

    The result is equivalent for all integers, also for negative ones.

    >>> from graph_compiler.sizes import Size, Symbol, apply
    >>> n = Size.of(Symbol("n", 0, hint=9))
    >>> isolate(Compared((n - 1) // 2 + 1, "ge", 3))
    Compared(size=n.shape[0], function='ge', number=5)
    >>> isolate(Compared(apply("max", n, 4), "ge", 2))
    True
    """
    solved: Solved | None = compared
    while isinstance(solved, Compared):
        compared, solved = solved, _step(solved)
    return compared if solved is None else solved


Range = tuple[float, float]
ALL: Range = (-inf, inf)


def range_of(size: Scalar, ends: Callable[[Symbol], Range]) -> Range:
    """Return a lower and an upper bound of ``size``. A bound that is not found is infinite.

    ``ends`` returns both bounds of a symbol.

    >>> n, m = (Size.of(Symbol(name, 0, hint=9)) for name in "nm")
    >>> range_of(n * m // 2 + 3, lambda symbol: (0, inf)), range_of(2 * n - m % 4, lambda symbol: (1, 5))
    ((3, inf), (-1, 10))
    """
    if not isinstance(size, Size):
        return size, size
    low: float = 0
    high: float = 0
    for monomial, factor in size.terms():
        term: Range = (factor, factor)
        for atom in monomial:
            term = _times(term, ends(atom) if isinstance(atom, Symbol) else _range_of_function(atom, ends))
        low, high = low + term[0], high + term[1]
    return low, high


def _times(one: Range, other: Range) -> Range:
    # 0 times an infinite end is 0, because the ends stand for all finite numbers.
    products = [x * y if x and y else 0 for x in one for y in other]
    return min(products), max(products)


def _range_of_function(atom: Apply, ends: Callable[[Symbol], Range]) -> Range:
    if type(atom.hint) is not int or atom.function not in ("max", "min", "floordiv", "mod"):
        return ALL
    left, right = atom.arguments
    if atom.function in ("max", "min"):
        choose = max if atom.function == "max" else min
        (low, high), (least, most) = range_of(left, ends), range_of(right, ends)
        return choose(low, least), choose(high, most)
    if type(right) is not int or right <= 0:
        return ALL
    if atom.function == "mod":
        return 0, right - 1
    low, high = (end if math.isinf(end) else end // right for end in range_of(left, ends))
    return low, high


def _step(compared: Compared) -> Solved | None:
    terms = list(compared.size.terms())
    atoms, factor = terms[0]
    if len(terms) > 1 or factor != 1:
        return _of_sum(terms, compared.function, compared.number)
    atom = atoms[0]
    rule = _RULES.get(atom.function) if isinstance(atom, Apply) and len(atoms) == 1 else None
    return (
        rule(*atom.arguments, compared.function, compared.number)
        if rule and isinstance(atom, Apply)
        else None
    )


def _of_sum(terms: list[Any], function: str, number: int) -> Solved | None:
    """Solve a comparison of a sum, as ``factor * size + more``, for ``size``; None if already solved."""
    more = sum(coefficient for monomial, coefficient in terms if not monomial)
    factors = [coefficient for monomial, coefficient in terms if monomial]
    factor = math.gcd(*factors) * (-1 if max(factors) < 0 else 1)
    if factor == 1 and not more:
        return None
    size: Any = sum(_product(monomial, coefficient // factor) for monomial, coefficient in terms if monomial)
    return _divided(size, MIRRORED[function] if factor < 0 else function, number - more, factor)


def _product(monomial: Any, coefficient: int) -> Any:
    return coefficient * math.prod(Size.of(atom) for atom in monomial)


def _divided(size: Size, function: str, number: int, factor: int) -> Solved:
    """Solve a comparison of ``size * factor`` with ``number``, already mirrored for a negative factor."""
    if function == "ge":
        # Rounded up, to the smallest size whose multiple reaches the number.
        return Compared(size, function, -(-number // factor))
    if function == "le":
        return Compared(size, function, number // factor)
    return Compared(size, function, number // factor) if number % factor == 0 else function == "ne"


def _of_floordiv(left: Scalar, right: Scalar, function: str, number: int) -> Solved | None:
    if not (
        isinstance(left, Size) and left.type is int and type(right) is int and right > 0
    ) or function not in ("ge", "le"):
        return None
    return Compared(left, function, number * right + (right - 1 if function == "le" else 0))


def _of_extreme(settled: str) -> Callable[..., Solved | None]:
    """Return the rule that solves ``"ge"`` and ``"le"`` comparisons of the ``max`` or ``min`` of a size.

    ``settled`` is the comparison that an int operand of ``max`` or ``min`` can make true alone.
    """

    def rule(left: Scalar, right: Scalar, function: str, number: int) -> Solved | None:
        size, bound = (left, right) if isinstance(left, Size) else (right, left)
        if not (isinstance(size, Size) and size.type is int and type(bound) is int) or function not in (
            "ge",
            "le",
        ):
            return None
        holds = bound >= number if function == "ge" else bound <= number
        if function == settled:
            return True if holds else Compared(size, function, number)
        return Compared(size, function, number) if holds else False

    return rule


_RULES: dict[str, Callable[..., Solved | None]] = {
    "floordiv": _of_floordiv,
    "max": _of_extreme("ge"),
    "min": _of_extreme("le"),
}
