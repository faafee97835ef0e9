"""Rows of reductions, cumulative operations, sorting, and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ....ir import Value
from ....ops.dtypes import ITEMSIZE, UNSIGNED, is_complex, is_floating, is_inexact, is_integer
from ....sizes import product
from ...common.builder import reduce_bits
from ...common.indexing import along, cut
from ..intercept.combining import operation
from .manipulation import dilate
from .table import JaxBuilder, int_tuple, rows

# For each primitive of two elements: the primitive that reduces by it, and the neutral element.
_KNOWN: dict[str, tuple[str, Any]] = {
    "add": ("reduce_sum_p", 0), "mul": ("reduce_prod_p", 1),
    "max": ("reduce_max_p", -math.inf), "min": ("reduce_min_p", math.inf),
    "and": ("reduce_and_p", -1), "or": ("reduce_or_p", 0), "xor": ("reduce_xor_p", 0),
}  # fmt: skip


def _operation(program: Any) -> str:
    found = operation(program)
    if found is None:
        raise NotImplementedError(
            "a reduction of windows of so many elements by a function that is none of add, mul, max, min, "
            "and, or, xor"
        )
    return found


def _row(name: str) -> Any:
    row = rows.get(name)
    assert row is not None
    return row


def _with_initial(b: JaxBuilder, found: Value, init: Any, name: str) -> Value:
    if not isinstance(init, Value) and init == _KNOWN[name][1]:
        return found
    return _row(f"{name}_p")(b, found, b.operand(init, found.dtype))


@rows.row("reduce_p")
def reduce(
    b: JaxBuilder,
    x: Any,
    init: Any,
    *others: Any,
    jaxpr: Any,
    dimensions: Any,
    computation: Any = None,
    **_: Any,
) -> Any:
    name = _operation(jaxpr)
    return (_with_initial(b, _row(_KNOWN[name][0])(b, x, axes=dimensions), init, name),)


@rows.row("reduce_window_p")
def reduce_window(
    b: JaxBuilder, x: Any, init: Any, *others: Any, jaxpr: Any, consts: Any = (), **params: Any
) -> Any:
    name = _operation(jaxpr)
    # Targets can pool extremes without an array of all windows.
    if name in ("max", "min"):
        found = _row(f"reduce_window_{name}_p")(b, x, **params)
    else:
        windows, axes = sliding_windows(b, x, _KNOWN[name][1], params)
        found = _row(_KNOWN[name][0])(b, windows, axes=axes)
    return (_with_initial(b, found, init, name),)


def sliding_windows(
    b: JaxBuilder, x: Value, outside: Any, params: dict[str, Any]
) -> tuple[Value, tuple[int, ...]]:
    """Return the windows of ``x`` along new last axes, and these axes.

    ``params`` are those of ``lax.reduce_window``. ``outside`` fills the padding and the gaps of a dilated
    ``x``.
    """
    outside = b.operand(outside, x.dtype)
    x = dilate(b, x, outside, tuple(int(step) - 1 for step in params.get("base_dilation") or (1,) * x.ndim))
    x = b.pad(x, padding=tuple(map(tuple, params["padding"])), value=outside)
    rank, gaps = x.ndim, params.get("window_dilation") or (1,) * x.ndim
    for axis, (size, step, gap) in enumerate(
        zip(params["window_dimensions"], params["window_strides"], gaps)
    ):
        x = b.sliding_window(x, axis=axis, size=(int(size) - 1) * int(gap) + 1)
        x = cut(b, cut(b, x, axis, None, None, int(step)), x.ndim - 1, None, None, int(gap))
    return x, tuple(range(rank, x.ndim))


@rows.row("sort_p")
def sort(b: JaxBuilder, *operands: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    axis = int(dimension)
    if len(operands) == 1 and not is_complex(operands[0].dtype):
        return (b.sort(operands[0], axis=axis, stable=True),)
    order = ordering(b, operands[:num_keys], axis)
    return tuple(_gather_in_order(b, operand, order, axis) for operand in operands)


def ordering(b: JaxBuilder, keys: Sequence[Any], axis: int) -> Any:
    """Return the indices along ``axis`` that sort several keys in lexicographic order, stably."""
    *others, last = (part for key in keys for part in _parts(b, key))
    # Stable sorts by one key after the other, the most significant last, order by all of them.
    order = b.argsort(last, axis=axis, stable=True)
    for key in reversed(others):
        finer = b.argsort(b.take_along_axis(key, order, axis=axis), axis=axis, stable=True)
        order = b.take_along_axis(order, finer, axis=axis)
    return order


def _parts(b: JaxBuilder, key: Any) -> tuple[Any, ...]:
    return (b.real(key), b.imag(key)) if is_complex(key.dtype) else (key,)


def _gather_in_order(b: JaxBuilder, x: Any, order: Any, axis: int) -> Any:
    if x.dtype not in UNSIGNED or x.dtype == "uint8":
        return b.take_along_axis(x, order, axis=axis)
    # Not every target can gather unsigned integers, but all can gather signed ones with the same bits.
    signed = b.bitcast(x, dtype=x.dtype.removeprefix("u"))
    return b.bitcast(b.take_along_axis(signed, order, axis=axis), dtype=x.dtype)


def _totally_ordered(b: JaxBuilder, x: Any) -> Any:
    """Map floats to integers in their total order; return other arrays unchanged."""
    if not is_floating(x.dtype):
        return x
    # The bits of negative floats increase with the magnitude, so all but the sign are inverted.
    bits, count = b.bitcast(x, dtype=f"int{8 * ITEMSIZE[x.dtype]}"), 8 * ITEMSIZE[x.dtype]
    return b.where(b.less(bits, 0), b.bitwise_xor(bits, b.array(2 ** (count - 1) - 1, bits.dtype)), bits)


@rows.row("top_k_p")
def top_k(b: JaxBuilder, x: Any, *, k: int, axis: int = -1, **_: Any) -> Any:
    axis = int(axis) % x.ndim
    chosen = cut(b, b.argsort(_totally_ordered(b, x), axis=axis, descending=True, stable=True), axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)


@rows.row("approx_top_k_p")
def approx_top_k(
    b: JaxBuilder,
    x: Any,
    *,
    k: int,
    reduction_dimension: int,
    is_max_k: bool,
    aggregate_to_topk: bool,
    **_: Any,
) -> Any:
    if not aggregate_to_topk:
        raise NotImplementedError("approximate extremes before they are aggregated")
    axis = int(reduction_dimension) % x.ndim
    key = _totally_ordered(b, x) if is_max_k else x
    chosen = cut(b, b.argsort(key, axis=axis, descending=bool(is_max_k), stable=True), axis, None, k)
    return b.take_along_axis(x, chosen, axis=axis), b.astype(chosen, dtype=b.recorded[1].dtype)


def over(axes: Any) -> Any:
    axes = int_tuple(axes)
    return axes[0] if len(axes) == 1 else axes


def _accumulate(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        # JAX's primitive sums integers in their own dtype, some other frameworks in 64 bits.
        return getattr(b, name)(x, axis=over(axes), dtype=x.dtype if is_integer(x.dtype) else None)

    return row


def _extreme(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        if x.dtype == "bool":
            return (b.any if name == "max" else b.all)(x, axis=over(axes))
        if is_complex(x.dtype):
            return _complex_extreme(b, x, name, over(axes))
        return getattr(b, name)(x, axis=over(axes))

    return row


def _complex_extreme(b: JaxBuilder, x: Value, name: str, axis: Any) -> Any:
    reduced, real, imag = getattr(b, name), b.real(x), b.imag(x)
    found = reduced(real, axis=axis)
    others = b.where(
        b.equal(real, reduced(real, axis=axis, keepdims=True)), imag, -math.inf if name == "max" else math.inf
    )
    return b.complex(found, reduced(others, axis=axis))


def _collective(reduced: Callable[..., Any]) -> Callable[..., Any]:
    """Return a row for a collective over an axis of ``vmap``, which JAX has replaced by an array axis."""

    def row(b: JaxBuilder, x: Any, *, axes: Any, axis_index_groups: Any = None, **_: Any) -> Any:
        if axis_index_groups is not None or any(isinstance(axis, str) for axis in axes):
            raise NotImplementedError("a collective operation over groups, or over the devices of a mesh")
        return reduced(b, x, axes=axes)

    return row


def _bitwise(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, **_: Any) -> Any:
        if not tuple(axes):
            return x
        if x.dtype != "bool":
            return reduce_bits(b, x, name, int_tuple(axes))
        if name == "xor":
            return b.equal(b.remainder(b.sum(x, axis=over(axes), dtype="int32"), 2), 1)
        return (b.any if name == "or" else b.all)(x, axis=over(axes))

    return row


def _index(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axes: Any, index_dtype: Any) -> Any:
        # Not every target has an index of the extreme of bools.
        values = b.astype(x, dtype="uint8") if x.dtype == "bool" else x
        return b.astype(getattr(b, name)(values, axis=over(axes)), dtype=b.result.dtype)

    return row


def _complex_running(b: JaxBuilder, x: Value, name: str, axis: int) -> Any:
    if name == "logcumsumexp":
        return b.logcumsumexp(x, axis=axis)
    # A maximum or minimum is found by the ranks of the numbers in sorted order.
    order = ordering(b, [x], axis)
    places, _ = getattr(b, name)(b.argsort(order, axis=axis), axis=axis)
    return b.take_along_axis(b.take_along_axis(x, order, axis=axis), places, axis=axis)


def _running(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, *, axis: int, reverse: bool) -> Any:
        x = b.flip(x, axis=int(axis)) if reverse else x
        if name.startswith("cumulative"):
            result = getattr(b, name)(x, axis=int(axis), dtype=x.dtype if is_integer(x.dtype) else None)
        elif is_complex(x.dtype):
            result = _complex_running(b, x, name, int(axis))
        else:
            result = getattr(b, name)(x, axis=int(axis))
        result = result[0] if isinstance(result, tuple) else result
        return b.flip(result, axis=int(axis)) if reverse else result

    return row


rows.row("reduce_sum_p")(_accumulate("sum"))
rows.row("reduce_prod_p")(_accumulate("prod"))
rows.row("reduce_max_p")(_extreme("max"))
rows.row("reduce_min_p")(_extreme("min"))
for _name, _reduced in (("psum", _accumulate("sum")), ("pmax", _extreme("max")), ("pmin", _extreme("min"))):
    rows.row(f"{_name}_p")(_collective(_reduced))
for _name in ("or", "and", "xor"):
    rows.row(f"reduce_{_name}_p")(_bitwise(_name))
rows.row("argmax_p")(_index("argmax"))
rows.row("argmin_p")(_index("argmin"))
rows.row("cumsum_p")(_running("cumulative_sum"))
rows.row("cumprod_p")(_running("cumulative_prod"))
rows.row("cummax_p")(_running("cummax"))
rows.row("cummin_p")(_running("cummin"))
rows.row("cumlogsumexp_p")(_running("logcumsumexp"))


class _Windows:
    """Parameters of pooling over the last axes of a permuted array, made of those of an XLA window.

    order: permutation that moves the pooled axes to the end. These have padding, or a window or stride other
        than 1; without any such axis, the last axis is pooled.
    back: inverse of ``order``.
    kernel, strides, padding, dilation: parameters of the pooled axes.
    """

    def __init__(self, x: Value, window: Any, strides: Any, padding: Any, dilation: Any) -> None:
        moved = [
            axis
            for axis in range(x.ndim)
            if not (window[axis] == 1 and strides[axis] == 1 and tuple(padding[axis]) == (0, 0))
        ] or [x.ndim - 1]
        self.order = (*(axis for axis in range(x.ndim) if axis not in moved), *moved)
        self.back = tuple(self.order.index(axis) for axis in range(x.ndim))
        self.kernel, self.strides, self.dilation = (
            tuple(int(of[axis]) for axis in moved) for of in (window, strides, dilation)
        )
        self.padding = tuple(tuple(padding[axis]) for axis in moved)

    def params(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "strides": self.strides, "padding": self.padding}


def _windows(x: Value, params: dict[str, Any]) -> _Windows | None:
    ones = (1,) * x.ndim
    windows = _Windows(
        x,
        params["window_dimensions"],
        params["window_strides"],
        params["padding"],
        params.get("window_dilation") or ones,
    )
    return None if len(windows.kernel) > 3 or tuple(params.get("base_dilation") or ones) != ones else windows


@rows.row("reduce_window_max_p")
def reduce_window_max(b: JaxBuilder, x: Any, **params: Any) -> Any:
    if x.dtype == "bool":
        # Targets do not pool bools.
        return b.not_equal(reduce_window_max(b, b.astype(x, dtype="uint8"), **params), 0)
    if is_complex(x.dtype):
        raise NotImplementedError("the extremes of complex numbers in windows")
    windows = _windows(x, params)
    if windows is None:
        each, axes = sliding_windows(b, x, least(x.dtype), params)
        return b.max(each, axis=axes)
    pooled = b.max_pool(b.permute_dims(x, axes=windows.order), **windows.params(), dilation=windows.dilation)
    return b.permute_dims(pooled, axes=windows.back)


def least(dtype: str) -> Any:
    if is_floating(dtype):
        return -math.inf
    return 0 if dtype.startswith("u") or dtype == "bool" else -(2 ** (8 * ITEMSIZE[dtype] - 1))


def _reverse_order(b: JaxBuilder, x: Value) -> Value:
    if x.dtype == "bool":
        return b.logical_not(x)
    # The negative of the smallest integer overflows, but its complement does not.
    return b.negative(x) if is_inexact(x.dtype) else b.bitwise_invert(x)


rows.table(
    {
        "reduce_window_min_p": lambda b, x, **params: _reverse_order(
            b, reduce_window_max(b, _reverse_order(b, x), **params)
        )
    }
)


@rows.row("reduce_window_sum_p")
def reduce_window_sum(b: JaxBuilder, x: Any, **params: Any) -> Any:
    windows = _windows(x, params)
    if windows is None or any(gap != 1 for gap in windows.dilation) or not is_floating(x.dtype):
        each, axes = sliding_windows(b, x, 0, params)
        return b.sum(each, axis=axes, dtype=x.dtype)
    moved = b.permute_dims(x, axes=windows.order)
    count = len(windows.kernel)
    outside = tuple((0, 0) for _ in range(x.ndim - count))
    moved = b.pad(moved, padding=(*outside, *windows.padding))
    nothing = ((0, 0),) * count
    # ``avg_pool`` averages windows; with the divisor 1 the average is the sum.
    pooled = b.avg_pool(
        moved, kernel=windows.kernel, strides=windows.strides, padding=nothing, divisor_override=1
    )
    return b.permute_dims(pooled, axes=windows.back)


@rows.row("select_and_scatter_add_p")
def select_and_scatter_add(b: JaxBuilder, source: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    # This is the gradient of pooling.
    x = b.astype(x, dtype="uint8") if x.dtype == "bool" else x
    windows = _windows(x, params)
    if windows is None:
        raise NotImplementedError("select_and_scatter_add with windows over more than three axes")
    seen = _reverse_order(b, x) if select_prim.name == "le" else x
    moved, given = b.permute_dims(seen, axes=windows.order), b.permute_dims(source, axes=windows.order)
    _, places = b.max_pool_with_indices(moved, **windows.params(), dilation=windows.dilation)
    rank = len(windows.kernel)
    front = moved.shape[: moved.ndim - rank]
    flat = b.zeros(shape=(*front, product(moved.shape[moved.ndim - rank :])), dtype=b.result.dtype)
    parts = (
        b.reshape(part, shape=(*front, product(given.shape[given.ndim - rank :]))) for part in (places, given)
    )
    summed = b.scatter(flat, *parts, axis=flat.ndim - 1, reduce="sum")
    return b.permute_dims(b.reshape(summed, shape=moved.shape), axes=windows.back)


@rows.row("select_and_gather_add_p")
def select_and_gather_add(b: JaxBuilder, tangents: Any, x: Any, *, select_prim: Any, **params: Any) -> Any:
    seen = _reverse_order(b, x) if select_prim.name == "le" else x
    windows, _ = sliding_windows(b, seen, least(x.dtype), params)
    given, _ = sliding_windows(b, tangents, 0, params)
    flat = (*windows.shape[: x.ndim], product(windows.shape[x.ndim :]))
    place = b.argmax(b.reshape(windows, shape=flat), axis=x.ndim, keepdims=True)
    return b.getitem(
        b.take_along_axis(b.reshape(given, shape=flat), place, axis=x.ndim), key=along(x.ndim, 0)
    )


__all__ = ["int_tuple"]
