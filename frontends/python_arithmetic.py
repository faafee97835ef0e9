"""Python's arithmetic on symbolic numbers whose result type or error depends on the values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..sizes import Scalar, Size, apply, hint_of

Decide = Callable[[Size], Any]  # gives the number that a size has now, and notes that the recording relies on it


def computed(compute: Callable[..., Any], operands: tuple[Any, ...], decide: Decide) -> Any:
    """``compute(*operands)``. Where Python raises (a division by 0) and the user's code goes on, that holds for these operands."""
    try:
        return compute(*operands)
    except (ArithmeticError, ValueError):
        _decided(operands, decide)
        raise


def quotient(dividend: Scalar, divisor: Scalar, decide: Decide) -> Any:
    """``dividend // divisor``."""
    compute = operator.floordiv if _whole(dividend) and _whole(divisor) else lambda x, y: apply("floordiv", x, y)
    return computed(compute, (dividend, divisor), decide)


def power(base: Scalar, exponent: Scalar, decide: Decide) -> Any:
    """``base ** exponent``: whole, a float or complex, by the signs of both."""
    if _whole(base) and _whole(exponent) and _holds(apply("ge", exponent, 0), decide):
        return computed(operator.pow, (base, exponent), decide)
    if isinstance(exponent, Size) or not float(exponent).is_integer():
        is_open = _holds(apply("gt", base, 0), decide)
    else:
        is_open = exponent >= 0 or _holds(apply("ne", base, 0), decide)
    if not is_open:
        return operator.pow(*_decided((base, exponent), decide))
    return computed(lambda x, y: apply("pow", x, y), (base, exponent), decide)


def _holds(condition: Scalar, decide: Decide) -> bool:
    return bool(decide(condition) if isinstance(condition, Size) else condition)


def _decided(operands: tuple[Any, ...], decide: Decide) -> list[Any]:
    return [decide(item) if isinstance(item, Size) else item for item in operands]


def _whole(number: Scalar) -> bool:
    return isinstance(hint_of(number), int)
