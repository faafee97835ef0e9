"""Elementwise functions beyond the array API standard: ``torch.special``, quantization and others."""

from __future__ import annotations

import math
from typing import Any

import torch

from ....ops.dtypes import is_complex, is_inexact
from ....sizes import Size, apply
from ..basics.tensors import result_type
from .elementwise import div, floats, scaled
from .table import TorchBuilder, rows

# torch's names -> operation, of functions that compute on floats.
_FLOAT_UNARY: dict[tuple[str, ...], str] = {
    ("digamma", "special_digamma", "special_psi", "psi"): "digamma", ("erf", "special_erf"): "erf",
    ("erfc", "special_erfc"): "erfc", ("erfinv", "special_erfinv"): "erfinv",
    ("exp2", "special_exp2"): "exp2", ("i0", "special_i0"): "i0", ("lgamma", "special_gammaln"): "lgamma",
    ("rsqrt",): "rsqrt", ("sigmoid", "special_expit", "expit"): "sigmoid", ("sinc", "special_sinc"): "sinc",
    ("special_modified_bessel_i0",): "i0", ("special_modified_bessel_i1",): "i1",
    ("special_modified_bessel_k0",): "bessel_k0", ("special_modified_bessel_k1",): "bessel_k1",
    ("special_scaled_modified_bessel_k0",): "bessel_k0e",
    ("special_scaled_modified_bessel_k1",): "bessel_k1e",
    **{(f"special_{name}",): name for name in (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1", "i1e",
        "log_ndtr", "ndtr", "ndtri", "spherical_bessel_j0",
    )},
}  # fmt: skip
_BINARY = {"fmod": "fmod", "gcd": "gcd", "lcm": "lcm", "logaddexp2": "logaddexp2"}
_FLOAT_BINARY: dict[tuple[str, ...], str] = {
    ("xlogy", "special_xlogy"): "xlogy", ("special_xlog1py",): "xlog1py", ("special_zeta",): "zeta",
    ("igamma", "special_gammainc"): "gammainc", ("igammac", "special_gammaincc"): "gammaincc",
}  # fmt: skip
_POLYNOMIALS = {
    "chebyshev_polynomial_t": "chebyshev_t", "chebyshev_polynomial_u": "chebyshev_u",
    "chebyshev_polynomial_v": "chebyshev_v", "chebyshev_polynomial_w": "chebyshev_w",
    "hermite_polynomial_h": "hermite_h", "hermite_polynomial_he": "hermite_he",
    "laguerre_polynomial_l": "laguerre_l", "legendre_polynomial_p": "legendre_p",
}  # fmt: skip


def _register_unary(names: tuple[str, ...], op: str) -> None:
    @rows.row(*names)
    def unary(b: TorchBuilder, input: Any) -> Any:
        return getattr(b, op)(b.floating(input))


def _register_binary(names: tuple[str, ...], op: str, floating: bool) -> None:
    @rows.row(*names)
    def binary(b: TorchBuilder, input: Any, other: Any) -> Any:
        return getattr(b, op)(*(floats(b, input, other) if floating else b.promote(input, other)))


def _register_polynomial(name: str, kind: str, shifted: bool) -> None:
    @rows.row(name)
    def polynomial(b: TorchBuilder, x: Any, n: Any) -> Any:
        x, n = floats(b, x, n)
        if shifted:
            x = b.subtract(b.multiply(x, 2.0), 1.0) if hasattr(x, "spec") else 2.0 * x - 1.0
        return b.orthogonal_polynomial(x, n, kind=kind)


def _register_extreme(name: str, of_integers: str) -> None:
    @rows.row(name)
    def extreme(b: TorchBuilder, input: Any, other: Any) -> Any:
        x, y = b.promote(input, other)
        return getattr(b, name if is_inexact((x if hasattr(x, "spec") else y).dtype) else of_integers)(x, y)


_register_extreme("fmax", "maximum")
_register_extreme("fmin", "minimum")
for _names, _op in _FLOAT_UNARY.items():
    _register_unary(_names, _op)
