"""Comparison of array elements that Python has read."""

from __future__ import annotations

import math
from typing import Any


def same_elements(left: Any, right: Any, rounding: float = 0.0) -> bool:
    """Return True if Python code cannot tell the elements apart: NaN equals NaN, and 0.0 differs from -0.0.

    Floats may differ by the relative tolerance `rounding`. Lists are compared element by element.

    >>> same_elements([1.0, float("nan")], [1.0, float("nan")]), same_elements(0.0, -0.0), same_elements(1.0, 1.00001, rounding=1e-4)
    (True, False, True)
    >>> same_elements(1.0, float("inf"), rounding=1e-4)
    False
    """
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_elements(*pair, rounding) for pair in zip(left, right))
    if isinstance(left, (float, complex)):
        return type(left) is type(right) and (
            repr(left) == repr(right) or bool(left and abs(left - right) <= rounding * abs(right) < math.inf)
        )
    return bool(left == right)
