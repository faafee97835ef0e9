"""Losses of torch that compare scores with each other: margins, rankings, distances; and CTC."""

from __future__ import annotations

from typing import Any

import torch

from ..demands import assume
from ..distances import pairwise_distance
from ..manipulation import reshaped
from ..table import TorchBuilder, rows
from .loss_rows import loss, reduced, reduction_of


def _above(b: TorchBuilder, x: Any) -> Any:
    """``x.clamp_min(0)``, which has slope 1 at 0."""
    return b.clip(x, b.operand(0, x.dtype))


def _strictly_above(b: TorchBuilder, x: Any) -> Any:
    """``x`` where it is above 0, with no slope at 0: what torch's kernels of losses compute."""
    return b.where(b.greater(x, 0), x, b.operand(0, x.dtype))


@loss("hinge_embedding_loss")
def hinge_embedding_loss(b: TorchBuilder, input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """torch.nn.functional.hinge_embedding_loss: ``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    other, same = (b.not_equal(target, b.operand(sign, target.dtype)) for sign in (1, -1))
    apart = b.where(other, _above(b, b.subtract(b.operand(margin, input.dtype), input)), b.operand(0, input.dtype))
    near = b.where(same, input, b.operand(0, input.dtype))
    return reduced(b, b.combined("add", apart, near), reduction)


@loss("margin_ranking_loss")
def margin_ranking_loss(b: TorchBuilder, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """torch.nn.functional.margin_ranking_loss: ``max(0, -target * (input1 - input2) + margin)``."""
    apart = b.combined("multiply", b.negative(target), b.combined("subtract", input1, input2))
    losses = _above(b, b.combined("add", apart, float(margin)))
    return reduced(b, losses, reduction)


@loss("multi_margin_loss")
def multi_margin_loss(
    b: TorchBuilder, input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    """torch.nn.functional.multi_margin_loss: ``sum(max(0, margin - x[target] + x[other]) ** p) / classes``."""
    single = input.ndim < 2
    classes = input.shape[-1] if input.ndim else 1
    rows_, labels = (b.reshape(input, shape=(1, classes)), reshaped(b, target, (1,))) if single else (input, target)
    picked = b.take_along_axis(rows_, b.reshape(labels, shape=(rows_.shape[0], 1)), axis=1)
    short = _strictly_above(b, b.add(b.subtract(rows_, picked), float(margin)))
    short = b.square(short) if b.fix(p) == 2 else short
    if weight is not None:
        short = b.multiply(short, b.reshape(b.take(weight, labels, axis=0), shape=(rows_.shape[0], 1)))
    others = b.where(b.one_hot(labels, num_classes=classes, dtype="bool"), 0.0, short)
    losses = b.divide(b.sum(others, axis=1), classes)
    return b.reshape(losses, shape=()) if single and reduction == "none" and target.ndim == 0 else reduced(b, losses, reduction)


@loss("multilabel_margin_loss")
def multilabel_margin_loss(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean") -> Any:
    """torch.nn.functional.multilabel_margin_loss: ``sum(max(0, 1 - x[label] + x[other])) / classes``; labels end at the first -1."""
    classes = input.shape[-1] if input.ndim else 1
    count = input.shape[0] if input.ndim == 2 else 1
    x, labels = (b.reshape(item, shape=(count, classes)) for item in (input, target))
    ended = b.greater(b.cumulative_sum(b.astype(b.less(labels, 0), dtype="int64"), axis=1), 0)
    picked = b.take_along_axis(x, b.where(ended, 0, labels), axis=1)
    is_label = b.any(b.one_hot(b.where(ended, -1, labels), num_classes=classes, dtype="bool"), axis=1)
    short = _strictly_above(
        b, b.add(b.subtract(b.reshape(x, shape=(count, 1, classes)), b.reshape(picked, shape=(count, classes, 1))), 1.0)
    )
    skipped = b.logical_or(b.reshape(ended, shape=(count, classes, 1)), b.reshape(is_label, shape=(count, 1, classes)))
    losses = b.divide(b.sum(b.where(skipped, 0.0, short), axis=(1, 2)), classes)
    return b.reshape(losses, shape=()) if input.ndim < 2 and reduction == "none" else reduced(b, losses, reduction)


@loss("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """torch.nn.functional.multilabel_soft_margin_loss: binary cross entropy, averaged over the last axis."""
    input, target = b.promote(input, target)
    positive = b.multiply(target, b.log_sigmoid(input))
    negative = b.multiply(b.subtract(1.0, target), b.log_sigmoid(b.negative(input)))
    losses = b.negative(b.add(positive, negative))
    losses = b.mean(losses if weight is None else b.multiply(losses, weight), axis=input.ndim - 1)
    return reduced(b, losses, reduction)


@loss("cosine_embedding_loss")
def cosine_embedding_loss(b: TorchBuilder, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """torch.nn.functional.cosine_embedding_loss: ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    axis = target.ndim
    product = b.sum(b.combined("multiply", input1, input2), axis=axis)
    lengths = (b.combined("add", b.sum(b.multiply(x, x), axis=axis), 1e-12) for x in (input1, input2))
    cosine = b.combined("divide", product, b.sqrt(b.combined("multiply", *lengths)))
    same, other = (b.equal(target, b.operand(sign, target.dtype)) for sign in (1, -1))
    like = b.where(same, b.subtract(1.0, cosine), 0.0)
    unlike = b.where(other, _above(b, b.subtract(cosine, float(margin))), 0.0)
    return reduced(b, b.add(like, unlike), reduction)


# ---------------------------------------------------------------------------------------------- triplets
@loss("triplet_margin_loss")
def triplet_margin_loss(
    b: TorchBuilder,
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """torch.nn.functional.triplet_margin_loss: ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    near, far = pairwise_distance(b, anchor, positive, p, eps), pairwise_distance(b, anchor, negative, p, eps)
    if swap:
        far = b.minimum(far, pairwise_distance(b, positive, negative, p, eps))
    return reduced(b, _above(b, b.add(b.subtract(near, far), float(margin))), reduction)


@rows.row("triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    b: TorchBuilder,
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """torch.nn.functional.triplet_margin_with_distance_loss with a p-norm as the distance."""
    if distance_function in (None, torch.pairwise_distance, torch.nn.functional.pairwise_distance):
        norm, eps = 2.0, 1e-6
    elif isinstance(distance_function, torch.nn.PairwiseDistance) and not distance_function.keepdim:
        norm, eps = distance_function.norm, distance_function.eps
    else:
        raise NotImplementedError("triplet_margin_with_distance_loss with a distance_function of the user's own")
    return triplet_margin_loss(b, anchor, positive, negative, margin, norm, eps, swap=swap, reduction=reduction)


# ---------------------------------------------------------------------------------------------- CTC
@rows.row("ctc_loss")
def ctc_loss(
    b: TorchBuilder,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str | int = "mean",
    zero_infinity: bool = False,
) -> Any:
    """torch.nn.functional.ctc_loss; targets padded [batch, length], or one after the other [sum of lengths]."""
    single = log_probs.ndim == 2
    if single:
        log_probs = b.reshape(log_probs, shape=(log_probs.shape[0], 1, log_probs.shape[1]))
    batch = log_probs.shape[1]
    longest = max(target_lengths, default=0) if isinstance(target_lengths, (tuple, list)) else None
    _assume_room(b, log_probs.shape[0], input_lengths)
    if targets.ndim == 2:
        _assume_room(b, targets.shape[1], target_lengths)
    steps, lengths = (_lengths(b, item, batch) for item in (input_lengths, target_lengths))
    if targets.ndim == 1:
        targets = b.reshape(targets, shape=(1, *targets.shape)) if single else _rows_of(b, targets, lengths, batch, longest)
    losses = b.ctc_loss(log_probs, targets, steps, lengths, blank=blank)
    if zero_infinity:
        losses = b.where(b.equal(losses, float("inf")), 0.0, losses)
    how = reduction_of(None, None, reduction)
    if how == "mean":
        losses = b.divide(losses, b.astype(b.maximum(lengths, 1), dtype=losses.dtype))
    return b.reshape(losses, shape=()) if single and how == "none" else reduced(b, losses, how)


def _assume_room(b: TorchBuilder, size: Any, lengths: Any) -> None:
    """Lengths that are numbers lie inside of an axis; those in arrays are looked at where they come in."""
    if isinstance(lengths, (tuple, list)):
        assume(b, "ge", size, max(lengths, default=0))


def _lengths(b: TorchBuilder, lengths: Any, batch: Any) -> Any:
    if isinstance(lengths, (tuple, list)):
        return b.asarray(data=tuple(lengths), dtype="int64")
    return b.reshape(lengths, shape=(batch,))


def _rows_of(b: TorchBuilder, targets: Any, lengths: Any, batch: Any, longest: Any) -> Any:
    """Targets that stand one after the other, as rows; without a known length each row is as long as all together."""
    width = targets.shape[0] if longest is None else longest
    starts = b.subtract(b.cumulative_sum(lengths, axis=0, dtype=lengths.dtype), lengths)
    place = b.add(b.reshape(starts, shape=(batch, 1)), b.reshape(b.arange(stop=width, dtype=lengths.dtype), shape=(1, width)))
    return b.take(targets, b.minimum(place, targets.shape[0] - 1), axis=0)
