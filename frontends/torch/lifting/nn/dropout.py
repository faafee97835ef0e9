"""Dropout of torch: the identity outside of training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..table import TorchBuilder, rows

_ALPHA = -1.7580993408473766  # what selu tends to


def drop(b: TorchBuilder, x: Any, p: float, training: bool | None = True, shared_axes: tuple[int, ...] = ()) -> Any:
    """``x`` after dropout; itself where nothing is dropped."""
    if not training or p == 0:
        return x
    return b.dropout(b.next_key(), x, rate=float(p), shared_axes=shared_axes)


def drop_alpha(b: TorchBuilder, x: Any, p: float, training: bool, shared_axes: tuple[int, ...] = ()) -> Any:
    """Dropped elements take the value that selu saturates at, and all are scaled so that mean and variance stay."""
    if not training or p == 0:
        return x
    if p == 1:
        return b.zeros(shape=x.shape, dtype=x.dtype)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _ALPHA**2))
    shape = tuple(1 if axis in shared_axes else size for axis, size in enumerate(x.shape))
    kept = b.astype(b.random_bernoulli(b.next_key(), 1.0 - p, shape=shape), dtype=x.dtype)
    shift = b.add(b.multiply(b.subtract(kept, 1.0), -_ALPHA * scale), -_ALPHA * p * scale)  # in this order torch rounds
    return b.add(b.multiply(x, b.multiply(kept, scale)), shift)


def _row(name: str, default: bool, dropped: Callable[..., Any], first_shared: Callable[[int], int | None]) -> None:
    @rows.row(f"nn.functional.{name}")
    def row(b: TorchBuilder, input: Any, p: float = 0.5, training: bool = default, inplace: bool = False) -> Any:
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
    "feature_alpha_dropout": lambda b, input, p, train: drop_alpha(b, input, p, train, tuple(range(2, input.ndim))),
})  # fmt: skip


@rows.row("native_dropout")
def native_dropout(b: TorchBuilder, input: Any, p: float, train: bool | None = True) -> Any:
    """aten::native_dropout: the result, and which elements were kept."""
    if not train or p == 0:
        return input, b.ones(shape=input.shape, dtype="bool")
    kept = b.random_bernoulli(b.next_key(), 1.0 - p, shape=input.shape)
    return b.where(kept, b.divide(input, 1.0 - p) if p < 1 else 0.0, 0.0), kept


@rows.row("nn.functional.rrelu")
def rrelu(b: TorchBuilder, input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """torch.nn.functional.rrelu: slopes below 0 are random in training, otherwise their mean."""
    if not training:
        return b.leaky_relu(input, negative_slope=(lower + upper) / 2)
    slope = b.random_uniform(b.next_key(), shape=input.shape, low=lower, high=upper, dtype=input.dtype)
    return b.prelu(input, slope)


rows.table({"rrelu": lambda b, input, lower=1 / 8, upper=1 / 3, training=False, generator=None: rrelu(b, input, lower, upper, training)})


@rows.row("gumbel_softmax")
def gumbel_softmax(b: TorchBuilder, logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """torch.nn.functional.gumbel_softmax; ``hard`` gives one-hot arrays with the gradient of the soft ones."""
    axis = dim % logits.ndim
    noisy = b.divide(b.add(logits, b.random_gumbel(b.next_key(), shape=logits.shape, dtype=logits.dtype)), float(tau))
    soft = b.softmax(noisy, axis=axis)
    if not hard:
        return soft
    return b.add(b.subtract(one_hot_of_max(b, soft, axis), b.stop_gradient(soft)), soft)


def one_hot_of_max(b: TorchBuilder, soft: Any, axis: int) -> Any:
    """1 at the largest element along ``axis``."""
    chosen = b.one_hot(b.argmax(soft, axis=axis), num_classes=soft.shape[axis], dtype=soft.dtype)
    back = (*range(axis), soft.ndim - 1, *range(axis, soft.ndim - 1))
    return b.permute_dims(chosen, axes=back)
