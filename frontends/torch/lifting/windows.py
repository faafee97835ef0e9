"""Window functions of torch, as sums of cosines over ``arange``."""

from __future__ import annotations

import math
from typing import Any

from ....sizes import apply, hint_of
from ..basics.dtypes import dtype_name
from .table import TorchBuilder, rows


def _cosines(b: TorchBuilder, length: Any, periodic: bool, dtype: Any, *weights: float) -> Any:
    """``weights[0] + sum(weights[k] * cos(2 pi k n / period))``."""
    name = dtype_name(dtype)
    if _is_short(b, length):
        return b.ones(shape=(length,), dtype=name)
    counted = b.arange(stop=length, dtype=name)
    total: Any = weights[0]
    for order, weight in enumerate(weights[1:], 1):
        angle = b.multiply(counted, 2 * math.pi * order / _period(length, periodic))
        total = b.add(b.multiply(b.cos(angle), weight), total)
    return total


def _is_short(b: TorchBuilder, length: Any) -> bool:
    """Whether a window has at most one element, which is 1 whatever the formula says: a guard where the length is a size of the inputs."""
    short = bool(hint_of(length) < 2)
    b.guard(apply("lt" if short else "ge", length, 2))
    return short


def _period(length: Any, periodic: bool) -> Any:
    return length if periodic else length - 1


rows.table({
    "hann_window": lambda b, window_length, periodic=True, *, dtype=None, **_options: _cosines(
        b, window_length, periodic, dtype, 0.5, -0.5
    ),
    "hamming_window": lambda b, window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, **_options: _cosines(
        b, window_length, periodic, dtype, alpha, -beta
    ),
    "blackman_window": lambda b, window_length, periodic=True, *, dtype=None, **_options: _cosines(
        b, window_length, periodic, dtype, 0.42, -0.5, 0.08
    ),
})  # fmt: skip


@rows.row("bartlett_window")
def bartlett_window(b: TorchBuilder, window_length: Any, periodic: bool = True, *, dtype: Any = None, **_options: Any) -> Any:
    """torch.bartlett_window: ``1 - abs(2 n / period - 1)``."""
    if _is_short(b, window_length):
        return b.ones(shape=(window_length,), dtype=dtype_name(dtype))
    counted = b.arange(stop=window_length, dtype=dtype_name(dtype))
    return b.subtract(1.0, b.abs(b.subtract(b.multiply(counted, 2 / _period(window_length, periodic)), 1.0)))


@rows.row("kaiser_window")
def kaiser_window(
    b: TorchBuilder, window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **_options: Any
) -> Any:
    """torch.kaiser_window: ``i0(beta * sqrt(1 - (2 n / period - 1) ** 2)) / i0(beta)``."""
    name = dtype_name(dtype)
    if _is_short(b, window_length):
        return b.ones(shape=(window_length,), dtype=name)
    place = b.subtract(b.multiply(b.arange(stop=window_length, dtype=name), 2 / _period(window_length, periodic)), 1.0)
    inside = b.clip(b.subtract(1.0, b.square(place)), 0.0)
    return b.divide(b.i0(b.multiply(b.sqrt(inside), beta)), b.i0(b.array(float(beta), name)))
