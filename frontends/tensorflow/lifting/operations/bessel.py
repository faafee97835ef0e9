"""Bessel functions, with the values at and below 0 that TensorFlow gives, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from ..table import TensorFlowBuilder, rows


def _of_positive(name: str, below: float, at_zero: float) -> Callable[..., Any]:
    """``below`` below 0, ``at_zero`` at 0."""

    def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
        x = b.array(x)
        found = b.where(b.less(x, 0), b.array(below, x.dtype), getattr(b, name)(x))
        found = found if below == at_zero else b.where(b.equal(x, 0), b.array(at_zero, x.dtype), found)
        return b.with_gradient(found, x, _BESSEL_SLOPES[name](b, x))

    return row


def _oscillating(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
        x = b.array(x)
        return b.with_gradient(getattr(b, name)(x), x, _BESSEL_SLOPES[name](b, x))

    return row


def _slope_of_j1(b: TensorFlowBuilder, x: Value) -> Any:
    nothing = b.equal(x, 0)
    safe = b.where(nothing, b.array(1, x.dtype), x)
    return b.where(nothing, b.array(0.5, x.dtype), b.subtract(b.bessel_j0(x), b.divide(b.bessel_j1(x), safe)))


_BESSEL_SLOPES: dict[str, Callable[..., Any]] = {  # for targets whose functions have no derivatives
    "bessel_j0": lambda b, x: b.negative(b.bessel_j1(x)),
    "bessel_j1": _slope_of_j1,
    "bessel_k0": lambda b, x: b.negative(b.bessel_k1(x)),
    "bessel_k0e": lambda b, x: b.subtract(b.bessel_k0e(x), b.bessel_k1e(x)),
    "bessel_k1": lambda b, x: b.subtract(b.negative(b.bessel_k0(x)), b.divide(b.bessel_k1(x), x)),
    "bessel_k1e": lambda b, x: b.subtract(b.multiply(b.bessel_k1e(x), b.subtract(1.0, b.reciprocal(x))), b.bessel_k0e(x)),
    "bessel_y0": lambda b, x: b.negative(b.bessel_y1(x)),
    "bessel_y1": lambda b, x: b.subtract(b.bessel_y0(x), b.divide(b.bessel_y1(x), x)),
}

for _operation in ("J0", "J1"):
    rows.row(f"Bessel{_operation}")(_oscillating(f"bessel_{_operation.lower()}"))
for _operation in ("K0", "K0e", "K1", "K1e"):
    rows.row(f"Bessel{_operation}")(_of_positive(f"bessel_{_operation.lower()}", math.inf, math.inf))
rows.row("BesselY0")(_of_positive("bessel_y0", -math.inf, -math.inf))
rows.row("BesselY1")(_of_positive("bessel_y1", -math.inf, math.nan))
