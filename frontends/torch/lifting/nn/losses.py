"""Losses of torch. Short formulas are written in elementary operations; sums over classes stay whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..table import TorchBuilder, rows
from .activations import over_axis
from .linear import optional
from .loss_rows import loss, reduced, reduction_of


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
    @loss(name)
    def formula(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
        return _weighted(b, losses(b, *b.promote(input, target)), weight, reduction)


_of_two("mse_loss", _squared)
_of_two("l1_loss", _absolute)
_of_two("soft_margin_loss", _soft_margin)


@loss("smooth_l1_loss")
def smooth_l1_loss(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """torch.nn.functional.smooth_l1_loss: squared below ``beta``, linear above."""
    distance = _absolute(b, *b.promote(input, target))
    if beta > 0:
        near = b.divide(b.multiply(_square(b, input, target), 0.5), float(beta))
        distance = b.where(b.less(distance, float(beta)), near, b.subtract(distance, 0.5 * beta))
    return reduced(b, distance, reduction)


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
@loss("kl_div")
def kl_div(b: TorchBuilder, input: Any, target: Any, reduction: str = "mean", *, log_target: bool = False) -> Any:
    """torch.nn.functional.kl_div: ``target * (log(target) - input)``."""
    if log_target:
        losses = b.combined("multiply", b.exp(b.floating(target)), b.combined("subtract", target, input))
    else:
        logs = b.xlogy(b.floating(target), b.floating(target))
        losses = b.combined("subtract", logs, b.combined("multiply", target, input))
    if reduction != "batchmean":
        return reduced(b, losses, reduction)
    return b.divide(b.sum(losses), input.shape[0]) if input.ndim else b.sum(losses)


@loss("poisson_nll_loss")
def poisson_nll_loss(
    b: TorchBuilder, input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
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
    return reduced(b, losses, reduction)


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


@loss("binary_cross_entropy")
def binary_cross_entropy(b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """torch.nn.functional.binary_cross_entropy."""
    losses = b.binary_cross_entropy(input, target)
    losses = losses if weight is None else b.multiply(losses, weight)
    return reduced(b, losses, reduction)


@loss("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    b: TorchBuilder, input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
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
    return reduced(b, losses, reduction)


# ---------------------------------------------------------------------------------------------- classes
@loss("nll_loss", "nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(b: TorchBuilder, input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    """torch.nn.functional.nll_loss."""
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
    """torch.nn.functional.cross_entropy against class indices, or against probabilities of the shape of ``input``."""
    smoothing = max(float(label_smoothing), 0.0)  # torch smooths nothing below 0, and refuses what is above 1
    if "float" in target.dtype and target.ndim == input.ndim:
        return _against_probabilities(b, input, target, weight, reduction, smoothing)
    inputs = optional(input, target, weight)
    return b.cross_entropy(*inputs, ignore_index=ignore_index, reduction=reduction, label_smoothing=smoothing)


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
    return cross_entropy(b, logits, target, weight, reduction, ignored, label_smoothing)
