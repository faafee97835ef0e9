"""Activations, attention, embeddings, losses and normalization.

Half precision is normalized in float32.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .arrays import scalar, size, sizes
from .control import custom_gradient, with_slopes
from .elementwise import logaddexp
from .statistics import vector_norm


def hard_tanh(x: tf.Tensor, minimum: float, maximum: float) -> tf.Tensor:
    """Clamp ``x`` to [minimum, maximum], with gradient 0 at both bounds."""
    low, high = tf.constant(minimum, x.dtype), tf.constant(maximum, x.dtype)
    return tf.where(x <= low, low, tf.where(x >= high, high, x))


def threshold(x: tf.Tensor, limit: Any, value: Any) -> tf.Tensor:
    """Return ``value`` where ``x <= limit``, and otherwise ``x``, which may be NaN."""
    return tf.where(x <= scalar(limit, x.dtype), scalar(value, x.dtype), x)


def slope_of_exponential(x: tf.Tensor, at_zero: float, rate: float = 1.0) -> tf.Tensor:
    # The condition `x < 0` sets the derivative of the result at 0 to 0.
    below = at_zero * tf.exp(rate * tf.where(x < 0, x, tf.zeros_like(x)))
    return tf.where(x > 0, tf.ones_like(x), below)


def elu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """Compute ``x`` for positive ``x``, otherwise ``alpha * expm1(x)``, with derivative ``alpha`` at 0."""

    def value(x: tf.Tensor) -> tf.Tensor:
        # For large numbers expm1 is infinite, and the gradient of the unselected branch would be NaN.
        return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x)))

    return with_slopes(value, [lambda x: slope_of_exponential(x, alpha)], x)


def selu(x: tf.Tensor) -> tf.Tensor:
    """Compute ``tf.nn.selu``, with derivative ``scale * alpha`` at 0, where TensorFlow's is ``scale``."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return with_slopes(tf.nn.selu, [lambda x: scale * slope_of_exponential(x, alpha)], x)


def soft_sign(x: tf.Tensor) -> tf.Tensor:
    """Compute ``x / (1 + abs(x))``."""
    return with_slopes(tf.nn.softsign, [lambda x: 1 / tf.square(1 + tf.abs(x))], x)


def celu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """Compute ``x`` for positive ``x``, otherwise ``alpha * expm1(x / alpha)``, with derivative 1 at 0."""

    def value(x: tf.Tensor) -> tf.Tensor:
        return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x) / alpha))

    return with_slopes(value, [lambda x: slope_of_exponential(x, 1.0, 1 / alpha)], x)


def gelu(x: tf.Tensor, *, approximate: bool) -> tf.Tensor:
    """Compute the GELU, ``x * Phi(x)``, or its tanh approximation if ``approximate``.

    ``Phi`` is the cumulative distribution function of the standard normal distribution.
    """
    if approximate:
        return x / 2 * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x / 2 * tf.math.erfc(-math.sqrt(0.5) * x)


def softplus(x: tf.Tensor, beta: float, threshold: float) -> tf.Tensor:
    """Compute ``log1p(exp(beta * x)) / beta``, or ``x`` where ``beta * x`` exceeds ``threshold``."""
    return tf.where(x * beta > threshold, x, tf.nn.softplus(x * beta) / beta)


def soft_shrink(x: tf.Tensor, threshold: float) -> tf.Tensor:
    """Move ``x`` towards 0 by at most ``threshold``."""
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, x * 0))


