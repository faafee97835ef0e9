"""Activation functions in TensorFlow: ``tf.nn`` where values and gradients are those of the vocabulary."""

from __future__ import annotations

from .....ops.dtypes import is_complex
from ....rows import Operand
from ..table import rows

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
    "leaky_relu": lambda x, *, negative_slope, right: f"tf.where({x} {'>=' if right else '>'} 0, {x}, {x} * {negative_slope!r})",
    "elu": lambda x, *, alpha: f"tf.nn.elu({x})" if alpha == 1 else f"elu({x}, {alpha!r})",
    # ``tf.nn.gelu``; a helper for float64, for the constants in TensorFlow's own are of single precision
    "gelu": lambda x, *, approximate: f"{'gelu' if x.dtype == 'float64' else 'tf.nn.gelu'}({x}, approximate={approximate})",
    # a helper around ``tf.nn.softsign``, which takes no complex numbers
    "soft_sign": lambda x: f"{x} / tf.cast(1 + tf.abs({x}), {x}.dtype)" if is_complex(x.dtype or "") else f"soft_sign({x})",
})  # fmt: skip


def _over_axis(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int) -> str:
        if x.ndim == 0:
            return f"tf.reshape(tf.nn.{name}(tf.reshape({x}, [1])), [])"
        return f"tf.nn.{name}({x})" if axis == x.ndim - 1 else f"tf.nn.{name}({x}, axis={axis})"


_over_axis("softmax")
_over_axis("log_softmax")


@rows.row("softplus")
def _softplus(x: Operand, *, beta: float, threshold: float) -> str:
    if beta == 1 and threshold == 20 and x.dtype != "float64":  # in less precision both are the same number above 20
        return f"tf.nn.softplus({x})"
    return f"softplus({x}, {beta!r}, {threshold!r})"
