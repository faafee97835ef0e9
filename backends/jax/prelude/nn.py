"""Activations, attention, embeddings, losses and normalisation layers.

Normalisation layers compute half precision in float32.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .control import with_slopes
from .statistics import norm_over


def celu(x: jax.Array, alpha: float) -> jax.Array:
    """Compute ``x`` where it is positive, else ``alpha * expm1(x / alpha)``.

    At 0, the derivative is 1, and the second derivative is 0.
    """

    def value(x: jax.Array) -> jax.Array:
        return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) / alpha))

    return with_slopes(value, [lambda x: slope_of_exponential(x, 1.0, 1 / alpha)], x)


def elu(x: jax.Array, alpha: float = 1.0) -> jax.Array:
    """Compute ``x`` where it is positive, else ``alpha * expm1(x)``.

    At 0, the derivative is ``alpha``, and the second derivative is 0.
    """
    return with_slopes(lambda x: jax.nn.elu(x, alpha), [lambda x: slope_of_exponential(x, alpha)], x)


def selu(x: jax.Array) -> jax.Array:
    """Compute ``scale * x`` where ``x`` is positive, else ``scale * alpha * expm1(x)``.

    The constants are those of Klambauer et al., 2017. At 0, the derivative is ``scale * alpha``, and the
    second derivative is 0.
    """
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return with_slopes(jax.nn.selu, [lambda x: scale * slope_of_exponential(x, alpha)], x)


def slope_of_exponential(x: jax.Array, at_zero: float, rate: float = 1.0) -> jax.Array:
    return jnp.where(x > 0, 1, at_zero * jnp.exp(rate * jnp.where(x < 0, x, 0)))


def glu(x: jax.Array, axis: int) -> jax.Array:
    """Multiply the first half of ``x`` along ``axis`` by the sigmoid of the second half."""
    value, gate = jnp.split(x, 2, axis)
    return value * jax.nn.sigmoid(gate)


def scaled_dot_product_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> jax.Array:
    """Compute ``softmax(query @ key.mT * scale + mask) @ value``, with the softmax over the keys.

    A boolean ``mask`` is True for the keys to attend to. With ``is_causal``, query i attends only to the keys
    0 to i. The weights are 0 for a query that attends to no key.
    """
    weights = attention_weights(query, key, mask, is_causal=is_causal, scale=scale)
    return jnp.matmul(weights.astype(value.dtype), value)


def attention_weights(
    query: jax.Array,
    key: jax.Array,
    mask: jax.Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> jax.Array:
    """Compute ``softmax(query @ key.mT * scale + mask)`` over the keys, in at least float32.

    A boolean ``mask`` is True for the keys to attend to. With ``is_causal``, query i attends only to the keys
    0 to i. The weights are 0 for a query that attends to no key.
    """
    wide = jnp.promote_types(query.dtype, jnp.float32)
    scores = jnp.matmul(query, jnp.swapaxes(key, -1, -2), preferred_element_type=wide)
    scores *= query.shape[-1] ** -0.5 if scale is None else scale
    if is_causal:
        kept = jnp.tri(*scores.shape[-2:], dtype=bool)
        mask = (
            kept if mask is None else kept & mask if mask.dtype == bool else jnp.where(kept, mask, -jnp.inf)
        )
    # XLA fuses a sum with the product and the softmax, but not a ``where`` instead of it.
    if mask is not None:
        scores = scores + (jnp.where(mask, 0, -jnp.inf).astype(wide) if mask.dtype == bool else mask)
    return softmax_or_zero(scores)


def softmax_or_zero(scores: jax.Array) -> jax.Array:
    """Compute the softmax over the last axis; 0 where all scores are -inf."""

    # The derivative is explicit because that of the quotient would overflow.
    @jax.custom_jvp
    def softmax(scores: jax.Array) -> jax.Array:
        # The maximum starts at the lowest finite number, and the sum at the smallest normal one, so no
        # ``where`` is needed.
        peaks = lax.reduce(scores, jnp.finfo(scores.dtype).min, lax.max, (scores.ndim - 1,))
        weights = jnp.exp(scores - peaks[..., None])
        totals = lax.reduce(weights, jnp.finfo(scores.dtype).tiny, lax.add, (scores.ndim - 1,))
        return weights / totals[..., None]

    @softmax.defjvp
    def slopes(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        result, tangent = softmax(*primals), *tangents
        return result, result * (tangent - jnp.sum(result * tangent, -1, keepdims=True))

    return softmax(scores)


def padded_embedding(weight: jax.Array, indices: jax.Array, padding_idx: int) -> jax.Array:
    """Look up rows of ``weight``; no gradient flows where an index equals ``padding_idx``."""
    rows = jnp.take(weight, indices, axis=0)
    return jnp.where((indices == padding_idx)[..., None], lax.stop_gradient(rows), rows)


def embedding_bag(
    weight: jax.Array,
    indices: jax.Array,
    offsets: jax.Array,
    per_sample_weights: jax.Array | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> jax.Array:
    """Reduce the embeddings of each bag ``indices[offsets[i]:offsets[i + 1]]`` by "sum", "mean" or "max".

    ``offsets`` ascend from 0. The last bag ends at the last offset if ``include_last_offset``, else at the
    end of ``indices``. Embeddings of ``padding_idx`` are left out.
    """
    starts = offsets[:-1] if include_last_offset else offsets
    bags = starts.shape[0]
    bag = jnp.searchsorted(starts, jnp.arange(indices.shape[0]), side="right") - 1
    if include_last_offset:
        bag = jnp.where(jnp.arange(indices.shape[0]) < offsets[-1], bag, bags)
    if padding_idx is not None:
        # Segment sums drop rows of a bag that does not exist.
        bag = jnp.where(indices == padding_idx, bags, bag)
    rows = jnp.take(weight, indices, axis=0).astype(jnp.promote_types(weight.dtype, jnp.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if mode == "sum":
        return jax.ops.segment_sum(rows, bag, bags).astype(weight.dtype)
    count = jax.ops.segment_sum(jnp.ones_like(bag), bag, bags)[:, None]
    if mode == "max":
        return jnp.where(count == 0, 0, jax.ops.segment_max(rows, bag, bags)).astype(weight.dtype)
    return (jax.ops.segment_sum(rows, bag, bags) / jnp.maximum(count, 1)).astype(weight.dtype)


def nll_loss(
    log_probabilities: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> jax.Array:
    """Compute ``-weight[target] * log_probabilities[target]`` with classes on axis 1.

    Without a batch, classes are on axis 0. The loss is 0 where ``target`` is ``ignore_index``. The "mean" is
    the sum of the losses divided by the sum of the weights of the other targets.
    """
    axis = min(1, log_probabilities.ndim - 1)
    # ``ignore_index`` need not be a class, so it is replaced before it is used as an index.
    kept = target != ignore_index
    target = jnp.where(kept, target, 0)
    picked = jnp.take_along_axis(log_probabilities, jnp.expand_dims(target, axis), axis).squeeze(axis)
    weights = jnp.where(kept, 1 if weight is None else weight[target], 0).astype(picked.dtype)
    losses = jnp.where(kept, -picked * weights, 0)
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def cross_entropy(
    logits: jax.Array,
    target: jax.Array,
    weight: jax.Array | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> jax.Array:
    """Compute the cross entropy of ``softmax(logits)`` and class indices, with classes on axis 1.

    Without a batch, classes are on axis 0. ``label_smoothing`` is the share of the target distribution that
    is spread evenly over all classes.
    """
    axis = min(1, logits.ndim - 1)
    logs = jax.nn.log_softmax(logits, axis)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    kept = target != ignore_index
    if weight is not None:
        logs = logs * weight.reshape(-1, *(1,) * (logs.ndim - axis - 1))
    smooth = jnp.where(kept, -logs.sum(axis), 0)
    if reduction != "none":
        smooth = smooth.sum()
    if reduction == "mean":
        smooth /= jnp.where(kept, 1 if weight is None else weight[jnp.where(kept, target, 0)], 0).sum()
    return (1 - label_smoothing) * loss + label_smoothing / logits.shape[axis] * smooth


def binary_cross_entropy(probability: jax.Array, target: jax.Array) -> jax.Array:
    """Compute the cross entropy of two Bernoulli distributions.

    It is ``-(target * log(probability) + (1 - target) * log(1 - probability))``, where each logarithm is at
    least -100.
    """

    @jax.custom_jvp
    def cross_entropy(p: jax.Array, t: jax.Array) -> jax.Array:
        return (t - 1) * jnp.maximum(jnp.log1p(-p), -100) - t * jnp.maximum(jnp.log(p), -100)

    @cross_entropy.defjvp
    def slopes(
        primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, jax.Array]:
        p, t = primals
        # torch bounds the denominator by the same number.
        by_p = (p - t) / jnp.maximum(p * (1 - p), 1e-12)
        by_t = jnp.log1p(-p) - jnp.log(p)
        return cross_entropy(p, t), by_p * tangents[0] + by_t * tangents[1]

    return cross_entropy(probability, target)


def ctc_loss(
    log_probabilities: jax.Array,
    targets: jax.Array,
    input_lengths: jax.Array,
    target_lengths: jax.Array,
    blank: int = 0,
) -> jax.Array:
    """Compute ``-log p(targets)`` of each sequence by the forward recursion over all alignments.

    ``log_probabilities`` is [time, batch, classes], and ``targets`` is [batch, length]. If no alignment
    exists, the loss is infinite.
    """
    time, batch = log_probabilities.shape[:2]
    length = targets.shape[1]
    places = jnp.arange(2 * length + 1)
    labels = jnp.where(
        places % 2, jnp.pad(jnp.repeat(targets, 2, axis=1), ((0, 0), (1, 0)))[:, : 2 * length + 1], blank
    )
    labels = jnp.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = jnp.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, : 2 * length + 1]
    may_skip = (labels != blank) & (labels != two_back)
    # Logarithms of -inf for unreachable states would make the gradient NaN.
    never = float(jnp.finfo(log_probabilities.dtype).min) / 8
    emitted = jnp.take_along_axis(log_probabilities, jnp.broadcast_to(labels, (time, *labels.shape)), axis=2)

    def shifted(alpha: jax.Array, by: int) -> jax.Array:
        return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=never)[:, : 2 * length + 1]

    def step(alpha: jax.Array, inputs: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        now, index = inputs
        grown = (
            jnp.logaddexp(
                jnp.logaddexp(alpha, shifted(alpha, 1)), jnp.where(may_skip, shifted(alpha, 2), never)
            )
            + now
        )
        return jnp.where((index < input_lengths)[:, None], jnp.maximum(grown, never), alpha), None

    before = jnp.where(places == 0, jnp.zeros((), emitted.dtype), never) + jnp.zeros(
        (batch, 1), emitted.dtype
    )
    first = jnp.where(places < 2, jnp.maximum(emitted[0], never), never)
    # An empty input has emitted nothing, so it is still in the first state.
    alpha = jnp.where((input_lengths > 0)[:, None], first, before)
    alpha, _ = lax.scan(step, alpha, (emitted[1:], jnp.arange(1, time)))
    ends = 2 * target_lengths[:, None]
    last = jnp.take_along_axis(alpha, ends, axis=1)[:, 0]
    other = jnp.take_along_axis(alpha, jnp.maximum(ends - 1, 0), axis=1)[:, 0]
    total = jnp.where(target_lengths > 0, jnp.logaddexp(last, other), last)
    return jnp.where(total > never / 2, -total, jnp.inf)


def widened(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4 else x


def over_channels(vector: jax.Array, ndim: int, axis: int = 1) -> jax.Array:
    return widened(vector).reshape([-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: jax.Array, axis: int | tuple[int, ...], epsilon: float) -> jax.Array:
    centred = x - x.mean(axis, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(axis, keepdims=True) + epsilon)


def batch_norm(
    x: jax.Array,
    mean: jax.Array,
    variance: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> jax.Array:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors along ``axis``.

    ``axis`` is not negative.
    """
    scale = lax.rsqrt(widened(variance) + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (widened(x) - over_channels(mean, x.ndim, axis)) * over_channels(scale, x.ndim, axis)
    if bias is not None:
        result = result + over_channels(bias, x.ndim, axis)
    return result.astype(x.dtype)


def layer_norm(
    x: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int | tuple[int, ...] = -1,
    epsilon: float,
) -> jax.Array:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with moments over ``axis``."""
    result = standardised(widened(x), axis, epsilon)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.astype(x.dtype)


def rms_norm(
    x: jax.Array, weight: jax.Array | None = None, *, axis: int | tuple[int, ...] = -1, epsilon: float
) -> jax.Array:
    """Compute ``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    wide = widened(x)
    result = wide * lax.rsqrt((wide * wide).mean(axis, keepdims=True) + epsilon)
    if weight is not None:
        result = result * weight
    return result.astype(x.dtype)


def group_norm(
    x: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int = 1,
    groups: int,
    epsilon: float,
) -> jax.Array:
    """Standardise each of ``groups`` groups of channels of each sample, then scale and shift the channels.

    Channels are on the nonnegative ``axis``, and samples on axis 0.
    """
    grouped = widened(x).reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    result = standardised(
        grouped, tuple(place for place in range(1, grouped.ndim) if place != axis), epsilon
    ).reshape(x.shape)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype)


