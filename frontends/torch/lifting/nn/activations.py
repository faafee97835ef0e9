"""Activation functions of torch."""

from __future__ import annotations

from typing import Any

from ..manipulation import reshaped
from ..one_number import held, widened
from ..table import TorchBuilder, axis, rows

# torch's names without parameters -> the vocabulary's
_PLAIN = {
    "relu": "relu",
    "relu6": "relu6",
    "selu": "selu",
    "silu": "silu",
    "mish": "mish",
    "log_sigmoid": "log_sigmoid",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
}


def _plain(torch_name: str, name: str) -> None:
    @rows.row(torch_name)
    def row(b: TorchBuilder, input: Any, inplace: bool = False) -> Any:
        return getattr(b, name)(input)


for _torch_name, _name in _PLAIN.items():
    _plain(_torch_name, _name)


@rows.row("tanhshrink")
def tanhshrink(b: TorchBuilder, input: Any) -> Any:
    """torch.nn.functional.tanhshrink: ``x - tanh(x)``."""
    x = b.floating(input)
    return b.subtract(x, b.tanh(x))


rows.table({
    "gelu": lambda b, input, approximate="none": b.gelu(input, approximate=approximate == "tanh"),
    "leaky_relu": lambda b, input, negative_slope=0.01, inplace=False: b.leaky_relu(input, negative_slope=negative_slope),
    "nn.functional.elu": lambda b, input, alpha=1.0, inplace=False: b.elu(input, alpha=alpha),
    "celu": lambda b, input, alpha=1.0, inplace=False: b.celu(input, alpha=alpha),
    "softplus": lambda b, input, beta=1.0, threshold=20.0: b.softplus(input, beta=beta, threshold=threshold),
    "softshrink": lambda b, input, lambd=0.5: widened(b, b.soft_shrink, input, threshold=lambd),
    "hardshrink": lambda b, input, lambd=0.5: b.hard_shrink(input, threshold=held(lambd, input.dtype)),
    "glu": lambda b, input, dim=-1: b.glu(input, axis=axis(dim, input.ndim)),
})  # fmt: skip


@rows.row("prelu", "_prelu_kernel")
def prelu(b: TorchBuilder, input: Any, weight: Any) -> Any:
    """torch.nn.functional.prelu: one slope, or one for each channel (axis 1)."""
    if weight.ndim != 1:
        return b.prelu(input, weight)
    shape = (1, weight.shape[0], *(1,) * (input.ndim - 2)) if input.ndim > 1 else (1,) * input.ndim
    return b.prelu(input, reshaped(b, weight, shape))


@rows.row("elu")
def elu(b: TorchBuilder, input: Any, alpha: float = 1.0, scale: Any = 1, input_scale: Any = 1, inplace: bool = False) -> Any:
    """aten::elu: ``scale * x`` above 0, ``scale * alpha * expm1(input_scale * x)`` elsewhere."""
    if scale == 1 and input_scale == 1:
        return b.elu(input, alpha=alpha)
    below = b.multiply(b.expm1(b.multiply(input, input_scale)), alpha * scale)
    return b.where(b.greater(input, 0), b.multiply(input, scale), below)


@rows.row("softsign")
def softsign(b: TorchBuilder, input: Any) -> Any:
    """torch.nn.functional.softsign; of integers, the sum below the line may wrap around."""
    if "int" in input.dtype:
        return b.divide(b.floating(input), b.floating(b.add(b.abs(input), 1)))
    return b.soft_sign(b.floating(input))


@rows.row("hardtanh")
def hardtanh(b: TorchBuilder, input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    kind = float if "float" in input.dtype else int
    return b.hard_tanh(input, minimum=kind(min_val), maximum=kind(max_val))


@rows.row("threshold")
def threshold(b: TorchBuilder, input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    kind = float if "float" in input.dtype else int
    return widened(b, b.threshold, input, threshold=kind(threshold), value=kind(value))


# ---------------------------------------------------------------------------------------------- over an axis
def over_axis(b: TorchBuilder, name: str, input: Any, dim: Any, dtype: Any) -> Any:
    """softmax or log_softmax over ``dim``, after a cast to ``dtype``; an array without axes is one of one element."""
    x = input if dtype is None else b.cast(input, dtype)
    if x.ndim == 0:
        return b.reshape(getattr(b, name)(b.reshape(x, shape=(1,)), axis=0), shape=())
    return getattr(b, name)(x, axis=axis(implied_dim(x.ndim) if dim is None else dim, x.ndim))


def implied_dim(rank: int) -> int:
    """The axis that ``dim=None`` stands for in torch.nn.functional."""
    return 0 if rank in (0, 1, 3) else 1


def _functional(name: str, op: str, sign: int = 1) -> None:
    @rows.row(f"nn.functional.{name}")
    def row(b: TorchBuilder, input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        return over_axis(b, op, input if sign > 0 else b.negative(input), dim, dtype)


def _native(name: str) -> None:
    @rows.row(name, f"special_{name}")
    def row(b: TorchBuilder, input: Any, dim: int, dtype: Any = None) -> Any:
        return over_axis(b, name, input, dim, dtype)

    @rows.row(f"_{name}")
    def aten_row(b: TorchBuilder, input: Any, dim: int, half_to_float: bool = False) -> Any:
        return over_axis(b, name, input, dim, "float32" if half_to_float else None)


_functional("softmax", "softmax")
_functional("softmin", "softmax", sign=-1)
_functional("log_softmax", "log_softmax")
_native("softmax")
_native("log_softmax")


@rows.row("_safe_softmax")
def safe_softmax(b: TorchBuilder, input: Any, dim: int, dtype: Any = None) -> Any:
    """aten::_safe_softmax: 0 where all scores are -inf."""
    hidden = b.all(b.equal(input, float("-inf")), axis=axis(dim, input.ndim), keepdims=True)
    weights = over_axis(b, "softmax", b.where(hidden, 0.0, input), dim, dtype)  # a NaN here would reach the gradient
    return b.where(hidden, 0.0, weights)
