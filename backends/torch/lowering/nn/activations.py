"""Activation functions in torch."""

from __future__ import annotations

from typing import Any

from ....calls import call, unless
from ....rows import Operand
from ..table import rows

_FUNCTIONS = {
    "relu6": "relu6", "hard_sigmoid": "hardsigmoid", "hard_swish": "hardswish", "selu": "selu", "silu": "silu", "mish": "mish",
    "soft_sign": "softsign", "log_sigmoid": "logsigmoid",
}  # fmt: skip

rows.table({name: f"F.{function}({{x}})" for name, function in _FUNCTIONS.items()})
rows.table(
    {
        "relu": "torch.relu({x})",
        "hard_tanh": "F.hardtanh({x}, {minimum}, {maximum})",
        "prelu": "torch.where({x} > 0, {x}, {slope} * {x})",
        "elu": "F.elu({x}, {alpha=})",
        "celu": "F.celu({x}, {alpha=})",
        "softplus": "F.softplus({x}, {beta=}, {threshold=})",
        "soft_shrink": "F.softshrink({x}, {lambd=threshold})",
        "hard_shrink": "F.hardshrink({x}, {lambd=threshold})",
        "threshold": "F.threshold({x}, {threshold}, {value})",
        "glu": "F.glu({x}, {dim=axis})",
        "softmax": "torch.softmax({x}, {dim=axis})",
        "log_softmax": "torch.log_softmax({x}, {dim=axis})",
    }
)


@rows.row("leaky_relu")
def _leaky_relu(x: Operand, *, negative_slope: Any, right: bool) -> str:
    """A helper for another slope at 0."""
    if right:
        return f"leaky_relu({x}, {negative_slope!r})"
    return call("F.leaky_relu", x, negative_slope=unless(negative_slope, 0.01))


rows.table({"gelu": lambda x, *, approximate: call("F.gelu", x, approximate=unless("tanh" if approximate else "none", "none"))})