def instance_norm(
    x: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> jax.Array:
    """Standardise each channel of each sample over the spatial axes, then scale and shift the channels.

    Channels are on the nonnegative ``axis``, and samples on axis 0.
    """
    result = standardised(widened(x), tuple(place for place in range(1, x.ndim) if place != axis), epsilon)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype)


def scaled_channels(x: jax.Array, weight: jax.Array | None, bias: jax.Array | None, axis: int) -> jax.Array:
    if weight is not None:
        x = x * over_channels(weight, x.ndim, axis)
    return x if bias is None else x + over_channels(bias, x.ndim, axis)


def local_response_norm(x: jax.Array, *, size: int, alpha: float, beta: float, k: float) -> jax.Array:
    """Compute ``x / (k + alpha * mean(x ** 2)) ** beta`` with means over ``size`` neighbouring channels.

    Channels are on axis 1. Beyond the first and last channel, ``x`` counts as 0.
    """
    wide = widened(x)
    window = (1, size) + (1,) * (x.ndim - 2)
    padding = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2)
    total = lax.reduce_window(wide * wide, np.zeros((), wide.dtype), lax.add, window, (1,) * x.ndim, padding)
    return (wide / (k + total * (alpha / size)) ** beta).astype(x.dtype)


def normalize(x: jax.Array, *, ord: float = 2, axis: int | tuple[int, ...], epsilon: float) -> jax.Array:
    """Compute ``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``."""
    wide = widened(x)
    norm = norm_over(wide, axis, ord, True)
    return (wide / jnp.maximum(norm, epsilon)).astype(x.dtype)
