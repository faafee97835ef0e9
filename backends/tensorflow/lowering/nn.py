"""Neural-network operations in TensorFlow.

Rows that other targets share are in ``backends/common/helper_calls.py``.
"""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_complex
from ...common.rows import Operand
from .linear_algebra import product_with_matrix
from .table import rows

rows.table(
    {
        "relu": "tf.nn.relu({x})",
        "relu6": "tf.nn.relu6({x})",
        "hard_tanh": "hard_tanh({x}, {minimum}, {maximum})",
        "hard_sigmoid": "tf.nn.relu6({x} + 3) / 6",
        "hard_swish": "{x} * tf.nn.relu6({x} + 3) / 6",
        "prelu": "tf.where({x} > 0, {x}, {x} * {slope})",
        "selu": "selu({x})",
        "celu": "celu({x}, {alpha})",
        "silu": "tf.nn.silu({x})",
        "mish": "{x} * tf.tanh(tf.nn.softplus({x}))",
        "log_sigmoid": "tf.math.log_sigmoid({x})",
        "soft_shrink": "soft_shrink({x}, {threshold})",
        "hard_shrink": "tf.where(tf.abs({x}) <= {threshold}, tf.zeros_like({x}), {x})",
        "threshold": "threshold({x}, {threshold}, {value})",
        "glu": "glu({x}, {axis=})",
    }
)


rows.table({
    "leaky_relu": lambda x, *, negative_slope, right: (
        f"tf.where({x} {'>=' if right else '>'} 0, {x}, {x} * {negative_slope!r})"
    ),
    "elu": lambda x, *, alpha: f"tf.nn.elu({x})" if alpha == 1 else f"elu({x}, {alpha!r})",
    # The constants of tf.nn.gelu have single precision, so float64 goes to a helper.
    "gelu": lambda x, *, approximate: (
        f"{'gelu' if x.dtype == 'float64' else 'tf.nn.gelu'}({x}, approximate={approximate})"
    ),
    # tf.nn.softsign does not support complex numbers.
    "soft_sign": lambda x: (
        f"{x} / tf.cast(1 + tf.abs({x}), {x}.dtype)"
        if is_complex(x.dtype or "")
        else f"soft_sign({x})"
    ),
})  # fmt: skip


def _over_axis(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int) -> str:
        if x.ndim == 0:
            # `tf.nn.softmax` needs an axis.
            return f"tf.reshape(tf.nn.{name}(tf.reshape({x}, [1])), [])"
        return f"tf.nn.{name}({x})" if axis == x.ndim - 1 else f"tf.nn.{name}({x}, axis={axis})"


_over_axis("softmax")
_over_axis("log_softmax")


@rows.row("softplus")
def _softplus(x: Operand, *, beta: float, threshold: float) -> str:
    # In less precision, log1p(exp(x)) equals x above 20 anyway.
    if beta == 1 and threshold == 20 and x.dtype != "float64":
        return f"tf.nn.softplus({x})"
    return f"softplus({x}, {beta!r}, {threshold!r})"


rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    if weight.ndim == 1:
        product = f"tf.reduce_sum({x} * {weight}, -1)"
    elif x.ndim == 1:
        product = f"tf.linalg.matvec({weight}, {x})"
    elif x.ndim == 4:
        product = product_with_matrix(x, weight, 1)
    else:
        product = f"tf.matmul({x}, {weight}, transpose_b=True)"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'tf.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"


@rows.row("scaled_dot_product_attention")
def _attention(
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Operand | None = None,
    random_key: Operand | None = None,
    *,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
    dropout_rate: float,
) -> str:
    # Dropout applies to the weights, between the two products.
    options = [str(mask)] if mask is not None else []
    options += ["is_causal=True"] if is_causal else []
    options += [f"scale={scale!r}"] if scale is not None else []
    if random_key is not None:
        return (
            f"dropout({random_key}, attention_weights({', '.join([query, key, *options])}), "
            f"{dropout_rate!r}) @ {value}"
        )
    function = "grouped_query_attention" if enable_gqa else "scaled_dot_product_attention"
    return f"{function}({', '.join([query, key, value, *options])})"


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return (
        f"tf.gather({weight}, {indices})"
        if padding_idx is None
        else f"padded_embedding({weight}, {indices}, {padding_idx})"
    )


@rows.row("one_hot")
def _one_hot(indices: Operand, *, num_classes: Any, dtype: str, out: Any) -> str:
    if out[0].dtype == "bool":
        return f"tf.one_hot({indices}, {num_classes!r}, True, False, dtype={dtype})"
    return f"tf.one_hot({indices}, {num_classes!r}, dtype={dtype})"
