"""Statistics, order statistics, cumulative operations, histograms, distances and random numbers."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .arrays import (
    argsort,
    index_of_extreme,
    linspace,
    moved_axis,
    scalar,
    searchsorted,
    size,
    sizes,
    sort_with_indices,
    take_along_axis,
)
from .control import custom_gradient

# ------------------------------------------------------------------------------------------ moments and norms


def safe_sqrt(x: tf.Tensor) -> tf.Tensor:
    """Compute ``sqrt(x)``, which is 0.0 with derivative 0 where ``x`` is 0."""
    # The derivative at 0 would be infinite, and a zero cotangent times this NaN.
    zero = x == 0
    return tf.where(zero, tf.zeros_like(x), tf.sqrt(tf.where(zero, tf.ones_like(x), x)))


def variance_over(
    x: tf.Tensor, axis: Any = None, *, correction: float = 0, keepdims: bool = False
) -> tf.Tensor:
    """Compute the variance over ``axis``, or over all axes if it is None.

    It is the sum of squared absolute deviations divided by ``max(0, N - correction)`` for ``N`` elements.
    """
    centred = x - tf.reduce_mean(x, axis, keepdims=True)
    squares = tf.math.real(centred * tf.math.conj(centred))
    axes = range(len(x.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    count = tf.cast(math.prod(size(x, i) for i in axes), squares.dtype)
    return tf.reduce_sum(squares, axis, keepdims=keepdims) / tf.maximum(count - correction, 0)


def standard_deviation(
    x: tf.Tensor, *, axis: Any = None, correction: float = 0, keepdims: bool = False
) -> tf.Tensor:
    """Compute the square root of ``variance_over``, with derivative 0 where it is 0."""
    return safe_sqrt(variance_over(x, axis, correction=correction, keepdims=keepdims))


def vector_norm(x: tf.Tensor, *, axis: Any = None, ord: float = 2.0, keepdims: bool = False) -> tf.Tensor:
    """Compute the vector norm of order ``ord`` over ``axis``, or of all elements if it is None.

    The order 0 counts the elements that are not 0.
    """
    if ord == 2:
        return safe_sqrt(tf.reduce_sum(tf.math.real(x * tf.math.conj(x)), axis, keepdims=keepdims))
    length = tf.abs(x)
    if ord == math.inf:
        # The maximum of an empty axis in TensorFlow is -inf.
        return tf.maximum(tf.reduce_max(length, axis, keepdims=keepdims), 0)
    if ord == -math.inf:
        return tf.reduce_min(length, axis, keepdims=keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(length != 0, length.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return tf.reduce_sum(length, axis, keepdims=keepdims)
    return power_of(tf.reduce_sum(power_of(length, ord), axis, keepdims=keepdims), 1 / ord)


def power_of(x: tf.Tensor, exponent: float) -> tf.Tensor:
    # The derivative of a power at 0 may be infinite or NaN, so zeros are replaced.
    zero = x == 0
    at_zero = tf.constant(0 if exponent > 0 else math.inf, x.dtype)
    return tf.where(zero, at_zero, tf.pow(tf.where(zero, tf.ones_like(x), x), exponent))


def nan_mean(x: tf.Tensor, *, axis: Any = None, keepdims: bool = False) -> tf.Tensor:
    """Compute the mean over ``axis`` of the elements that are not NaN; NaN if there are none."""
    missing = x != x
    total = tf.reduce_sum(tf.where(missing, tf.zeros_like(x), x), axis, keepdims=keepdims)
    return total / tf.reduce_sum(tf.cast(~missing, x.dtype), axis, keepdims=keepdims)


def difference(x: tf.Tensor, *, n: int = 1, axis: int = -1) -> tf.Tensor:
    """Compute the ``n``-th difference of neighbours along ``axis``. Bools are combined by exclusive or."""
    x = moved_axis(x, axis, -1)
    for _ in range(n):
        x = x[..., 1:] ^ x[..., :-1] if x.dtype.is_bool else x[..., 1:] - x[..., :-1]
    return moved_axis(x, -1, axis)


# ---------------------------------------------------------------------------------------------- order
def lower_median(
    x: tf.Tensor, *, axis: int, keepdims: bool = False, skip_nan: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the lower median along ``axis`` (the smaller one of two middle elements), and its index.

    NaN are ignored with ``skip_nan``. Otherwise, the first NaN is returned if there is one.
    """
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    values, order = sort_with_indices(x, axis=axis)
    valid = tf.reduce_sum(tf.cast(x == x, tf.int64), axis, keepdims=True)
    count = tf.cast(size(x, axis), tf.int64)
    middle = (
        tf.maximum((valid - 1) // 2, 0) if skip_nan else tf.where(valid == count, (count - 1) // 2, valid)
    )
    return picked_along(values, middle, axis, keepdims), picked_along(order, middle, axis, keepdims)


def picked_along(x: tf.Tensor, index: tf.Tensor, axis: int, keepdims: bool) -> tf.Tensor:
    found = take_along_axis(x, index, axis)
    return found if keepdims else tf.squeeze(found, [axis])


def places_along(x: tf.Tensor, axis: int) -> tf.Tensor:
    count = tf.range(size(x, axis), dtype=tf.int64)
    return tf.broadcast_to(
        tf.reshape(count, [-1 if i == axis % len(x.shape) else 1 for i in range(len(x.shape))]), tf.shape(x)
    )


def most_frequent(x: tf.Tensor, *, axis: int, keepdims: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the most frequent element along ``axis`` and the index of an occurrence.

    If several are equally frequent, the smallest is returned. Each NaN counts as a different value.
    """
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    values, order = sort_with_indices(x, axis=axis)
    place = places_along(x, axis)
    first = (values != tf.roll(values, 1, axis)) | (place == 0)
    run = place - running_extreme(tf.maximum, tf.where(first, place, 0), axis)
    best = tf.expand_dims(tf.argmax(run, axis), axis)
    return picked_along(values, best, axis, keepdims), picked_along(order, best, axis, keepdims)


def cumulative_prod(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Compute ``tf.math.cumprod``, with a gradient that is also right at zeros."""

    @custom_gradient
    def computed(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def slopes(upstream: tf.Tensor) -> tf.Tensor:
            given = tf.math.conj(moved_axis(x, axis, -1))
            before = tf.concat([tf.ones_like(given[..., :1]), cumulative_prod(given, -1)[..., :-1]], -1)
            factors = tf.concat([given[..., 1:], tf.zeros_like(given[..., :1])], -1)
            return moved_axis(before * running_recurrence(factors, moved_axis(upstream, axis, -1)), -1, axis)

        return tf.math.cumprod(x, axis), slopes

    return computed(x)


def without_axes(x: tf.Tensor, axes: Any) -> tf.Tensor:
    # `tf.squeeze` removes all axes of size 1 for an empty list.
    return x if axes in ((), []) else tf.squeeze(x, axes)


def product(x: tf.Tensor, axis: Any = None, *, keepdims: bool = False) -> tf.Tensor:
    """Compute ``tf.reduce_prod``, with a gradient that is also right at zeros."""
    rank = len(x.shape)
    axes = (
        list(range(rank))
        if axis is None
        else [one % rank for one in ([axis] if isinstance(axis, int) else axis)]
    )
    order = [*(one for one in range(rank) if one not in axes), *axes]
    back = sorted(range(rank), key=order.__getitem__)

    @custom_gradient
    def computed(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def slopes(upstream: tf.Tensor) -> tf.Tensor:
            turned = tf.transpose(x, order)
            rows = tf.math.conj(
                tf.reshape(
                    turned, [*sizes(turned)[: rank - len(axes)], math.prod(size(x, one) for one in axes)]
                )
            )
            # The quotient of the whole product and an element would be NaN for zeros.
            others = product_before(rows, False) * product_before(rows, True)
            return upstream * tf.transpose(tf.reshape(others, tf.shape(turned)), back)

        return tf.reduce_prod(x, axes, keepdims=True), slopes

    return computed(x) if keepdims else without_axes(computed(x), axes)


def product_before(x: tf.Tensor, reverse: bool) -> tf.Tensor:
    x = tf.reverse(x, [-1]) if reverse else x
    before = tf.concat([tf.ones_like(x[..., :1]), cumulative_prod(x, -1)[..., :-1]], -1)
    return tf.reverse(before, [-1]) if reverse else before


def first_extreme(function: Any, place: Any, x: tf.Tensor, axis: int, keepdims: bool = False) -> tf.Tensor:
    """Compute ``tf.reduce_max`` or ``tf.reduce_min`` (``function``) along ``axis``.

    The gradient goes to the first of equal extremes. ``place`` is ``tf.argmax`` or ``tf.argmin``.
    """

    @custom_gradient
    def computed(x: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def slopes(upstream: tf.Tensor) -> tf.Tensor:
            found = tf.equal(places_along(x, axis), index_of_extreme(place, x, axis, keepdims=True))
            return tf.where(found, upstream, tf.zeros_like(x))

        return function(x, axis, keepdims=True), slopes

    return computed(x) if keepdims else tf.squeeze(computed(x), [axis])


def complex_logsumexp(x: tf.Tensor, axis: Any = None, keepdims: bool = False) -> tf.Tensor:
    """Compute ``log(sum(exp(x)))`` of complex numbers over ``axis`` without overflow of ``exp``."""
    peak = tf.stop_gradient(tf.reduce_max(tf.math.real(x), axis, keepdims=True))
    # The difference of two infinities is NaN.
    peak = tf.cast(tf.where(tf.math.is_finite(peak), peak, tf.zeros_like(peak)), x.dtype)
    total = tf.math.log(tf.reduce_sum(tf.exp(x - peak), axis, keepdims=True)) + peak
    return total if keepdims else without_axes(total, axis)


def cumulative_logsumexp(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Compute ``tf.math.cumulative_logsumexp``, but NaN from the first NaN on."""
    missing = tf.math.is_nan(x)
    return running_logsumexp(x, axis) + tf.stop_gradient(
        tf.cumsum(tf.where(missing, x, tf.zeros_like(x)), axis)
    )


def running_logsumexp(x: tf.Tensor, axis: int) -> tf.Tensor:
    # TensorFlow's gradient computes logarithms, whose derivative is NaN at 0.
    @custom_gradient
    def ruled(x: tf.Tensor) -> Any:
        return tf.math.cumulative_logsumexp(x, axis), lambda upstream: sums_of_shares(upstream, x, axis, True)

    return ruled(x)


def sums_of_shares(y: tf.Tensor, x: tf.Tensor, axis: int, reverse: bool) -> tf.Tensor:
    """Compute for each j the sum over ``i <= j`` of ``y[i] * share[i, j]``.

    ``share[i, j]`` is ``exp(x[i] - logsumexp(x[: j + 1]))``. If ``reverse`` is True, compute for each i
    the sum over ``j >= i`` of ``y[j] * share[i, j]``.
    """

    def of_positive(y: tf.Tensor) -> tf.Tensor:
        total, log = tf.math.cumulative_logsumexp(x, axis), tf.where(y > 0, tf.math.log(y), y.dtype.min)
        if reverse:
            return tf.exp(tf.math.cumulative_logsumexp(log - total, axis, reverse=True) + x)
        return tf.exp(tf.math.cumulative_logsumexp(log + x, axis) - total)

    @custom_gradient
    def ruled(y: tf.Tensor, x: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            one, other = (upstream, y) if reverse else (y, upstream)
            met = sums_of_shares(other * sums_of_shares(one, x, axis, False), x, axis, True)
            return sums_of_shares(upstream, x, axis, not reverse), one * sums_of_shares(
                other, x, axis, True
            ) - met

        return of_positive(y) - of_positive(-y), gradient

    return ruled(y, x)


def running_recurrence(factors: tf.Tensor, terms: tf.Tensor) -> tf.Tensor:
    """Compute ``s[i] = terms[i] + factors[i] * s[i + 1]`` along the last axis.

    Beyond the end ``s`` is 0.
    """
    count = size(terms, -1)
    place = tf.range(count)

    def double(by: tf.Tensor, factors: tf.Tensor, terms: tf.Tensor) -> tuple[tf.Tensor, ...]:
        # XLA requires constant sizes in a loop, so elements are gathered at clamped indices instead of
        # sliced.
        later = tf.minimum(place + by, count - 1)
        later_factors, later_terms = (
            tf.where(place + by < count, tf.gather(x, later, axis=-1), 0) for x in (factors, terms)
        )
        return 2 * by, factors * later_factors, terms + factors * later_terms

    return tf.while_loop(lambda by, *_: by < count, double, (tf.constant(1), factors, terms))[2]


def running_extreme(function: Any, x: tf.Tensor, axis: int) -> tf.Tensor:
    x = moved_axis(x, axis, -1)
    count = tf.shape(x)[-1]
    place = tf.range(count)

    def step(distance: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # XLA requires constant sizes in a loop, so elements are gathered at clamped indices instead of
        # sliced.
        before = tf.gather(x, tf.maximum(place - distance, 0), axis=-1)
        return distance * 2, tf.where(place < distance, x, function(x, before))

    _, x = tf.while_loop(lambda distance, _: distance < count, step, (tf.constant(1), x))
    return moved_axis(x, -1, axis)


def cummax(x: tf.Tensor, *, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cumulative maximum along ``axis``, and the index of its last occurrence so far."""
    return cumulative_extreme(tf.maximum, x, axis)


def cummin(x: tf.Tensor, *, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cumulative minimum along ``axis``, and the index of its last occurrence so far."""
    return cumulative_extreme(tf.minimum, x, axis)


def cumulative_extreme(function: Any, x: tf.Tensor, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    plain = tf.cast(x, tf.int32) if x.dtype.is_bool else x
    values = running_extreme(function, tf.stop_gradient(plain), axis)
    seen = (plain == values) | (plain != plain)
    place = running_extreme(tf.maximum, tf.where(seen, places_along(x, axis), 0), axis)
    return take_along_axis(x, place, axis), place


def quantile(
    x: tf.Tensor,
    q: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    method: str = "linear",
    skip_nan: bool = False,
) -> tf.Tensor:
    """Compute the quantiles ``q``, in [0, 1], along ``axis``, or of the flattened ``x`` if ``axis`` is None.

    The axes of ``q`` come first. NaN are ignored with ``skip_nan``, and otherwise make the result NaN.
    """
    rank, q = len(x.shape), tf.convert_to_tensor(q, x.dtype)
    rows = tf.reshape(x, [-1]) if axis is None else moved_axis(x, axis, -1)
    values, _ = sort_with_indices(rows)
    nan = rows != rows
    count = tf.reduce_sum(tf.cast(~nan, x.dtype), -1)
    wanted = tf.reshape(q, [-1])
    position = wanted * tf.maximum(count - 1, 0)[..., None]
    below = tf.floor(position)
    low, high = (
        take_along_axis(values, tf.cast(place, tf.int64), -1) for place in (below, tf.math.ceil(position))
    )
    part = position - below
    nearest = take_along_axis(values, tf.cast(tf.round(position), tf.int64), -1)
    found = {
        "linear": low + (high - low) * part,
        "lower": low,
        "higher": high,
        "midpoint": (low + high) / 2,
        "nearest": nearest,
    }[method]
    empty = (count == 0) if skip_nan else tf.reduce_any(nan, -1)
    # The interpolation next to an infinity is NaN, even at an element.
    found = tf.where(
        empty[..., None],
        tf.constant(math.nan, x.dtype),
        tf.where(part == 0, low, found) if method != "nearest" else found,
    )
    found = moved_axis(found, -1, 0)
    if keepdims:
        found = (
            tf.reshape(found, [-1] + [1] * rank) if axis is None else tf.expand_dims(found, axis % rank + 1)
        )
    return tf.reshape(found, [*sizes(q), *sizes(found)[1:]])


# ----------------------------------------------------------------------------------- integrals and histograms
def trapezoid_areas(y: tf.Tensor, x: tf.Tensor | None = None, *, dx: Any = 1.0, axis: int = -1) -> tf.Tensor:
    """Compute the areas of the trapezoids between neighbours of ``y`` along ``axis``.

    The neighbours are at the points ``x``, or ``dx`` apart if ``x`` is None.
    """
    values = moved_axis(y, axis, -1)
    steps = (
        scalar(dx, y.dtype) if x is None else difference(x if len(x.shape) == 1 else moved_axis(x, axis, -1))
    )
    return moved_axis(steps * (values[..., 1:] + values[..., :-1]) / 2, -1, axis)


def bincount(x: tf.Tensor, weights: tf.Tensor | None = None, *, minlength: Any = 0) -> tf.Tensor:
    """Count how often each of 0, 1, 2, ... occurs in ``x``, or sum the ``weights`` of its occurrences.

    The result has at least ``minlength`` elements.
    """
    x = tf.cast(x, tf.int64)
    count = tf.maximum(tf.reduce_max(tf.concat([x, [-1]], 0)) + 1, tf.cast(minlength, tf.int64))
    return tf.math.unsorted_segment_sum(tf.ones_like(x) if weights is None else weights, x, count)


def histc(x: tf.Tensor, *, bins: int, min: float, max: float) -> tf.Tensor:
    """Count the elements in ``bins`` equal bins over ``[min, max]``. Elements outside are ignored.

    If ``min`` equals ``max``, the bins cover the range of ``x``. A range of a single number is widened by 1
    on both sides.
    """
    flat = tf.reshape(x, [-1])
    if flat.shape[0] == 0:
        return tf.zeros([bins], x.dtype)
    wide = tf.cast(flat, tf.float32) if x.dtype.is_integer else flat
    low, high = (
        (tf.reduce_min(wide), tf.reduce_max(wide))
        if min == max
        else (tf.constant(end, wide.dtype) for end in (min, max))
    )
    even = low == high
    # As in torch, the bins of a single value cover one more on both sides.
    low, high = tf.where(even, low - 1, low), tf.where(even, high + 1, high)
    inside = (wide >= low) & (wide <= high)
    place = tf.cast(tf.where(inside, (wide - low) * bins / (high - low), tf.zeros_like(wide)), tf.int32)
    # The upper end belongs to the last bin.
    return tf.math.unsorted_segment_sum(tf.cast(inside, x.dtype), tf.minimum(place, bins - 1), bins)


def histogram_bin_edges(x: tf.Tensor, *, bins: int, range: tuple[float, float] | None = None) -> tf.Tensor:
    """Return the ``bins + 1`` edges of bins of equal width over ``range``.

    It defaults to the range of ``x``, or (0, 1) if ``x`` is statically empty. A range of a single number is
    widened by 0.5 on both sides.
    """
    if range is not None:
        low, high = (tf.constant(end, x.dtype) for end in range)
    elif 0 in x.shape:
        low, high = tf.constant(0, x.dtype), tf.constant(1, x.dtype)
    else:
        low, high = tf.reduce_min(x), tf.reduce_max(x)
    even = low == high
    low, high = tf.where(even, low - 0.5, low), tf.where(even, high + 0.5, high)
    return linspace(low, high, bins + 1, x.dtype)


def histogram_counts(
    x: tf.Tensor, bin_edges: tf.Tensor, weights: tf.Tensor | None = None, *, density: bool = False
) -> tf.Tensor:
    """Count the elements, or sum their weights, between neighbouring edges. The last edge is inclusive.

    Elements outside are ignored. If ``density`` is True, the result is divided by its sum and by the widths
    of the bins.
    """
    flat = tf.reshape(x, [-1])
    bins = size(bin_edges, 0) - 1
    place = searchsorted(bin_edges, flat, side="right") - 1
    place = tf.where(flat == bin_edges[-1], tf.cast(bins - 1, tf.int64), place)
    # A segment sum drops the index -1.
    place = tf.where((flat >= bin_edges[0]) & (flat <= bin_edges[-1]), place, -1)
    counted = tf.math.unsorted_segment_sum(
        tf.ones_like(flat) if weights is None else tf.reshape(weights, [-1]), place, bins
    )
    return counted / tf.reduce_sum(counted) / (bin_edges[1:] - bin_edges[:-1]) if density else counted


# ---------------------------------------------------------------------------------- correlation and distances
def covariance(
    x: tf.Tensor,
    *,
    correction: float = 1,
    fweights: tf.Tensor | None = None,
    aweights: tf.Tensor | None = None,
) -> tf.Tensor:
    """Compute the covariance matrix of the rows of ``x``, or the variance if ``x`` has at most one axis.

    Columns are weighted by the counts ``fweights`` and the importances ``aweights``.
    """
    rows = tf.reshape(x, [1, -1]) if len(x.shape) < 2 else x
    weights = tf.ones([size(rows, 1)], rows.dtype)
    for given in (fweights, aweights):
        weights = weights if given is None else weights * tf.cast(given, rows.dtype)
    total = tf.reduce_sum(weights)
    centred = rows - tf.reduce_sum(rows * weights, 1, keepdims=True) / total
    lost = tf.constant(correction, rows.dtype)
    if aweights is not None:
        lost = lost * tf.reduce_sum(weights * tf.cast(aweights, rows.dtype)) / total
    left = total - lost
    left = left if rows.dtype.is_complex else tf.maximum(left, 0)
    result = (centred * weights) @ tf.linalg.adjoint(centred) / left
    return tf.reshape(result, []) if len(x.shape) < 2 else result


def corrcoef(x: tf.Tensor) -> tf.Tensor:
    """Compute the Pearson correlation matrix of the rows of ``x``, a scalar if ``x`` has at most one axis."""
    covariances = covariance(x)
    if len(x.shape) < 2:
        return covariances / covariances
    deviation = tf.sqrt(tf.math.real(tf.linalg.diag_part(covariances)))
    result = covariances / tf.cast(deviation[:, None] * deviation, x.dtype)
    if x.dtype.is_complex:
        return tf.complex(
            *(tf.clip_by_value(part, -1, 1) for part in (tf.math.real(result), tf.math.imag(result)))
        )
    return tf.clip_by_value(result, -1, 1)


def cosine_similarity(x1: tf.Tensor, x2: tf.Tensor, *, axis: int, epsilon: float = 1e-8) -> tf.Tensor:
    """Compute the cosine of the angle between ``x1`` and ``x2`` along ``axis``.

    Each norm is replaced by ``epsilon`` if it is smaller.
    """
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))
    x1, x2 = (tf.broadcast_to(x, shape) for x in (x1, x2))
    unit1, unit2 = (x / tf.maximum(vector_norm(x, axis=axis, keepdims=True), epsilon) for x in (x1, x2))
    return tf.reduce_sum(unit1 * unit2, axis)


def distance(x: tf.Tensor, p: float) -> tf.Tensor:
    if p == 0:
        # ``vector_norm`` would count NaN as 1.
        return tf.reduce_sum(tf.where(tf.math.is_nan(x), x, tf.cast(x != 0, x.dtype)), -1)
    return vector_norm(x, axis=-1, ord=p)


def cdist(x1: tf.Tensor, x2: tf.Tensor, *, p: float = 2.0) -> tf.Tensor:
    """Compute the ``p``-norm distances between each row of ``x1`` and each row of ``x2``.

    Leading axes are batch axes, and broadcast.
    """
    return distance(tf.expand_dims(x1, -2) - tf.expand_dims(x2, -3), p)


def pdist(x: tf.Tensor, *, p: float = 2.0) -> tf.Tensor:
    """Compute the ``p``-norm distances between rows ``i < j`` of ``x``, ordered by ``i``, then ``j``."""
    rows = tf.range(size(x, 0))
    pairs = tf.where(rows > rows[:, None])
    return distance(tf.gather(x, pairs[:, 0]) - tf.gather(x, pairs[:, 1]), p)


def dropout(key: tf.Tensor, x: tf.Tensor, rate: float, shared_axes: tuple[int, ...] = ()) -> tf.Tensor:
    """Set each element of ``x`` to 0 with probability ``rate``, and divide the others by ``1 - rate``.

    Along ``shared_axes``, which are not negative, all elements share one random number.
    """
    if rate == 1:
        return tf.zeros_like(x)
    shape = [1 if axis in shared_axes else count for axis, count in enumerate(sizes(x))]
    kept = tf.random.stateless_uniform(shape, key) >= rate
    return tf.where(kept, x / (1 - rate), tf.zeros_like(x))


def random_bernoulli(key: tf.Tensor, probability: Any, shape: Any) -> tf.Tensor:
    """Sample bools that are True with the given ``probability``, which broadcasts with ``shape``."""
    # Uniform numbers of float32 are multiples of 2**-23, too coarse for small probabilities.
    probability = tf.convert_to_tensor(probability)
    drawn = tf.random.stateless_uniform(
        tf.broadcast_dynamic_shape(tf.shape(probability), tf.cast(shape, tf.int32)), key, dtype=tf.float64
    )
    return drawn < tf.cast(probability, tf.float64)


def random_permutation(key: tf.Tensor, n: Any, dtype: tf.DType) -> tf.Tensor:
    """Return the integers from 0 to ``n - 1`` in random order."""
    # Equal numbers, which would keep their order, are improbable among 2**64.
    return tf.cast(argsort(tf.random.stateless_uniform([n], key, None, None, dtype=tf.int64)), dtype)


def random_gumbel(key: tf.Tensor, shape: Any, dtype: tf.DType) -> tf.Tensor:
    """Sample from the standard Gumbel distribution."""
    drawn = tf.random.stateless_uniform(shape, key, dtype=tf.float64)
    # The logarithm of 0 is infinite.
    return tf.cast(-tf.math.log(-tf.math.log(tf.maximum(drawn, 2.0**-1022))), dtype)


def random_complex_normal(key: tf.Tensor, shape: Any, dtype: tf.DType) -> tf.Tensor:
    """Sample complex normal numbers of variance 1; the real and the imaginary part have variance 1/2."""
    parts = tf.random.stateless_normal(
        [2, *shape], key, dtype=tf.float64 if dtype == tf.complex128 else tf.float32
    )
    return tf.complex(parts[0], parts[1]) * math.sqrt(0.5)


def random_binomial(key: tf.Tensor, count: tf.Tensor, probability: tf.Tensor) -> tf.Tensor:
    """Sample the number of successes in ``count`` trials that succeed with ``probability``.

    The result has the dtype of ``probability``.
    """
    shape = tf.broadcast_dynamic_shape(tf.shape(count), tf.shape(probability))
    drawn = tf.random.stateless_binomial(
        shape, key, tf.cast(count, tf.float64), tf.cast(probability, tf.float64), tf.float64
    )
    return tf.cast(drawn, probability.dtype)


def random_categorical(key: tf.Tensor, weights: tf.Tensor, samples: Any, replacement: bool) -> tf.Tensor:
    """Sample ``samples`` indices of the last axis, weighted by ``weights``.

    The samples of a row are on the last axis. Without ``replacement``, they differ.
    """
    logits = tf.math.log(weights)
    # The index of the largest sum with Gumbel noise is a sample with these probabilities.
    shape = [samples, *sizes(weights)] if replacement else sizes(weights)
    scores = logits + random_gumbel(key, shape, weights.dtype)
    if replacement:
        return moved_axis(tf.argmax(scores, -1), 0, -1)
    # The largest of the sums with Gumbel noise are a sample without replacement.
    return tf.math.top_k(scores, samples, index_type=tf.int64).indices


def philox(keys: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Compute Philox-4x32 with 10 rounds.

    ``keys`` has two words of 32 bits along the last axis, and ``counts`` four. Return four random words
    (uint32) along the last axis.
    """
    # Products of two words of 32 bits have 64 bits.
    mask, half = tf.constant(0xFFFFFFFF, tf.uint64), tf.constant(32, tf.uint64)
    both, xor, right_shift = tf.bitwise.bitwise_and, tf.bitwise.bitwise_xor, tf.bitwise.right_shift
    first, second = tf.cast(keys[..., 0], tf.uint64), tf.cast(keys[..., 1], tf.uint64)
    words = [tf.cast(counts[..., place], tf.uint64) for place in range(4)]
    for turn in range(10):
        left, right = (
            words[0] * tf.constant(0xD2511F53, tf.uint64),
            words[2] * tf.constant(0xCD9E8D57, tf.uint64),
        )
        key = both(first + tf.constant(turn * 0x9E3779B9, tf.uint64), mask)
        other = both(second + tf.constant(turn * 0xBB67AE85, tf.uint64), mask)
        words = [
            xor(xor(right_shift(right, half), words[1] + tf.zeros_like(key)), key),
            both(right, mask),
            xor(xor(right_shift(left, half), words[3] + tf.zeros_like(other)), other),
            both(left, mask),
        ]
    shape = tf.shape(words[0] + words[1])
    return tf.cast(tf.stack([tf.broadcast_to(word, shape) for word in words], axis=-1), tf.uint32)


def threefry(keys: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Compute Threefry-2x32 with 20 rounds.

    ``keys`` and ``counts`` have two words of 32 bits along the last axis. Return two random words (uint32)
    along the last axis.
    """
    left, right = tf.bitwise.left_shift, tf.bitwise.right_shift
    first, second = keys[..., 0], keys[..., 1]
    words = (
        first,
        second,
        tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(first, second), tf.constant(0x1BD11BDA, tf.uint32)),
    )
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            turned = tf.bitwise.bitwise_or(
                left(y, tf.constant(bits, tf.uint32)), right(y, tf.constant(32 - bits, tf.uint32))
            )
            y = tf.bitwise.bitwise_xor(x, turned)
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + tf.constant(turn + 1, tf.uint32)
    return tf.stack([x, y], axis=-1)
