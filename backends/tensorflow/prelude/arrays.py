"""Sizes, ranges, indexing, padding, sorting and sets.

TensorFlow sorts with ``tf.math.top_k``, which is stable but does not define the order of NaN, so floats
are sorted by integer keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from .control import custom_gradient


def size(x: tf.Tensor, axis: int) -> Any:
    """Return the size of ``axis``: a Python int if it is static, otherwise a scalar tensor."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def sizes(x: tf.Tensor) -> list[Any]:
    return [size(x, axis) for axis in range(len(x.shape))]


def item(x: tf.Tensor) -> Any:
    """Return the only element of ``x`` as a Python number, or ``x`` itself if it is symbolic."""
    return x.numpy().item() if hasattr(x, "numpy") else x


def scalar(number: Any, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(number, dtype) if tf.is_tensor(number) else tf.constant(number, dtype)


def uint64_of_floats(x: tf.Tensor) -> tf.Tensor:
    """Cast floats to uint64. Negative numbers, down to ``-2 ** 63``, wrap around."""
    # TensorFlow's own cast of a negative float to uint64 is undefined, and int64 does not hold 2**63. Neither
    # does float16.
    x = tf.cast(x, tf.float64)
    half = tf.constant(2.0**63, x.dtype)
    is_upper = x >= half
    lower = tf.cast(tf.cast(tf.where(is_upper, x - half, x), tf.int64), tf.uint64)
    return tf.where(is_upper, lower + tf.constant(2**63, tf.uint64), lower)


def numbers_as(data: Any, dtype: tf.DType) -> tf.Tensor:
    """Convert a number, a scalar tensor, or non-empty nested tuples of these to a tensor of ``dtype``.

    Python integers have to fit into int64.
    """
    if isinstance(data, tuple):
        return tf.stack([numbers_as(part, dtype) for part in data])
    # A Python float would become float32 first.
    return tf.cast(tf.constant(data, tf.float64) if isinstance(data, float) else data, dtype)


def cast_each(arrays: Any, dtypes: tuple[tf.DType, ...]) -> list[tf.Tensor]:
    return [tf.cast(array, dtype) for array, dtype in zip(arrays, dtypes)]


def spaced(start: Any, stop: Any, step: Any, dtype: tf.DType) -> tf.Tensor:
    """Return ``start + i * step`` for integers ``0 <= i < (stop - start) / step``, computed in float64."""
    start, stop, step = (scalar(number, tf.float64) for number in (start, stop, step))
    count = tf.cast(tf.maximum(tf.math.ceil((stop - start) / step), 0), tf.int64)
    return tf.cast(start + tf.cast(tf.range(count), tf.float64) * step, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: tf.DType) -> tf.Tensor:
    """Compute ``num`` evenly spaced numbers from ``start`` to ``stop``, which is included if ``num > 1``.

    For an integer ``dtype``, they are rounded towards 0.
    """
    # The second half is computed from `stop`, so that the last number is `stop` itself.
    wide = tf.complex128 if dtype.is_complex else tf.float64
    start, stop = (
        tf.cast(end, wide) if tf.is_tensor(end) else tf.constant(end, wide) for end in (start, stop)
    )
    index = tf.range(num)
    step = (stop - start) / tf.cast(tf.maximum(num - 1, 1), wide)
    near, far = start + step * tf.cast(index, wide), stop - step * tf.cast(num - 1 - index, wide)
    counted = tf.where((index < num // 2) | (tf.equal(num, 1)), near, far)
    return tf.cast(tf.cast(counted, tf.int64) if dtype.is_integer else counted, dtype)


def below_diagonal(n_rows: Any, n_cols: Any, k: Any) -> tf.Tensor:
    return tf.range(n_cols) - tf.range(n_rows)[:, None] <= k


def triangle(x: tf.Tensor, k: Any, *, upper: bool) -> tf.Tensor:
    """Return ``x`` with zeros above diagonal ``k`` of its matrices, or below it if ``upper`` is True.

    The matrices are in the last two axes.
    """
    keeps = below_diagonal(size(x, -2), size(x, -1), k - 1 if upper else k)
    zeros = tf.zeros_like(x)
    return tf.where(keeps, zeros, x) if upper else tf.where(keeps, x, zeros)


def triangle_indices(n_rows: Any, n_cols: Any, k: Any, dtype: tf.DType, *, upper: bool) -> tf.Tensor:
    """Return the row and column indices [2, count] of a triangle of a matrix, in row-major order.

    The triangle has the elements on and below diagonal ``k``, or on and above it if ``upper`` is True.
    """
    keeps = below_diagonal(n_rows, n_cols, k - 1 if upper else k)
    return tf.cast(tf.transpose(tf.where(tf.logical_not(keeps) if upper else keeps)), dtype)


def shifted_eye(n_rows: Any, n_cols: Any, k: Any, dtype: tf.DType) -> tf.Tensor:
    """Return an ``[n_rows, n_cols]`` matrix with ones on diagonal ``k`` and zeros elsewhere."""
    return tf.cast(tf.equal(tf.range(n_cols) - tf.range(n_rows)[:, None], k), dtype)


def larger(a: Any, b: Any) -> Any:
    return tf.maximum(a, b) if tf.is_tensor(a) or tf.is_tensor(b) else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    return tf.minimum(a, b) if tf.is_tensor(a) or tf.is_tensor(b) else min(a, b)


def nonnegative(indices: tf.Tensor, count: Any) -> tf.Tensor:
    return (
        indices
        if indices.dtype.is_unsigned
        else tf.where(indices < 0, indices + tf.cast(count, indices.dtype), indices)
    )


def as_index(indices: tf.Tensor) -> tf.Tensor:
    return indices if indices.dtype in (tf.int32, tf.int64) else tf.cast(indices, tf.int64)


def take(x: tf.Tensor, indices: tf.Tensor, axis: int = 0) -> tf.Tensor:
    """Select slices of ``x`` along ``axis``; negative indices count from the end."""
    return tf.gather(x, nonnegative(as_index(indices), size(x, axis)), axis=axis)


def dynamic_update_slice(x: tf.Tensor, update: tf.Tensor, start: Any) -> tf.Tensor:
    """Return ``x`` with the slice that begins at ``start`` replaced by ``update``.

    ``start`` has one index for each axis, and is clamped so that ``update`` fits.
    """
    shape = tf.shape(update)
    first = tf.clip_by_value(tf.cast(start, "int32"), 0, tf.shape(x) - shape)
    places = [tf.range(shape[axis]) + first[axis] for axis in range(len(update.shape))]
    if not places:
        return update
    return tf.tensor_scatter_nd_update(x, tf.stack(tf.meshgrid(*places, indexing="ij"), axis=-1), update)


def moved_axis(x: tf.Tensor, source: int, target: int) -> tf.Tensor:
    rank = len(x.shape)
    order = [axis for axis in range(rank) if axis != source % rank]
    order.insert(target % rank, source % rank)
    return x if order == list(range(rank)) else tf.transpose(x, order)


def take_along_axis(x: tf.Tensor, indices: tf.Tensor, axis: int) -> tf.Tensor:
    """Select elements along ``axis`` by ``indices``, which may be negative. The other axes broadcast."""
    indices = nonnegative(as_index(indices), size(x, axis))
    x, indices = moved_axis(x, axis, -1), moved_axis(indices, axis, -1)
    rank = len(x.shape)
    if x.shape[:-1] != indices.shape[:-1] or None in x.shape[:-1]:
        lead = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
        x, indices = (
            tf.broadcast_to(array, tf.concat([lead, tf.shape(array)[-1:]], 0)) for array in (x, indices)
        )
    return moved_axis(tf.gather(x, indices, batch_dims=rank - 1, axis=-1), -1, axis)


def axes_first(x: tf.Tensor, axes: Sequence[int]) -> tuple[tf.Tensor, list[int]]:
    order = [*axes, *(axis for axis in range(len(x.shape)) if axis not in axes)]
    return (x if order == list(range(len(order))) else tf.transpose(x, order)), order


def stacked_indices(x: tf.Tensor, indices: Sequence[tf.Tensor], axes: Sequence[int]) -> tf.Tensor:
    """Broadcast the ``indices`` into ``axes`` of ``x`` against each other, and stack them on a new last axis.

    The size of the axis is added to negative indices.
    """
    indices = [
        tf.cast(nonnegative(as_index(index), size(x, axis)), tf.int64) for index, axis in zip(indices, axes)
    ]
    if all(index.shape.rank == 0 for index in indices):
        return tf.stack(indices)
    shape = tf.shape(indices[0])
    for index in indices[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(index))
    return tf.stack([tf.broadcast_to(index, shape) for index in indices], axis=-1)


def gather_at(x: tf.Tensor, indices: Sequence[tf.Tensor], axes: tuple[int, ...]) -> tf.Tensor:
    """Compute ``x[.., indices[0], .., indices[1], ..]`` with index arrays at the ascending ``axes``.

    As in NumPy, the axes of the indices replace ``axes`` in the result if these are adjacent, and otherwise
    come first.
    """
    places = stacked_indices(x, indices, axes)
    turned = axes_first(x, axes)[0]
    if places.shape.rank == 1 and len(axes) == x.shape.rank:
        # TensorFlow's gradient of ``gather_nd`` raises an error for one index of a single element.
        return tf.gather_nd(turned, places[None])[0]
    found = tf.gather_nd(turned, places)
    common, first = len(places.shape) - 1, axes[0]
    if first == 0 or axes[-1] - first + 1 != len(axes):
        return found
    rest = range(common, len(found.shape))
    return tf.transpose(found, [*rest[:first], *range(common), *rest[first:]])


def scatter_at(
    x: tf.Tensor,
    values: Any,
    indices: Sequence[tf.Tensor],
    axes: tuple[int, ...],
    *,
    reduce: str | None = None,
    include_self: bool = True,
) -> tf.Tensor:
    """Return ``x`` with ``values`` written to ``x[.., indices[0], .., indices[1], ..]``.

    The index arrays are at the ascending ``axes``. ``reduce`` is None to overwrite elements, or "sum",
    "mean", "prod", "max" or "min" to combine the values for one element, with the old one if ``include_self``
    is True.
    """
    places = stacked_indices(x, indices, axes)
    turned, order = axes_first(x, axes)
    common, first = len(places.shape) - 1, axes[0]
    rest = sizes(turned)[len(axes) :]
    front = first == 0 or axes[-1] - first + 1 != len(axes)
    met = sizes(places)[:-1]
    values = tf.broadcast_to(
        tf.convert_to_tensor(values, x.dtype),
        [*met, *rest] if front else [*rest[:first], *met, *rest[first:]],
    )
    if not front:
        values = tf.transpose(
            values, [*range(first, first + common), *range(first), *range(first + common, len(values.shape))]
        )
    result = scatter_reduced(turned, places, values, reduce, include_self)
    back = sorted(range(len(order)), key=order.__getitem__)
    return result if order == back == list(range(len(order))) else tf.transpose(result, back)


def scatter_along(
    x: tf.Tensor,
    indices: tf.Tensor,
    values: Any,
    axis: int,
    *,
    reduce: str | None = None,
    include_self: bool = True,
) -> tf.Tensor:
    """Return ``x`` with ``values`` written at ``indices`` along ``axis``.

    A value keeps its position on the other axes. ``reduce`` is None to overwrite elements, or "sum", "mean",
    "prod", "max" or "min" to combine the values for one element, with the old one if ``include_self`` is
    True.
    """
    if len(x.shape) == 0:
        return scatter_along(
            x[None],
            tf.reshape(indices, [1]),
            tf.reshape(values, [-1]),
            0,
            reduce=reduce,
            include_self=include_self,
        )[0]
    counts = tf.meshgrid(
        *(tf.range(count, dtype=tf.int64) for count in tf.unstack(tf.shape(indices, tf.int64))), indexing="ij"
    )
    counts[axis] = tf.cast(nonnegative(as_index(indices), size(x, axis)), tf.int64)
    values = tf.broadcast_to(tf.convert_to_tensor(values, x.dtype), tf.shape(indices))
    return scatter_reduced(x, tf.stack(counts, axis=-1), values, reduce, include_self)


def scatter_reduced(
    x: tf.Tensor, places: tf.Tensor, values: tf.Tensor, reduce: str | None, include_self: bool
) -> tf.Tensor:
    """Return ``x`` with ``values`` written at the index tuples in the last axis of ``places``.

    ``reduce`` is None to overwrite elements, or "sum", "mean", "prod", "max" or "min" to combine the values
    for one element, with the old one if ``include_self`` is True.
    """
    # TensorFlow raises an error for a scatter into an empty tensor.
    if 0 in x.shape:
        return x
    if len(places.shape) == 1:
        places, values = places[None], values[None]
    if reduce is None:
        return tf.tensor_scatter_nd_update(x, places, values)
    if include_self and reduce == "sum":
        return tf.tensor_scatter_nd_add(x, places, values)
    if x.dtype.is_bool:
        return (
            scatter_reduced(tf.cast(x, tf.int32), places, tf.cast(values, tf.int32), reduce, include_self)
            != 0
        )
    # TensorFlow has no scatter with these reductions, so the indexed axes are flattened to segments.
    depth, rank = places.shape[-1], len(x.shape)
    lead = tf.shape(x, tf.int64)[:depth]
    steps = tf.math.cumprod(lead, exclusive=True, reverse=True)
    rows = tf.reshape(tf.reduce_sum(tf.cast(places, tf.int64) * steps, axis=-1), [-1])
    count = tf.reduce_prod(lead)
    values = tf.reshape(values, [tf.size(rows), *sizes(x)[depth:]])
    seen = tf.math.unsorted_segment_sum(tf.ones_like(rows), rows, count)
    seen = tf.reshape(seen, [*sizes(x)[:depth], *[1] * (rank - depth)])
    segments = {
        "sum": tf.math.unsorted_segment_sum,
        "mean": tf.math.unsorted_segment_sum,
        "prod": tf.math.unsorted_segment_prod,
        "max": tf.math.unsorted_segment_max,
        "min": tf.math.unsorted_segment_min,
    }[reduce]
    if reduce in ("max", "min"):
        return scatter_extreme(segments, x, values, rows, seen > 0, include_self)
    met = tf.reshape(segments(values, rows, count), tf.shape(x))
    if include_self:
        met = x * met if reduce == "prod" else x + met
    if reduce == "mean":
        total = tf.cast(tf.maximum(seen + int(include_self), 1), x.dtype)
        met = met / total if x.dtype.is_floating or x.dtype.is_complex else met // total
    return tf.where(seen > 0, met, x)


def scatter_extreme(
    segments: Any, x: tf.Tensor, values: tf.Tensor, rows: tf.Tensor, seen: tf.Tensor, include_self: bool
) -> tf.Tensor:
    """Return ``x`` with rows replaced by the extreme of their ``values``.

    ``segments`` is ``tf.math.unsorted_segment_max`` or ``tf.math.unsorted_segment_min``. ``rows`` has the row
    of each of ``values`` in the flattened first axes of ``x``. With ``include_self``, the old row counts as a
    value. Rows without ``values`` are kept.
    """
    function = tf.maximum if segments is tf.math.unsorted_segment_max else tf.minimum
    count = tf.size(seen)
    by_row = tf.concat([[count], tf.shape(values)[1:]], 0)

    @custom_gradient
    def computed(x: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        found = tf.reshape(segments(values, rows, count), tf.shape(x))
        result = tf.where(seen, function(x, found) if include_self else found, x)

        def slopes(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            is_own = tf.cast(x == result if include_self else ~tf.broadcast_to(seen, tf.shape(x)), x.dtype)
            is_met = tf.cast(values == tf.gather(tf.reshape(result, by_row), rows), x.dtype)
            equal = is_own + tf.reshape(tf.math.unsorted_segment_sum(is_met, rows, count), tf.shape(x))
            share = upstream / tf.maximum(equal, 1)
            return share * is_own, tf.gather(tf.reshape(share, by_row), rows) * is_met

        return result, slopes

    return computed(x, values)


def updated(x: tf.Tensor, key: tuple[Any, ...], value: Any) -> tf.Tensor:
    """Return ``x`` with ``x[key]`` replaced by ``value``, which broadcasts to it.

    ``key`` is a tuple of integers, slices and None.
    """
    begin, end, strides, taken = [], [], [], []
    masks = {"begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 0, "new_axis_mask": 0}
    for place, part in enumerate(key):
        start, stop, step = (part.start, part.stop, part.step) if isinstance(part, slice) else (part, 0, 1)
        if part is None:
            start, masks["new_axis_mask"] = 0, masks["new_axis_mask"] | 1 << place
        elif not isinstance(part, slice):
            stop, masks["shrink_axis_mask"] = start + 1, masks["shrink_axis_mask"] | 1 << place
        masks["begin_mask"] |= (start is None) << place
        masks["end_mask"] |= (stop is None) << place
        begin.append(0 if start is None else start)
        end.append(0 if stop is None else stop)
        strides.append(1 if step is None else step)
    in_turn = all(isinstance(step, int) and abs(step) == 1 for step in strides)
    begin, end, strides = (tf.cast(bounds, tf.int32) for bounds in (begin, end, strides))
    taken = tf.shape(tf.strided_slice(x, begin, end, strides, **masks))
    value = tf.broadcast_to(tf.convert_to_tensor(value, x.dtype), taken)
    # XLA cannot write to a slice with a step, so the elements are scattered.
    if not in_turn:
        places = tf.strided_slice(tf.reshape(tf.range(tf.size(x)), tf.shape(x)), begin, end, strides, **masks)
        return tf.reshape(
            tf.tensor_scatter_nd_update(tf.reshape(x, [-1]), places[..., None], value), tf.shape(x)
        )
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=x, begin=begin, end=end, strides=strides, value=value, **masks
    )


def masked_scatter(x: tf.Tensor, mask: tf.Tensor, source: tf.Tensor) -> tf.Tensor:
    """Replace the elements of ``x`` where ``mask`` is True by the first of ``source``, in row-major order.

    ``mask`` has the shape of ``x``.
    """
    flat = tf.reshape(source, [-1])
    # The zero allows gathering index 0 from an empty source; its value is not used.
    flat = tf.concat([flat, tf.zeros([1], flat.dtype)], 0)
    place = tf.cumsum(tf.cast(tf.reshape(mask, [-1]), tf.int32)) - 1
    place = tf.reshape(tf.where(tf.reshape(mask, [-1]), place, tf.zeros_like(place)), tf.shape(mask))
    return tf.where(mask, tf.gather(flat, place), x)


def diag_embed(x: tf.Tensor, offset: int = 0, axis1: int = -2, axis2: int = -1) -> tf.Tensor:
    """Return matrices with the last axis of ``x`` as diagonal ``offset``, and zeros elsewhere.

    ``axis1`` and ``axis2`` are the axes of rows and columns in the result.
    """
    matrices = tf.linalg.diag(x, k=offset)
    rank = len(matrices.shape)
    order = list(range(rank - 2))
    for axis, source in sorted([(axis1 % rank, rank - 2), (axis2 % rank, rank - 1)]):
        order.insert(axis, source)
    return tf.transpose(matrices, order)


def diagonal(x: tf.Tensor, offset: int = 0, axis1: int = -2, axis2: int = -1) -> tf.Tensor:
    """Return diagonal ``offset`` of the matrices over ``axis1`` and ``axis2`` as the last axis."""
    rank = len(x.shape)
    pair = [axis1 % rank, axis2 % rank]
    order = [*(axis for axis in range(rank) if axis not in pair), *pair]
    x = x if order == list(range(rank)) else tf.transpose(x, order)
    rows, columns = size(x, -2), size(x, -1)
    count = tf.maximum(tf.minimum(rows + min(offset, 0), columns - max(offset, 0)), 0)
    index = tf.range(count)
    return tf.gather_nd(
        x, index_pairs(x, index - min(offset, 0), index + max(offset, 0)), batch_dims=rank - 2
    )


def index_pairs(x: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    pairs = tf.stack([rows, columns], axis=-1)
    return tf.broadcast_to(pairs, tf.concat([tf.shape(x)[:-2], tf.shape(pairs)], 0))


def sliding_window(x: tf.Tensor, axis: int, size: Any, step: Any = 1) -> tf.Tensor:
    """Return the windows of ``size`` elements along the non-negative ``axis``, ``step`` apart.

    The elements of a window are on a new last axis.
    """
    if len(x.shape) == 0:
        return tf.broadcast_to(x, [size])
    starts = tf.range(0, tf.shape(x)[axis] - size + 1, step)
    return moved_axis(tf.gather(x, starts[:, None] + tf.range(size), axis=axis), axis + 1, -1)


def as_strided(x: tf.Tensor, shape: Sequence[Any], strides: Sequence[Any], offset: Any = 0) -> tf.Tensor:
    """Return an array of ``shape`` whose elements are elements of flattened ``x``.

    Element ``i, j, ..`` is element ``offset + i * strides[0] + j * strides[1] + ..`` of flattened ``x``.
    """
    positions = tf.fill([1] * len(shape), offset)
    for axis, (count, stride) in enumerate(zip(shape, strides)):
        positions = positions + tf.reshape(tf.range(count) * stride, [-1] + [1] * (len(shape) - axis - 1))
    return tf.gather(tf.reshape(x, [-1]), positions)


def bitcast(x: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Reinterpret the bytes of ``x`` as ``dtype``. Different item sizes change the size of the last axis."""
    # TensorFlow does not bitcast bools.
    x = tf.cast(x, tf.uint8) if x.dtype.is_bool else x
    have, want = x.dtype.size, (tf.uint8 if dtype.is_bool else dtype).size
    if want > have:
        x = tf.reshape(x, [*sizes(x)[:-1], size(x, -1) * have // want, want // have])
    result = tf.bitcast(x, tf.uint8 if dtype.is_bool else dtype)
    if want < have:
        result = tf.reshape(result, [*sizes(x)[:-1], size(x, -1) * (have // want)])
    return result != 0 if dtype.is_bool else result


def resized(x: tf.Tensor, padding: Sequence[Sequence[Any]], value: Any = None) -> tf.Tensor:
    """Pad ``x`` with ``value``, by default 0; negative amounts remove elements.

    ``padding`` has a pair of amounts, before and after, for each axis.
    """
    amounts = tf.convert_to_tensor(padding)
    cut = tf.maximum(-amounts, 0)
    x = tf.slice(x, cut[:, 0], tf.shape(x) - cut[:, 0] - cut[:, 1])
    return tf.pad(
        x, tf.maximum(amounts, 0), constant_values=tf.zeros([], x.dtype) if value is None else value
    )


def pad_with_elements(x: tf.Tensor, padding: Sequence[Sequence[Any]], *, mode: str) -> tf.Tensor:
    """Pad ``x`` with its own elements; negative amounts remove elements.

    ``padding`` has a pair of amounts, before and after, for each axis. ``mode`` is "reflect", "edge" or
    "wrap".
    """
    for axis, (before, after) in enumerate(padding):
        if isinstance(before, int) and isinstance(after, int) and before == after == 0:
            continue
        count = size(x, axis)
        places = tf.range(-before, count + after)
        if mode == "reflect":
            places = tf.abs(places)
            places = tf.where(places < count, places, 2 * (count - 1) - places)
        elif mode == "edge":
            places = tf.clip_by_value(places, 0, count - 1)
        else:
            first, last = tf.maximum(-before, 0), count - tf.maximum(-after, 0)
            places = first + (places - first) % (last - first)
        x = tf.gather(x, places, axis=axis)
    return x


def order_key(x: tf.Tensor) -> tf.Tensor:
    """Return integers that sort like the real ``x``, with NaN as the largest."""
    if not x.dtype.is_floating:
        return tf.cast(x, tf.int32) if x.dtype.is_bool else x
    kind = tf.int64 if x.dtype.size == 8 else tf.int32
    wide = tf.stop_gradient(x if x.dtype.size > 2 else tf.cast(x, tf.float32))
    # -0.0 becomes 0.0, because they are equal and their bits are not. XLA leaves out a sum with 0.
    bits = tf.bitcast(tf.where(wide == 0, tf.zeros_like(wide), wide), kind)
    # The bits of negative floats increase with the magnitude, so they are inverted.
    key = tf.where(bits < 0, bits ^ kind.max, bits)
    return tf.where(tf.math.is_nan(wide), tf.constant(kind.max, kind), key)


def argsort(x: tf.Tensor, *, axis: int = -1, descending: bool = False) -> tf.Tensor:
    """Return the int64 indices that sort ``x`` along ``axis``. The sort is stable, and NaN is the largest."""
    if len(x.shape) == 0:
        return tf.zeros_like(x, tf.int64)
    order = tf.argsort(
        order_key(x), axis=axis, direction="DESCENDING" if descending else "ASCENDING", stable=True
    )
    return tf.cast(order, tf.int64)


def sort_with_indices(
    x: tf.Tensor, *, axis: int = -1, descending: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the sorted elements along ``axis`` and their indices."""
    order = argsort(x, axis=axis, descending=descending)
    return (x, order) if len(x.shape) == 0 else (take_along_axis(x, order, axis), order)


def top_k(x: tf.Tensor, *, k: Any, axis: int = -1, largest: bool = True) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the ``k`` largest elements along ``axis`` in descending order, and their indices.

    If ``largest`` is False, these are the smallest in ascending order.
    """
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    if largest:
        # The indices are int32, because TFLite has no int64 top_k.
        found = tf.math.top_k(moved_axis(order_key(x), axis, -1), k).indices
        order = moved_axis(tf.cast(found, tf.int64), -1, axis)
    else:
        order = argsort(x, axis=axis)
        order = tf.gather(order, tf.range(k), axis=axis)
    return take_along_axis(x, order, axis), order


def kth_value(x: tf.Tensor, *, k: Any, axis: int = -1, keepdims: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its index."""
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    values, order = sort_with_indices(x, axis=axis)
    places = [k - 1] if keepdims else k - 1
    return tf.gather(values, places, axis=axis), tf.gather(order, places, axis=axis)


def index_of_extreme(
    function: Callable[..., tf.Tensor], x: tf.Tensor, axis: int | None, keepdims: bool = False
) -> tf.Tensor:
    """Compute ``function``, ``tf.argmax`` or ``tf.argmin``, with the first NaN as the extreme.

    If ``axis`` is None, the index is that in the flattened ``x``.
    """
    rank = len(x.shape)
    flat = tf.reshape(x, [-1]) if axis is None else x
    nan = tf.math.is_nan(flat) if x.dtype.is_floating else None
    if x.dtype.is_bool:
        flat = tf.cast(flat, tf.int32)
    axis = 0 if axis is None else axis
    place = function(flat, axis)
    if nan is not None:
        place = tf.where(tf.reduce_any(nan, axis), tf.argmax(tf.cast(nan, tf.int32), axis), place)
    if not keepdims:
        return place
    return (
        tf.expand_dims(place, axis)
        if len(place.shape) == rank - 1 and rank > 0 and len(flat.shape) == rank
        else tf.reshape(place, [1] * rank)
    )


def argwhere(x: tf.Tensor, count: Any, fill_value: int) -> tf.Tensor:
    """Return the index tuples of the first ``count`` non-zero elements, one in each row.

    If there are fewer, fill the other rows with ``fill_value``.
    """
    if len(x.shape) == 0:
        return tf.zeros([count, 0], tf.int64)
    found = tf.where(x)[:count]
    return tf.pad(
        found, [[0, count - tf.shape(found)[0]], [0, 0]], constant_values=tf.constant(fill_value, tf.int64)
    )


def isin(x1: tf.Tensor, x2: tf.Tensor, *, invert: bool = False) -> tf.Tensor:
    """Return True for each element of ``x1`` that is in ``x2``. If ``invert`` is True, negate the result."""
    found = tf.reduce_any(tf.expand_dims(x1, -1) == tf.reshape(x2, [-1]), axis=-1)
    return ~found if invert else found


def searchsorted(
    x1: tf.Tensor, x2: tf.Tensor, sorter: tf.Tensor | None = None, *, side: str = "left"
) -> tf.Tensor:
    """Return the indices at which to insert ``x2`` into the sorted last axis of ``x1``.

    ``sorter`` has the indices that sort ``x1``, or is None if ``x1`` is sorted. ``side`` "left" inserts
    before equal elements, and "right" after them.
    """
    if sorter is not None:
        x1 = take_along_axis(x1, sorter, -1)
    x1, x2 = order_key(x1), order_key(x2)
    x1, x2 = (tf.cast(x, tf.int64) if x.dtype.size < 4 else x for x in (x1, x2))
    rows = math.prod(sizes(x1)[:-1])
    wanted = tf.reshape(x2, [1, -1] if len(x1.shape) == 1 else [rows, size(x2, -1)])
    found = tf.searchsorted(tf.reshape(x1, [rows, size(x1, -1)]), wanted, side=side, out_type=tf.int64)
    return tf.reshape(found, sizes(x2))


def row_order(rows: tf.Tensor) -> tf.Tensor:
    """Return the indices that sort the rows of a matrix lexicographically."""
    order = tf.range(tf.shape(rows)[0], dtype=tf.int64)
    for column in tf.reverse(tf.transpose(rows), [0]):
        order = tf.gather(order, argsort(tf.gather(column, order)))
    return order


def unique_all(x: tf.Tensor, *, axis: int | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the sorted unique elements of ``x``, or slices along ``axis``, with three integer arrays.

    These are the indices of first occurrences, the inverse that rebuilds ``x``, and the counts.
    """
    slices = tf.reshape(x, [-1]) if axis is None else moved_axis(x, axis, 0)
    # `tf.unique` does not sort its results.
    rows = order_key(tf.reshape(slices, [tf.shape(slices)[0], -1]))
    order = argsort(rows[:, 0]) if axis is None else row_order(rows)
    values, run, counts = unique_consecutive(tf.gather(slices, order), axis=0)
    first = tf.gather(order, tf.cumsum(counts, exclusive=True))
    inverse = tf.scatter_nd(order[:, None], run, tf.shape(order, tf.int64))
    if axis is None:
        return values, first, tf.reshape(inverse, sizes(x)), counts
    return moved_axis(values, 0, axis), first, inverse, counts


def unique_consecutive(x: tf.Tensor, *, axis: int | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the first of each run of equal elements, or slices along ``axis``, with two integer arrays.

    These are the index of the run that each element belongs to, and the lengths of the runs.
    """
    slices = tf.reshape(x, [-1]) if axis is None else moved_axis(x, axis, 0)
    changed = tf.reduce_any(
        tf.reshape(slices[1:] != slices[:-1], [tf.maximum(tf.shape(slices)[0] - 1, 0), -1]), axis=1
    )
    first = tf.concat([tf.ones([tf.minimum(tf.shape(slices)[0], 1)], tf.bool), changed], 0)
    starts = tf.where(first)[:, 0]
    values, run = tf.gather(slices, starts), tf.cumsum(tf.cast(first, tf.int64)) - 1
    counts = tf.concat([starts[1:], [tf.shape(slices, tf.int64)[0]]], 0)[: tf.shape(starts)[0]] - starts
    return (
        (values, tf.reshape(run, sizes(x)), counts)
        if axis is None
        else (moved_axis(values, 0, axis), run, counts)
    )
