"""Losses of torch. Short formulas are written in elementary operations; sums over classes stay whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..table import TorchBuilder, rows
from .activations import over_axis
from .linear import optional

_ATEN = {0: "none", 1: "mean", 2: "sum"}


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str | int) -> str:
    """none, mean, sum or batchmean, from torch's older and newer ways to say it."""
    if size_average is None and reduce is None:
        return reduction if isinstance(reduction, str) else _ATEN[reduction]
    if reduce is False:
        return "none"
    return "mean" if size_average in (None, True) else "sum"


def reduced(b: TorchBuilder, losses: Any, reduction: str) -> Any:
    """The losses as they are, their mean or their sum."""
    return losses if reduction == "none" else b.mean(losses) if reduction == "mean" else b.sum(losses)


def _weighted(b: TorchBuilder, losses: Any, weight: Any, reduction: str) -> Any:
    """Losses times ``weight``; their mean is over the weights."""
    if weight is None:
        return reduced(b, losses, reduction)
    total = reduced(b, b.combined("multiply", losses, weight), "none" if reduction == "none" else "sum")
    return b.combined("divide", b.floating(total), b.floating(b.sum(weight))) if reduction == "mean" else total


# ---------------------------------------------------------------------------------------------- distances of two arrays
def _squared(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.square(b.subtract(x, y))


def _square(b: TorchBuilder, input: Any, target: Any) -> Any:
    """The square of the difference itself: that of its absolute value has no second derivative at 0."""
    return b.square(b.combined("subtract", input, target))


def _absolute(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.abs(b.subtract(x, y))


def _soft_margin(b: TorchBuilder, x: Any, y: Any) -> Any:
    return b.log1p(b.exp(b.negative(b.multiply(x, y))))


def _of_two(name: str, losses: Callable[..., Any]) -> None:
    @rows.row(f"nn.functional.{name}")
    def row(
        b: TorchBuilder,
        input: Any,
        target: Any,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        weight: Any = None,
    ) -> Any:
        return _weighted(b, losses(b, *b.promote(input, target)), weight, reduction_of(size_average, reduce, reduction))

    @rows.row(name)
    def aten_row(b: TorchBuilder, input: Any, target: Any, reduction: int = 1) -> Any:
        return reduced(b, losses(b, *b.promote(input, target)), reduction_of(None, None, reduction))

    row.__doc__, aten_row.__doc__ = f"torch.nn.functional.{name}.", f"aten::{name}."


_of_two("mse_loss", _squared)
_of_two("l1_loss", _absolute)
_of_two("soft_margin_loss", _soft_margin)


@rows.row("nn.functional.smooth_l1_loss")
def smooth_l1_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """torch.nn.functional.smooth_l1_loss: squared below ``beta``, linear above."""
    distance = _absolute(b, *b.promote(input, target))
    if beta > 0:
        near = b.divide(b.multiply(_square(b, input, target), 0.5), float(beta))
        distance = b.where(b.less(distance, float(beta)), near, b.subtract(distance, 0.5 * beta))
    return reduced(b, distance, reduction_of(size_average, reduce, reduction))


@rows.row("smooth_l1_loss")
def aten_smooth_l1_loss(b: TorchBuilder, input: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
    """aten::smooth_l1_loss."""
    return smooth_l1_loss(b, input, target, reduction=_ATEN[reduction], beta=beta)


@rows.row("huber_loss")
def huber_loss(b: TorchBuilder, input: Any, target: Any, reduction: str | int = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """torch.nn.functional.huber_loss: squared up to ``delta``, linear above."""
    distance = _absolute(b, *b.promote(input, target))
    near = b.multiply(_square(b, input, target), 0.5)
    far = b.multiply(b.subtract(distance, 0.5 * delta), float(delta))
    losses = b.where(b.less(distance, float(delta)), near, far)
    losses = losses if weight is None else b.combined("multiply", losses, weight)  # unlike mse_loss, whose mean is over the weights
    return reduced(b, losses, reduction_of(None, None, reduction))


# ---------------------------------------------------------------------------------------------- distributions
@rows.row("nn.functional.kl_div")
def kl_div(
    b: TorchBuilder,
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """torch.nn.functional.kl_div: ``target * (log(target) - input)``."""
    if log_target:
        losses = b.combined("multiply", b.exp(b.floating(target)), b.combined("subtract", target, input))
    else:
        logs = b.xlogy(b.floating(target), b.floating(target))
        losses = b.combined("subtract", logs, b.combined("multiply", target, input))
    how = reduction_of(size_average, reduce, reduction)
    if how != "batchmean":
        return reduced(b, losses, how)
    return b.divide(b.sum(losses), input.shape[0]) if input.ndim else b.sum(losses)


@rows.row("kl_div")
def aten_kl_div(b: TorchBuilder, input: Any, target: Any, reduction: int = 1, *, log_target: bool = False) -> Any:
    """torch.kl_div."""
    return kl_div(b, input, target, reduction=_ATEN[reduction], log_target=log_target)


@rows.row("nn.functional.poisson_nll_loss")
def poisson_nll_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """torch.nn.functional.poisson_nll_loss; ``full`` adds Stirling's approximation of ``log(target!)``."""
    input, target = map(b.floating, b.promote(input, target))
    if log_input:
        losses = b.subtract(b.exp(input), b.multiply(target, input))
    else:
        losses = b.subtract(input, b.multiply(target, b.log(b.add(input, eps))))
    if full:
        large = b.greater(target, 1.0)
        safe = b.where(large, target, 1.0)
        stirling = b.add(b.subtract(b.multiply(safe, b.log(safe)), safe), b.multiply(b.log(b.multiply(safe, 2 * math.pi)), 0.5))
        losses = b.add(losses, b.where(large, stirling, 0.0))
    return reduced(b, losses, reduction_of(size_average, reduce, reduction))


@rows.row("poisson_nll_loss")
def aten_poisson_nll_loss(b: TorchBuilder, input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """torch.poisson_nll_loss."""
    return poisson_nll_loss(b, input, target, log_input, full, eps=eps, reduction=_ATEN[reduction])


@rows.row("gaussian_nll_loss")
def gaussian_nll_loss(
    b: TorchBuilder, input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """torch.nn.functional.gaussian_nll_loss; ``var`` may lack the last axis."""
    if hasattr(var, "ndim"):
        b.expect(b.all(b.greater_equal(var, 0)), True)
    else:
        var = b.full(shape=input.shape, fill_value=float(var), dtype=input.dtype)
    if var.ndim == input.ndim - 1:
        var = b.reshape(var, shape=(*var.shape, 1))
    limited = b.add(var, b.stop_gradient(b.subtract(b.maximum(var, float(eps)), var)))  # the limit has no part in the gradient
    scaled = b.combined("divide", _squared(b, *b.promote(input, target)), limited)
    losses = b.multiply(b.combined("add", b.log(limited), scaled), 0.5)
    return reduced(b, b.add(losses, 0.5 * math.log(2 * math.pi)) if full else losses, reduction)


@rows.row("nn.functional.binary_cross_entropy")
def binary_cross_entropy(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """torch.nn.functional.binary_cross_entropy."""
    losses = b.binary_cross_entropy(input, target)
    losses = losses if weight is None else b.multiply(losses, weight)
    return reduced(b, losses, reduction_of(size_average, reduce, reduction))


@rows.row("binary_cross_entropy")
def aten_binary_cross_entropy(b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    """aten::binary_cross_entropy."""
    return binary_cross_entropy(b, input, target, weight, reduction=_ATEN[reduction])


@rows.row("nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """torch.nn.functional.binary_cross_entropy_with_logits: ``(1 - target) * x - (1 + (pos_weight - 1) * target) * log_sigmoid(x)``."""
    input, target = b.promote(input, target)
    positive = b.log_sigmoid(input)
    for given in (weight, pos_weight):
        if given is not None:
            b.expands(given, input.shape)
    if pos_weight is not None:
        positive = b.multiply(b.add(b.multiply(b.subtract(pos_weight, 1.0), target), 1.0), positive)
    losses = b.subtract(b.multiply(b.subtract(1.0, target), input), positive)
    losses = losses if weight is None else b.multiply(losses, weight)
    return reduced(b, losses, reduction_of(size_average, reduce, reduction))


@rows.row("binary_cross_entropy_with_logits")
def aten_binary_cross_entropy_with_logits(
    b: TorchBuilder, input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    """torch.binary_cross_entropy_with_logits."""
    return binary_cross_entropy_with_logits(b, input, target, weight, reduction=_ATEN[reduction], pos_weight=pos_weight)


# ---------------------------------------------------------------------------------------------- classes
@rows.row("nn.functional.nll_loss")
def nll_loss(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """torch.nn.functional.nll_loss."""
    how = reduction_of(size_average, reduce, reduction)
    return b.nll_loss(*optional(input, target, weight), ignore_index=ignore_index, reduction=how)


@rows.row("nll_loss", "nll_loss_nd", "nll_loss2d")
def aten_nll_loss(b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    """aten::nll_loss."""
    return nll_loss(b, input, target, weight, ignore_index=ignore_index, reduction=_ATEN[reduction])


@rows.row("nn.functional.cross_entropy")
def cross_entropy(
    b: TorchBuilder,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """torch.nn.functional.cross_entropy against class indices, or against probabilities of the shape of ``input``."""
    how = reduction_of(size_average, reduce, reduction)
    smoothing = max(float(label_smoothing), 0.0)  # torch smooths nothing below 0, and refuses what is above 1
    if "float" in target.dtype and target.ndim == input.ndim:
        return _against_probabilities(b, input, target, weight, how, smoothing)
    inputs = optional(input, target, weight)
    return b.cross_entropy(*inputs, ignore_index=ignore_index, reduction=how, label_smoothing=smoothing)


def _against_probabilities(b: TorchBuilder, input: Any, target: Any, weight: Any, reduction: str, smoothing: float) -> Any:
    axis = min(1, input.ndim - 1)
    classes = input.shape[axis]
    logs = over_axis(b, "log_softmax", input, axis, None)
    if smoothing:
        target = b.add(b.multiply(target, 1.0 - smoothing), smoothing / classes)
    if weight is not None:
        logs = b.multiply(logs, b.reshape(weight, shape=(classes, *(1,) * (input.ndim - axis - 1))))
    losses = b.negative(b.sum(b.multiply(logs, target), axis=axis))
    return reduced(b, losses, reduction)


@rows.row("cross_entropy_loss")
def aten_cross_entropy(
    b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100, label_smoothing: float = 0.0
) -> Any:
    """aten::cross_entropy_loss."""
    return cross_entropy(b, input, target, weight, None, ignore_index, None, _ATEN[reduction], label_smoothing)


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
    """torch.nn.functional.linear_cross_entropy; weights [classes, d1, ..., features] give logits [rows, classes, d1, ...]."""
    *outer, features = linear_weight.shape
    if len(outer) > 1:
        linear_weight = b.reshape(linear_weight, shape=(math.prod(outer), features))
        linear_bias = None if linear_bias is None else b.reshape(linear_bias, shape=(math.prod(outer),))
    logits = b.linear(*optional(input, linear_weight, linear_bias))
    if len(outer) > 1:
        logits = b.reshape(logits, shape=(*input.shape[:-1], *outer))
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(b, logits, target, weight, None, ignored, None, reduction, label_smoothing)