for _name, _op in _BINARY.items():
    _register_binary((_name,), _op, floating=False)
for _names, _op in _FLOAT_BINARY.items():
    _register_binary(_names, _op, floating=True)
for _name, _kind in _POLYNOMIALS.items():
    _register_polynomial(f"special_{_name}", _kind, shifted=False)
    if _name.startswith("chebyshev"):
        _register_polynomial(f"special_shifted_{_name}", _kind, shifted=True)


@rows.row("logit", "special_logit")
def logit(b: TorchBuilder, input: Any, eps: float | None = None) -> Any:
    return b.logit(b.floating(input), eps=eps)


@rows.row("polygamma", "special_polygamma")
def polygamma(b: TorchBuilder, n: Any, input: Any = None) -> Any:
    # ``Tensor.polygamma(n)`` passes the array first, ``torch.polygamma(n, x)`` the number.
    n, input = (input, n) if hasattr(n, "spec") else (n, input)
    x, n = b.floating(input), b.fix(n)
    return b.digamma(x) if n == 0 else b.polygamma(x, n=n)


@rows.row("mvlgamma", "special_multigammaln")
def mvlgamma(b: TorchBuilder, input: Any, p: int) -> Any:
    x = b.floating(input)
    total = b.lgamma(x)
    for index in range(1, p):
        total = b.add(total, b.lgamma(b.subtract(x, index / 2)))
    return b.add(total, p * (p - 1) / 4 * math.log(math.pi)) if p > 1 else total


rows.table({
    "frexp": lambda b, input: b.frexp(input),
    "ldexp": lambda b, input, other:
        b.multiply(*b.promote(input, b.exp2(b.floating(other)))),
    "frac": lambda b, input: b.subtract(input, b.trunc(input)),
    "deg2rad": lambda b, input: b.multiply(b.floating(input), math.pi / 180),
    "rad2deg": lambda b, input: b.multiply(b.floating(input), 180 / math.pi),
    "isposinf": lambda b, input:
        b.equal(input, math.inf) if is_inexact(input.dtype) else b.zeros(shape=input.shape, dtype="bool"),
    "isneginf": lambda b, input:
        b.equal(input, -math.inf) if is_inexact(input.dtype) else b.zeros(shape=input.shape, dtype="bool"),
    # A complex number is real if its imaginary part is 0.
    "isreal": lambda b, input:
        b.equal(b.imag(input), 0.0) if is_complex(input.dtype) else b.ones(shape=input.shape, dtype="bool"),
    "angle": lambda b, input: b.angle(b.floating(input)),
})  # fmt: skip


@rows.row("float_power")
def float_power(b: TorchBuilder, input: Any, exponent: Any) -> Any:
    kind = "complex128" if is_complex(result_type(input, exponent)) else "float64"
    return b.pow(*b.promote(input, exponent, dtype=kind))


