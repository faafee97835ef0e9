"""Losses, most of which are lifted to elementary operations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ..linear_algebra import pairwise_distance
from ..manipulation import reshaped
from ..table import TorchBuilder, assume, rows
from .activations import optional, over_axis

Formula = TypeVar("Formula", bound=Callable[..., Any])
_OF_KERNELS = {0: "none", 1: "mean", 2: "sum"}


def loss(name: str, *kernels: str) -> Callable[[Formula], Formula]:
    """Return a decorator that adds rows for ``torch.nn.functional.<name>`` and kernels of ATen, if any."""
    signature = inspect.signature(getattr(torch.nn.functional, name))
    builder = inspect.Parameter("b", inspect.Parameter.POSITIONAL_ONLY)

    def register(formula: Formula) -> Formula:
        def function(b: TorchBuilder, *args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            old = (given.pop("size_average", None), given.pop("reduce", None))
            return formula(b, **{**given, "reduction": reduction_of(*old, given.get("reduction", "mean"))})

        def kernel(b: TorchBuilder, *args: Any, **kwargs: Any) -> Any:
            given = of_kernel.bind(b, *args, **kwargs).arguments
            return formula(**{**given, "reduction": reduction_of(None, None, given.get("reduction", 1))})

        of_kernel = inspect.signature(formula)
        rows.row(f"nn.functional.{name}")(
            _with_signature(function, inspect.Signature([builder, *signature.parameters.values()]))
        )
        if kernels or hasattr(torch.ops.aten, name):
            rows.row(*(kernels or (name,)))(_with_signature(kernel, of_kernel))
        return formula

    return register


def _with_signature(row: Any, signature: inspect.Signature) -> Any:
    # The driver reads the signature to rename keywords and to bind the arguments.
    row.__signature__ = signature
    return row


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str | int) -> str:
    if size_average is None and reduce is None:
        return reduction if isinstance(reduction, str) else _OF_KERNELS[reduction]
    if reduce is False:
        return "none"
    return "mean" if size_average in (None, True) else "sum"


def reduced(b: TorchBuilder, losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else b.mean(losses) if reduction == "mean" else b.sum(losses)


def _weighted(b: TorchBuilder, losses: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return reduced(b, losses, reduction)
    total = reduced(b, b.combined("multiply", losses, weight), "none" if reduction == "none" else "sum")
    return (
        b.combined("divide", b.floating(total), b.floating(b.sum(weight))) if reduction == "mean" else total
    )


# ------------------------------------------------------------------------------------ distances of two arrays
def _squared(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.square(b.subtract(x, y))


def _square(b: TorchBuilder, input: Any, target: Any) -> Any:
    return b.square(b.combined("subtract", input, target))


def _absolute(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.abs(b.subtract(x, y))


def _soft_margin(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.log1p(b.exp(b.negative(b.multiply(x, y))))


def _of_two(name: str, losses: Callable[..., Any]) -> None:
    @loss(name)
    def formula(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
        return _weighted(b, losses(b, *b.promote(input, target)), weight, reduction)


_of_two("mse_loss", _squared)
_of_two("l1_loss", _absolute)
_of_two("soft_margin_loss", _soft_margin)


@loss("smooth_l1_loss")
def smooth_l1_loss(
    b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", beta: float = 1.0
) -> Any:
    distance = _absolute(b, *b.promote(input, target))
    if beta > 0:
        near = b.divide(b.multiply(_square(b, input, target), 0.5), float(beta))
        distance = b.where(b.less(distance, float(beta)), near, b.subtract(distance, 0.5 * beta))
    return reduced(b, distance, reduction)


@rows.row("huber_loss")
def huber_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    reduction: str | int = "mean",
    delta: float = 1.0,
    weight: Any = None,
) -> Any:
    distance = _absolute(b, *b.promote(input, target))
    near = b.multiply(_square(b, input, target), 0.5)
    far = b.multiply(b.subtract(distance, 0.5 * delta), float(delta))
    losses = b.where(b.less(distance, float(delta)), near, far)
    # Unlike that of ``mse_loss``, the mean is over the elements, not the weights.
    losses = losses if weight is None else b.combined("multiply", losses, weight)
    return reduced(b, losses, reduction_of(None, None, reduction))


# ---------------------------------------------------------------------------------------------- distributions
@loss("kl_div")
def kl_div(
    b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", *, log_target: bool = False
) -> Any:
    if log_target:
        losses = b.combined("multiply", b.exp(b.floating(target)), b.combined("subtract", target, input))
    else:
        # ``xlogy`` is 0 for a target of 0.
        logs = b.xlogy(b.floating(target), b.floating(target))
        losses = b.combined("subtract", logs, b.combined("multiply", target, input))
    if reduction != "batchmean":
        return reduced(b, losses, reduction)
    return b.divide(b.sum(losses), input.shape[0]) if input.ndim else b.sum(losses)


@loss("poisson_nll_loss")
def poisson_nll_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    input, target = map(b.floating, b.promote(input, target))
    if log_input:
        losses = b.subtract(b.exp(input), b.multiply(target, input))
    else:
        losses = b.subtract(input, b.multiply(target, b.log(b.add(input, eps))))
    if full:
        large = b.greater(target, 1.0)
        # Logarithms of the other targets would make the gradient NaN, although they are not selected.
        safe = b.where(large, target, 1.0)
        stirling = b.add(
            b.subtract(b.multiply(safe, b.log(safe)), safe),
            b.multiply(b.log(b.multiply(safe, 2 * math.pi)), 0.5),
        )
        losses = b.add(losses, b.where(large, stirling, 0.0))
    return reduced(b, losses, reduction)


@rows.row("gaussian_nll_loss")
def gaussian_nll_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    if hasattr(var, "ndim"):
        b.expect(b.all(b.greater_equal(var, 0)), True)
    else:
        var = b.full(shape=input.shape, fill_value=float(var), dtype=input.dtype)
    if var.ndim == input.ndim - 1:
        var = b.reshape(var, shape=(*var.shape, 1))
    # The gradient ignores the lower limit.
    limited = b.add(var, b.stop_gradient(b.subtract(b.maximum(var, float(eps)), var)))
    scaled = b.combined("divide", _squared(b, *b.promote(input, target)), limited)
    losses = b.multiply(b.combined("add", b.log(limited), scaled), 0.5)
    return reduced(b, b.add(losses, 0.5 * math.log(2 * math.pi)) if full else losses, reduction)


@loss("binary_cross_entropy")
def binary_cross_entropy(
    b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    losses = b.binary_cross_entropy(input, target)
    losses = losses if weight is None else b.multiply(losses, weight)
    return reduced(b, losses, reduction)


@loss("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    pos_weight: Any = None,
    reduction: str = "mean",
) -> Any:
    input, target = b.promote(input, target)
    positive = b.log_sigmoid(input)
    for given in (weight, pos_weight):
        if given is not None:
            b.guard_expansion(given, input.shape)
    if pos_weight is not None:
        positive = b.multiply(b.add(b.multiply(b.subtract(pos_weight, 1.0), target), 1.0), positive)
    losses = b.subtract(b.multiply(b.subtract(1.0, target), input), positive)
    losses = losses if weight is None else b.multiply(losses, weight)
    return reduced(b, losses, reduction)


# ---------------------------------------------------------------------------------------------- classes
@loss("nll_loss", "nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Any:
    return b.nll_loss(*optional(input, target, weight), ignore_index=ignore_index, reduction=reduction)


@loss("cross_entropy", "cross_entropy_loss")
def cross_entropy(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    # torch ignores negative smoothing, and raises above 1.
    smoothing = max(float(label_smoothing), 0.0)
    if "float" in target.dtype and target.ndim == input.ndim:
        return _against_probabilities(b, input, target, weight, reduction, smoothing)
    inputs = optional(input, target, weight)
    return b.cross_entropy(*inputs, ignore_index=ignore_index, reduction=reduction, label_smoothing=smoothing)


def _against_probabilities(
    b: TorchBuilder, input: Any, target: Any, weight: Any, reduction: str, smoothing: float
) -> Any:
    axis = min(1, input.ndim - 1)
    classes = input.shape[axis]
    logs = over_axis(b, "log_softmax", input, axis, None)
    if smoothing:
        target = b.add(b.multiply(target, 1.0 - smoothing), smoothing / classes)
    if weight is not None:
        logs = b.multiply(logs, b.reshape(weight, shape=(classes, *(1,) * (input.ndim - axis - 1))))
    losses = b.negative(b.sum(b.multiply(logs, target), axis=axis))
    return reduced(b, losses, reduction)


@rows.row("linear_cross_entropy")
def linear_cross_entropy(
    b: TorchBuilder,
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    # Weights [classes, d1, ..., features] produce logits [rows, classes, d1, ...].
    *outer, features = linear_weight.shape
    if len(outer) > 1:
        linear_weight = b.reshape(linear_weight, shape=(math.prod(outer), features))
        linear_bias = None if linear_bias is None else b.reshape(linear_bias, shape=(math.prod(outer),))
    logits = b.linear(*optional(input, linear_weight, linear_bias))
    if len(outer) > 1:
        logits = b.reshape(logits, shape=(*input.shape[:-1], *outer))
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(b, logits, target, weight, reduction, ignored, label_smoothing)


def _above(b: TorchBuilder, x: Any) -> Any:
    return b.clip(x, b.operand(0, x.dtype))


def _strictly_above(b: TorchBuilder, x: Any) -> Any:
    return b.where(b.greater(x, 0), x, b.operand(0, x.dtype))


@loss("hinge_embedding_loss")
def hinge_embedding_loss(
    b: TorchBuilder, input: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    other, same = (b.not_equal(target, b.operand(sign, target.dtype)) for sign in (1, -1))
    apart = b.where(
        other, _above(b, b.subtract(b.operand(margin, input.dtype), input)), b.operand(0, input.dtype)
    )
    near = b.where(same, input, b.operand(0, input.dtype))
    return reduced(b, b.combined("add", apart, near), reduction)


@loss("margin_ranking_loss")
def margin_ranking_loss(
    b: TorchBuilder, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    apart = b.combined("multiply", b.negative(target), b.combined("subtract", input1, input2))
    losses = _above(b, b.combined("add", apart, float(margin)))
    return reduced(b, losses, reduction)


@loss("multi_margin_loss")
def multi_margin_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
) -> Any:
    single = input.ndim < 2
    classes = input.shape[-1] if input.ndim else 1
    rows_, labels = (
        (b.reshape(input, shape=(1, classes)), reshaped(b, target, (1,))) if single else (input, target)
    )
    picked = b.take_along_axis(rows_, b.reshape(labels, shape=(rows_.shape[0], 1)), axis=1)
    short = _strictly_above(b, b.add(b.subtract(rows_, picked), float(margin)))
    short = b.square(short) if b.fix(p) == 2 else short
    if weight is not None:
        short = b.multiply(short, b.reshape(b.take(weight, labels, axis=0), shape=(rows_.shape[0], 1)))
    others = b.where(b.one_hot(labels, num_classes=classes, dtype="bool"), 0.0, short)
    losses = b.divide(b.sum(others, axis=1), classes)
    return (
        b.reshape(losses, shape=())
        if single and reduction == "none" and target.ndim == 0
        else reduced(b, losses, reduction)
    )


@loss("multilabel_margin_loss")
def multilabel_margin_loss(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean") -> Any:
    classes = input.shape[-1] if input.ndim else 1
    count = input.shape[0] if input.ndim == 2 else 1
    x, labels = (b.reshape(item, shape=(count, classes)) for item in (input, target))
    # Labels end at the first negative number.
    ended = b.greater(b.cumulative_sum(b.astype(b.less(labels, 0), dtype="int64"), axis=1), 0)
    picked = b.take_along_axis(x, b.where(ended, 0, labels), axis=1)
    is_label = b.any(b.one_hot(b.where(ended, -1, labels), num_classes=classes, dtype="bool"), axis=1)
    short = _strictly_above(
        b,
        b.add(
            b.subtract(b.reshape(x, shape=(count, 1, classes)), b.reshape(picked, shape=(count, classes, 1))),
            1.0,
        ),
    )
    skipped = b.logical_or(
        b.reshape(ended, shape=(count, classes, 1)), b.reshape(is_label, shape=(count, 1, classes))
    )
    losses = b.divide(b.sum(b.where(skipped, 0.0, short), axis=(1, 2)), classes)
    return (
        b.reshape(losses, shape=())
        if input.ndim < 2 and reduction == "none"
        else reduced(b, losses, reduction)
    )


@loss("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    input, target = b.promote(input, target)
    positive = b.multiply(target, b.log_sigmoid(input))
    negative = b.multiply(b.subtract(1.0, target), b.log_sigmoid(b.negative(input)))
    losses = b.negative(b.add(positive, negative))
    losses = b.mean(losses if weight is None else b.multiply(losses, weight), axis=input.ndim - 1)
    return reduced(b, losses, reduction)


@loss("cosine_embedding_loss")
def cosine_embedding_loss(
    b: TorchBuilder, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    axis = target.ndim
    product = b.sum(b.combined("multiply", input1, input2), axis=axis)
    # torch adds this constant, so that the cosine with a vector of zeros is 0.
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
    if distance_function in (None, torch.pairwise_distance, torch.nn.functional.pairwise_distance):
        norm, eps = 2.0, 1e-6
    elif isinstance(distance_function, torch.nn.PairwiseDistance) and not distance_function.keepdim:
        norm, eps = distance_function.norm, distance_function.eps
    else:
        raise NotImplementedError(
            "triplet_margin_with_distance_loss with a distance_function of the user's own"
        )
    return triplet_margin_loss(
        b, anchor, positive, negative, margin, norm, eps, swap=swap, reduction=reduction
    )


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
        targets = (
            b.reshape(targets, shape=(1, *targets.shape))
            if single
            else _rows_of(b, targets, lengths, batch, longest)
        )
    losses = b.ctc_loss(log_probs, targets, steps, lengths, blank=blank)
    if zero_infinity:
        losses = b.where(b.equal(losses, float("inf")), 0.0, losses)
    how = reduction_of(None, None, reduction)
    if how == "mean":
        # torch counts an empty target as length 1.
        losses = b.divide(losses, b.astype(b.maximum(lengths, 1), dtype=losses.dtype))
    return b.reshape(losses, shape=()) if single and how == "none" else reduced(b, losses, how)


def _assume_room(b: TorchBuilder, size: Any, lengths: Any) -> None:
    if isinstance(lengths, (tuple, list)):
        assume(b, "ge", size, max(lengths, default=0))


def _lengths(b: TorchBuilder, lengths: Any, batch: Any) -> Any:
    if isinstance(lengths, (tuple, list)):
        return b.asarray(data=tuple(lengths), dtype="int64")
    return b.reshape(lengths, shape=(batch,))


def _rows_of(b: TorchBuilder, targets: Any, lengths: Any, batch: Any, longest: Any) -> Any:
    """Split concatenated targets into ``batch`` rows. Elements after the end of a target are arbitrary."""
    width = targets.shape[0] if longest is None else longest
    starts = b.subtract(b.cumulative_sum(lengths, axis=0, dtype=lengths.dtype), lengths)
    place = b.add(
        b.reshape(starts, shape=(batch, 1)),
        b.reshape(b.arange(stop=width, dtype=lengths.dtype), shape=(1, width)),
    )
    # The last rows may extend beyond the end of all targets.
    return b.take(targets, b.minimum(place, targets.shape[0] - 1), axis=0)
