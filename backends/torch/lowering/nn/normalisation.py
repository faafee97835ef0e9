"""Normalisation in torch."""

from __future__ import annotations

from typing import Any

from ....calls import call, unless
from ....rows import Operand
from ..layouts import channels_in_axis_1
from ..table import rows

rows.table(
    {
        "local_response_norm": "F.local_response_norm({x}, {size}, {alpha}, {beta}, {k})",
        "normalize": "F.normalize({x}, {p=ord}, {dim=axis}, {eps=epsilon})",
    }
)


@rows.row("batch_norm")
def _batch_norm(
    x: Operand,
    mean: Operand,
    variance: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    *,
    epsilon: float,
    axis: int,
) -> str:
    """``F.batch_norm`` for statistics that are given; through computed ones it would let no gradient flow."""
    if not (mean.given and variance.given):
        return call("normalised_by", x, mean, variance, weight, bias, axis=unless(axis, 1), epsilon=epsilon)
    array = str(x) if axis == 1 else f"{x}.movedim({axis}, 1)"
    text = call("F.batch_norm", array, mean, variance, weight, bias, eps=unless(epsilon, 1e-5))
    return text if axis == 1 else f"{text}.movedim(1, {axis})"


def _last(x: Operand, weight: Operand | None, axis: tuple[int, ...]) -> str:
    """The sizes of the last axes: numbers where the weight has them."""
    if weight is not None and all(isinstance(size, int) for size in weight.shape):
        return repr(weight.shape)
    return f"{x}.shape[-{len(axis)}:]"


@rows.row("layer_norm")
def _layer_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, axis: Any, epsilon: float) -> str:
    return call("F.layer_norm", x, _last(x, weight, axis), weight, bias, eps=unless(epsilon, 1e-5))


rows.table({"rms_norm": lambda x, weight=None, *, axis, epsilon: call("F.rms_norm", x, _last(x, weight, axis), weight, eps=epsilon)})


@rows.row("group_norm")
@channels_in_axis_1
def _group_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, groups: int, epsilon: float) -> str:
    return call("F.group_norm", x, groups, weight, bias, eps=unless(epsilon, 1e-5))


@rows.row("instance_norm")
@channels_in_axis_1
def _instance_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, epsilon: float) -> str:
    return call("F.instance_norm", x, weight=weight, bias=bias, eps=unless(epsilon, 1e-5))
