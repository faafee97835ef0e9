"""Reading and writing through indices, masks and slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from .creation import size, sizes
from .gradients import custom_gradient


def nonnegative(indices: tf.Tensor, count: Any) -> tf.Tensor:
    """Indices counted from the front."""
    return indices if indices.dtype.is_unsigned else tf.where(indices < 0, indices + tf.cast(count, indices.dtype), indices)


def as_index(indices: tf.Tensor) -> tf.Tensor:
    """Indices of a type that TensorFlow looks up."""
    return indices if indices.dtype in (tf.int32, tf.int64) else tf.cast(indices, tf.int64)


def take(x: tf.Tensor, indices: tf.Tensor, axis: int = 0) -> tf.Tensor:
    """The slices of ``x`` along ``axis`` that ``indices`` name; negative ones count from the end."""
    return tf.gather(x, nonnegative(as_index(indices), size(x, axis)), axis=axis)


def dynamic_update_slice(x: tf.Tensor, update: tf.Tensor, start: Any) -> tf.Tensor:
    """``x`` with ``update`` written at ``start``, moved inside where it would end outside."""
    shape = tf.shape(update)
    first = tf.clip_by_value(tf.cast(start, "int32"), 0, tf.shape(x) - shape)
    places = [tf.range(shape[axis]) + first[axis] for axis in range(len(update.shape))]
    return tf.tensor_scatter_nd_update(x, tf.stack(tf.meshgrid(*places, indexing="ij"), axis=-1), update)


def moved_axis(x: tf.Tensor, source: int, target: int) -> tf.Tensor:
    """``x`` with one axis moved to another place."""
    rank = len(x.shape)
    order = [axis for axis in range(rank) if axis != source % rank]
    order.insert(target % rank, source % rank)
    return x if order == list(range(rank)) else tf.transpose(x, order)


def take_along_axis(x: tf.Tensor, indices: tf.Tensor, axis: int) -> tf.Tensor:
    """Picks from each row along ``axis``; the other axes broadcast."""
    indices = nonnegative(as_index(indices), size(x, axis))
    x, indices = moved_axis(x, axis, -1), moved_axis(indices, axis, -1)
    rank = len(x.shape)
    if x.shape[:-1] != indices.shape[:-1] or None in x.shape[:-1]:
        lead = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
        x, indices = (tf.broadcast_to(array, tf.concat([lead, tf.shape(array)[-1:]], 0)) for array in (x, indices))
    return moved_axis(tf.gather(x, indices, batch_dims=rank - 1, axis=-1), -1, axis)


def axes_first(x: tf.Tensor, axes: Sequence[int]) -> tuple[tf.Tensor, list[int]]:
    """``x`` with ``axes`` in front of the others, and the permutation that does it."""
    order = [*axes, *(axis for axis in range(len(x.shape)) if axis not in axes)]
    return (x if order == list(range(len(order))) else tf.transpose(x, order)), order


def meeting_indices(x: tf.Tensor, indices: Sequence[tf.Tensor], axes: Sequence[int]) -> tf.Tensor:
    """Index arrays for ``axes``, broadcast and side by side, counted from the front."""
    indices = [tf.cast(nonnegative(as_index(index), size(x, axis)), tf.int64) for index, axis in zip(indices, axes)]
    if all(index.shape.rank == 0 for index in indices):
        return tf.stack(indices)
    shape = tf.shape(indices[0])
    for index in indices[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(index))
    return tf.stack([tf.broadcast_to(index, shape) for index in indices], axis=-1)


def gather_at(x: tf.Tensor, indices: Sequence[tf.Tensor], axes: tuple[int, ...]) -> tf.Tensor:
    """``x[.., indices[0], .., indices[1], ..]``: index arrays at ``axes``, their axes in the place of neighbours, otherwise in front."""
    places = meeting_indices(x, indices, axes)
    found = tf.gather_nd(axes_first(x, axes)[0], places)
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
    """``x`` with ``values``, broadcast, written to the elements that ``gather_at`` reads."""
    places = meeting_indices(x, indices, axes)
    turned, order = axes_first(x, axes)
    common, first = len(places.shape) - 1, axes[0]
    rest = sizes(turned)[len(axes) :]
    front = first == 0 or axes[-1] - first + 1 != len(axes)
    met = sizes(places)[:-1]
    values = tf.broadcast_to(tf.convert_to_tensor(values, x.dtype), [*met, *rest] if front else [*rest[:first], *met, *rest[first:]])
    if not front:
        values = tf.transpose(values, [*range(first, first + common), *range(first), *range(first + common, len(values.shape))])
    result = scatter_reduced(turned, places, values, reduce, include_self)
    back = sorted(range(len(order)), key=order.__getitem__)
    return result if order == back == list(range(len(order))) else tf.transpose(result, back)


def scatter_along(
    x: tf.Tensor, indices: tf.Tensor, values: Any, axis: int, *, reduce: str | None = None, include_self: bool = True
) -> tf.Tensor:
    """``x`` with ``values[i, j, ..]`` written to ``x[i, indices[i, j, ..], ..]``, the index in the place of ``axis``."""
    if len(x.shape) == 0:
        return scatter_along(x[None], tf.reshape(indices, [1]), tf.reshape(values, [-1]), 0, reduce=reduce, include_self=include_self)[0]
    counts = tf.meshgrid(*(tf.range(count, dtype=tf.int64) for count in tf.unstack(tf.shape(indices, tf.int64))), indexing="ij")
    counts[axis] = tf.cast(nonnegative(as_index(indices), size(x, axis)), tf.int64)
    values = tf.broadcast_to(tf.convert_to_tensor(values, x.dtype), tf.shape(indices))
    return scatter_reduced(x, tf.stack(counts, axis=-1), values, reduce, include_self)


def scatter_reduced(x: tf.Tensor, places: tf.Tensor, values: tf.Tensor, reduce: str | None, include_self: bool) -> tf.Tensor:
    """``x`` with ``values`` at ``places`` along its first axes; what meets at one place is reduced."""
    if 0 in x.shape:  # TensorFlow refuses to write nothing to it
        return x
    if len(places.shape) == 1:
        places, values = places[None], values[None]
    if reduce is None:
        return tf.tensor_scatter_nd_update(x, places, values)
    if include_self and reduce == "sum":
        return tf.tensor_scatter_nd_add(x, places, values)
    if x.dtype.is_bool:
        return scatter_reduced(tf.cast(x, tf.int32), places, tf.cast(values, tf.int32), reduce, include_self) != 0
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


def scatter_extreme(segments: Any, x: tf.Tensor, values: tf.Tensor, rows: tf.Tensor, seen: tf.Tensor, include_self: bool) -> tf.Tensor:
    """``x`` with the extreme of the ``values`` of each of ``rows``, which count its places row by row; equal elements share the
    gradient."""
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
    """``x`` with ``value``, broadcast, in the place of ``x[key]``; a key holds integers, slices and None."""
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
    if not in_turn:  # XLA writes to no slices with gaps
        places = tf.strided_slice(tf.reshape(tf.range(tf.size(x)), tf.shape(x)), begin, end, strides, **masks)
        return tf.reshape(tf.tensor_scatter_nd_update(tf.reshape(x, [-1]), places[..., None], value), tf.shape(x))
    return tf.raw_ops.TensorStridedSliceUpdate(input=x, begin=begin, end=end, strides=strides, value=value, **masks)


def masked_scatter(x: tf.Tensor, mask: tf.Tensor, source: tf.Tensor) -> tf.Tensor:
    """``x`` with the elements of ``source``, in order, in the places where ``mask`` is true."""
    flat = tf.reshape(source, [-1])
    flat = tf.concat([flat, tf.zeros([1], flat.dtype)], 0)  # where there are none, none is taken
    place = tf.cumsum(tf.cast(tf.reshape(mask, [-1]), tf.int32)) - 1
    place = tf.reshape(tf.where(tf.reshape(mask, [-1]), place, tf.zeros_like(place)), tf.shape(mask))
    return tf.where(mask, tf.gather(flat, place), x)


def diag_embed(x: tf.Tensor, offset: int = 0, axis1: int = -2, axis2: int = -1) -> tf.Tensor:
    """Zeros with ``x`` on a diagonal over two new axes."""
    matrices = tf.linalg.diag(x, k=offset)
    rank = len(matrices.shape)
    order = list(range(rank - 2))
    for axis, source in sorted([(axis1 % rank, rank - 2), (axis2 % rank, rank - 1)]):
        order.insert(axis, source)
    return tf.transpose(matrices, order)


def diagonal(x: tf.Tensor, offset: int = 0, axis1: int = -2, axis2: int = -1) -> tf.Tensor:
    """The elements of a diagonal over two axes, which become the last axis."""
    rank = len(x.shape)
    pair = [axis1 % rank, axis2 % rank]
    order = [*(axis for axis in range(rank) if axis not in pair), *pair]
    x = x if order == list(range(rank)) else tf.transpose(x, order)
    rows, columns = size(x, -2), size(x, -1)
    count = tf.maximum(tf.minimum(rows + min(offset, 0), columns - max(offset, 0)), 0)
    index = tf.range(count)
    return tf.gather_nd(x, index_pairs(x, index - min(offset, 0), index + max(offset, 0)), batch_dims=rank - 2)


def index_pairs(x: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Pairs of row and column for each matrix of ``x``."""
    pairs = tf.stack([rows, columns], axis=-1)
    return tf.broadcast_to(pairs, tf.concat([tf.shape(x)[:-2], tf.shape(pairs)], 0))
