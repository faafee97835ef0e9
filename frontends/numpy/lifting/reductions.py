"""Rows of reductions and cumulative operations, also as ``ufunc.reduce`` and ``ufunc.accumulate``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_complex, is_inexact
from ....sizes import Size, product
from ....trees import iterate_structure
from ...common.builder import reduce_bits
from .table import NumpyBuilder, axes_of, axis_of, dtype_name, rows

_NONE = (None, np._NoValue)
_ALL = np._NoValue


def none_if_default(item: Any) -> Any:
    return None if item is _ALL else item


def flag(keepdims: Any) -> bool:
    return bool(none_if_default(keepdims))


def apply_mask(b: NumpyBuilder, x: Value, where: Any, neutral: Any) -> Value:
    return x if where in (True, _ALL) else b.where(b.array(where, "bool"), x, b.array(neutral, x.dtype))


def _summed(kind: str) -> str:
    # torch has no sums and products of uint64. Those of int64 have the same bits.
    return "int64" if kind == "uint64" else kind


def _total(op: str, combine: str, neutral: Any) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: Any = None,
        initial: Any = _ALL,
        where: Any = True,
    ) -> Any:
        kind = b.recorded_dtype() if dtype is None else dtype_name(dtype)
        x = apply_mask(b, b.array(a), where, neutral)
        wide = _summed(kind)
        total = b.cast(
            getattr(b, op)(b.cast(x, wide), axis=axes_of(axis, x.ndim), dtype=wide, keepdims=flag(keepdims)),
            kind,
        )
        return total if initial in _NONE else getattr(b, combine)(total, b.operand(initial, kind))

    return row


def _extreme(op: str, combine: str) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder,
        a: Any,
        axis: Any = None,
        keepdims: Any = None,
        initial: Any = _ALL,
        where: Any = True,
        dtype: Any = None,
    ) -> Any:
        x = b.array(a)
        if where not in (True, _ALL):
            # NumPy requires ``initial`` if there is a mask, so it is a neutral element.
            x = apply_mask(b, x, where, initial)
        found = getattr(b, op)(x, axis=axes_of(axis, x.ndim), keepdims=flag(keepdims))
        return found if initial in _NONE else getattr(b, combine)(found, b.operand(initial, x.dtype))

    return row


def _truth(op: str, neutral: bool) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, axis: Any = None, keepdims: Any = None, where: Any = True, dtype: Any = None
    ) -> Any:
        x = apply_mask(b, b.astype(b.array(a), dtype="bool"), where, neutral)
        return getattr(b, op)(x, axis=axes_of(axis, x.ndim), keepdims=flag(keepdims))

    return row


_SUM, _PROD = _total("sum", "add", 0), _total("prod", "multiply", 1)
_MAX, _MIN = _extreme("max", "maximum"), _extreme("min", "minimum")
rows.row("sum")(_SUM)
rows.row("prod")(_PROD)
rows.row("max", "amax")(_MAX)
rows.row("min", "amin")(_MIN)
rows.row("all")(_truth("all", True))
rows.row("any")(_truth("any", False))


# ------------------------------------------------------------------------------------------ methods of ufuncs
def _reduce(row: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(
        b: NumpyBuilder,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        keepdims: Any = False,
        initial: Any = _ALL,
        where: Any = True,
    ) -> Any:
        extra = {} if initial is _ALL else {"initial": initial}
        return row(b, array, axis=axis, dtype=dtype, keepdims=keepdims, where=where, **extra)

    return reduce


def _by_logaddexp(
    b: NumpyBuilder, a: Any, axis: Any = None, keepdims: Any = None, dtype: Any = None, where: Any = True
) -> Any:
    return b.logsumexp(
        apply_mask(b, b.cast(b.array(a), b.recorded_dtype()), where, -math.inf),
        axis=axes_of(axis, a.ndim),
        keepdims=flag(keepdims),
    )


def _by_bits(how: str) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, axis: Any = None, keepdims: Any = None, where: Any = True, dtype: Any = None
    ) -> Any:
        if where not in (True, _ALL):
            raise UnsupportedOperation(
                f"bitwise_{how}.reduce with where= has no row; select the elements before"
            )
        x = b.array(a)
        axes = axes_of(axis, x.ndim)
        whole = b.cast(x, "uint8") if x.dtype == "bool" else x
        return b.cast(
            reduce_bits(b, whole, how, tuple(range(x.ndim)) if axes is None else axes, flag(keepdims)),
            x.dtype,
        )

    return row


for _name, _row in {
    "bitwise_and": _by_bits("and"),
    "bitwise_or": _by_bits("or"),
    "bitwise_xor": _by_bits("xor"),
    "add": _SUM,
    "multiply": _PROD,
    "maximum": _MAX,
    "minimum": _MIN,
    "logical_and": _truth("all", True),
    "logical_or": _truth("any", False),
    "logaddexp": _by_logaddexp,
}.items():
    rows.row(f"{_name}.reduce")(_reduce(_row))


def _running(op: str, pick: bool = False) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, axis: Any = 0, dtype: Any = None) -> Any:
        kind = b.recorded_dtype() if dtype is None else dtype_name(dtype)
        x, place = b.cast(b.array(a), kind), axis_of(axis, a.ndim)
        if pick:
            return getattr(b, op)(x, axis=place)[0]
        if op == "logcumsumexp":
            return b.logcumsumexp(x, axis=place)
        wide = _summed(kind)
        return b.cast(getattr(b, op)(b.cast(x, wide), axis=place, dtype=wide), kind)

    return row


for _name, (_op, _pick) in {
    "add": ("cumulative_sum", False),
    "multiply": ("cumulative_prod", False),
    "maximum": ("cummax", True),
    "minimum": ("cummin", True),
    "logaddexp": ("logcumsumexp", False),
}.items():
    rows.row(f"{_name}.accumulate")(_running(_op, _pick))


def _cumulative(op: str) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = b.array(a)
        if axis is None:
            x, axis = b.reshape(x, shape=(product(x.shape),)), 0
        return _running(op)(b, x, axis, dtype)

    return row


rows.row("cumsum")(_cumulative("cumulative_sum"))
rows.row("cumprod")(_cumulative("cumulative_prod"))


def _with_initial(op: str, neutral: int) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        place = axis_of(0 if axis is None else axis, x.ndim)
        found = _running(op)(b, x, place, dtype)
        if not include_initial:
            return found
        shape = tuple(1 if i == place else dim for i, dim in enumerate(x.shape))
        return b.concat(b.full(shape=shape, fill_value=neutral, dtype=found.dtype), found, axis=place)

    return row


rows.row("cumulative_sum")(_with_initial("cumulative_sum", 0))
rows.row("cumulative_prod")(_with_initial("cumulative_prod", 1))


# ------------------------------------------------------------------------------------------ means and spreads
def _mask_as_numbers(b: NumpyBuilder, x: Value, where: Any) -> Value:
    whole = (
        b.ones(shape=x.shape, dtype="bool")
        if where in (True, _ALL)
        else b.broadcast_to(b.array(where, "bool"), shape=x.shape)
    )
    return b.astype(whole, dtype=x.dtype)


@rows.row("mean")
def mean(
    b: NumpyBuilder, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = None, where: Any = True
) -> Any:
    x = b.cast(b.array(a), dtype) if dtype is not None else b.floating(a)
    if where in (True, _ALL):
        return b.cast(b.mean(x, axis=axes_of(axis, x.ndim), keepdims=flag(keepdims)), b.recorded_dtype())
    return b.divide(
        *(
            _sum_over(b, item, axis, keepdims)
            for item in (apply_mask(b, x, where, 0), _mask_as_numbers(b, x, where))
        )
    )


def _spread(op: str) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        ddof: Any = 0,
        keepdims: Any = None,
        where: Any = True,
        mean: Any = _ALL,
        correction: Any = _ALL,
    ) -> Any:
        x = b.cast(b.array(a), dtype) if dtype is not None else b.floating(a)
        by = ddof if correction is _ALL else correction
        if where not in (True, _ALL) or mean is not _ALL:
            found = _variance_about(b, x, mean, axis, by, keepdims, where)
            return b.sqrt(found) if op == "std" else found
        return getattr(b, op)(x, axis=axes_of(axis, x.ndim), correction=by, keepdims=flag(keepdims))

    return row


def _variance_about(
    b: NumpyBuilder, x: Value, center: Any, axis: Any, by: Any, keepdims: Any, where: Any
) -> Value:
    """Compute the variance of the elements that ``where`` selects, about ``center`` or their mean."""
    if is_complex(x.dtype):
        raise UnsupportedOperation("where= and mean= of the variance of complex numbers have no row")
    if center is _ALL:
        center = b.divide(
            *(
                _sum_over(b, item, axis, True)
                for item in (apply_mask(b, x, where, 0), _mask_as_numbers(b, x, where))
            )
        )
    away = apply_mask(b, b.square(b.subtract(x, center)), where, 0)
    # As in NumPy, negative degrees of freedom count as 0.
    free = b.maximum(b.subtract(_sum_over(b, _mask_as_numbers(b, x, where), axis, keepdims), float(by)), 0.0)
    return b.divide(_sum_over(b, away, axis, keepdims), free)


def _sum_over(b: NumpyBuilder, x: Value, axis: Any, keepdims: Any) -> Value:
    return b.sum(x, axis=axes_of(axis, x.ndim), dtype=x.dtype, keepdims=flag(keepdims))


rows.row("var")(_spread("var"))
rows.row("std")(_spread("std"))


rows.table(
    {
        "ptp": lambda b, a, axis=None, keepdims=None: b.subtract(
            _MAX(b, a, axis, keepdims), _MIN(b, a, axis, keepdims)
        )
    }
)


def _known_elements(b: NumpyBuilder, x: Value) -> Any:
    """Return the elements of ``x`` if they are known, otherwise None."""
    made = b.maker(x)
    if made is None or made.op != "asarray":
        return next((np.asarray(array) for value, array in b.graph.constants.values() if value is x), None)
    data = made.params["data"]
    return None if any(isinstance(item, Size) for item in iterate_structure((data,))) else np.asarray(data)


@rows.row("average")
def average(
    b: NumpyBuilder,
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = None,
) -> Any:
    if weights is None:
        found = mean(b, a, axis, keepdims=keepdims)
        return (
            (found, _sum_over(b, b.ones(shape=a.shape, dtype=found.dtype), axis, keepdims))
            if returned
            else found
        )
    kind, x, w = b.recorded_dtype(), b.array(a), b.array(weights)
    known = _known_elements(b, w)
    x, w = b.cast(x, kind), b.cast(w, kind)
    if w.ndim != x.ndim:
        place = axis_of(axis, x.ndim)
        w = b.reshape(w, shape=tuple(dim if i == place else 1 for i, dim in enumerate(x.shape)))
    w = b.broadcast_to(w, shape=x.shape)
    total = [
        b.sum(item, axis=axes_of(axis, x.ndim), dtype=kind, keepdims=flag(keepdims))
        for item in (b.multiply(x, w), w)
    ]
    # NumPy raises an error for weights whose sum is 0.
    if known is None or not np.all(known.astype(kind).sum(axis if known.ndim == x.ndim else None)):
        b.expect(b.all(b.not_equal(total[1], 0)), True)
    found = b.divide(*total)
    return (found, total[1]) if returned else found


# ---------------------------------------------------------------------------------------------- without NaN
def _without_nan(b: NumpyBuilder, x: Value, neutral: Any) -> Value:
    return b.where(b.isnan(x), b.array(neutral, x.dtype), x) if is_inexact(x.dtype) else x


def _skipping(row: Callable[..., Any], neutral: Any) -> Callable[..., Any]:
    def skipping(b: NumpyBuilder, a: Any, axis: Any = None, **kwargs: Any) -> Any:
        return row(b, _without_nan(b, b.array(a), neutral), axis=axis, **kwargs)

    return skipping


def _skipping_extreme(row: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def skipping(
        b: NumpyBuilder,
        a: Any,
        axis: Any = None,
        keepdims: Any = None,
        initial: Any = _ALL,
        where: Any = True,
    ) -> Any:
        x = b.array(a)
        if initial not in _NONE:
            return row(b, _without_nan(b, x, neutral), axis, keepdims, initial, where)
        if where not in (True, _ALL):
            raise UnsupportedOperation("where= of nanmax and nanmin without initial= has no row")
        if not is_inexact(x.dtype):
            return row(b, x, axis, keepdims)
        # The extreme of nothing but NaN is NaN.
        empty = b.all(b.isnan(x), axis=axes_of(axis, x.ndim), keepdims=flag(keepdims))
        return b.where(empty, b.array(math.nan, x.dtype), row(b, _without_nan(b, x, neutral), axis, keepdims))

    return skipping


rows.row("nansum")(_skipping(_SUM, 0))
rows.row("nanprod")(_skipping(_PROD, 1))
rows.row("nancumsum")(_skipping(_cumulative("cumulative_sum"), 0))
rows.row("nancumprod")(_skipping(_cumulative("cumulative_prod"), 1))
rows.row("nanmax")(_skipping_extreme(_MAX, -math.inf))
rows.row("nanmin")(_skipping_extreme(_MIN, math.inf))


@rows.row("nanmean")
def nanmean(b: NumpyBuilder, a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = None) -> Any:
    x = b.cast(b.array(a), dtype) if dtype is not None else b.floating(a)
    return b.nanmean(x, axis=axes_of(axis, x.ndim), keepdims=flag(keepdims))


def _nan_spread(root: bool) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = None
    ) -> Any:
        x, over = b.floating(a), axes_of(axis, a.ndim)
        if is_complex(x.dtype):
            raise UnsupportedOperation("nanvar and nanstd of complex numbers have no row")
        away = _without_nan(b, b.subtract(x, b.nanmean(x, axis=over, keepdims=True)), 0)
        there = b.sum(
            b.astype(b.logical_not(b.isnan(x)), dtype=x.dtype),
            axis=over,
            dtype=x.dtype,
            keepdims=flag(keepdims),
        )
        free = b.subtract(there, float(ddof))
        found = b.divide(b.sum(b.square(away), axis=over, dtype=x.dtype, keepdims=flag(keepdims)), free)
        # NumPy returns NaN if no degrees of freedom are left.
        found = b.where(b.greater(free, 0.0), found, b.array(math.nan, x.dtype))
        return b.sqrt(found) if root else found

    return row


rows.row("nanvar")(_nan_spread(root=False))
rows.row("nanstd")(_nan_spread(root=True))


# --------------------------------------------------------------------------------------- positions and counts
def _position(op: str, neutral: float | None = None) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, axis: Any = None, *, keepdims: Any = None) -> Any:
        x = b.array(a)
        place = None if axis is None else axis_of(axis, x.ndim)
        if neutral is not None and is_inexact(x.dtype):
            # NumPy raises an error for a slice of nothing but NaN.
            nothing = b.all(b.isnan(x), axis=axes_of(place, x.ndim))
            b.expect(b.any(nothing) if nothing.ndim else nothing, False)
            x = _without_nan(b, x, neutral)
        return getattr(b, op)(
            b.reshape(x, shape=(1,)) if not x.ndim else x, axis=place, keepdims=flag(keepdims)
        )

    return row


rows.row("argmax")(_position("argmax"))
rows.row("argmin")(_position("argmin"))
rows.row("nanargmax")(_position("argmax", -math.inf))
rows.row("nanargmin")(_position("argmin", math.inf))


@rows.row("count_nonzero")
def count_nonzero(b: NumpyBuilder, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return b.count_nonzero(b.array(a), axis=axes_of(axis, a.ndim), keepdims=bool(keepdims))


@rows.row("trace")
def trace(b: NumpyBuilder, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    kind = b.recorded_dtype() if dtype is None else dtype_name(dtype)
    diagonal = b.diagonal(a, offset=offset, axis1=axis_of(axis1, a.ndim), axis2=axis_of(axis2, a.ndim))
    return b.sum(b.cast(diagonal, kind), axis=(diagonal.ndim - 1,), dtype=kind)
