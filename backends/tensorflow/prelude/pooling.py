"""Pooling and resampling over spatial axes.

``tf.nn.max_pool`` loses NaN, and on a CPU supports only the channels-last layout.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...common.positions import antialias_taps, byte_weights, sample_taps
from .arrays import larger, moved_axis, size, sizes, smaller
from .nn import widened
from .statistics import power_of


def lowest_value(dtype: tf.DType) -> tf.Tensor:
    return tf.constant(-math.inf if dtype.is_floating else dtype.min, dtype)


def window_count(
    n: Any, kernel: Any, stride: Any, padding: Sequence[Any], dilation: int, ceil_mode: bool
) -> Any:
    """Return the number of windows along an axis of size ``n``.

    With ``ceil_mode``, the last window may extend beyond the padded end, but starts before the padding there.
    """
    before, after = padding
    reach = dilation * (kernel - 1)
    covered = n + before - 1 + (smaller(0, after + stride - 1 - reach) if ceil_mode else after - reach)
    return covered // stride + 1


def padding_for_windows(
    space: Sequence[Any],
    kernel: Sequence[Any],
    strides: Sequence[Any],
    padding: Sequence[Sequence[Any]],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[list[Any]]:
    """Return ``padding``, enlarged to cover the last windows if ``ceil_mode`` is True."""
    if not ceil_mode:
        return [list(pair) for pair in padding]
    found = []
    for n, k, stride, (before, after), step in zip(space, kernel, strides, padding, dilation):
        windows = window_count(n, k, stride, (before, after), step, True)
        found.append([before, larger(after, (windows - 1) * stride + step * (k - 1) + 1 - n - before)])
    return found


def windows_along(x: tf.Tensor, axis: int, kernel: Any, stride: Any, dilation: int) -> tf.Tensor:
    """Return the windows of ``kernel`` elements along ``axis``. Their elements are in a new axis after it."""
    windows = (size(x, axis) - dilation * (kernel - 1) - 1) // stride + 1
    return tf.gather(x, tf.range(windows)[:, None] * stride + tf.range(kernel) * dilation, axis=axis)


def reduced_along(
    join: Any, reduce: Any, x: tf.Tensor, axis: int, kernel: Any, stride: Any, dilation: int
) -> tf.Tensor:
    """Reduce each window along ``axis`` to one element.

    ``join``, such as ``tf.maximum``, combines two arrays, and ``reduce``, such as ``tf.reduce_max``, an axis.
    """
    if tf.is_tensor(kernel) or kernel > 16:
        return reduce(windows_along(x, axis, kernel, stride, dilation), axis + 1)
    reach = (size(x, axis) - dilation * (kernel - 1) - 1) // stride * stride + 1
    lead = (slice(None),) * axis
    result = None
    for start in range(0, kernel * dilation, dilation):
        part = x[(*lead, slice(start, start + reach, stride))]
        result = part if result is None else join(result, part)
    return result


def pooled(
    join: Any,
    reduce: Any,
    x: tf.Tensor,
    kernel: Sequence[Any],
    strides: Sequence[Any],
    dilation: Sequence[int],
    lead: int,
) -> tf.Tensor:
    """Reduce each window over the ``len(kernel)`` axes from ``lead`` on to one element.

    ``join``, such as ``tf.maximum``, combines two arrays, and ``reduce``, such as ``tf.reduce_max``, an axis.
    """
    for axis in reversed(range(len(kernel))):
        x = reduced_along(join, reduce, x, lead + axis, kernel[axis], strides[axis], dilation[axis])
    return x


def max_pool(
    x: tf.Tensor,
    kernel: Sequence[Any],
    strides: Sequence[Any],
    padding: Sequence[Sequence[Any]] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    layout: str = "channels_first",
) -> tf.Tensor:
    """Compute the maximum of each window over ``len(kernel)`` axes.

    The axes are the last ones, or those before the last axis for the layout "channels_last".
    """
    rank = len(kernel)
    padding, dilation = padding or ((0, 0),) * rank, dilation or (1,) * rank
    lead = len(x.shape) - rank - (layout == "channels_last")
    around = padding_for_windows(sizes(x)[lead : lead + rank], kernel, strides, padding, dilation, ceil_mode)
    x = padded(x, around, lead, lowest_value(x.dtype))
    if not has_kernel(x, kernel, strides, dilation):
        return pooled(tf.maximum, tf.reduce_max, x, kernel, strides, dilation, lead)
    # TensorFlow's kernel ignores NaN and starts from the lowest finite number, so a pooling of flags tells
    # which windows contain NaN or only -inf.
    flags = tf.where(tf.math.is_nan(x), 2.0, tf.where(x == -math.inf, 0.0, 1.0))
    kind = native_pool(tf.nn.max_pool, flags, kernel, strides, lead)
    spoilt = tf.where(kind == 2, tf.constant(math.nan, x.dtype), tf.constant(-math.inf, x.dtype))
    return tf.where(kind == 1, native_pool(tf.nn.max_pool, x, kernel, strides, lead), spoilt)


def padded(x: tf.Tensor, padding: Sequence[Sequence[Any]], lead: int, filled: tf.Tensor) -> tf.Tensor:
    """Pad ``len(padding)`` axes of ``x``, from ``lead`` on, with the value ``filled``.

    Negative Python ints cut elements off.
    """
    if not any(tf.is_tensor(amount) or amount != 0 for pair in padding for amount in pair):
        return x
    behind = len(x.shape) - lead - len(padding)
    cut = [[0 if tf.is_tensor(amount) else max(-amount, 0) for amount in pair] for pair in padding]
    if any(map(any, cut)):
        x = x[(slice(None),) * lead + tuple(slice(low, -high or None) for low, high in cut)]
        padding = [[amount + gone for amount, gone in zip(*pairs)] for pairs in zip(padding, cut)]
    return tf.pad(
        x, [[0, 0]] * lead + [list(pair) for pair in padding] + [[0, 0]] * behind, constant_values=filled
    )


def has_kernel(x: tf.Tensor, kernel: Sequence[Any], strides: Sequence[Any], dilation: Sequence[int]) -> bool:
    # In TensorFlow 2.21, the gradient of maxima over an empty array ends the process (oneDNN).
    known = not any(tf.is_tensor(number) for number in (*kernel, *strides)) and 0 not in x.shape.as_list()
    floats = (tf.float32,) if len(kernel) == 3 else (tf.float16, tf.float32, tf.float64)
    return known and x.dtype in floats and set(dilation) == {1} and len(kernel) <= 3


def native_pool(
    pool: Any, x: tf.Tensor, kernel: Sequence[int], strides: Sequence[int], lead: int
) -> tf.Tensor:
    """Call ``pool``, such as ``tf.nn.max_pool``, on ``len(kernel)`` axes from ``lead``, without padding."""
    # Without a layout, gradients over three axes fail.
    layout = f"N{'DHW'[-len(kernel) :]}C"
    if lead == 1 and len(x.shape) == len(kernel) + 2:
        return pool(x, kernel, strides, "VALID", layout)
    shape, end = sizes(x), lead + len(kernel)
    space, behind = shape[lead:end], shape[end:]
    result = pool(
        tf.reshape(x, [math.prod(shape[:lead]), *space, math.prod(behind)]), kernel, strides, "VALID", layout
    )
    return tf.reshape(result, [*shape[:lead], *sizes(result)[1:-1], *behind])


def window_sums(
    x: tf.Tensor, kernel: Sequence[Any], strides: Sequence[Any], padding: Sequence[Sequence[Any]], lead: int
) -> tf.Tensor:
    """Pad ``x`` with 0, and sum each window over ``len(kernel)`` axes from ``lead`` on."""
    x = padded(x, padding, lead, tf.zeros([], x.dtype))
    if has_kernel(x, kernel, strides, (1,)):
        return native_pool(tf.nn.avg_pool, x, kernel, strides, lead) * math.prod(kernel)
    return pooled(tf.add, tf.reduce_sum, x, kernel, strides, (1,) * len(kernel), lead)


def window_places(
    n: Any, kernel: Any, stride: Any, padding: Sequence[Any], dilation: int, ceil_mode: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the element indices [windows, kernel] of the windows of an axis, and a mask.

    The mask is False for padding, whose indices are clipped to the axis.
    """
    windows = window_count(n, kernel, stride, padding, dilation, ceil_mode)
    places = tf.range(windows)[:, None] * stride + tf.range(kernel) * dilation - padding[0]
    return tf.clip_by_value(places, 0, n - 1), (places >= 0) & (places < n)


