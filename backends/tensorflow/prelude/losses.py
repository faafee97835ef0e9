"""Losses."""

from __future__ import annotations

import math

import tensorflow as tf

from .creation import size
from .elementwise import logaddexp
from .gradients import custom_gradient


def nll_loss(
    log_probabilities: tf.Tensor, target: tf.Tensor, weight: tf.Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> tf.Tensor:
    """``-weight[target] * log_probabilities[target]``, classes on axis 1; 0 where the target is ``ignore_index``."""
    rank = len(log_probabilities.shape)
    last = tf.transpose(log_probabilities, [0, *range(2, rank), 1]) if rank > 2 else log_probabilities
    kept = target != ignore_index
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
    """Cross entropy of ``softmax(logits)`` against class indices; a share ``label_smoothing`` falls on all classes alike."""
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
    """``-(target * log(probability) + (1 - target) * log(1 - probability))``, each logarithm at least -100, with finite gradients."""

    @custom_gradient
    def cross_entropy(p: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, object]:
        log_p, log_rest = tf.maximum(tf.math.log(p), -100), tf.maximum(tf.math.log1p(-p), -100)

        def slopes(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return upstream * (p - t) / tf.maximum(p * (1 - p), 1e-12), upstream * (tf.math.log1p(-p) - tf.math.log(p))

        return (t - 1) * log_rest - t * log_p, slopes

    shape = tf.broadcast_dynamic_shape(tf.shape(probability), tf.shape(target))
    return cross_entropy(tf.broadcast_to(probability, shape), tf.broadcast_to(target, shape))


def ctc_loss(
    log_probabilities: tf.Tensor, targets: tf.Tensor, input_lengths: tf.Tensor, target_lengths: tf.Tensor, blank: int = 0
) -> tf.Tensor:
    """``-log p(targets)`` of each sequence, summed over all alignments by the forward recursion.

    Its gradient is that of this sum; torch's assumes a log_softmax before it, and is the same after that. What cannot be reached has a very
    small logarithm and not that of 0, whose gradient is NaN; where no alignment fits, the loss is infinite and the gradient 0.
    """
    time, batch = size(log_probabilities, 0), size(log_probabilities, 1)
    targets, input_lengths, target_lengths = (tf.cast(array, tf.int32) for array in (targets, input_lengths, target_lengths))
    width = 2 * size(targets, 1) + 1
    places = tf.range(width)
    labels = tf.where(places % 2 == 1, tf.pad(tf.repeat(targets, 2, axis=1), [[0, 0], [1, 0]])[:, :width], blank)
    labels = tf.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = tf.pad(labels, [[0, 0], [2, 0]], constant_values=blank)[:, :width]
    may_skip = (labels != blank) & (labels != two_back)
    spread = tf.broadcast_to(labels, [time, batch, width])
    emitted = tf.gather(log_probabilities, spread, batch_dims=2)
    never = emitted.dtype.min / 8

    def shifted(alpha: tf.Tensor, by: int) -> tf.Tensor:
        return tf.pad(alpha, [[0, 0], [by, 0]], constant_values=never)[:, :width]

    def step(t: tf.Tensor, alpha: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        grown = logaddexp(logaddexp(alpha, shifted(alpha, 1)), tf.where(may_skip, shifted(alpha, 2), never)) + emitted[t]
        return t + 1, tf.where((t < input_lengths)[:, None], tf.maximum(grown, never), alpha)

    before = tf.broadcast_to(tf.where(places == 0, tf.zeros([], emitted.dtype), never), [batch, width])
    alpha = tf.where((input_lengths > 0)[:, None], tf.where(places < 2, tf.maximum(emitted[0], never), never), before)
    _, alpha = tf.while_loop(lambda t, _: t < time, step, (tf.constant(1), alpha))
    ends = 2 * target_lengths
    last = tf.gather(alpha, ends, batch_dims=1)
    other = tf.gather(alpha, tf.maximum(ends - 1, 0), batch_dims=1)
    total = tf.where(target_lengths > 0, logaddexp(last, other), last)
    return tf.where(total > never / 2, -total, math.inf)
