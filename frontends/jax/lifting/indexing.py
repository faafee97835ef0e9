"""Rows of ``slice``, ``dynamic_slice``, ``dynamic_update_slice``, ``gather`` and ``scatter``."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ....ir import Value
from ....ops.dtypes import UNSIGNED, is_complex, is_inexact, is_integer
from ....sizes import apply, hint_of, product
from ...common.indexing import ELEMENTWISE, cut, holds_with_guard
from .elementwise import known_number
from .reductions import ordering
from .table import JaxBuilder, clamp_index, int_tuple, is_inside, rows

_WHOLE = (None, None, 1)


@rows.row("slice_p")
def slice_(b: JaxBuilder, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return b.getitem(
        x, key=tuple(_item(*bounds) for bounds in zip(start_indices, limit_indices, steps, x.shape))
    )


def _item(start: Any, stop: Any, step: Any, size: Any) -> Any:
    return (None if start == 0 else start, None if stop == size else stop, int(step))


def clamp_starts(b: JaxBuilder, x: Value, starts: tuple[Any, ...], sizes: tuple[Any, ...]) -> list[Any]:
    return [
        _start(b, known_number(b, start), have, size) for start, have, size in zip(starts, x.shape, sizes)
    ]


def _start(b: JaxBuilder, start: Any, have: Any, size: Any) -> Any:
    if have == size:
        return 0
    last = have - size
    if isinstance(start, Value):
        if is_inside(b, start, 0, last):
            return start
        top = last if isinstance(last, int) else b.full(shape=(), fill_value=last, dtype=start.dtype)
        return b.clip(start, 0, top)
    # JAX's clamping has no effect in the recorded call. A guard excludes calls in which it has one.
    if hint_of(last) >= hint_of(start) >= 0:
        if not isinstance(start, int):
            b.guard(apply("ge", start, 0))
        if not isinstance(last, int) or not isinstance(start, int):
            b.guard(apply("le", start, last))
        return start
    return apply("max", apply("min", start, last), 0)


@rows.row("dynamic_slice_p")
def dynamic_slice(b: JaxBuilder, x: Any, *starts: Any, slice_sizes: Any) -> Any:
    sizes = tuple(slice_sizes)
    begin = clamp_starts(b, x, starts, sizes)
    key = tuple(
        _WHOLE if isinstance(at, Value) or have == size else (at, at + size, 1)
        for at, size, have in zip(begin, sizes, x.shape)
    )
    found = b.getitem(x, key=key)
    computed = [axis for axis, at in enumerate(begin) if isinstance(at, Value)]
    if not computed:
        return found
    return b.dynamic_slice(
        found,
        *(begin[axis] for axis in computed),
        axes=tuple(computed),
        sizes=tuple(sizes[axis] for axis in computed),
    )


@rows.row("dynamic_update_slice_p")
def dynamic_update_slice(b: JaxBuilder, x: Any, update: Any, *starts: Any) -> Any:
    begin = clamp_starts(b, x, starts, update.shape)
    if not any(isinstance(at, Value) for at in begin):
        return b.setitem(x, update, key=tuple((at, at + size, 1) for at, size in zip(begin, update.shape)))
    axes = tuple(
        axis
        for axis, (have, size) in enumerate(zip(x.shape, update.shape))
        if have != size or isinstance(begin[axis], Value)
    )
    return b.dynamic_update_slice(x, update, *(begin[axis] for axis in axes), axes=axes)


class SliceIndices:
    """Index arrays of a gather or scatter.

    sizes: size of a slice along each axis of ``x``.
    batch: shape of ``indices`` without its last axis.
    axes: indexed axes of ``x``.
    windows: those of ``axes`` that are in the slices, not collapsed or batched.
    unindexed: axes of ``x`` that are not indexed.
    inside: bool arrays that tell which slices are in bounds, filled by :meth:`arrays`.
    """

    def __init__(
        self,
        b: JaxBuilder,
        x: Value,
        indices: Value,
        sizes: tuple[Any, ...],
        started: Any,
        collapsed: Any,
        batched: Any,
        batch_of: Any,
        as_given: bool = False,
    ) -> None:
        # Not every target indexes by unsigned integers.
        indices = b.astype(indices, dtype="int64") if indices.dtype in UNSIGNED else indices
        self.b, self.x, self.sizes = b, x, sizes
        self.batch = indices.shape[:-1]
        self.started, self.collapsed, self.batched = (
            int_tuple(started),
            int_tuple(collapsed),
            int_tuple(batched),
        )
        self.axes = [
            axis
            for axis in range(x.ndim)
            if axis in self.batched or axis in self.collapsed or not self._is_whole(axis)
        ]
        self.windows = [axis for axis in self.axes if axis not in self.collapsed and axis not in self.batched]
        self.unindexed = [axis for axis in range(x.ndim) if axis not in self.axes]
        self.rank = len(self.batch) + len(self.windows)
        # If True, negative indices of the user are passed on without the size that JAX adds to them.
        self.as_given = as_given
        self.inside: list[Value] = []
        self.batch_of = dict(zip(self.batched, int_tuple(batch_of)))
        self.starts = {axis: pick_last(b, indices, place) for place, axis in enumerate(self.started)}

    def _is_whole(self, axis: int) -> bool:
        return bool(self.sizes[axis] == self.x.shape[axis])

    def _starts_at_0(self, axis: int) -> bool:
        is_known = self.sizes[axis] != 1 or axis not in self.axes
        return is_known and self._is_whole(axis) and axis not in self.collapsed

    def arrays(self, clip: bool) -> list[Value]:
        dtype = next(iter(self.starts.values())).dtype if self.starts else "int32"
        if not clip:
            self.inside.extend(
                self.b.equal(start, 0)
                for axis, start in self.starts.items()
                if self._starts_at_0(axis)
                and known_start(self.b, start) != 0
                and not is_inside(self.b, start, 0, 0)
            )
        return [self._array(axis, dtype, clip) for axis in self.axes]

    def _array(self, axis: int, dtype: str, clip: bool) -> Value:
        b = self.b
        if axis in self.batch_of:
            place = self.batch_of[axis]
            return self._reshaped(b.arange(stop=self.batch[place], dtype=dtype), place)
        start = self._start(axis, clip)
        if start is not None:
            start = b.reshape(start, shape=(*start.shape, *(1,) * len(self.windows)))
        if axis not in self.windows:
            return start if start is not None else b.zeros(shape=(1,) * self.rank, dtype=dtype)
        steps = self._reshaped(
            b.arange(stop=self.sizes[axis], dtype=dtype), len(self.batch) + self.windows.index(axis)
        )
        return steps if start is None else b.add(start, steps)

    def _start(self, axis: int, clip: bool) -> Any:
        """Return the start indices along an axis, or None for zeros.

        Without ``clip``, the bools that tell which ones are in bounds may be appended to ``inside``.
        """
        start = self.starts.get(axis)
        if start is None or self._starts_at_0(axis):
            return None
        number = known_start(self.b, start)
        if isinstance(number, int) and (known := self._known(number, axis)) is not None:
            return known
        b, last = self.b, self.x.shape[axis] - self.sizes[axis]
        if is_inside(b, start, 0, last):
            return start
        raw = user_index(b, start, self.x.shape[axis]) if self.as_given and self.sizes[axis] == 1 else None
        if raw is not None:
            return clamp_index(b, raw, self.x.shape[axis])
        top = last if isinstance(last, int) else b.full(shape=(), fill_value=last, dtype=start.dtype)
        if not clip:
            self.inside.append(b.logical_and(b.greater_equal(start, 0), b.less_equal(start, top)))
        return b.clip(start, 0, top)

    def _known(self, number: int, axis: int) -> Any:
        if number < 0 or not holds_with_guard(self.b, number + self.sizes[axis], self.x.shape[axis]):
            return None
        return self.b.full(shape=self.batch, fill_value=number, dtype=self.starts[axis].dtype)

    def _reshaped(self, vector: Value, place: int) -> Value:
        return self.b.reshape(
            vector, shape=tuple(vector.shape[0] if i == place else 1 for i in range(self.rank))
        )

    def result_axes(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = [("batch", i) for i in range(len(self.batch))] + [
            ("axis", axis) for axis in self.windows
        ]
        rest: list[tuple[str, int]] = [("axis", axis) for axis in self.unindexed]
        # As in NumPy, the batch axes are in the place of adjacent index arrays, and in front of separate
        # ones.
        together = self.axes[-1] - self.axes[0] + 1 == len(self.axes)
        place = self.axes[0] if together else 0
        return [*rest[:place], *found, *rest[place:]]


def pick_last(b: JaxBuilder, indices: Value, place: int) -> Value:
    found: Value = b.getitem(indices, key=(*((None, None, 1),) * (indices.ndim - 1), place))
    return found


def known_start(b: JaxBuilder, start: Any) -> Any:
    return filled_with(b, _source_behind(b, start, _SAME_NUMBER))


def _source_behind(b: JaxBuilder, item: Any, ops: Container[str]) -> Any:
    while (node := b.maker(item)) is not None and node.op in ops:
        item = node.inputs[0]
    return item


def filled_with(b: JaxBuilder, x: Any) -> Any:
    node = b.maker(x)
    return node.params["fill_value"] if node is not None and node.op == "full" else None


def user_index(b: JaxBuilder, start: Value, size: Any) -> Value | None:
    """Return ``index`` if ``start`` is ``where(index < 0, index + size, index)``, or None.

    JAX normalizes the user's indices in this way.
    """
    chosen = b.maker(_source(b, start))
    if chosen is None or chosen.op != "where":
        return None
    index = chosen.inputs[2]
    condition, shifted = map(b.maker, chosen.inputs[:2])
    if condition is None or shifted is None:
        return None
    compares = condition.op == "less" and condition.inputs[0] is index and condition.inputs[1] == 0
    adds = shifted.op == "add" and shifted.inputs[0] is index and _number(b, shifted.inputs[1]) == size
    return index if compares and adds else None


def _source(b: JaxBuilder, value: Value) -> Value:
    node = b.maker(value)
    if (
        node is not None
        and node.op == "getitem"
        and isinstance(node.inputs[0], Value)
        and node.params["key"][-1] == 0
    ):
        inner = b.maker(node.inputs[0])
        if (
            node.inputs[0].shape[-1] == 1
            and inner is not None
            and inner.op in ("reshape", "broadcast_to")
            and inner.inputs[0].shape == value.shape
        ):
            source: Value = inner.inputs[0]
            return source
    return value


def _number(b: JaxBuilder, item: Any) -> Any:
    item = _source_behind(b, item, ("astype", "broadcast_to"))
    number = filled_with(b, item)
    return item if number is None else number


_SAME_NUMBER = ("getitem", "astype", "reshape", "broadcast_to")


@rows.row("gather_p")
def gather(
    b: JaxBuilder,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: Any,
    fill_value: Any = None,
    **_: Any,
) -> Any:
    d, as_given = dimension_numbers, mode_name(mode) == "PROMISE_IN_BOUNDS"
    collapsed, batched = d.collapsed_slice_dims, d.operand_batching_dims
    places = SliceIndices(
        b,
        x,
        indices,
        tuple(slice_sizes),
        d.start_index_map,
        collapsed,
        batched,
        d.start_indices_batching_dims,
        as_given,
    )
    fills = mode_name(mode) == "FILL_OR_DROP"
    arrays = places.arrays(clip=not fills)
    if not places.axes:
        found = _without_index(b, x, places, int_tuple(d.offset_dims))
        return (
            _fill_outside(b, found, places, int_tuple(d.offset_dims), fill_value) if places.inside else found
        )
    shape = b.result.hints
    found = (
        b.take(x, arrays[0], axis=places.axes[0])
        if len(arrays) == 1
        else b.gather_nd(x, *arrays, axes=tuple(places.axes))
    )
    order = _order(places, int_tuple(d.offset_dims), len(shape))
    found = b.permute_dims(found, axes=order)
    return _fill_outside(b, found, places, int_tuple(d.offset_dims), fill_value) if places.inside else found


def _order(places: SliceIndices, offset_dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
    have = places.result_axes()
    kept = [
        axis for axis in range(places.x.ndim) if axis not in places.collapsed and axis not in places.batched
    ]
    windows = dict(zip(offset_dims, kept))
    batch = iter(range(len(places.batch)))
    wanted = [("axis", windows[i]) if i in windows else ("batch", next(batch)) for i in range(rank)]
    return tuple(have.index(item) for item in wanted)


def _without_index(b: JaxBuilder, x: Value, places: SliceIndices, offset_dims: tuple[int, ...]) -> Any:
    rank = x.ndim + len(places.batch)
    shape: list[Any] = [None] * rank
    for axis, place in enumerate(offset_dims):
        shape[place] = x.shape[axis]
    batch = iter(places.batch)
    whole = tuple(next(batch) if size is None else size for size in shape)
    spread = tuple(size if i in offset_dims else 1 for i, size in enumerate(whole))
    return b.broadcast_to(b.reshape(x, shape=spread), shape=whole)


def _fill_outside(
    b: JaxBuilder, found: Value, places: SliceIndices, offset_dims: tuple[int, ...], fill_value: Any
) -> Any:
    are_inside = places.inside[0]
    for more in places.inside[1:]:
        are_inside = b.logical_and(are_inside, more)
    batch = iter(places.batch)
    mask = b.reshape(
        are_inside, shape=tuple(1 if i in offset_dims else next(batch) for i in range(found.ndim))
    )
    return b.where(mask, found, default_fill(found.dtype) if fill_value is None else fill_value)


def default_fill(dtype: str) -> Any:
    if is_inexact(dtype):
        return float("nan")
    if not is_integer(dtype):
        return True
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return 2**bits - 1 if dtype.startswith("u") else -(2 ** (bits - 1))


def mode_name(mode: Any) -> str:
    return str(getattr(mode, "name", mode))


_REDUCE = {
    "scatter": None,
    "scatter_add": "sum",
    "scatter_sub": "sum",
    "scatter_mul": "prod",
    "scatter_min": "min",
    "scatter_max": "max",
}


def _scatter(name: str, reduce: str | None) -> Callable[..., Any]:
    def row(
        b: JaxBuilder, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **_: Any
    ) -> Any:
        x, updates = b.as_result(x), b.as_result(updates)
        if reduce in ("min", "max") and is_complex(x.dtype):
            return _by_order(
                b,
                x,
                updates,
                lambda *ranks: _scattered(
                    b, ranks[0], indices, ranks[1], dimension_numbers, mode_name(mode), reduce
                ),
            )
        updates = b.negative(updates) if name == "scatter_sub" else updates
        return _scattered(b, x, indices, updates, dimension_numbers, mode_name(mode), reduce)

    return row


def _by_order(b: JaxBuilder, x: Value, updates: Value, scattered: Callable[..., Any]) -> Any:
    """Scatter complex ``updates`` into ``x`` by a minimum or maximum in lexicographic order.

    ``scattered`` is called with the ranks of all elements of ``x`` and of ``updates``, and returns those of
    the result.
    """
    # ``min`` and ``max`` do not compare complex numbers, but their ranks.
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


def _scattered(
    b: JaxBuilder, x: Value, indices: Value, updates: Value, d: Any, mode: str, reduce: str | None
) -> Any:
    # There is only one element, which needs no index.
    if x.ndim == updates.ndim == 0:
        return getattr(b, ELEMENTWISE[reduce])(x, updates) if reduce else updates
    collapsed, batched = int_tuple(d.inserted_window_dims), int_tuple(d.operand_batching_dims)
    windows = int_tuple(d.update_window_dims)
    kept = [axis for axis in range(x.ndim) if axis not in collapsed and axis not in batched]
    sizes = [1] * x.ndim
    for place, axis in zip(windows, kept):
        sizes[axis] = updates.shape[place]
    places = SliceIndices(
        b,
        x,
        indices,
        tuple(sizes),
        d.scatter_dims_to_operand_dims,
        collapsed,
        batched,
        d.scatter_indices_batching_dims,
    )
    if not places.axes:
        # `scatter_nd` needs an index array, so the first axis is indexed by its own positions.
        places.axes = places.windows = [0]
        places.unindexed, places.rank = places.unindexed[1:], len(places.batch) + 1
    # XLA drops updates out of bounds even if the mode promises that there are none.
    arrays = places.arrays(clip=mode == "CLIP")
    batch = iter(range(len(places.batch)))
    named = [
        ("axis", kept[windows.index(i)]) if i in windows else ("batch", next(batch))
        for i in range(updates.ndim)
    ]
    values = b.permute_dims(updates, axes=tuple(named.index(item) for item in places.result_axes()))
    if places.inside:
        return _scatter_inside(b, x, values, arrays, places, reduce)
    return b.scatter_nd(x, values, *arrays, axes=tuple(places.axes), reduce=reduce)


def _scatter_inside(
    b: JaxBuilder, x: Value, values: Value, arrays: list[Value], places: SliceIndices, reduce: str | None
) -> Any:
    inside = places.inside[0]
    for more in places.inside[1:]:
        inside = b.logical_and(inside, more)
    inside = b.reshape(inside, shape=(*inside.shape, *(1,) * len(places.windows)))
    if reduce in ("sum", "prod"):
        shape = [1] * len(places.result_axes())
        for i, (kind, number) in enumerate(places.result_axes()):
            shape[i] = places.batch[number] if kind == "batch" else 1
        nothing = b.operand(0 if reduce == "sum" else 1, values.dtype)
        values = b.where(b.reshape(inside, shape=tuple(shape)), values, nothing)
        return b.scatter_nd(x, values, *arrays, axes=tuple(places.axes), reduce=reduce)
    axis = places.axes[0]
    padding = tuple((0, 1) if i == axis else (0, 0) for i in range(x.ndim))
    end = b.full(shape=(), fill_value=x.shape[axis], dtype=arrays[0].dtype)
    larger = b.scatter_nd(
        b.pad(x, padding=padding),
        values,
        b.where(inside, arrays[0], end),
        *arrays[1:],
        axes=tuple(places.axes),
        reduce=reduce,
    )
    return b.getitem(larger, key=(*((None, None, 1),) * axis, (None, x.shape[axis], 1)))
