"""Functions at the points where their derivative jumps, is one-sided, infinite or a matter of convention:
rows of the source frameworks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Kink:
    """A function of the source framework, and the arrays with the special points; all arrays are float64.

    ``orders``: 2, or 1 where the source has no second derivative. ``tolerance`` is relative.
    """

    function: Callable[..., Any]
    points: tuple[Array, ...]
    orders: int = 2
    tolerance: float = 1e-7


def kink(function: Callable[..., Any], *points: Any, orders: int = 2, tolerance: float = 1e-7) -> Kink:
    """A row, with its points as lists."""
    return Kink(function, tuple(np.array(each, np.float64) for each in points), orders, tolerance)


def weights(size: int, number: int = 0) -> Array:
    """What each element of a result counts in the sum that is derived: different numbers, none of them 0,
    others in the array of another number.
    """
    return 1 + (np.arange(size) + 3 * number) % 7 / 8


def pairs(*points: float) -> tuple[list[float], list[float]]:
    """Every point against every other."""
    return [x for x in points for _ in points], [y for _ in points for y in points]


ZEROS = [0.0, -0.0]
AROUND = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0]
_FAR = [*AROUND, math.inf, -math.inf]
_NOT_NEGATIVE = [0.0, -0.0, 1.0, 0.5, 2.0, 3.0]
_UNIT = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0]
_FROM_ONE = [1.0, 2.0, 3.0]
_BESIDE_POLES = [1.0, 2.0, 0.5, -0.5, -1.5, 3.0]
_SHARE = [0.0, 1.0, 0.5, 0.25]
DOMAINS: dict[str, list[float]] = {
    **dict.fromkeys(("relu", "sigmoid", "expit", "tanh", "softplus", "silu"), _FAR),
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "entr"), _NOT_NEGATIVE),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv", "arcsin", "arccos", "arctanh"), _UNIT),
    **dict.fromkeys(("logit", "ndtri"), _SHARE),
    **dict.fromkeys(("acosh", "arccosh"), _FROM_ONE),
    **dict.fromkeys(("lgamma", "digamma"), _BESIDE_POLES),
    "log1p": [0.0, -0.0, -1.0, 1.0],
}
"""Where functions are defined that are not everywhere: beyond, what the derivative is says nothing."""
TIES = [[1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 2.0], [0.0, -0.0, 0.0, -1.0], [1.0, 2.0, 3.0, 4.0]]
NOTHING = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [1.0, 1.0, 1.0], [-0.0, 0.0, 0.0]]
FACTORS = [[2.0, 3.0, 4.0], [2.0, 0.0, 3.0], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
