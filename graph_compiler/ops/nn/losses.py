"""Losses that stay whole. Other losses are short formulas, which lifting writes in smaller operations."""

from __future__ import annotations

from ..registry import ArraySpec, declare
from ..rules import dtype_of, elementwise

_SECTION = "losses"


def _by_reduction(shape: tuple[object, ...], dtype: str, reduction: str) -> ArraySpec:
    return ArraySpec(shape if reduction == "none" else (), dtype)


@declare(_SECTION)
def nll_loss(
    log_probabilities: ArraySpec,
    target: ArraySpec,
    weight: ArraySpec | None = None,
    /,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> ArraySpec:
    """Compute the negative log-likelihood of class indices: ``-weight[target] * log_probabilities[target]``.

    Classes are on axis 1, or on axis 0 if there is only one. Targets equal to ``ignore_index`` yield 0.
    ``reduction`` is "none", "sum" or "mean"; "mean" divides by the summed weights of the targets that are
    not ignored.
    """
    return _by_reduction(target.shape, dtype_of(log_probabilities, weight), reduction)


@declare(_SECTION)
def cross_entropy(
    logits: ArraySpec,
    target: ArraySpec,
    weight: ArraySpec | None = None,
    /,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> ArraySpec:
    """Compute the cross entropy of ``softmax(logits)`` and class indices; options as in ``nll_loss``.

    ``label_smoothing`` is the share that is distributed equally over all classes.
    """
    return _by_reduction(target.shape, dtype_of(logits, weight), reduction)


@declare(_SECTION)
def binary_cross_entropy(probability: ArraySpec, target: ArraySpec, /) -> ArraySpec:
    """Compute ``-(target * log(probability) + (1 - target) * log(1 - probability))``.

    Each logarithm is at least -100.
    """
    return elementwise(probability, target)


@declare(_SECTION)
def ctc_loss(
    log_probabilities: ArraySpec,
    targets: ArraySpec,
    input_lengths: ArraySpec,
    target_lengths: ArraySpec,
    /,
    *,
    blank: int = 0,
) -> ArraySpec:
    """Compute the connectionist temporal classification loss, ``-log p(targets)`` of each sequence.

    It is inf if no alignment fits. ``log_probabilities`` is [time, batch, classes]; ``targets`` is [batch,
    length], padded beyond ``target_lengths``.
    """
    return ArraySpec((log_probabilities.shape[1],), log_probabilities.dtype)
