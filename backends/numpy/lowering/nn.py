"""Rows of neural-network operations. Those that backends share are in ``backends/common/helper_calls.py``."""

from __future__ import annotations

from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "relu": "np.maximum({x}, 0)",
        "relu6": "np.clip({x}, 0, 6)",
        "hard_tanh": "hard_tanh({x}, {minimum}, {maximum})",
        "hard_sigmoid": "np.clip({x} + 3, 0, 6) / 6",
        "hard_swish": "{x} * np.clip({x} + 3, 0, 6) / 6",
        "leaky_relu": "np.where({x} > 0, {x}, {x} * {negative_slope})",
        "prelu": "np.where({x} > 0, {x}, {x} * {slope})",
        "elu": "elu({x}, {alpha=})",
        "selu": "selu({x})",
        "celu": "celu({x}, {alpha})",
        "silu": "{x} / (1 + np.exp(-{x}))",
        "mish": "{x} * np.tanh(np.logaddexp({x}, 0))",
        "soft_sign": "{x} / (1 + np.abs({x}))",
        "softplus": "softplus({x}, {beta}, {threshold})",
        "log_sigmoid": "-np.logaddexp(-{x}, 0)",
        "soft_shrink": "soft_shrink({x}, {threshold})",
        "hard_shrink": "np.where(np.abs({x}) <= {threshold}, 0, {x})",
        "threshold": "np.where({x} <= {threshold}, {value}, {x})",
        "glu": "glu({x}, {axis=})",
    },
    unused={"right": "it is the side of a derivative"},
)


rows.table({"gelu": lambda x, *, approximate: f"{'gelu_tanh' if approximate else 'gelu'}({x})"})


def _over_axis(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int) -> str:
        return f"{name}({x})" if axis == x.ndim - 1 else f"{name}({x}, axis={axis})"


_over_axis("softmax")
_over_axis("log_softmax")


rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f"{x} @ {weight}.T" if weight.ndim == 2 else f"{x} @ {weight}"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'np.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2}, optimize=True)'
    return product if bias is None else f"{product} + {bias}"


rows.table(
    {
        "embedding": "embedding({weight}, {indices})",
        "one_hot": "({indices}[..., None] == np.arange({num_classes})).astype({dtype})",
    },
    unused={"padding_idx": "it is the row without a derivative"},
)
