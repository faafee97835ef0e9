"""Losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def nll_loss(
    log_probabilities: jax.Array, target: jax.Array, weight: jax.Array | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> jax.Array:
    """``-weight[target] * log_probabilities[target]``, classes on axis 1; 0 where the target is ``ignore_index``."""
    axis = min(1, log_probabilities.ndim - 1)
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
    """Cross entropy of ``softmax(logits)`` against class indices; a share ``label_smoothing`` falls on all classes alike."""
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
    """``-(target * log(probability) + (1 - target) * log(1 - probability))``, each logarithm at least -100, with finite gradients."""

    @jax.custom_jvp
    def cross_entropy(p: jax.Array, t: jax.Array) -> jax.Array:
        return (t - 1) * jnp.maximum(jnp.log1p(-p), -100) - t * jnp.maximum(jnp.log(p), -100)

    @cross_entropy.defjvp
    def slopes(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        p, t = primals
        by_p = (p - t) / jnp.maximum(p * (1 - p), 1e-12)
        by_t = jnp.log1p(-p) - jnp.log(p)
        return cross_entropy(p, t), by_p * tangents[0] + by_t * tangents[1]

    return cross_entropy(probability, target)


def ctc_loss(
    log_probabilities: jax.Array, targets: jax.Array, input_lengths: jax.Array, target_lengths: jax.Array, blank: int = 0
) -> jax.Array:
    """``-log p(targets)`` of each sequence, summed over all alignments by the forward recursion.

    Its gradient is that of this sum; torch's assumes a log_softmax before it, and is the same after that. What cannot be reached has a very
    small logarithm and not that of 0, whose gradient is NaN; where no alignment fits, the loss is infinite and the gradient 0.
    """
    time, batch = log_probabilities.shape[:2]
    length = targets.shape[1]
    places = jnp.arange(2 * length + 1)
    labels = jnp.where(places % 2, jnp.pad(jnp.repeat(targets, 2, axis=1), ((0, 0), (1, 0)))[:, : 2 * length + 1], blank)
    labels = jnp.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = jnp.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, : 2 * length + 1]
    may_skip = (labels != blank) & (labels != two_back)
    never = float(jnp.finfo(log_probabilities.dtype).min) / 8
    emitted = jnp.take_along_axis(log_probabilities, jnp.broadcast_to(labels, (time, *labels.shape)), axis=2)

    def shifted(alpha: jax.Array, by: int) -> jax.Array:
        return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=never)[:, : 2 * length + 1]

    def step(alpha: jax.Array, inputs: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        now, index = inputs
        grown = jnp.logaddexp(jnp.logaddexp(alpha, shifted(alpha, 1)), jnp.where(may_skip, shifted(alpha, 2), never)) + now
        return jnp.where((index < input_lengths)[:, None], jnp.maximum(grown, never), alpha), None

    before = jnp.where(places == 0, jnp.zeros((), emitted.dtype), never) + jnp.zeros((batch, 1), emitted.dtype)
    first = jnp.where(places < 2, jnp.maximum(emitted[0], never), never)
    alpha = jnp.where((input_lengths > 0)[:, None], first, before)
    alpha, _ = lax.scan(step, alpha, (emitted[1:], jnp.arange(1, time)))
    ends = 2 * target_lengths[:, None]
    last = jnp.take_along_axis(alpha, ends, axis=1)[:, 0]
    other = jnp.take_along_axis(alpha, jnp.maximum(ends - 1, 0), axis=1)[:, 0]
    total = jnp.where(target_lengths > 0, jnp.logaddexp(last, other), last)
    return jnp.where(total > never / 2, -total, jnp.inf)
