"""Rows of neural-network operations. Those that backends share are in ``backends/common/helper_calls.py``."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_floating
from ...common.helper_calls import conv_channels_last_call, max_pool_call
from ...common.rows import Operand, unless_all
from .table import rows

rows.table(
    {
        "relu": "jax.nn.relu({x})",
        "relu6": "hard_tanh({x}, 0, 6)",
        "hard_tanh": "hard_tanh({x}, {minimum}, {maximum})",
        "hard_sigmoid": "hard_tanh({x} + 3, 0, 6) / 6",
        "hard_swish": "{x} * hard_tanh({x} + 3, 0, 6) / 6",
        "prelu": "jnp.where({x} > 0, {x}, {x} * {slope})",
        "elu": "elu({x}, {alpha=})",
        "selu": "selu({x})",
        "celu": "celu({x}, {alpha})",
        "gelu": "jax.nn.gelu({x}, approximate={approximate})",
        "silu": "jax.nn.silu({x})",
        "mish": "jax.nn.mish({x})",
        "log_sigmoid": "jax.nn.log_sigmoid({x})",
        "soft_shrink": "soft_shrink({x}, {threshold})",
        "hard_shrink": "jnp.where(abs({x}) <= {threshold}, 0, {x})",
        "threshold": "jnp.where({x} <= {threshold}, {value}, {x})",
        "glu": "glu({x}, {axis=})",
    }
)


rows.table({
    "leaky_relu": lambda x, *, negative_slope, right: (
        f"jnp.where({x} {'>=' if right else '>'} 0, {x}, {x} * {negative_slope!r})"
    ),
    # The second derivative of ``jax.nn.soft_sign`` at 0 is that of the right side.
    "soft_sign": lambda x: f"{x} / (1 + {'absolute' if is_floating(x.dtype or '') else 'abs'}({x}))",
})  # fmt: skip


def _over_axis(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int) -> str:
        return f"jax.nn.{name}({x})" if axis == x.ndim - 1 else f"jax.nn.{name}({x}, axis={axis})"


_over_axis("softmax")
_over_axis("log_softmax")


@rows.row("softplus")
def _softplus(x: Operand, *, beta: float, threshold: float) -> str:
    # In lower precision both formulas agree above 20.
    if beta == 1 and threshold == 20 and x.dtype != "float64":
        return f"jax.nn.softplus({x})"
    return f"softplus({x}, {beta!r}, {threshold!r})"


# The helpers of rare cases are long, so other cases do without them.
@rows.row("max_pool")
def _max_pool(x: Operand, **params: Any) -> str:
    is_dilated = unless_all(params["dilation"], 1) is not None
    return max_pool_call("dilated_max_pool" if is_dilated else "max_pool", x, **params)


@rows.row("conv_channels_last")
def _conv_channels_last(x: Operand, kernel: Operand, bias: Operand | None = None, **params: Any) -> str:
    helper = "conv_channels_last" if params["groups"] == 1 else "grouped_conv_channels_last"
    return conv_channels_last_call(helper, x, kernel, bias, **params)


rows.table({"grouped_matmul": "lax.ragged_dot({x}, {weight}, jnp.diff({offsets}, prepend=0))"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f"jnp.inner({x}, {weight})"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'jnp.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"


rows.table({"one_hot": "jax.nn.one_hot({indices}, {num_classes}, dtype={dtype})"})


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return (
        f"jnp.take({weight}, {indices}, axis=0)"
        if padding_idx is None
        else f"padded_embedding({weight}, {indices}, {padding_idx})"
    )
