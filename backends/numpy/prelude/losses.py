"""Losses."""

from __future__ import annotations

import numpy as np

from .activations import log_softmax


def nll_loss(
    log_probabilities: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> np.ndarray:
    """``-weight[target] * log_probabilities[target]``, classes on axis 1; 0 where the target is ``ignore_index``."""
    axis = min(1, log_probabilities.ndim - 1)
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
    """Cross entropy of ``softmax(logits)`` against class indices; a share ``label_smoothing`` falls on all classes alike."""
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
        smooth = smooth / np.where(kept, 1 if weight is None else weight[np.where(kept, target, 0)], 0).sum().astype(logs.dtype)
    return (1 - label_smoothing) * loss + label_smoothing / logits.shape[axis] * smooth


def binary_cross_entropy(probability: np.ndarray, target: np.ndarray) -> np.ndarray:
    """``-(target * log(probability) + (1 - target) * log(1 - probability))``, each logarithm at least -100."""
    return (target - 1) * np.maximum(np.log1p(-probability), -100) - target * np.maximum(np.log(probability), -100)


def ctc_loss(
    log_probabilities: np.ndarray, targets: np.ndarray, input_lengths: np.ndarray, target_lengths: np.ndarray, blank: int = 0
) -> np.ndarray:
    """``-log p(targets)`` of each sequence, summed over all alignments by the forward recursion."""
    batch, length = targets.shape
    places = np.arange(2 * length + 1)
    labels = np.full((batch, 2 * length + 1), blank)
    labels[:, 1::2] = targets
    labels = np.where(places < 2 * target_lengths[:, None] + 1, labels, blank)
    two_back = np.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, : 2 * length + 1]
    may_skip = (labels != blank) & (labels != two_back)
    emitted = np.take_along_axis(log_probabilities, np.broadcast_to(labels, (len(log_probabilities), *labels.shape)), axis=2)
    alpha = np.where(places == 0, 0.0, -np.inf).astype(emitted.dtype) + np.zeros((batch, 1), emitted.dtype)

    def shifted(by: int) -> np.ndarray:
        return np.pad(alpha, ((0, 0), (by, 0)), constant_values=-np.inf)[:, : 2 * length + 1]

    for index, now in enumerate(emitted):
        if index == 0:
            grown = np.where(places < 2, now, -np.inf)
        else:
            grown = np.logaddexp(np.logaddexp(alpha, shifted(1)), np.where(may_skip, shifted(2), -np.inf)) + now
        alpha = np.where((index < input_lengths)[:, None], grown, alpha)
    ends = 2 * target_lengths[:, None]
    last = np.take_along_axis(alpha, ends, axis=1)[:, 0]
    other = np.take_along_axis(alpha, np.maximum(ends - 1, 0), axis=1)[:, 0]
    return -np.where(target_lengths > 0, np.logaddexp(last, other), last)
