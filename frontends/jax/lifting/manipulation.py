"""Rows of broadcasting, reshaping, joining and padding."""

from __future__ import annotations

from typing import Any

from ....ir import Value
from ....ops.rules import nonnegative
from ....sizes import apply
from .elementwise import known_number
from .table import JaxBuilder, int_tuple, rows


@rows.row("broadcast_in_dim_p")
def broadcast_in_dim(b: JaxBuilder, x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    shape, places = tuple(shape), int_tuple(broadcast_dimensions)
    number = known_number(b, x)
    if not isinstance(number, Value) and x.ndim == 0:
        return b.full(shape=shape, fill_value=number, dtype=x.dtype)
    if places != tuple(range(len(shape) - len(places), len(shape))):
        x = b.reshape(x, shape=spread(x.shape, places, len(shape), skip_leading=True))
    return b.broadcast_to(x, shape=shape)


def spread(
    sizes: tuple[Any, ...], places: tuple[int, ...], rank: int, skip_leading: bool = False
) -> tuple[Any, ...]:
    known = dict(zip(places, sizes))
    first = min(places, default=rank) if skip_leading else 0
    return tuple(known.get(axis, 1) for axis in range(first, rank))


@rows.row("reshape_p")
def reshape(b: JaxBuilder, x: Any, *, new_sizes: Any, dimensions: Any, **_: Any) -> Any:
    return b.reshape(
        x if dimensions is None else b.permute_dims(x, axes=int_tuple(dimensions)), shape=tuple(new_sizes)
    )


@rows.row("squeeze_p")
def squeeze(b: JaxBuilder, x: Any, *, dimensions: Any) -> Any:
    gone = {int(axis) % x.ndim for axis in dimensions}
    return b.reshape(x, shape=tuple(size for axis, size in enumerate(x.shape) if axis not in gone))


rows.table({
    "transpose_p": lambda b, x, *, permutation: b.permute_dims(x, axes=int_tuple(permutation)),
    "concatenate_p": lambda b, *arrays, dimension: b.concat(*map(b.as_result, arrays), axis=int(dimension)),
    "stack_p": lambda b, *arrays, axis, **_: b.stack(*map(b.as_result, arrays), axis=int(axis)),
    "rev_p": lambda b, x, *, dimensions: b.flip(x, axis=int_tuple(dimensions)),
    "tile_p": lambda b, x, *, reps: b.tile(x, repetitions=tuple(reps)),
})  # fmt: skip


@rows.row("unstack_p")
def unstack(b: JaxBuilder, x: Any, *, axis: int, **_: Any) -> Any:
    if len(b.recorded) == 1:
        return (b.getitem(x, key=(*((None, None, 1),) * int(axis), 0)),)
    return b.unstack(x, axis=int(axis), count=len(b.recorded))


@rows.row("split_p")
def split(b: JaxBuilder, x: Any, *, sizes: Any, axis: int) -> Any:
    if len(sizes) == 1:
        return (x,)
    return b.split(x, sizes=tuple(sizes), axis=int(axis))


@rows.row("pad_p")
def pad(b: JaxBuilder, x: Any, value: Any, *, padding_config: Any) -> Any:
    x, value = b.as_result(x), known_number(b, value)
    if all(between == 0 for _, _, between in padding_config) and not isinstance(value, Value):
        return b.pad(x, padding=tuple((low, high) for low, high, _ in padding_config), value=value)
    x = dilate(b, x, value, tuple(int(between) for _, _, between in padding_config))
    if isinstance(value, Value):
        return _pad_by_array(b, x, value, padding_config)
    return b.pad(x, padding=tuple((low, high) for low, high, _ in padding_config), value=value)


def dilate(b: JaxBuilder, x: Any, value: Any, between: tuple[int, ...]) -> Any:
    """Insert ``between[axis]`` copies of ``value`` between neighbouring elements of ``x`` along each axis."""
    if not any(between):
        return x
    shape = tuple(_spaced_size(size, gap) for size, gap in zip(x.shape, between))
    key = tuple((None, None, gap + 1) for gap in between)
    return b.setitem(full_of(b, value, shape, x.dtype), x, key=key)


def _spaced_size(size: Any, gap: int) -> Any:
    length = (size - 1) * (gap + 1) + 1
    return size if not gap else length if nonnegative(size - 1) else apply("max", length, 0)


def full_of(b: JaxBuilder, value: Any, shape: tuple[Any, ...], dtype: str) -> Any:
    if isinstance(value, Value):
        return b.broadcast_to(value, shape=shape)
    return b.full(shape=shape, fill_value=b.operand(value, dtype), dtype=dtype)


def _pad_by_array(b: JaxBuilder, x: Any, value: Value, config: Any) -> Any:
    # A negative amount removes elements. It may depend on sizes, and so may its sign.
    x = b.pad(x, padding=tuple((_negative_part(low), _negative_part(high)) for low, high, _ in config))
    grown = [(_positive_part(low), _positive_part(high)) for low, high, _ in config]
    shape = tuple(size + low + high for size, (low, high) in zip(x.shape, grown))
    key = tuple((low, low + size, 1) for size, (low, _) in zip(x.shape, grown))
    return b.setitem(full_of(b, value, shape, x.dtype), x, key=key)


def _negative_part(amount: Any) -> Any:
    return 0 if nonnegative(amount) else apply("min", amount, 0)


def _positive_part(amount: Any) -> Any:
    return amount if nonnegative(amount) else apply("max", amount, 0)


# Dtypes that every target has an `arange` of.
_COUNTED = ("int32", "int64", "float32", "float64")


@rows.row("iota_p")
def iota(b: JaxBuilder, *, shape: Any, dimension: int, **_: Any) -> Any:
    shape = tuple(shape)
    dtype = b.result.dtype
    numbers = b.arange(start=0, stop=shape[dimension], step=1, dtype=dtype if dtype in _COUNTED else "int64")
    numbers = b.astype(numbers, dtype=dtype)
    if len(shape) > 1:
        numbers = b.reshape(
            numbers, shape=spread((shape[dimension],), (dimension,), len(shape), skip_leading=True)
        )
    return b.broadcast_to(numbers, shape=shape)


# JAX fills an empty array with zeros.
rows.table({"empty_p": lambda b, *, shape, **_: b.zeros(shape=tuple(shape), dtype=b.result.dtype)})


@rows.row("empty2_p")
def empty2(b: JaxBuilder, **_: Any) -> Any:
    # One element that is never read: a derivative of lax.cond returns it for a residual of the other branch.
    return b.zeros(shape=(), dtype=b.result.dtype)
