"""Functions at points where their derivative jumps, is one-sided, infinite or a matter of convention."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Kink:
    """A function of the source framework and float64 arrays of special points.

    orders: 2, or 1 if the source has no second derivative.
    tolerance: relative tolerance.
    """

    function: Callable[..., Any]
    points: tuple[Array, ...]
    orders: int = 2
    tolerance: float = 1e-7


def kink(function: Callable[..., Any], *points: Any, orders: int = 2, tolerance: float = 1e-7) -> Kink:
    return Kink(function, tuple(np.array(each, np.float64) for each in points), orders, tolerance)


def weights(size: int, number: int = 0) -> Array:
    """Return distinct non-zero weights for the elements of a result, different for each ``number`` of an
    array.
    """
    return 1 + (np.arange(size) + 3 * number) % 7 / 8


def pairs(*points: float) -> tuple[list[float], list[float]]:
    """Return all pairs of two points, as two lists."""
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
