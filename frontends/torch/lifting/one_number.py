"""Half precision beside a single number: torch computes products and quotients in float32, and keeps the number as it is.

Half precision may not hold it: 65536 is infinite in float16, and 1e-9 is 0. In sums, remainders and comparisons torch rounds it beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ....ir import Value
from ....sizes import Size
from ...read_numbers import is_read
from ..basics.dtypes import torch_dtype
from .table import TorchBuilder

HALF = ("float16", "bfloat16")


def computed(b: TorchBuilder, operation: Callable[..., Any], x: Any, y: Any, dtype: str, exactly: bool = False) -> Any:
    """``operation`` of both operands in ``dtype``, or in float32 where torch keeps the number ``y`` beside half precision.

    A number that is rounded by its last digit makes no difference, unless the result jumps with it (``exactly``).
    """
    if dtype in HALF and keeps(y, dtype, exactly):
        return b.cast(operation(b.cast(x, "float32"), b.operand(y, "float32")), dtype)
    return operation(*b.promote(x, y, dtype=dtype))


def keeps(y: Any, dtype: str, exactly: bool = False) -> bool:
    """Whether ``y`` is one number that this half precision would change: of arrays without axes, and of what the function reads, nobody
    knows."""
    if isinstance(y, Value):
        return y.ndim == 0 and y.dtype not in ("bool", dtype)
    if is_read(y):
        return True
    if isinstance(y, (Size, complex)) or y == held(y, dtype):
        return False
    return exactly or not torch.finfo(torch_dtype(dtype)).tiny <= abs(held(y, dtype)) < math.inf


def held(number: float, dtype: str) -> float:
    """What half precision makes of a number: 0.1 is 0.0999755859375 in float16, 1e-12 is 0. In other types it is itself."""
    return float(torch.tensor(number, dtype=torch.float64).to(torch_dtype(dtype))) if dtype in HALF else number


def widened(b: TorchBuilder, operation: Callable[..., Any], x: Any, **params: Any) -> Any:
    """``operation`` of half precision in float32, as torch computes with numbers that say where it changes."""
    return b.cast(operation(b.cast(x, "float32"), **params), x.dtype) if x.dtype in HALF else operation(x, **params)
