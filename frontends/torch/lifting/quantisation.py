"""Floats rounded to the levels that a quantised type would have, and kept as floats. The step is a float32, whatever the rest is computed
in."""

from __future__ import annotations

from typing import Any

import torch

from ....ops.dtypes import is_inexact
from ....sizes import apply
from .table import TorchBuilder, rows

_LEVELS = 2.0**63  # torch counts levels in int64; what is above becomes the least of them


@rows.row("fake_quantize_per_tensor_affine")
def per_tensor(b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """torch.fake_quantize_per_tensor_affine: one step and zero point, numbers or arrays of one element."""
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_tensor_affine_cachemask")
def per_tensor_with_mask(b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    """aten::fake_quantize_per_tensor_affine_cachemask: where the level was not limited, the gradient passes."""
    kind = _computed_in(input)
    inverse, step = _steps(b, scale, kind)
    zero = _alone(b, zero_point, kind)
    level = b.add(b.round(b.multiply(b.cast(input, kind), inverse)), zero)
    value = b.multiply(b.cast(b.subtract(_limited(b, level, quant_min, quant_max), zero), "float32"), b.cast(step, "float32"))
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


@rows.row("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_where_enabled(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    enabled = b.not_equal(_alone(b, fake_quant_enabled, fake_quant_enabled.dtype), 0)
    return b.where(enabled, value, input), b.logical_or(b.logical_not(enabled), inside)


@rows.row("fake_quantize_per_channel_affine")
def per_channel(b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """torch.fake_quantize_per_channel_affine: a step and a zero point for each index of one axis."""
    value, inside = per_channel_with_mask(b, input, scale, zero_point, axis, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_channel_affine_cachemask")
def per_channel_with_mask(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    """aten::fake_quantize_per_channel_affine_cachemask. Unlike with one step for all, levels are counted in int64."""
    kind = _computed_in(input)
    for part in (scale, zero_point):
        b.guard(apply("eq", part.shape[0], input.shape[axis]))
    shape = tuple(size if number == axis else 1 for number, size in enumerate(input.shape))
    inverse, step = (b.reshape(part, shape=shape) for part in _steps(b, scale, kind))
    zero, scaled = b.reshape(b.cast(zero_point, kind), shape=shape), b.multiply(b.cast(input, kind), inverse)
    if is_inexact(zero_point.dtype):
        level = b.round(b.add(scaled, zero))
    else:
        level = b.add(b.round(scaled), zero)
        b.expect(b.all(b.logical_and(b.greater_equal(zero_point, quant_min), b.less_equal(zero_point, quant_max))), True)
    level = b.where(b.less(level, _LEVELS), level, -_LEVELS)
    value = b.multiply(b.subtract(_limited(b, level, quant_min, quant_max), zero), step)
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


def _computed_in(x: Any) -> str:
    return "float64" if x.dtype == "float64" else "float32"


def _steps(b: TorchBuilder, scale: Any, kind: str) -> tuple[Any, Any]:
    """What to multiply with for a level, and to come back."""
    if isinstance(scale, (int, float)):
        single = torch.tensor(scale, dtype=torch.float32)
        return (1 / single).item(), single.item()
    array = _alone(b, b.array(scale, "float32"), "float32")
    return b.cast(b.divide(1.0, array), kind), b.cast(array, kind)


def _alone(b: TorchBuilder, number: Any, kind: str) -> Any:
    """A number, or an array of one element as a 0-d array."""
    if isinstance(number, (int, float)):
        return float(number)
    return b.cast(b.reshape(number, shape=()) if number.ndim == 1 and number.shape == (1,) else number, kind)


def _limited(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    """Levels within the range; what is none (NaN) is the least."""
    return b.where(b.greater_equal(level, float(quant_min)), b.clip(level, None, float(quant_max)), float(quant_min))


def _inside(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    return b.logical_and(b.greater_equal(level, float(quant_min)), b.less_equal(level, float(quant_max)))
