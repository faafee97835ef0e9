"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from ..calls import call, unless
from ..rows import Operand
from .table import rows

rows.table(
    {
        "local_response_norm": "local_response_norm({x}, size={size}, alpha={alpha}, beta={beta}, k={k})",
        "normalize": "normalize({x}, ord={ord}, axis={axis}, epsilon={epsilon})",
    }
)


def _last(x: Operand, axis: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if axis == (x.ndim - 1,) else axis


rows.table({
    "batch_norm": lambda x, mean, variance, weight=None, bias=None, *, epsilon, axis: call(
        "batch_norm", x, mean, variance, weight, bias, axis=unless(axis, 1), epsilon=epsilon
    ),
    "rms_norm": lambda x, weight=None, *, axis, epsilon: call("rms_norm", x, weight, axis=_last(x, axis), epsilon=epsilon),
})  # fmt: skip


@rows.row("layer_norm")
def _layer_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, axis: Any, epsilon: float) -> str:
    return call("layer_norm", x, weight, bias, axis=_last(x, axis), epsilon=epsilon)


@rows.row("group_norm")
def _group_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, groups: int, epsilon: float, axis: int) -> str:
    return call("group_norm", x, weight, bias, axis=unless(axis, 1), groups=groups, epsilon=epsilon)


@rows.row("instance_norm")
def _instance_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, epsilon: float, axis: int) -> str:
    return call("instance_norm", x, weight, bias, axis=unless(axis, 1), epsilon=epsilon)
