"""``jax.nn``."""

from __future__ import annotations

import functools
from typing import Any

from .....ir import Value
from .....ops.dtypes import is_floating
from .....sizes import apply, hint_of
from ..table import JaxBuilder, rows

_ACTIVATIONS = {
    "relu": "relu", "relu6": "relu6", "sigmoid": "sigmoid", "silu": "silu", "swish": "silu", "soft_sign": "soft_sign",
    "hard_sigmoid": "hard_sigmoid", "hard_silu": "hard_swish", "hard_swish": "hard_swish", "selu": "selu", "mish": "mish",
    "log_sigmoid": "log_sigmoid",
}  # fmt: skip


@functools.cache  # two names of one function of JAX share a row
def _activation(name: str) -> Any:
    return lambda b, x: getattr(b, name)(_float(b, x))


def _float(b: JaxBuilder, x: Any) -> Any:
    if not isinstance(x, Value) or not is_floating(x.dtype) or x.dtype != b.result.dtype:
        raise NotImplementedError
    return x


for _public, _name in _ACTIVATIONS.items():
    rows.row(f"jax.nn.{_public}")(_activation(_name))


@rows.row("jax.nn.gelu")
def gelu(b: JaxBuilder, x: Any, approximate: bool = True) -> Any:
    return b.gelu(_float(b, x), approximate=bool(approximate))


@rows.row("jax.nn.elu")
def elu(b: JaxBuilder, x: Any, alpha: Any = 1.0) -> Any:
    """jax.nn.elu with a known alpha."""
    return b.elu(_float(b, x), alpha=_number(alpha))


rows.table({
    "jax.nn.celu": lambda b, x, alpha=1.0: b.celu(_float(b, x), alpha=_number(alpha)),  # jax.nn.celu with a known alpha
    "jax.nn.hard_tanh": lambda b, x: b.clip(_float(b, x), -1.0, 1.0),  # has slope 1 at both ends
})  # fmt: skip


@rows.row("jax.nn.leaky_relu")
def leaky_relu(b: JaxBuilder, x: Any, negative_slope: Any = 1e-2) -> Any:
    """jax.nn.leaky_relu with a known slope; at 0 it has that of the right side."""
    return b.leaky_relu(_float(b, x), negative_slope=_number(negative_slope), right=True)


def _number(x: Any) -> float:
    if not isinstance(x, (int, float)):
        raise NotImplementedError
    return float(x)


@rows.row("jax.nn.softmax")
def softmax(b: JaxBuilder, x: Any, axis: Any = -1, where: Any = None) -> Any:
    """jax.nn.softmax over one axis."""
    if not isinstance(axis, int) or where is not None or x.ndim == 0:
        raise NotImplementedError
    return b.softmax(_float(b, x), axis=axis % x.ndim)


@rows.row("jax.nn.log_softmax")
def log_softmax(b: JaxBuilder, x: Any, axis: Any = -1, where: Any = None) -> Any:
    """jax.nn.log_softmax over one axis."""
    if not isinstance(axis, int) or where is not None or x.ndim == 0:
        raise NotImplementedError
    return b.log_softmax(_float(b, x), axis=axis % x.ndim)


@rows.row("jax.nn.logsumexp", "jax.scipy.special.logsumexp")
def logsumexp(b: JaxBuilder, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """logsumexp without weights."""
    places = axis if axis is None else axis % a.ndim if isinstance(axis, int) else tuple(one % a.ndim for one in axis)
    return b.logsumexp(_float(b, a), axis=places, keepdims=bool(keepdims))


@rows.row("jax.nn.one_hot")
def one_hot(b: JaxBuilder, x: Any, num_classes: Any, *, dtype: Any = None, axis: Any = -1) -> Any:
    """jax.nn.one_hot: indices that are no class give zeros."""
    if isinstance(num_classes, Value) or axis not in (-1, x.ndim):
        raise NotImplementedError
    classes = b.arange(stop=num_classes, dtype=x.dtype)
    return b.astype(b.equal(b.reshape(x, shape=(*x.shape, 1)), classes), dtype=b.result.dtype)


@rows.row("jax.nn.dot_product_attention")
def dot_product_attention(
    b: JaxBuilder, query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, scale: Any = None, is_causal: bool = False,
    implementation: Any = None,
) -> Any:  # fmt: skip
    """jax.nn.dot_product_attention over [batch, tokens, heads, features] or without the batch; with a mask only without a bias."""
    if isinstance(bias, Value) and isinstance(mask, Value) or isinstance(scale, Value) or query.ndim not in (3, 4):
        raise NotImplementedError
    if (
        any(not _same(b, query.shape[-2], x.shape[-2]) for x in (key, value))
        or query.dtype != "float32"
        or (is_causal and mask is not None)
    ):
        raise NotImplementedError
    mask = bias if mask is None else mask
    if mask is not None and (mask.ndim != query.ndim or mask.dtype not in ("bool", query.dtype)):
        raise NotImplementedError
    order = (0, 2, 1, 3) if query.ndim == 4 else (1, 0, 2)
    query, key, value = (b.permute_dims(x, axes=order) for x in (query, key, value))
    found = b.scaled_dot_product_attention(query, key, value, mask, is_causal=bool(is_causal), scale=scale)
    return b.permute_dims(found, axes=order)


def _same(b: JaxBuilder, left: Any, right: Any) -> bool:
    """Whether two sizes are equal, from here on taken to be where they are now."""
    if left == right:
        return True
    if hint_of(left) != hint_of(right):
        return False
    b.guard(apply("eq", left, right))
    return True
