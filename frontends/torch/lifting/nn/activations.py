"""Activation functions, softmax, dropout and linear layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..elementwise import held, widened
from ..manipulation import reshaped
from ..table import TorchBuilder, axis, rows

# Maps torch's names of activations without parameters to operations.
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
    x = b.floating(input)
    return b.subtract(x, b.tanh(x))


rows.table({
    "gelu": lambda b, input, approximate="none": b.gelu(input, approximate=approximate == "tanh"),
    "leaky_relu": lambda b, input, negative_slope=0.01, inplace=False:
        b.leaky_relu(input, negative_slope=negative_slope),
    "nn.functional.elu": lambda b, input, alpha=1.0, inplace=False: b.elu(input, alpha=alpha),
    "celu": lambda b, input, alpha=1.0, inplace=False: b.celu(input, alpha=alpha),
    "softplus": lambda b, input, beta=1.0, threshold=20.0: b.softplus(input, beta=beta, threshold=threshold),
    "softshrink": lambda b, input, lambd=0.5: widened(b, b.soft_shrink, input, threshold=lambd),
    "hardshrink": lambda b, input, lambd=0.5: b.hard_shrink(input, threshold=held(lambd, input.dtype)),
    "glu": lambda b, input, dim=-1: b.glu(input, axis=axis(dim, input.ndim)),
})  # fmt: skip


@rows.row("prelu", "_prelu_kernel")
def prelu(b: TorchBuilder, input: Any, weight: Any) -> Any:
    if weight.ndim != 1:
        return b.prelu(input, weight)
    shape = (1, weight.shape[0], *(1,) * (input.ndim - 2)) if input.ndim > 1 else (1,) * input.ndim
    return b.prelu(input, reshaped(b, weight, shape))


@rows.row("elu")
def elu(
    b: TorchBuilder,
    input: Any,
    alpha: float = 1.0,
    scale: Any = 1,
    input_scale: Any = 1,
    inplace: bool = False,
) -> Any:
    if scale == 1 and input_scale == 1:
        return b.elu(input, alpha=alpha)
    below = b.multiply(b.expm1(b.multiply(input, input_scale)), alpha * scale)
    return b.where(b.greater(input, 0), b.multiply(input, scale), below)


@rows.row("softsign")
def softsign(b: TorchBuilder, input: Any) -> Any:
    if "int" in input.dtype:
        return b.divide(b.floating(input), b.floating(b.add(b.abs(input), 1)))
    return b.soft_sign(b.floating(input))


@rows.row("hardtanh")
def hardtanh(
    b: TorchBuilder, input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    kind = float if "float" in input.dtype else int
    # A float as a limit would make the result of integers a float.
    return b.hard_tanh(input, minimum=kind(min_val), maximum=kind(max_val))


@rows.row("threshold")
def threshold(b: TorchBuilder, input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    kind = float if "float" in input.dtype else int
    return widened(b, b.threshold, input, threshold=kind(threshold), value=kind(value))


# ---------------------------------------------------------------------------------------------- over an axis
def over_axis(b: TorchBuilder, name: str, input: Any, dim: Any, dtype: Any) -> Any:
    x = input if dtype is None else b.cast(input, dtype)
    if x.ndim == 0:
        return b.reshape(getattr(b, name)(b.reshape(x, shape=(1,)), axis=0), shape=())
    return getattr(b, name)(x, axis=axis(implied_dim(x.ndim) if dim is None else dim, x.ndim))


def implied_dim(rank: int) -> int:
    return 0 if rank in (0, 1, 3) else 1


def _functional(name: str, op: str, sign: int = 1) -> None:
    @rows.row(f"nn.functional.{name}")
    def row(
        b: TorchBuilder, input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
    ) -> Any:
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
    # The result is 0 along an axis where all scores are -inf.
    hidden = b.all(b.equal(input, float("-inf")), axis=axis(dim, input.ndim), keepdims=True)
    # The scores are replaced before the softmax, because a NaN would reach the gradient.
    weights = over_axis(b, "softmax", b.where(hidden, 0.0, input), dim, dtype)
    return b.where(hidden, 0.0, weights)


# The limit of selu towards minus infinity.
_ALPHA = -1.7580993408473766


def drop(
    b: TorchBuilder, x: Any, p: float, training: bool | None = True, shared_axes: tuple[int, ...] = ()
) -> Any:
    if not training or p == 0:
        return x
    return b.dropout(b.next_key(), x, rate=float(p), shared_axes=shared_axes)


def drop_alpha(b: TorchBuilder, x: Any, p: float, training: bool, shared_axes: tuple[int, ...] = ()) -> Any:
    if not training or p == 0:
        return x
    if p == 1:
        return b.zeros(shape=x.shape, dtype=x.dtype)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _ALPHA**2))
    shape = tuple(1 if axis in shared_axes else size for axis, size in enumerate(x.shape))
    kept = b.astype(b.random_bernoulli(b.next_key(), 1.0 - p, shape=shape), dtype=x.dtype)
    # torch rounds in this order.
    shift = b.add(b.multiply(b.subtract(kept, 1.0), -_ALPHA * scale), -_ALPHA * p * scale)
    return b.add(b.multiply(x, b.multiply(kept, scale)), shift)


def _row(
    name: str, default: bool, dropped: Callable[..., Any], first_shared: Callable[[int], int | None]
) -> None:
    @rows.row(f"nn.functional.{name}")
    def row(
        b: TorchBuilder, input: Any, p: float = 0.5, training: bool = default, inplace: bool = False
    ) -> Any:
        first = first_shared(input.ndim)
        return dropped(b, input, p, training, tuple(range(first, input.ndim)) if first is not None else ())


_row("dropout", True, drop, lambda rank: None)
_row("dropout1d", True, drop, lambda rank: rank - 1)
_row("dropout2d", True, drop, lambda rank: 2)
_row("dropout3d", True, drop, lambda rank: rank - 3)
_row("alpha_dropout", False, drop_alpha, lambda rank: None)
_row("feature_alpha_dropout", False, drop_alpha, lambda rank: 2)


rows.table({
    "dropout": lambda b, input, p, train: drop(b, input, p, train, ()),
    "feature_dropout": lambda b, input, p, train: drop(b, input, p, train, tuple(range(2, input.ndim))),
    "alpha_dropout": lambda b, input, p, train: drop_alpha(b, input, p, train, ()),
    "feature_alpha_dropout": lambda b, input, p, train:
        drop_alpha(b, input, p, train, tuple(range(2, input.ndim))),
})  # fmt: skip


@rows.row("native_dropout")
def native_dropout(b: TorchBuilder, input: Any, p: float, train: bool | None = True) -> Any:
    # Like ATen, take None for training.
    if train is False or p == 0:
        return input, b.ones(shape=input.shape, dtype="bool")
    kept = b.random_bernoulli(b.next_key(), 1.0 - p, shape=input.shape)
    return b.where(kept, b.divide(input, 1.0 - p) if p < 1 else 0.0, 0.0), kept


@rows.row("nn.functional.rrelu")
def rrelu(
    b: TorchBuilder,
    input: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    if not training:
        return b.leaky_relu(input, negative_slope=(lower + upper) / 2)
    slope = b.random_uniform(b.next_key(), shape=input.shape, low=lower, high=upper, dtype=input.dtype)
    return b.prelu(input, slope)


rows.table(
    {
        "rrelu": lambda b, input, lower=1 / 8, upper=1 / 3, training=False, generator=None: rrelu(
            b, input, lower, upper, training
        )
    }
)


@rows.row("gumbel_softmax")
def gumbel_softmax(
    b: TorchBuilder, logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    axis = dim % logits.ndim
    noisy = b.divide(
        b.add(logits, b.random_gumbel(b.next_key(), shape=logits.shape, dtype=logits.dtype)), float(tau)
    )
    soft = b.softmax(noisy, axis=axis)
    if not hard:
        return soft
    # The value is the one-hot array, and the gradient that of ``soft``.
    return b.add(b.subtract(one_hot_of_max(b, soft, axis), b.stop_gradient(soft)), soft)


def one_hot_of_max(b: TorchBuilder, soft: Any, axis: int) -> Any:
    chosen = b.one_hot(b.argmax(soft, axis=axis), num_classes=soft.shape[axis], dtype=soft.dtype)
    back = (*range(axis), soft.ndim - 1, *range(axis, soft.ndim - 1))
    return b.permute_dims(chosen, axes=back)


def optional(*arrays: Any) -> tuple[Any, ...]:
    given = list(arrays)
    while given and given[-1] is None:
        given.pop()
    return tuple(given)


@rows.row("linear")
def linear(b: TorchBuilder, input: Any, weight: Any, bias: Any = None) -> Any:
    return b.linear(*optional(input, weight, bias))


rows.table(
    {
        "bilinear": lambda b, input1, input2, weight, bias=None: b.bilinear(
            *optional(input1, input2, weight, bias)
        )
    }
)


@rows.row("grouped_mm", "_grouped_mm", "transformers.grouped_mm_fallback")
def grouped_mm(
    b: TorchBuilder, mat_a: Any, mat_b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    if mat_a.ndim == 3 and mat_b.ndim == 3:
        product = b.matmul(mat_a, mat_b)
    elif mat_b.ndim == 3:
        product = b.grouped_matmul(mat_a, mat_b, offs)
    elif mat_a.ndim == 3:
        turned = b.grouped_matmul(
            b.permute_dims(mat_b, axes=(1, 0)), b.permute_dims(mat_a, axes=(0, 2, 1)), offs
        )
        product = b.permute_dims(turned, axes=(1, 0))
    else:
        raise NotImplementedError("grouped_mm of two matrices (groups along the summed axis)")
    product = product if bias is None else b.add(product, bias)
    return product if out_dtype is None else b.cast(product, out_dtype)
