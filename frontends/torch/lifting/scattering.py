"""Reading and writing through index arrays and masks."""

from __future__ import annotations

from typing import Any

from ....ir import Value
from ....sizes import hint_of, product
from ...slicing import fitted, holds, slice_inside
from .demands import assume
from .manipulation import broadcast_all, ravel
from .table import TorchBuilder, axis, rows

_REDUCTIONS = {
    None: None, "sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod",
    "mean": "mean", "amax": "max", "amin": "min",
}  # fmt: skip


def vector(b: TorchBuilder, x: Any) -> Any:
    """An array of at least one axis."""
    return b.reshape(x, shape=(1,)) if isinstance(x, Value) and x.ndim == 0 else x


def picks_nothing(b: TorchBuilder, x: Value, index: Value) -> bool:
    """Whether ``index`` is one that torch takes only because it has no elements: of another type or rank. Then it has none at any call."""
    if index.dtype in ("int32", "int64") and max(x.ndim, 1) == max(index.ndim, 1):
        return False
    for size in index.shape:
        if hint_of(size) == 0:
            b.fix(size)
    return True


# ---------------------------------------------------------------------------------------------- reading
@rows.row("gather")
def gather(b: TorchBuilder, input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """torch.gather: the other axes of ``index`` may be smaller."""
    if picks_nothing(b, input, index):
        return b.zeros(shape=index.shape, dtype=input.dtype)
    x, places = vector(b, input), vector(b, index)
    along = axis(dim, x.ndim)
    return b.reshape(b.take_along_axis(fitted(b, x, places.shape, along), places, axis=along), shape=index.shape)


@rows.row("take_along_dim")
def take_along_dim(b: TorchBuilder, input: Any, indices: Any, dim: int | None = None) -> Any:
    """torch.take_along_dim: the other axes broadcast; without ``dim`` into the flattened array. Along ``dim`` indices go round, however
    large they are."""
    if dim is None:
        return b.take(ravel(b, input), ravel(b, indices), axis=0)
    place = axis(dim, input.ndim)
    return b.take_along_axis(input, b.remainder(indices, input.shape[place]), axis=place)


rows.table({"take": lambda b, input, index: b.take(ravel(b, input), index, axis=0)})  # from the flattened array


@rows.row("index_select", "index_select_copy")
def index_select(b: TorchBuilder, input: Any, dim: int, index: Any) -> Any:
    if input.ndim == 0:
        return b.reshape(b.take(vector(b, input), vector(b, index), axis=0), shape=())
    return b.take(input, vector(b, index), axis=axis(dim, input.ndim))


@rows.row("masked_select")
def masked_select(b: TorchBuilder, input: Any, mask: Any) -> Any:
    x, where = broadcast_all(b, input, mask)
    return b.boolean_mask(x, where, axis=0, hint=b.recorded[0].hints[0] if b.recorded else 0)


# ---------------------------------------------------------------------------------------------- writing along an axis
def scattered(b: TorchBuilder, x: Any, dim: int, index: Any, source: Any, reduce: str | None, include_self: bool = True) -> Any:
    """``x`` with ``source`` written where ``index`` says along ``dim``; arrays without axes count as vectors."""
    if picks_nothing(b, x, index):
        return x
    target, places = vector(b, x), vector(b, index)
    values = vector(b, b.operand(source, x.dtype)) if isinstance(source, Value) else b.operand(source, x.dtype)
    for place, (size, count) in enumerate(zip(target.shape, places.shape)):
        if place != axis(dim, target.ndim):
            assume(b, "ge", size, count)
    if isinstance(values, Value):
        values = fitted(b, values, places.shape)
    written = b.scatter(target, places, values, axis=axis(dim, target.ndim), reduce=_REDUCTIONS[reduce], include_self=include_self)
    return b.reshape(written, shape=x.shape)


@rows.row("scatter")
def scatter(b: TorchBuilder, input: Any, dim: int, index: Any, src: Any = None, value: Any = None, *, reduce: str | None = None) -> Any:
    """torch.scatter: from an array, or one number everywhere."""
    source = value if src is None else src
    if isinstance(source, Value) and source.ndim == 0 and index.ndim:
        source = b.broadcast_to(source, shape=index.shape)
    return scattered(b, input, dim, index, source, reduce)


rows.table({
    "scatter_add": lambda b, input, dim, index, src: scattered(b, input, dim, index, src, "sum"),
    "scatter_reduce": lambda b, input, dim, index, src, reduce, *, include_self=True: scattered(
        b, input, dim, index, src, reduce, include_self
    ),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- writing slices along an axis
def indexed(b: TorchBuilder, x: Any, dim: int, index: Any, source: Any, reduce: str | None, include_self: bool = True) -> Any:
    """``x`` with the slices of ``source`` written to those that ``index`` names along ``dim``."""
    target, values, places, along = vector(b, x), b.operand(source, x.dtype), vector(b, index), axis(dim, max(x.ndim, 1))
    if isinstance(values, Value) and values.ndim == target.ndim:
        for place, (size, wanted) in enumerate(zip(values.shape, target.shape)):
            assume(b, "eq", size, places.shape[0] if place == along else wanted)
    written = b.scatter_nd(target, values, places, axes=(along,), reduce=_REDUCTIONS[reduce], include_self=include_self)
    return b.reshape(written, shape=x.shape)


@rows.row("index_add")
def index_add(b: TorchBuilder, input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    source = vector(b, source)
    return indexed(b, input, dim, index, source if alpha == 1 else b.multiply(source, b.operand(alpha, source.dtype)), "sum")


rows.table({
    "index_copy": lambda b, input, dim, index, source: indexed(b, input, dim, index, vector(b, source), None),
    "index_fill": lambda b, input, dim, index, value: indexed(b, input, dim, index, value, None),
    "index_reduce": lambda b, input, dim, index, source, reduce, *, include_self=True: indexed(
        b, input, dim, index, vector(b, source), reduce, include_self
    ),
})  # fmt: skip


@rows.row("put")
def put(b: TorchBuilder, input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """torch.put: into the flattened array."""
    assume(b, "eq", product(source.shape), product(index.shape))
    values = b.reshape(source, shape=index.shape)
    written = b.scatter_nd(ravel(b, input), values, index, axes=(0,), reduce="sum" if accumulate else None)
    return b.reshape(written, shape=input.shape)


# ---------------------------------------------------------------------------------------------- masks
@rows.row("masked_fill")
def masked_fill(b: TorchBuilder, input: Any, mask: Any, value: Any) -> Any:
    if isinstance(value, Value) and "complex" in value.dtype and "complex" not in input.dtype:
        b.expect(b.all(b.equal(b.imag(value), 0.0)), True)
    return b.where(b.cast(mask, "bool"), b.operand(value, input.dtype), input)


@rows.row("masked_scatter")
def masked_scatter(b: TorchBuilder, input: Any, mask: Any, source: Any) -> Any:
    x, where = broadcast_all(b, input, b.cast(mask, "bool"))
    return b.masked_scatter(x, where, source)


@rows.row("fill_diagonal")
def fill_diagonal(b: TorchBuilder, input: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Tensor.fill_diagonal_ in its pure form; with ``wrap`` the diagonal goes on below the end of a tall matrix."""
    step = sum(product(input.shape[i + 1 :]) for i in range(input.ndim))
    tall = input.ndim == 2 and not wrap and not holds(b, input.shape[0], input.shape[1])
    flat = ravel(b, input)
    item = slice_inside(b, None, input.shape[1] * input.shape[1] if tall else None, step, flat.shape[0])
    return b.reshape(b.setitem(flat, b.operand(fill_value, input.dtype), key=(item,)), shape=input.shape)
