"""Python's arithmetic on symbolic numbers, with Python's result types and exceptions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from ..forwarding import forwards
from .algebra import Scalar, Size, apply, hint_of

Decide = Callable[[Size], Any]  # gives the number that a size has now, and notes that the recording relies on it
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
Rule = Callable[..., Scalar]  # of operands, and of a Decide


def computed(compute: Callable[..., Any], operands: tuple[Any, ...], decide: Decide) -> Any:
    """Return `compute(*operands)`. If Python raises, such as for a division by 0, decide the operands first,
    since the user's code may continue.
    """
    try:
        return compute(*operands)
    except (ArithmeticError, ValueError) as problem:
        _decided(operands, decide)
        refuse_as_python(problem)


@forwards
def refuse_as_python(problem: Exception) -> NoReturn:
    """Raise the exception of Python's own arithmetic on behalf of the user's code."""
    raise problem.with_traceback(None)


def rule(function: str) -> Rule:
    """Return the function that computes a function of :data:`~graph_compiler.sizes.FUNCTIONS` as Python does.

    >>> from graph_compiler.sizes import Symbol
    >>> n = Size.of(Symbol("x", 0, hint=6))
    >>> rule("add")(n, 1, None), rule("max")(n, 4, None)
    (x.shape[0] + 1, max(x.shape[0], 4))
    """
    known = _RULES.get(function)
    compute = _OPERATORS.get(function) or functools.partial(apply, function)
    return known or (lambda *given: computed(compute, given[:-1], given[-1]))


def _quotient(dividend: Scalar, divisor: Scalar, decide: Decide) -> Scalar:
    compute = operator.floordiv if _whole(dividend) and _whole(divisor) else functools.partial(apply, "floordiv")
    result: Scalar = computed(compute, (dividend, divisor), decide)
    return result


def _power(base: Scalar, exponent: Scalar, decide: Decide) -> Any:
    """Return the power. The signs of base and exponent decide if it is an integer, a float or complex, so
    they are guarded.
    """
    if _whole(base) and _whole(exponent) and _holds(apply("ge", exponent, 0), decide):
        return computed(operator.pow, (base, exponent), decide)
    if isinstance(exponent, Size) or not float(exponent).is_integer():
        is_open = _holds(apply("gt", base, 0), decide)
    else:
        is_open = exponent >= 0 or _holds(apply("ne", base, 0), decide)
    if not is_open:
        return operator.pow(*_decided((base, exponent), decide))
    return computed(functools.partial(apply, "pow"), (base, exponent), decide)


def _inverted(number: Scalar, decide: Decide) -> Any:
    return -1 - number if _whole(number) else operator.invert(hint_of(number))  # Python refuses a float


def _rounded(function: str) -> Rule:
    """Return the rule of a rounding function, which leaves integers unchanged."""
    return lambda number, decide: number if _whole(number) else computed(functools.partial(apply, function), (number,), decide)


def _holds(condition: Scalar, decide: Decide) -> bool:
    return bool(decide(condition) if isinstance(condition, Size) else condition)


def _decided(operands: tuple[Any, ...], decide: Decide) -> list[Any]:
    return [decide(item) if isinstance(item, Size) else item for item in operands]


def _whole(number: Scalar) -> bool:
    return isinstance(hint_of(number), int)


_OPERATORS: dict[str, Callable[..., Any]] = {  # which simplify what they are given
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod, "neg": operator.neg, "truediv": operator.truediv,
}  # fmt: skip
_RULES: dict[str, Rule] = {
    "floordiv": _quotient,
    "pow": _power,
    "invert": _inverted,
    **{name: _rounded(name) for name in ("trunc", "floor", "ceil", "round")},
}
