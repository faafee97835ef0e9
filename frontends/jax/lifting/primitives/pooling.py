"""Reductions over windows."""

from __future__ import annotations

import math
from typing import Any

from .....ir import Value
from .....ops.dtypes import ITEMSIZE, is_complex, is_floating, is_inexact
from .....sizes import product
from ....slicing import along
from ..table import JaxBuilder, rows, tupled
from .monoids import in_windows


class _Windows:
    """The axes that have windows, brought to the end."""

    def __init__(self, x: Value, window: Any, strides: Any, padding: Any, dilation: Any) -> None:
        moved = [axis for axis in range(x.ndim) if not (window[axis] == 1 and strides[axis] == 1 and tuple(padding[axis]) == (0, 0))] or [
            x.ndim - 1
        ]
        self.order = (*(axis for axis in range(x.ndim) if axis not in moved), *moved)
        self.back = tuple(self.order.index(axis) for axis in range(x.ndim))
        self.kernel, self.strides, self.dilation = (tuple(int(of[axis]) for axis in moved) for of in (window, strides, dilation))
        self.padding = tuple(tuple(padding[axis]) for axis in moved)

    def params(self) -> dict[str, Any]:
        """As pooling takes them."""
        return {"kernel": self.kernel, "strides": self.strides, "padding": self.padding}


def _windows(x: Value, params: dict[str, Any]) -> _Windows | None:
    """The windows as pooling takes them; None for those over an array with gaps, and over more than three axes."""
    ones = (1,) * x.ndim
    windows = _Windows(x, params["window_dimensions"], params["window_strides"], params["padding"], params.get("window_dilation") or ones)
    return None if len(windows.kernel) > 3 or tuple(params.get("base_dilation") or ones) != ones else windows


@rows.row("reduce_window_max_p")
def reduce_window_max(b: JaxBuilder, x: Any, **params: Any) -> Any:
    """The largest element of each window."""
    if x.dtype == "bool":
        return b.not_equal(reduce_window_max(b, b.astype(x, dtype="uint8"), **params), 0)
    if is_complex(x.dtype):
        raise NotImplementedError("the extremes of complex numbers in windows")
    windows = _windows(x, params)
    if windows is None:
        each, axes = in_windows(b, x, least(x.dtype), params)
        return b.max(each, axis=axes)
    pooled = b.max_pool(b.permute_dims(x, axes=windows.order), **windows.params(), dilation=windows.dilation)
    return b.permute_dims(pooled, axes=windows.back)


def least(dtype: str) -> Any:
    """What is below all elements of a type."""
    if is_floating(dtype):
        return -math.inf
    return 0 if dtype.startswith("u") or dtype == "bool" else -(2 ** (8 * ITEMSIZE[dtype] - 1))


def _turned(b: JaxBuilder, x: Value) -> Value:
    """The elements in the opposite order: an integer type has no negative of its least number, and unsigned ones of none."""
    if x.dtype == "bool":
        return b.logical_not(x)
    return b.negative(x) if is_inexact(x.dtype) else b.bitwise_invert(x)


# the smallest element of each window
rows.table({"reduce_window_min_p": lambda b, x, **params: _turned(b, reduce_window_max(b, _turned(b, x), **params))})


@rows.row("reduce_window_sum_p")
def reduce_window_sum(b: JaxBuilder, x: Any, **params: Any) -> Any:
    """The sum of each window."""
    windows = _windows(x, params)
    if windows is None or any(gap != 1 for gap in windows.dilation) or not is_floating(x.dtype):
        each, axes = in_windows(b, x, 0, params)
        return b.sum(each, axis=axes, dtype=x.dtype)
    moved = b.permute_dims(x, axes=windows.order)
    count = len(windows.kernel)
    outside = tuple((0, 0) for _ in range(x.ndim - count))
    moved = b.pad(moved, padding=(*outside, *windows.padding))
    nothing = ((0, 0),) * count
    pooled = b.avg_pool(moved, kernel=windows.kernel, strides=windows.strides, padding=nothing, divisor_override=1)
    return b.permute_dims(pooled, axes=windows.back)


@rows.row("select_and_scatter_add_p")
def select_and_scatter_add(b: JaxBuilder, source: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    """``source`` added up where the extreme of each window of ``x`` stands: the gradient of pooling."""
    x = b.astype(x, dtype="uint8") if x.dtype == "bool" else x
    windows = _windows(x, params)
    if windows is None:
        raise NotImplementedError("select_and_scatter_add with windows over more than three axes")
    seen = _turned(b, x) if select_prim.name == "le" else x
    moved, given = b.permute_dims(seen, axes=windows.order), b.permute_dims(source, axes=windows.order)
    _, places = b.max_pool_with_indices(moved, **windows.params(), dilation=windows.dilation)
    rank = len(windows.kernel)
    front = moved.shape[: moved.ndim - rank]
    flat = b.zeros(shape=(*front, product(moved.shape[moved.ndim - rank :])), dtype=b.result.dtype)
    parts = (b.reshape(part, shape=(*front, product(given.shape[given.ndim - rank :]))) for part in (places, given))
    summed = b.scatter(flat, *parts, axis=flat.ndim - 1, reduce="sum")
    return b.permute_dims(b.reshape(summed, shape=moved.shape), axes=windows.back)


@rows.row("select_and_gather_add_p")
def select_and_gather_add(b: JaxBuilder, tangents: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    """The elements of ``tangents`` where the extreme of each window of ``x`` stands: the derivative of pooling in forward mode."""
    seen = _turned(b, x) if select_prim.name == "le" else x
    windows, _ = in_windows(b, seen, least(x.dtype), params)
    given, _ = in_windows(b, tangents, 0, params)
    flat = (*windows.shape[: x.ndim], product(windows.shape[x.ndim :]))
    place = b.argmax(b.reshape(windows, shape=flat), axis=x.ndim, keepdims=True)
    return b.getitem(b.take_along_axis(b.reshape(given, shape=flat), place, axis=x.ndim), key=along(x.ndim, 0))


__all__ = ["tupled"]
