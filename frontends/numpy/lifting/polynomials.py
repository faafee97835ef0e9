"""Polynomials by their coefficients, the highest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_complex
from ....sizes import apply, hint_of
from ...slicing import holds
from .statistics import convolve
from .table import NumpyBuilder, rows


@rows.row("polyfit")
def polyfit(b: NumpyBuilder, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """numpy.polyfit: least squares with the columns scaled to length 1."""
    if full or cov or not isinstance(deg, int):
        raise UnsupportedOperation("full=, cov= and chosen powers of polyfit have no row")
    x, y = b.add(b.array(x), b.array(0.0, "float64")) if not isinstance(x, Value) else b.floating(x), b.floating(b.array(y))
    least = float(np.finfo(x.dtype).eps) * hint_of(x.shape[0]) if rcond is None else float(rcond)
    kind = b.result_type(b.array(0, "int64"), x, y)  # numpy.vander multiplies by integers, which widens float32
    x = b.cast(x, kind)
    powers = b.arange(start=deg, stop=-1, step=-1, dtype="int64")
    columns = b.pow(b.reshape(x, shape=(x.shape[0], 1)), b.cast(powers, kind))
    right = b.reshape(y, shape=(y.shape[0], 1)) if y.ndim == 1 else y
    if w is not None:
        weights = b.reshape(b.array(w, kind), shape=(x.shape[0], 1))
        columns = b.multiply(columns, weights)
        right = b.cast(b.multiply(b.cast(right, kind), weights), right.dtype)
    scale = b.sqrt(b.sum(b.square(columns), axis=(0,)))
    solution = b.lstsq(b.divide(columns, scale), b.cast(right, kind), rcond=least)[0]
    solution = b.divide(solution, b.reshape(scale, shape=(deg + 1, 1)))
    return b.reshape(solution, shape=(deg + 1,)) if y.ndim == 1 else solution


def _sum_of_two(name: str) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a1: Any, a2: Any) -> Any:
        """numpy.polyadd, numpy.polysub: zeros are put before the shorter one."""
        x, y = (item if item.ndim else b.reshape(item, shape=(1,)) for item in b.promote(a1, a2))
        length = x.shape[0] if holds(b, y.shape[0], x.shape[0]) else apply("max", x.shape[0], y.shape[0])
        return getattr(b, name)(*(b.pad(item, padding=((length - item.shape[0], 0),), value=b.operand(0, item.dtype)) for item in (x, y)))

    return row


rows.row("polyadd")(_sum_of_two("add"))
rows.row("polysub")(_sum_of_two("subtract"))


@rows.row("polymul")
def polymul(b: NumpyBuilder, a1: Any, a2: Any) -> Value:
    """numpy.polymul: a convolution, of coefficients whose first is not 0, for numpy leaves zeros at the front out."""
    x, y = (_leading(b, item if item.ndim else b.reshape(item, shape=(1,))) for item in b.promote(a1, a2))
    if hint_of(x.shape[0]) + hint_of(y.shape[0]) - 1 != hint_of(b.recorded[0].shape[0]):
        raise UnsupportedOperation("polymul of polynomials that begin with 0 has no row: how many coefficients it gives depends on them")
    found: Value = convolve(b, x, y)
    return found


def _leading(b: NumpyBuilder, x: Value) -> Value:
    """A polynomial whose first coefficient is looked at; where there is but one, it may be 0."""
    count = x.shape[0]
    if hint_of(count) == 1:
        b.fix(count)
        return x
    b.guard(apply("gt", count, 1))
    b.expect(b.not_equal(b.getitem(x, key=(0,)), b.operand(0, x.dtype)), True)
    return x


@rows.row("poly")
def poly(b: NumpyBuilder, seq_of_zeros: Any) -> Value:
    """numpy.poly of real roots: one factor after the other."""
    roots = b.array(seq_of_zeros)
    if roots.ndim != 1 or is_complex(roots.dtype):
        raise UnsupportedOperation(
            "poly of a matrix, or of complex roots, has no row: whether it gives real numbers depends on the elements"
        )
    roots = b.cast(roots, b.recorded_dtype())
    result = b.asarray(data=(1,), dtype=roots.dtype)
    for root in b.unstack(roots, axis=0, count=b.fix(roots.shape[0])):
        shifted = b.pad(result, padding=((1, 0),), value=b.operand(0, roots.dtype))
        result = b.subtract(b.pad(result, padding=((0, 1),), value=b.operand(0, roots.dtype)), b.multiply(shifted, root))
    return result


@rows.row("polyder")
def polyder(b: NumpyBuilder, p: Any, m: int = 1) -> Any:
    x = b.array(p)
    for _ in range(m):
        powers = b.arange(start=x.shape[0] - 1, stop=0, step=-1, dtype="int64")
        x = b.multiply(*b.promote(b.getitem(x, key=((None, -1, 1),)), powers))
    return x


@rows.row("polyint")
def polyint(b: NumpyBuilder, p: Any, m: int = 1, k: Any = None) -> Any:
    """numpy.polyint, whose constants are 0."""
    if k is not None:
        raise UnsupportedOperation("k= of polyint has no row")
    x = b.array(p)
    for _ in range(m):
        powers = b.arange(start=x.shape[0], stop=0, step=-1, dtype="int64")
        x = b.divide(*b.promote(b.floating(x), powers))
        x = b.concat(x, b.zeros(shape=(1,), dtype=x.dtype), axis=0)
    return x


@rows.row("polyval")
def polyval(b: NumpyBuilder, p: Any, x: Any) -> Any:
    """numpy.polyval, by Horner's rule."""
    kind = b.recorded_dtype()
    coefficients = [b.array(item, kind) for item in p] if isinstance(p, (list, tuple)) else _parts(b, b.cast(p, kind))
    at = b.cast(b.array(x, kind if not isinstance(x, Value) else None), kind)
    total = b.zeros(shape=at.shape, dtype=kind)
    for coefficient in coefficients:
        total = b.add(b.multiply(total, at), coefficient)
    return total


def _parts(b: NumpyBuilder, p: Value) -> list[Value]:
    return list(b.unstack(p, axis=0, count=b.fix(p.shape[0])))
