"""Activations, attention, embeddings, losses and normalisation layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .statistics import vector_norm

if TYPE_CHECKING:
    from scipy import special


def elu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x))


def selu(x: np.ndarray) -> np.ndarray:
    """Compute ``scale * x`` where ``x`` is positive, else ``scale * alpha * expm1(x)``.

    The constants are those of Klambauer et al., 2017.
    """
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def celu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def gelu(x: np.ndarray) -> np.ndarray:
    """Compute the GELU, ``x * Phi(x)``.

    ``Phi`` is the cumulative distribution function of the standard normal distribution.
    """
    if x.dtype != np.float32:
        return x * 0.5 * (1 + special.erf(x * math.sqrt(0.5)))
    result = single_erf(x * math.sqrt(0.5))
    result += 1
    result *= x
    result *= 0.5
    return result


def single_erf(x: np.ndarray) -> np.ndarray:
    """Approximate the error function of float32 elements by a rational function."""
    above = (2.05011294e-06, 0.000284877732, 0.00376542547, 0.052748136, 0.19040211, 1.12837915)
    below = (3.8091717e-05, 0.00116248766, 0.0149688359, 0.1141073, 0.502072219, 1.0)
    near = np.clip(x, -3.92, 3.92)
    square = near * near
    numerator, denominator = (np.full_like(square, factors[0]) for factors in (above, below))
    for total, factors in ((numerator, above), (denominator, below)):
        for factor in factors[1:]:
            total *= square
            total += factor
    numerator *= near
    numerator /= denominator
    return np.where(abs(x) < 3.92, np.clip(numerator, -1, 1), np.sign(x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def glu(x: np.ndarray, axis: int) -> np.ndarray:
    """Multiply the first half of ``x`` along ``axis`` by the sigmoid of the second half."""
    value, gate = np.split(x, 2, axis)
    return value / (1 + np.exp(-gate))


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Compute ``exp(x)`` divided by its sum over ``axis``, without overflow."""
    # ``np.max`` raises if there are no elements.
    if x.size == 0:
        return x.copy()
    # The exponentials of large elements would overflow.
    weights = np.exp(x - np.max(x, axis, keepdims=True))
    return weights / np.sum(weights, axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Compute ``log(softmax(x))`` without overflow."""
    if x.size == 0:
        return x.copy()
    shifted = x - np.max(x, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


def scaled_dot_product_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> np.ndarray:
    """Compute ``softmax(query @ key.mT * scale + mask) @ value``, with the softmax over the keys.

    A boolean ``mask`` is True for the keys to attend to. With ``is_causal``, query i attends only to the keys
    0 to i. The weights are 0 for a query that attends to no key.
    """
    return attention_weights(query, key, mask, is_causal=is_causal, scale=scale) @ value


def attention_weights(
    query: np.ndarray,
    key: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> np.ndarray:
    """Compute ``softmax(query @ key.mT * scale + mask)`` over the keys.

    A boolean ``mask`` is True for the keys to attend to. With ``is_causal``, query i attends only to the keys
    0 to i. The weights are 0 for a query that attends to no key.
    """
    scores = query * (query.shape[-1] ** -0.5 if scale is None else scale) @ key.mT
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    peak = np.max(scores, -1, keepdims=True, initial=-np.inf)
    # In a fully masked row, the difference of two infinities would be NaN.
    weights = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = np.sum(weights, -1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def embedding(weight: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return ``weight[indices]``.

    Raise ``IndexError`` for indices that are negative, which NumPy would count from the end, or too large.
    """
    if indices.size and np.min(indices) < 0:
        raise IndexError(f"index {np.min(indices)} is outside of a table of {len(weight)} rows")
    return weight[indices]


def embedding_bag(
    weight: np.ndarray,
    indices: np.ndarray,
    offsets: np.ndarray,
    per_sample_weights: np.ndarray | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> np.ndarray:
    """Reduce the embeddings of each bag ``indices[offsets[i]:offsets[i + 1]]`` by "sum", "mean" or "max".

    ``offsets`` ascend from 0. The last bag ends at the last offset if ``include_last_offset``, else at the
    end of ``indices``. Embeddings of ``padding_idx`` are left out.
    """
    starts = offsets[:-1] if include_last_offset else offsets
    bag = np.searchsorted(starts, np.arange(len(indices)), side="right") - 1
    kept = np.arange(len(indices)) < (offsets[-1] if include_last_offset else len(indices))
    if padding_idx is not None:
        kept &= indices != padding_idx
    bag, rows = bag[kept], embedding(weight, indices[kept])
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[kept, None]
    result = np.full((len(starts), weight.shape[1]), -np.inf if mode == "max" else 0, weight.dtype)
    if mode == "max":
        np.maximum.at(result, bag, rows)
    else:
        np.add.at(result, bag, rows)
    count = np.bincount(bag, minlength=len(starts))[:, None]
    if mode == "max":
        return np.where(count == 0, 0, result)
    return result if mode == "sum" else result / np.maximum(count, 1).astype(weight.dtype)


def nll_loss(
    log_probabilities: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> np.ndarray:
    """Compute the negative log-likelihood of the classes ``target``, weighted by ``weight[target]``.

    Classes are on axis 1, or on axis 0 without a batch. The loss is 0 where ``target`` is ``ignore_index``.
    The "mean" is the sum of the losses divided by the sum of the weights of the other targets.
    """
    axis = min(1, log_probabilities.ndim - 1)
    # ``ignore_index`` need not be a class, so it is replaced before it is used as an index.
    kept = target != ignore_index
    target = np.where(kept, target, 0)
    if target.size and np.min(target) < 0:
        raise IndexError(f"target {np.min(target)} is no class")
    picked = np.take_along_axis(log_probabilities, np.expand_dims(target, axis), axis).squeeze(axis)
    weights = np.where(kept, 1 if weight is None else weight[target], 0).astype(picked.dtype)
    losses = np.where(kept, -picked * weights, 0)
    if reduction == "none":
        return losses
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()


def cross_entropy(
    logits: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> np.ndarray:
    """Compute the cross entropy of ``softmax(logits)`` and class indices, with classes on axis 1.

    Without a batch, classes are on axis 0. ``label_smoothing`` is the share of the target distribution that
    is spread evenly over all classes.
    """
    axis = min(1, logits.ndim - 1)
    logs = log_softmax(logits, axis)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    kept = target != ignore_index
    if weight is not None:
        logs = logs * weight.reshape(-1, *(1,) * (logs.ndim - axis - 1))
    smooth = np.where(kept, -logs.sum(axis), 0)
    if reduction != "none":
        smooth = smooth.sum()
    if reduction == "mean":
        smooth = smooth / np.where(
            kept, 1 if weight is None else weight[np.where(kept, target, 0)], 0
        ).sum().astype(logs.dtype)
    return (1 - label_smoothing) * loss + label_smoothing / logits.shape[axis] * smooth


def binary_cross_entropy(probability: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Compute the cross entropy of two Bernoulli distributions.

    It is ``-(target * log(probability) + (1 - target) * log(1 - probability))``, where each logarithm is at
    least -100.
    """
    return (target - 1) * np.maximum(np.log1p(-probability), -100) - target * np.maximum(
        np.log(probability), -100
    )


def ctc_loss(
    log_probabilities: np.ndarray,
    targets: np.ndarray,
    input_lengths: np.ndarray,
    target_lengths: np.ndarray,
    blank: int = 0,
) -> np.ndarray:
    """Compute ``-log p(targets)`` of each sequence by the forward recursion over all alignments.

    ``log_probabilities`` is [time, batch, classes], and ``targets`` is [batch, length]. If no alignment
    exists, the loss is infinite.
    """
    batch, length = targets.shape
    places = np.arange(2 * length + 1)
    labels = np.full((batch, 2 * length + 1), blank)
    labels[:, 1::2] = targets
    labels = np.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = np.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, : 2 * length + 1]
    may_skip = (labels != blank) & (labels != two_back)
    emitted = np.take_along_axis(
        log_probabilities, np.broadcast_to(labels, (len(log_probabilities), *labels.shape)), axis=2
    )
    alpha = np.where(places == 0, 0.0, -np.inf).astype(emitted.dtype) + np.zeros((batch, 1), emitted.dtype)

    def shifted(by: int) -> np.ndarray:
        return np.pad(alpha, ((0, 0), (by, 0)), constant_values=-np.inf)[:, : 2 * length + 1]

    for index, now in enumerate(emitted):
        if index == 0:
            grown = np.where(places < 2, now, -np.inf)
        else:
            grown = (
                np.logaddexp(np.logaddexp(alpha, shifted(1)), np.where(may_skip, shifted(2), -np.inf)) + now
            )
        alpha = np.where((index < input_lengths)[:, None], grown, alpha)
    ends = 2 * target_lengths[:, None]
    last = np.take_along_axis(alpha, ends, axis=1)[:, 0]
    other = np.take_along_axis(alpha, np.maximum(ends - 1, 0), axis=1)[:, 0]
    return -np.where(target_lengths > 0, np.logaddexp(last, other), last)


def over_channels(vector: np.ndarray, ndim: int, axis: int = 1) -> np.ndarray:
    return vector.reshape([-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: np.ndarray, axis: int | tuple[int, ...], epsilon: float) -> np.ndarray:
    count = x.size // max(np.sum(x, axis).size, 1)
    centred = x - np.sum(x, axis, keepdims=True) / count
    return centred / np.sqrt(np.sum(centred * centred, axis, keepdims=True) / count + epsilon)


def batch_norm(
    x: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> np.ndarray:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors along ``axis``.

    ``axis`` is not negative.
    """
    scale = 1 / np.sqrt(variance + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (x - over_channels(mean, x.ndim, axis)) * over_channels(scale, x.ndim, axis)
    if bias is not None:
        result = result + over_channels(bias, x.ndim, axis)
    return result.astype(x.dtype, copy=False)


def layer_norm(
    x: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int | tuple[int, ...] = -1,
    epsilon: float,
) -> np.ndarray:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with moments over ``axis``."""
    result = standardised(x, axis, epsilon)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.astype(x.dtype, copy=False)


def rms_norm(
    x: np.ndarray, weight: np.ndarray | None = None, *, axis: int | tuple[int, ...] = -1, epsilon: float
) -> np.ndarray:
    """Compute ``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    squares = np.sum(x * x, axis, keepdims=True)
    result = x / np.sqrt(squares * (squares.size / max(x.size, 1)) + epsilon)
    if weight is not None:
        result = result * weight
    return result.astype(x.dtype, copy=False)


def group_norm(
    x: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int = 1,
    groups: int,
    epsilon: float,
) -> np.ndarray:
    """Standardise each of ``groups`` groups of channels of each sample, then scale and shift the channels.

    Channels are on the nonnegative ``axis``, and samples on axis 0.
    """
    grouped = x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    result = standardised(
        grouped, tuple(place for place in range(1, grouped.ndim) if place != axis), epsilon
    ).reshape(x.shape)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype, copy=False)


def instance_norm(
    x: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> np.ndarray:
    """Standardise each channel of each sample over the spatial axes, then scale and shift the channels.

    Channels are on the nonnegative ``axis``, and samples on axis 0.
    """
    result = standardised(x, tuple(place for place in range(1, x.ndim) if place != axis), epsilon)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype, copy=False)


def scaled_channels(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, axis: int
) -> np.ndarray:
    if weight is not None:
        x = x * over_channels(weight, x.ndim, axis)
    return x if bias is None else x + over_channels(bias, x.ndim, axis)


def local_response_norm(x: np.ndarray, *, size: int, alpha: float, beta: float, k: float) -> np.ndarray:
    """Compute ``x / (k + alpha * mean(x ** 2)) ** beta`` with means over ``size`` neighbouring channels.

    Channels are on axis 1. Beyond the first and last channel, ``x`` counts as 0.
    """
    around = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2)
    squares = np.pad(x * x, around)
    total = sum(squares[:, start : start + x.shape[1]] for start in range(size))
    return x / (k + total * (alpha / size)) ** beta


def normalize(x: np.ndarray, *, ord: float = 2, axis: int | tuple[int, ...], epsilon: float) -> np.ndarray:
    """Compute ``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``."""
    return x / np.maximum(vector_norm(x, ord=ord, axis=axis, keepdims=True), epsilon)