def max_over_windows(
    x: tf.Tensor, axes: Sequence[tuple[tf.Tensor, tf.Tensor]]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maximum of each window over the last ``len(axes)`` axes, and its row-major index in them.

    ``axes`` holds for each of these axes the element indices [windows, kernel] of its windows, and a mask
    that is True for valid ones.
    """
    rank = len(axes)
    lead, space = sizes(x)[:-rank], sizes(x)[-rank:]
    windows = [size(places, 0) for places, _ in axes]
    place, inside = tf.zeros([1] * 2 * rank, tf.int32), tf.ones([1] * 2 * rank, tf.bool)
    for axis, (places, belongs) in enumerate(axes):
        shape = [
            windows[axis] if i == axis else size(places, 1) if i == rank + axis else 1
            for i in range(2 * rank)
        ]
        place = place * space[axis] + tf.reshape(places, shape)
        inside = inside & tf.reshape(belongs, shape)
    place, inside = (tf.reshape(array, [*windows, -1]) for array in (place, inside))
    elements = tf.gather(tf.reshape(x, [*lead, math.prod(space)]), place, axis=len(lead))
    elements = tf.where(inside, elements, lowest_value(x.dtype))
    return chosen_elements(elements, tf.broadcast_to(tf.cast(place, tf.int64), tf.shape(elements)), inside)


def chosen_elements(elements: tf.Tensor, place: tf.Tensor, inside: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maximum of ``elements`` along the last axis, and the element of ``place`` at its index.

    The first NaN counts as the maximum. ``inside`` is False for padding.
    """
    if elements.dtype == tf.uint64:
        # With the highest bit inverted, the bits compare as int64 like the numbers do.
        score = tf.bitcast(tf.bitwise.bitwise_xor(elements, tf.constant(2**63, tf.uint64)), tf.int64)
    else:
        score = elements if elements.dtype.is_floating else tf.cast(elements, tf.int64)
    nan = score != score
    best = tf.argmax(
        tf.where(nan, tf.constant(-math.inf, score.dtype), score) if score.dtype.is_floating else score, -1
    )
    best = tf.where(tf.reduce_any(nan, -1), tf.argmax(tf.cast(nan, tf.int32), -1), best)
    largest = tf.gather(elements, best, batch_dims=len(best.shape))
    first = tf.broadcast_to(tf.argmax(tf.cast(inside, tf.int32), -1), tf.shape(best))
    best = tf.where(largest == lowest_value(elements.dtype), first, best)
    return largest, tf.gather(place, best, batch_dims=len(best.shape))


def max_pool_with_indices(
    x: tf.Tensor,
    kernel: Sequence[Any],
    strides: Sequence[Any],
    padding: Sequence[Sequence[Any]] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maximum of each window over the last ``len(kernel)`` axes, and its row-major index in them.

    The index does not count padding.
    """
    rank = len(kernel)
    of_axes = zip(sizes(x)[-rank:], kernel, strides, padding or ((0, 0),) * rank, dilation or (1,) * rank)
    return max_over_windows(x, [window_places(*of_axis, ceil_mode) for of_axis in of_axes])


def avg_pool(
    x: tf.Tensor,
    kernel: Sequence[Any],
    strides: Sequence[Any],
    padding: Sequence[Sequence[Any]] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "channels_first",
) -> tf.Tensor:
    """Compute the mean of each window over ``len(kernel)`` axes; integer division truncates.

    The divisor is ``divisor_override``, or by default the number of elements in the window, which includes
    padding only if ``count_include_pad``.
    """
    rank, wide = len(kernel), widened(x)
    padding = padding or ((0, 0),) * rank
    lead = len(x.shape) - rank - (layout == "channels_last")
    space = sizes(x)[lead : lead + rank]
    around = padding_for_windows(space, kernel, strides, padding, (1,) * rank, ceil_mode)
    total = window_sums(wide, kernel, strides, around, lead)
    divisor = tf.constant(divisor_override or 1)
    for n, k, stride, (before, after), windows in zip(
        space, kernel, strides, padding, sizes(total)[lead : lead + rank]
    ):
        starts = tf.range(windows) * stride - before
        ends = tf.minimum(starts + k, n + after)
        counts = ends - starts if count_include_pad else tf.minimum(ends, n) - tf.maximum(starts, 0)
        divisor = divisor if divisor_override else divisor[..., None] * counts
    if layout == "channels_last":
        divisor = divisor[..., None]
    divisor = tf.cast(divisor, wide.dtype)
    return tf.truncatediv(total, divisor) if x.dtype.is_integer else tf.cast(total / divisor, x.dtype)


def lp_pool(
    x: tf.Tensor, ord: float, kernel: Sequence[Any], strides: Sequence[Any], ceil_mode: bool = False
) -> tf.Tensor:
    """Compute ``sum(x ** ord) ** (1 / ord)`` over each window of the last ``len(kernel)`` axes.

    With ``ceil_mode``, the sum over a window that extends beyond the end is scaled to a full window.
    """
    mean = avg_pool(tf.pow(x, ord), kernel, strides, None, ceil_mode)
    return power_of(tf.sign(mean) * tf.nn.relu(tf.abs(mean)) * tf.cast(math.prod(kernel), x.dtype), 1 / ord)


def max_unpool(x: tf.Tensor, indices: tf.Tensor, space: Sequence[Any]) -> tf.Tensor:
    """Return zeros of spatial size ``space`` with the elements of ``x`` at ``indices``.

    ``indices`` has the shape of ``x``, and indexes the flattened spatial axes of the result.
    """
    lead = sizes(x)[: len(x.shape) - len(space)]
    rows, count = math.prod(lead), math.prod(space)
    places = tf.reshape(indices, [rows, -1]) + tf.range(tf.cast(rows, tf.int64))[:, None] * tf.cast(
        count, tf.int64
    )
    zeros = tf.zeros([rows * count], x.dtype)
    return tf.reshape(
        tf.tensor_scatter_nd_update(zeros, tf.reshape(places, [-1, 1]), tf.reshape(x, [-1])), [*lead, *space]
    )


def adaptive_places(n: Any, windows: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the element indices [windows, longest] of windows that cover an axis evenly, and a mask.

    The mask is True for the valid indices.
    """
    index = tf.range(windows)
    starts, ends = index * n // windows, -(-(index + 1) * n // windows)
    places = starts[:, None] + tf.range(tf.reduce_max(tf.concat([ends - starts, [1]], 0)))
    return tf.minimum(places, n - 1), places < ends[:, None]


def adaptive_avg_pool(x: tf.Tensor, space: Sequence[Any], layout: str = "channels_first") -> tf.Tensor:
    """Compute the means over ``space[i]`` windows that cover spatial axis ``i`` evenly.

    The spatial axes are the last ones, or for the ``layout`` "channels_last" those before the last.
    """
    result = widened(x)
    for axis, windows in enumerate(space, len(x.shape) - len(space) - (layout == "channels_last")):
        n = size(result, axis)
        if isinstance(windows, int) and isinstance(n, int) and windows and n % windows == 0:
            parts = [*sizes(result)[:axis], windows, n // windows, *sizes(result)[axis + 1 :]]
            result = tf.reduce_mean(tf.reshape(result, parts), axis + 1)
            continue
        places, inside = adaptive_places(n, windows)
        mask = tf.cast(tf.reshape(inside, [*sizes(inside), *[1] * (len(x.shape) - axis - 1)]), result.dtype)
        elements = tf.where(mask > 0, tf.gather(result, places, axis=axis), tf.zeros([], result.dtype))
        result = tf.reduce_sum(elements, axis + 1) / tf.reduce_sum(mask, 1)
    return tf.cast(result, x.dtype)


def adaptive_max_pool(x: tf.Tensor, space: Sequence[Any]) -> tf.Tensor:
    """Compute the maxima over ``space[i]`` windows that cover spatial axis ``i`` evenly."""
    return adaptive_max_pool_with_indices(x, space)[0]


def adaptive_max_pool_with_indices(x: tf.Tensor, space: Sequence[Any]) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maxima over ``space[i]`` windows that cover spatial axis ``i`` evenly, and their indices.

    The indices are row-major in the spatial axes.
    """
    return max_over_windows(
        x, [adaptive_places(n, windows) for n, windows in zip(sizes(x)[-len(space) :], space)]
    )


def fractional_starts(samples: tf.Tensor, n: Any, windows: Any, kernel: Any) -> tf.Tensor:
    """Return the start indices [.., windows] of fractional pooling windows along an axis of size ``n``.

    ``samples`` [..] are random numbers in [0, 1). The last window ends at the end of the axis.
    """
    last = tf.cast(tf.fill([*sizes(samples), 1], n - kernel), tf.int32)
    if windows == 1:
        return last
    step = tf.cast((n - kernel) / (windows - 1), samples.dtype)
    shift = samples[..., None]
    counted = tf.cast(tf.range(windows - 1), samples.dtype)
    starts = tf.cast((counted + shift) * step, tf.int32) - tf.cast(shift * step, tf.int32)
    return tf.concat([starts, last], -1)


def fractional_max_pool(
    x: tf.Tensor, samples: tf.Tensor, kernel: Sequence[Any], space: Sequence[Any]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maxima over fractional pooling windows, and their row-major indices in the spatial axes.

    Along spatial axis ``i``, there are ``space[i]`` windows of ``kernel[i]`` elements. ``samples`` are random
    numbers in [0, 1).
    """
    # In torch, the samples of two axes are in reverse order, and those of three axes in the order of the
    # axes.
    rank = len(kernel)
    lead, whole = sizes(x)[:-rank], sizes(x)[-rank:]
    samples = tf.reshape(samples, [*lead, rank])
    place = tf.zeros([*lead, *[1] * 2 * rank], tf.int32)
    for axis in range(rank):
        starts = fractional_starts(
            samples[..., axis if rank == 3 else rank - 1 - axis], whole[axis], space[axis], kernel[axis]
        )
        elements = starts[..., None] + tf.range(kernel[axis])
        shape = [
            space[axis] if i == axis else kernel[axis] if i == rank + axis else 1 for i in range(2 * rank)
        ]
        place = place * whole[axis] + tf.reshape(elements, [*lead, *shape])
    place = tf.cast(tf.reshape(place, [*lead, math.prod(space), math.prod(kernel)]), tf.int64)
    elements = tf.gather(tf.reshape(x, [*lead, math.prod(whole)]), place, batch_dims=len(lead), axis=-1)
    largest, chosen = chosen_elements(elements, place, tf.ones([1], tf.bool))
    return tf.reshape(largest, [*lead, *space]), tf.reshape(chosen, [*lead, *space])


def step_between(n: Any, out: Any, scale: float | None, align_corners: bool, real: tf.DType) -> tf.Tensor:
    """Return the distance between two neighbouring output elements, in elements of the source.

    It is ``(n - 1) / max(out - 1, 1)`` if ``align_corners``, otherwise ``1 / scale``, or ``n / out`` without
    ``scale``.
    """
    if align_corners:
        return tf.cast(n - 1, real) / tf.cast(tf.maximum(out - 1, 1), real)
    return tf.constant(1 / scale, real) if scale else tf.cast(n, real) / tf.cast(out, real)


def nearest_elements(n: Any, out: Any, scale: float | None, exact: bool, small: Any) -> tf.Tensor:
    """Return the index of the nearest source element for each output element.

    With ``exact``, the centre of an output element is mapped, otherwise its start.
    """
    index = tf.range(out)
    positions = tf.cast(index, tf.float32) + (0.5 if exact else 0)
    places = tf.minimum(
        tf.cast(tf.floor(positions * step_between(n, out, scale, False, tf.float32)), tf.int32), n - 1
    )
    return (
        places
        if exact or not scale
        else tf.where(small & ((out == n) | (out == 2 * n)), index * n // out, places)
    )


def cubic_taps(t: tf.Tensor, a: float = -0.75) -> list[tf.Tensor]:
    """Return the cubic convolution weights of four neighbours of a point.

    The point is at the fraction ``t`` of the way from the second to the third neighbour. ``a`` is the
    parameter of the cubic kernel.
    """

    def near(d: tf.Tensor) -> tf.Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: tf.Tensor) -> tf.Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def weighted_neighbours(
    n: Any, out: Any, method: str, scale: float | None, align_corners: bool, real: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return indices and weights [out, taps] to resample ``n`` elements to ``out``.

    ``method`` is "linear" or "cubic". ``scale`` and ``align_corners`` are those of ``step_between``.
    """
    step = step_between(n, out, scale, align_corners, real)
    index = tf.cast(tf.range(out), real)
    positions = index * step if align_corners else step * (index + 0.5) - 0.5
    if method == "linear":
        positions = tf.maximum(positions, 0)
    base = tf.minimum(tf.cast(tf.floor(positions), tf.int32), n - 1)
    t = tf.clip_by_value(positions - tf.cast(base, real), 0, 1)
    weights = [1 - t, t] if method == "linear" else cubic_taps(t)
    places = base[:, None] + (tf.range(2) if method == "linear" else tf.range(-1, 3))
    return tf.clip_by_value(places, 0, n - 1), tf.stack(weights, axis=-1)


def filter_at(method: str, x: tf.Tensor) -> tf.Tensor:
    """Evaluate the antialiasing filter "linear", "cubic" or "lanczos" (``method``) at distances ``x``."""
    x, zero = tf.abs(x), tf.zeros([], x.dtype)
    if method == "linear":
        return tf.maximum(1 - x, zero)
    if method == "lanczos":
        turned = tf.where(x == 0, tf.ones_like(x), math.pi * x)
        waves = 3 * tf.sin(turned) * tf.sin(turned / 3) / (turned * turned)
        return tf.where(x < 3, tf.where(x == 0, tf.ones_like(x), waves), zero)
    a = -0.5
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return tf.where(x < 1, near, tf.where(x < 2, far, zero))


def filtered_neighbours(
    n: Any, out: Any, method: str, scale: float | None, align_corners: bool, real: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return indices and weights [out, taps] to resample ``n`` elements to ``out`` with antialiasing."""
    step = step_between(n, out, scale, align_corners, real)
    width = tf.maximum(step, 1)
    support = {"linear": 1, "cubic": 2, "lanczos": 3}[method] * width
    centres = step * (tf.cast(tf.range(out), real) + 0.5)
    first = tf.maximum(tf.cast(centres - support + 0.5, tf.int32), 0)
    last = tf.minimum(tf.cast(centres + support + 0.5, tf.int32), n)
    places = first[:, None] + tf.range(tf.reduce_max(tf.concat([last - first, [1]], 0)))
    weights = filter_at(method, (tf.cast(places, real) - centres[:, None] + 0.5) / width)
    weights = tf.where(places < last[:, None], weights, tf.zeros([], real))
    return tf.minimum(places, n - 1), weights / tf.reduce_sum(weights, 1, keepdims=True)


def weighted_sums(x: tf.Tensor, axis: int, places: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Replace ``axis`` by weighted sums over its elements at the indices ``places`` [out, taps]."""
    elements = tf.gather(x, places, axis=axis)
    shape = [1] * axis + sizes(weights) + [1] * (len(x.shape) - axis - 1)
    return tf.reduce_sum(elements * tf.reshape(weights, shape), axis + 1)


def interpolate_bytes(
    x: tf.Tensor,
    space: Sequence[int],
    method: str,
    scales: Sequence[float | None],
    align_corners: bool,
    antialias: bool,
    first: int,
) -> tf.Tensor:
    """Resample ``len(space)`` axes of uint8 ``x``, from ``first`` on, to the sizes ``space`` in fixed point.

    The result is rounded after each axis.
    """
    taps = antialias_taps if antialias else sample_taps
    for axis, out, scale in reversed(list(zip(range(first, len(x.shape)), space, scales))):
        if out == x.shape[axis]:
            continue
        places, weights = taps(x.shape[axis], out, method, scale, align_corners, np.float64)
        whole, bits = byte_weights(places, weights)
        # Half of the last bit that is kept, added before the shift, rounds to the nearest number.
        total = weighted_sums(tf.cast(x, tf.int32), axis, tf.constant(places), tf.constant(whole))
        x = tf.cast(tf.clip_by_value(tf.bitwise.right_shift(total + (1 << bits - 1), bits), 0, 255), tf.uint8)
    return x


def interpolate(
    x: tf.Tensor,
    space: Sequence[Any],
    method: str = "nearest",
    *,
    scales: Sequence[float | None] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = "channels_first",
) -> tf.Tensor:
    """Resample the spatial axes of ``x`` to ``space``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last. ``method`` is
    "nearest", "nearest-exact", "linear", "cubic", or, with ``antialias``, "lanczos".
    """
    scales = scales or (None,) * len(space)
    first = len(x.shape) - len(space) - (layout == "channels_last")
    nearest, small = method.startswith("nearest"), len(space) == 2 and space[0] + space[-1] <= 128
    if x.dtype == tf.uint8 and not nearest:
        return interpolate_bytes(x, space, method, scales, align_corners, antialias, first)
    real = tf.float64 if x.dtype == tf.float64 else tf.float32
    result = x if nearest else tf.cast(x, real)
    for axis, (out, scale) in enumerate(zip(space, scales), first):
        n = size(x, axis)
        if nearest:
            result = tf.gather(
                result, nearest_elements(n, out, scale, method == "nearest-exact", small), axis=axis
            )
        elif (
            tf.is_tensor(n)
            or tf.is_tensor(out)
            or out != n
            or (method == "cubic" and not antialias and scale)
        ):
            # torch leaves an axis that keeps its size unchanged.
            neighbours = filtered_neighbours if antialias else weighted_neighbours
            result = weighted_sums(result, axis, *neighbours(n, out, method, scale, align_corners, real))
    return tf.cast(result, x.dtype)


def reflected(position: tf.Tensor, n: Any, align_corners: bool) -> tf.Tensor:
    """Reflect positions beyond the ends of an axis of ``n`` elements back into it.

    The ends are the centres of the first and last element (0 and ``n - 1``) if ``align_corners``, otherwise
    their outer edges (-0.5 and ``n - 0.5``).
    """
    start = 0.0 if align_corners else -0.5
    span = tf.cast(n - 1 if align_corners else n, position.dtype)
    distance = tf.abs(position - start)
    safe = tf.where(span == 0, tf.ones_like(span), span)
    turns, rest = tf.floor(distance / safe), distance % safe
    return tf.where(span == 0, tf.zeros_like(position), tf.where(turns % 2 == 0, rest, span - rest) + start)


def padded_position(position: tf.Tensor, n: Any, padding: str, align_corners: bool) -> tf.Tensor:
    """Clip ``position`` to [0, n - 1], unless ``padding`` is "zeros".

    For "reflection", positions are reflected at the ends of the axis before they are clipped.
    """
    if padding == "reflection":
        position = reflected(position, n, align_corners)
    if padding == "zeros":
        return position
    last = tf.cast(n - 1, position.dtype)
    return tf.where(position <= 0, tf.zeros_like(position), tf.where(position >= last, last, position))


def elements_at(x: tf.Tensor, places: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return the elements of ``x[batch, channels, *space]`` at integer indices, and 0 outside the array.

    ``places`` has one array [batch, *out] for each spatial axis.
    """
    inside, within = tf.constant(True), []
    for place, n in zip(places, sizes(x)[2:]):
        last = tf.cast(n - 1, place.dtype)
        inside = inside & (place >= 0) & (place <= last)
        within.append(tf.cast(tf.where(place >= 0, tf.minimum(place, last), tf.zeros_like(place)), tf.int32))
    found = tf.gather_nd(moved_axis(x, 1, -1), tf.stack(within, -1), batch_dims=1)
    return moved_axis(tf.where(inside[..., None], found, tf.zeros([], x.dtype)), -1, 1)


def grid_sample(
    x: tf.Tensor, grid: tf.Tensor, method: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> tf.Tensor:
    """Sample ``x[batch, channels, *space]`` at the positions ``grid[batch, *out, axes]``.

    Coordinates -1 and 1 are the centres of the first and last element of an axis if ``align_corners``,
    otherwise their outer edges. The coordinate of the last axis comes first.
    """
    space = sizes(x)[2:]
    positions = []
    for axis, n in enumerate(space):
        position, count = grid[..., len(space) - 1 - axis], tf.cast(n, grid.dtype)
        position = (position + 1) / 2 * (count - 1) if align_corners else ((position + 1) * count - 1) / 2
        positions.append(
            position if method == "cubic" else padded_position(position, n, padding, align_corners)
        )
    if method == "nearest":
        return elements_at(x, [tf.round(position) for position in positions])
    bases = [tf.floor(position) for position in positions]
    parts = [position - base for position, base in zip(positions, bases)]
    taps = [cubic_taps(t) if method == "cubic" else [1 - t, t] for t in parts]
    total = tf.zeros([], x.dtype)
    for corner in itertools.product(*(range(len(of_axis)) for of_axis in taps)):
        places = [base + (offset - 1 if method == "cubic" else offset) for base, offset in zip(bases, corner)]
        if method == "cubic":
            # Cubic neighbours may be outside although the position is not, so each is moved by itself.
            places = [padded_position(place, n, padding, align_corners) for place, n in zip(places, space)]
        weight = math.prod(of_axis[offset] for of_axis, offset in zip(taps, corner))
        total = total + elements_at(x, places) * tf.expand_dims(weight, 1)
    return total


def affine_grid(theta: tf.Tensor, space: Sequence[Any], align_corners: bool = False) -> tf.Tensor:
    """Apply the affine maps ``theta`` to a regular grid, and return the positions ``[batch, *space, axes]``.

    ``theta`` has the shape ``[batch, axes, axes + 1]``. The coordinate of the last axis comes first.
    """
    lines = []
    for n in space:
        count = tf.cast(n, tf.float64)
        line = tf.cast(tf.range(n), tf.float64) * 2 / tf.maximum(count - 1, 1) - 1
        line = tf.where(count > 1, line, tf.zeros_like(line))
        lines.append(line if align_corners else line * (count - 1) / count)
    axes = tf.meshgrid(*lines, indexing="ij")[::-1]
    base = tf.cast(tf.stack([*axes, tf.ones_like(axes[0])], axis=-1), theta.dtype)
    positions = tf.matmul(tf.reshape(base, [-1, len(space) + 1]), theta, transpose_b=True)
    return tf.reshape(positions, [size(theta, 0), *space, len(space)])