@rows.row("nan_to_num")
def nan_to_num(
    b: TorchBuilder,
    input: Any,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    return (
        b.nan_to_num(input, nan=nan or 0.0, posinf=posinf, neginf=neginf)
        if is_inexact(input.dtype)
        else input
    )


@rows.row("heaviside")
def heaviside(b: TorchBuilder, input: Any, values: Any) -> Any:
    zero = b.array(0, input.dtype)
    return b.where(b.equal(input, zero), values, b.cast(b.greater(input, zero), input.dtype))


@rows.row("isclose")
def isclose(
    b: TorchBuilder, input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x, y = floats(b, input, other)
    return b.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


@rows.row("lerp")
def lerp(b: TorchBuilder, input: Any, end: Any, weight: Any) -> Any:
    """Lift ``torch.lerp``, computed from the nearer end so that a weight of 1 returns `end` exactly."""
    difference = b.subtract(end, input)
    weight = b.array(weight, input.dtype) if isinstance(weight, Size) else weight
    if not hasattr(weight, "spec"):
        if abs(weight) < 0.5:
            return b.add(input, b.multiply(difference, weight))
        return b.subtract(end, b.multiply(difference, 1 - weight))
    weight = b.cast(weight, input.dtype)
    near = b.add(input, b.multiply(weight, difference))
    far = b.subtract(end, b.multiply(difference, b.subtract(1.0, weight)))
    return b.where(b.less(b.abs(weight), 0.5), near, far)


@rows.row("addcmul")
def addcmul(b: TorchBuilder, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    x, y, z = b.promote(input, tensor1, tensor2)
    return b.add(x, b.multiply(scaled(b, y, value), z))


@rows.row("addcdiv")
def addcdiv(b: TorchBuilder, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    x, y, z = b.promote(input, tensor1, tensor2)
    return b.add(x, div(b, scaled(b, y, value), z))


# torch computes levels in int64, where larger numbers overflow to the smallest.
_LEVELS = 2.0**63


@rows.row("fake_quantize_per_tensor_affine")
def per_tensor(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Any:
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_tensor_affine_cachemask")
def per_tensor_with_mask(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    """Lift ``aten::fake_quantize_per_tensor_affine_cachemask``.

    The second result is True where the level was not clipped.
    """
    kind = _computed_in(input)
    inverse, step = _steps(b, scale, kind)
    zero = _alone(b, zero_point, kind)
    level = b.add(b.round(b.multiply(b.cast(input, kind), inverse)), zero)
    value = b.multiply(
        b.cast(b.subtract(_limited(b, level, quant_min, quant_max), zero), "float32"), b.cast(step, "float32")
    )
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


@rows.row("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_where_enabled(
    b: TorchBuilder,
    input: Any,
    scale: Any,
    zero_point: Any,
    fake_quant_enabled: Any,
    quant_min: int,
    quant_max: int,
) -> tuple[Any, Any]:
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    enabled = b.not_equal(_alone(b, fake_quant_enabled, fake_quant_enabled.dtype), 0)
    return b.where(enabled, value, input), b.logical_or(b.logical_not(enabled), inside)


@rows.row("fake_quantize_per_channel_affine")
def per_channel(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    value, inside = per_channel_with_mask(b, input, scale, zero_point, axis, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_channel_affine_cachemask")
def per_channel_with_mask(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    """Lift ``aten::fake_quantize_per_channel_affine_cachemask``.

    Unlike the call with one scale, torch computes levels in int64. Guard that integer zero points are in
    range, as torch requires.
    """
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
        b.expect(
            b.all(b.logical_and(b.greater_equal(zero_point, quant_min), b.less_equal(zero_point, quant_max))),
            True,
        )
    level = b.where(b.less(level, _LEVELS), level, -_LEVELS)
    value = b.multiply(b.subtract(_limited(b, level, quant_min, quant_max), zero), step)
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


def _computed_in(x: Any) -> str:
    return "float64" if x.dtype == "float64" else "float32"


def _steps(b: TorchBuilder, scale: Any, kind: str) -> tuple[Any, Any]:
    if isinstance(scale, (int, float)):
        # torch rounds the scale and its inverse to float32.
        single = torch.tensor(scale, dtype=torch.float32)
        return (1 / single).item(), single.item()
    array = _alone(b, b.array(scale, "float32"), "float32")
    return b.cast(b.divide(1.0, array), kind), b.cast(array, kind)


def _alone(b: TorchBuilder, number: Any, kind: str) -> Any:
    if isinstance(number, (int, float)):
        return float(number)
    return b.cast(b.reshape(number, shape=()) if number.ndim == 1 and number.shape == (1,) else number, kind)


def _limited(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    return b.where(
        # NaN compares as False, so it becomes the lowest level, as in torch.
        b.greater_equal(level, float(quant_min)),
        b.clip(level, None, float(quant_max)),
        float(quant_min),
    )


def _inside(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    return b.logical_and(b.greater_equal(level, float(quant_min)), b.less_equal(level, float(quant_max)))
