"""``scatter``: slices written, or added, at places that an array of indices tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.dtypes import is_complex
from .....sizes import product
from ....slicing import cut
from ..table import JaxBuilder, rows, tupled
from .gathering import Places, mode_name
from .sorting import ordering

_REDUCE = {"scatter": None, "scatter_add": "sum", "scatter_sub": "sum", "scatter_mul": "prod", "scatter_min": "min", "scatter_max": "max"}
_ELEMENT = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}


def _scatter(name: str, reduce: str | None) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any) -> Any:
        x, updates = b.as_result(x), b.as_result(updates)
        if reduce in ("min", "max") and is_complex(x.dtype):
            return _by_order(
                b, x, updates, lambda *ranks: _scattered(b, ranks[0], indices, ranks[1], dimension_numbers, mode_name(mode), reduce)
            )
        updates = b.negative(updates) if name == "scatter_sub" else updates
        return _scattered(b, x, indices, updates, dimension_numbers, mode_name(mode), reduce)

    return row


def _by_order(b: JaxBuilder, x: Value, updates: Value, scattered: Callable[..., Any]) -> Any:
    """What ``scattered`` finds for the places that the numbers have in their order: complex numbers are compared by nothing else."""
    parts = [b.reshape(part, shape=(product(part.shape),)) for part in (x, updates)]
    flat = b.concat(*parts, axis=0)
    order = ordering(b, [flat], 0)
    ranks = b.argsort(order, axis=0)
    count = parts[0].shape[0]
    mine, others = cut(b, ranks, 0, None, count), cut(b, ranks, 0, count, None)
    found = scattered(b.reshape(mine, shape=x.shape), b.reshape(others, shape=updates.shape))
    return b.take(b.take(flat, order, axis=0), found, axis=0)


for _name, _kind in _REDUCE.items():
    rows.row(f"{_name}_p")(_scatter(_name, _kind))


def _scattered(b: JaxBuilder, x: Value, indices: Value, updates: Value, d: Any, mode: str, reduce: str | None) -> Any:
    if x.ndim == updates.ndim == 0:  # the only element there is
        return getattr(b, _ELEMENT[reduce])(x, updates) if reduce else updates
    gone, batched = tupled(d.inserted_window_dims), tupled(d.operand_batching_dims)
    windows = tupled(d.update_window_dims)
    kept = [axis for axis in range(x.ndim) if axis not in gone and axis not in batched]
    sizes = [1] * x.ndim
    for place, axis in zip(windows, kept):
        sizes[axis] = updates.shape[place]
    places = Places(b, x, indices, tuple(sizes), d.scatter_dims_to_operand_dims, gone, batched, d.scatter_indices_batching_dims)
    if not places.axes:
        places.axes = places.windows = [0]
        places.whole, places.rank = places.whole[1:], len(places.batch) + 1
    arrays = places.arrays(clip=mode == "CLIP")  # XLA drops what lies outside, whatever was promised
    batch = iter(range(len(places.batch)))
    named = [("axis", kept[windows.index(i)]) if i in windows else ("batch", next(batch)) for i in range(updates.ndim)]
    values = b.permute_dims(updates, axes=tuple(named.index(item) for item in places.placed()))
    if places.inside:
        return _dropping(b, x, values, arrays, places, reduce)
    return b.scatter_nd(x, values, *arrays, axes=tuple(places.axes), reduce=reduce)


def _dropping(b: JaxBuilder, x: Value, values: Value, arrays: list[Value], places: Places, reduce: str | None) -> Any:
    """What lies outside adds nothing; what replaces goes to one more row at the end, which is cut off."""
    inside = places.inside[0]
    for more in places.inside[1:]:
        inside = b.logical_and(inside, more)
    inside = b.reshape(inside, shape=(*inside.shape, *(1,) * len(places.windows)))
    if reduce in ("sum", "prod"):
        shape = [1] * len(places.placed())
        for i, (kind, number) in enumerate(places.placed()):
            shape[i] = places.batch[number] if kind == "batch" else 1
        nothing = b.operand(0 if reduce == "sum" else 1, values.dtype)
        values = b.where(b.reshape(inside, shape=tuple(shape)), values, nothing)
        return b.scatter_nd(x, values, *arrays, axes=tuple(places.axes), reduce=reduce)
    axis = places.axes[0]
    padding = tuple((0, 1) if i == axis else (0, 0) for i in range(x.ndim))
    end = b.full(shape=(), fill_value=x.shape[axis], dtype=arrays[0].dtype)
    larger = b.scatter_nd(
        b.pad(x, padding=padding), values, b.where(inside, arrays[0], end), *arrays[1:], axes=tuple(places.axes), reduce=reduce
    )
    return b.getitem(larger, key=(*((None, None, 1),) * axis, (None, x.shape[axis], 1)))
