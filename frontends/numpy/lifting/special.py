"""Functions that fit nowhere else: angles, phases."""

from __future__ import annotations

import math
from typing import Any

from ....errors import UnsupportedOperation
from ....ops.dtypes import is_floating
from .manipulation import diff
from .table import NumpyBuilder, axis_of, rows


@rows.row("unwrap")
def unwrap(b: NumpyBuilder, p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    """numpy.unwrap of floats."""
    if not is_floating(p.dtype):
        raise UnsupportedOperation(f"unwrap of {p.dtype} has no row; convert to floats before")
    x, place = p, axis_of(axis, p.ndim)
    step, half = diff(b, x, axis=place), period / 2
    folded = b.subtract(b.remainder(b.add(step, half), period), half)
    folded = b.where(b.logical_and(b.equal(folded, -half), b.greater(step, 0.0)), b.array(half, x.dtype), folded)
    least = half if discont is None else max(float(discont), half)
    correction = b.where(b.less(b.abs(step), least), b.array(0.0, x.dtype), b.subtract(folded, step))
    total = b.cumulative_sum(correction, axis=place, dtype=x.dtype)
    shape = tuple(1 if i == place else dim for i, dim in enumerate(x.shape))
    return b.add(x, b.concat(b.zeros(shape=shape, dtype=x.dtype), total, axis=place))