def glu(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Multiply the first half along ``axis`` by the sigmoid of the second half."""
    value, gate = tf.split(x, 2, axis)
    return value * tf.sigmoid(gate)


def grouped_matmul(x: tf.Tensor, weight: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
    """Multiply rows ``offsets[g - 1]:offsets[g]`` of ``x`` by ``weight[g]``, for all groups ``g``.

    The first group starts at row 0. Rows after the last group are 0 in the result.
    """
    bounds = tf.concat([[0], tf.cast(offsets, tf.int32)], 0)

    def step(g: tf.Tensor, parts: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return g + 1, parts.write(g, x[bounds[g] : bounds[g + 1]] @ weight[g])

    groups = size(weight, 0)
    rest = tf.zeros([size(x, 0) - bounds[-1], sizes(weight)[2]], x.dtype)
    # Groups differ in size, so the shape of a part is not fixed.
    parts = tf.TensorArray(x.dtype, groups + 1, infer_shape=False, element_shape=[None, weight.shape[2]])
    _, parts = tf.while_loop(lambda g, _: g < groups, step, (tf.constant(0), parts.write(groups, rest)))
    return parts.concat()


def scaled_dot_product_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> tf.Tensor:
    """Multiply the ``attention_weights`` of ``query`` and ``key`` by ``value``."""
    return attention_weights(query, key, mask, is_causal=is_causal, scale=scale) @ value


def attention_weights(
    query: tf.Tensor,
    key: tf.Tensor,
    mask: tf.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: Any = None,
) -> tf.Tensor:
    """Compute ``softmax(query @ key.mT * scale + mask)`` over the keys.

    A boolean ``mask`` is True for the keys to attend to. With ``is_causal``, query i attends only to the keys
    0 to i. The weights of a query that attends to no key are 0.
    """
    if scale is None:
        scale = (
            1 / tf.sqrt(tf.cast(size(query, -1), query.dtype))
            if query.shape[-1] is None
            else query.shape[-1] ** -0.5
        )
    scores = tf.matmul(query * scale, key, transpose_b=True)
    if is_causal:
        kept = tf.range(size(key, -2)) <= tf.range(size(query, -2))[:, None]
        scores = tf.where(kept, scores, tf.constant(-math.inf, scores.dtype))
    return tf.nn.softmax(scores) if mask is None else masked_softmax(scores, mask)


def masked_softmax(scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Compute the softmax over the last axis. A row whose scores are all masked is 0.

    A bool ``mask`` is True for the scores to keep. Any other ``mask`` is added.
    """
    lowest = tf.constant(-math.inf, scores.dtype)
    scores = tf.where(mask, scores, lowest) if mask.dtype.is_bool else scores + mask
    peak = tf.stop_gradient(tf.reduce_max(scores, -1, keepdims=True))
    # The difference of two infinities is NaN.
    weights = tf.exp(scores - tf.where(peak == lowest, tf.zeros_like(peak), peak))
    total = tf.reduce_sum(weights, -1, keepdims=True)
    return weights / tf.where(total == 0, tf.ones_like(total), total)


def grouped_query_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> tf.Tensor:
    """Compute attention in which groups of consecutive query heads share a head of ``key`` and ``value``.

    Heads are on axis -3.
    """
    heads, shared = size(query, -3), size(key, -3)
    groups = tf.reshape(query, [*sizes(query)[:-3], shared, heads // shared, *sizes(query)[-2:]])
    if mask is not None and len(mask.shape) > 2:
        split = [1, 1] if mask.shape[-3] == 1 else [shared, heads // shared]
        mask = tf.reshape(mask, [*sizes(mask)[:-3], *split, *sizes(mask)[-2:]])
    key, value = tf.expand_dims(key, -3), tf.expand_dims(value, -3)
    result = scaled_dot_product_attention(groups, key, value, mask, is_causal=is_causal, scale=scale)
    return tf.reshape(result, [*sizes(result)[:-4], heads, *sizes(result)[-2:]])


def padded_embedding(weight: tf.Tensor, indices: tf.Tensor, padding_idx: int) -> tf.Tensor:
    """Look up rows of ``weight``, without a gradient for indices equal to ``padding_idx``."""
    rows = tf.gather(weight, indices)
    return tf.where((indices == padding_idx)[..., None], tf.stop_gradient(rows), rows)


def embedding_bag(
    weight: tf.Tensor,
    indices: tf.Tensor,
    offsets: tf.Tensor,
    per_sample_weights: tf.Tensor | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> tf.Tensor:
    """Look up rows of ``weight``, and reduce those of each bag of ``indices`` by ``mode``.

    ``offsets`` are the starts of the bags; with ``include_last_offset``, the last of them is the end of the
    last bag. ``mode`` is "sum", "mean" or "max". ``per_sample_weights`` are factors of the rows. Indices
    equal to ``padding_idx`` are ignored.
    """
    starts = tf.cast(offsets[:-1] if include_last_offset else offsets, tf.int64)
    bags = tf.size(starts, tf.int64)
    place = tf.range(tf.size(indices, tf.int64))
    bag = tf.searchsorted(starts, place, side="right", out_type=tf.int64) - 1
    if include_last_offset:
        bag = tf.where(place < tf.cast(offsets[-1], tf.int64), bag, -1)
    if padding_idx is not None:
        # A segment sum drops rows of bag -1.
        bag = tf.where(indices == padding_idx, tf.constant(-1, tf.int64), bag)
    rows = tf.gather(weight, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if mode == "sum":
        return tf.math.unsorted_segment_sum(rows, bag, bags)
    count = tf.cast(tf.math.unsorted_segment_sum(tf.ones_like(bag), bag, bags), rows.dtype)[:, None]
    if mode == "max":
        largest = tf.math.unsorted_segment_max(rows, bag, bags)
        return tf.where(count == 0, tf.zeros_like(largest), largest)
    return tf.math.unsorted_segment_sum(rows, bag, bags) / tf.maximum(count, 1)


def nll_loss(
    log_probabilities: tf.Tensor,
    target: tf.Tensor,
    weight: tf.Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> tf.Tensor:
    """Compute the negative log-likelihood of the classes ``target``, weighted by ``weight[target]``.

    Classes are on axis 1, or on the only axis. The loss of a target equal to ``ignore_index`` is 0, and
    "mean" divides by the total weight of the others.
    """
    rank = len(log_probabilities.shape)
    last = tf.transpose(log_probabilities, [0, *range(2, rank), 1]) if rank > 2 else log_probabilities
    kept = target != ignore_index
    # An ignored target may be out of range.
    target = tf.where(kept, target, tf.zeros_like(target))
    picked = tf.gather(last, target, batch_dims=len(target.shape))
    weights = tf.cast(kept, picked.dtype)
    if weight is not None:
        weights = tf.where(kept, tf.gather(weight, target), tf.zeros_like(picked))
    losses = tf.where(kept, -picked * weights, tf.zeros_like(picked))
    if reduction == "none":
        return losses
    return tf.reduce_sum(losses) / tf.reduce_sum(weights) if reduction == "mean" else tf.reduce_sum(losses)


def cross_entropy(
    logits: tf.Tensor,
    target: tf.Tensor,
    weight: tf.Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tf.Tensor:
    """Compute the cross entropy of ``softmax(logits)`` against the class indices ``target``.

    Classes are on axis 1 of ``logits``, or on its only axis.
    """
    axis = min(1, len(logits.shape) - 1)
    logs = tf.nn.log_softmax(logits, axis)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    kept = target != ignore_index
    if weight is not None:
        logs = logs * tf.reshape(weight, [-1, *[1] * (len(logs.shape) - axis - 1)])
    smooth = -tf.reduce_sum(logs, axis)
    smooth = tf.where(kept, smooth, tf.zeros_like(smooth))
    if reduction != "none":
        smooth = tf.reduce_sum(smooth)
    if reduction == "mean":
        chosen = tf.where(kept, target, tf.zeros_like(target))
        weights = tf.cast(kept, logits.dtype) * (1 if weight is None else tf.gather(weight, chosen))
        smooth = smooth / tf.reduce_sum(weights)
    return (1 - label_smoothing) * loss + label_smoothing / tf.cast(size(logits, axis), logits.dtype) * smooth


def binary_cross_entropy(probability: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Compute ``-(target * log(probability) + (1 - target) * log(1 - probability))``, broadcast.

    Each logarithm is at least -100.
    """

    @custom_gradient
    def cross_entropy(p: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, object]:
        log_p, log_rest = tf.maximum(tf.math.log(p), -100), tf.maximum(tf.math.log1p(-p), -100)

        def slopes(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return upstream * (p - t) / tf.maximum(p * (1 - p), 1e-12), upstream * (
                tf.math.log1p(-p) - tf.math.log(p)
            )

        return (t - 1) * log_rest - t * log_p, slopes

    shape = tf.broadcast_dynamic_shape(tf.shape(probability), tf.shape(target))
    return cross_entropy(tf.broadcast_to(probability, shape), tf.broadcast_to(target, shape))


def ctc_loss(
    log_probabilities: tf.Tensor,
    targets: tf.Tensor,
    input_lengths: tf.Tensor,
    target_lengths: tf.Tensor,
    blank: int = 0,
) -> tf.Tensor:
    """Compute ``-log(p)`` of each sequence, where ``p`` is the probability of its ``targets``.

    ``log_probabilities`` is [time, batch, classes] and ``targets`` is [batch, labels].
    """
    time, batch = size(log_probabilities, 0), size(log_probabilities, 1)
    targets, input_lengths, target_lengths = (
        tf.cast(array, tf.int32) for array in (targets, input_lengths, target_lengths)
    )
    width = 2 * size(targets, 1) + 1
    places = tf.range(width)
    labels = tf.where(
        places % 2 == 1, tf.pad(tf.repeat(targets, 2, axis=1), [[0, 0], [1, 0]])[:, :width], blank
    )
    labels = tf.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = tf.pad(labels, [[0, 0], [2, 0]], constant_values=blank)[:, :width]
    may_skip = (labels != blank) & (labels != two_back)
    spread = tf.broadcast_to(labels, [time, batch, width])
    emitted = tf.gather(log_probabilities, spread, batch_dims=2)
    # Infinities would make gradients NaN. An eighth of the smallest number leaves room for sums.
    never = emitted.dtype.min / 8

    def shifted(alpha: tf.Tensor, by: int) -> tf.Tensor:
        return tf.pad(alpha, [[0, 0], [by, 0]], constant_values=never)[:, :width]

    def step(t: tf.Tensor, alpha: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        grown = (
            logaddexp(logaddexp(alpha, shifted(alpha, 1)), tf.where(may_skip, shifted(alpha, 2), never))
            + emitted[t]
        )
        return t + 1, tf.where((t < input_lengths)[:, None], tf.maximum(grown, never), alpha)

    before = tf.broadcast_to(tf.where(places == 0, tf.zeros([], emitted.dtype), never), [batch, width])
    alpha = tf.where(
        (input_lengths > 0)[:, None], tf.where(places < 2, tf.maximum(emitted[0], never), never), before
    )
    _, alpha = tf.while_loop(lambda t, _: t < time, step, (tf.constant(1), alpha))
    ends = 2 * target_lengths
    last = tf.gather(alpha, ends, batch_dims=1)
    other = tf.gather(alpha, tf.maximum(ends - 1, 0), batch_dims=1)
    total = tf.where(target_lengths > 0, logaddexp(last, other), last)
    return tf.where(total > never / 2, -total, math.inf)


def widened(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.float32) if x.dtype in (tf.float16, tf.bfloat16) else x


def over_channels(vector: tf.Tensor, ndim: int, axis: int = 1) -> tf.Tensor:
    """Reshape a vector to broadcast along the non-negative ``axis`` of ``ndim`` axes.

    Half precision is cast to float32.
    """
    vector = widened(vector)
    return vector if axis == ndim - 1 else tf.reshape(vector, [-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: tf.Tensor, axis: Any, epsilon: float) -> tf.Tensor:
    centred = x - tf.reduce_mean(x, axis, keepdims=True)
    return centred * tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axis, keepdims=True) + epsilon)


def affine_over(x: tf.Tensor, weight: tf.Tensor | None, bias: tf.Tensor | None) -> tf.Tensor:
    x = x if weight is None else x * tf.cast(weight, x.dtype)
    return x if bias is None else x + tf.cast(bias, x.dtype)


def batch_norm(
    x: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    weight: tf.Tensor | None = None,
    bias: tf.Tensor | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> tf.Tensor:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias``.

    The operands other than ``x`` are vectors along ``axis``, which is not negative.
    """
    rank, wide = len(x.shape), widened(x)
    scale = tf.math.rsqrt(tf.cast(variance, wide.dtype) + epsilon)
    if weight is not None:
        scale = scale * tf.cast(weight, wide.dtype)
    shift = -tf.cast(mean, wide.dtype) * scale
    if bias is not None:
        shift = shift + tf.cast(bias, wide.dtype)
    return tf.cast(wide * over_channels(scale, rank, axis) + over_channels(shift, rank, axis), x.dtype)


def layer_norm(
    x: tf.Tensor,
    weight: tf.Tensor | None = None,
    bias: tf.Tensor | None = None,
    *,
    axis: Any = -1,
    epsilon: float,
) -> tf.Tensor:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with the moments over ``axis``."""
    return tf.cast(affine_over(standardised(widened(x), axis, epsilon), weight, bias), x.dtype)


def rms_norm(x: tf.Tensor, weight: tf.Tensor | None = None, *, axis: Any = -1, epsilon: float) -> tf.Tensor:
    """Compute ``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    wide = widened(x)
    result = wide * tf.math.rsqrt(tf.reduce_mean(tf.square(wide), axis, keepdims=True) + epsilon)
    return tf.cast(affine_over(result, weight, None), x.dtype)


def group_norm(
    x: tf.Tensor,
    weight: tf.Tensor | None = None,
    bias: tf.Tensor | None = None,
    *,
    axis: int = 1,
    groups: int,
    epsilon: float,
) -> tf.Tensor:
    """Normalize each group of channels of each sample over its channels and the spatial axes.

    Channels are on ``axis``, which is positive.
    """
    shape, rank = sizes(x), len(x.shape)
    grouped = tf.reshape(widened(x), [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])
    result = tf.reshape(
        standardised(grouped, [place for place in range(1, rank + 1) if place != axis], epsilon), shape
    )
    weight, bias = (
        None if vector is None else over_channels(vector, rank, axis) for vector in (weight, bias)
    )
    return tf.cast(affine_over(result, weight, bias), x.dtype)


def instance_norm(
    x: tf.Tensor,
    weight: tf.Tensor | None = None,
    bias: tf.Tensor | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> tf.Tensor:
    """Normalize each channel of each sample over the spatial axes.

    Channels are on ``axis``, which is positive.
    """
    rank = len(x.shape)
    weight, bias = (
        None if vector is None else over_channels(vector, rank, axis) for vector in (weight, bias)
    )
    result = standardised(widened(x), [place for place in range(1, rank) if place != axis], epsilon)
    return tf.cast(affine_over(result, weight, bias), x.dtype)


def local_response_norm(x: tf.Tensor, *, size: int, alpha: float, beta: float, k: float) -> tf.Tensor:
    """Compute ``x / (k + alpha * mean(x ** 2)) ** beta`` with means over ``size`` neighbouring channels.

    Channels are on axis 1. Beyond the first and last channel, ``x`` counts as 0.
    """
    wide = widened(x)
    squares = tf.pad(tf.square(wide), [[0, 0], [size // 2, (size - 1) // 2]] + [[0, 0]] * (len(x.shape) - 2))
    channels = sizes(x)[1]
    total = tf.add_n([squares[:, place : place + channels] for place in range(size)])
    return tf.cast(wide / tf.pow(k + total * (alpha / size), beta), x.dtype)


def normalize(x: tf.Tensor, *, ord: float = 2, axis: Any, epsilon: float) -> tf.Tensor:
    """Compute ``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``."""
    wide = widened(x)
    norm = tf.maximum(vector_norm(wide, axis=axis, ord=ord, keepdims=True), epsilon)
    return tf.cast(wide / tf.cast(norm, wide.dtype), x.dtype)
