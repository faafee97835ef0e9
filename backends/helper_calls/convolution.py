"""Convolutions."""

from __future__ import annotations

from typing import Any

from ...ops.layouts import CHANNELS_FIRST
from ..calls import call, unless, unless_all
from ..rows import Operand
from .table import rows

rows.table(
    {
        "im2col": "im2col({x}, {kernel}, {strides}, {padding}, {dilation})",
        "col2im": "col2im({x}, {size}, {kernel}, {strides}, {padding}, {dilation})",
    }
)


@rows.row("conv_channels_last")
def _conv_channels_last(
    x: Operand, kernel: Operand, bias: Operand | None = None, *, strides: Any, padding: Any, dilation: Any, groups: int
) -> str:
    options = {"strides": unless_all(strides, 1), "padding": unless_all(padding, (0, 0)), "dilation": unless_all(dilation, 1)}
    return call("conv_channels_last", x, kernel, bias, **options, groups=unless(groups, 1))


@rows.row("conv", "conv_transpose")
def _conv(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    layout: str,
    output_padding: Any = None,
) -> str:
    return call(
        "conv" if output_padding is None else "conv_transpose",
        x,
        weight,
        bias,
        strides=unless_all(strides, 1),
        padding=unless_all(padding, (0, 0)),
        output_padding=unless_all(output_padding or (), 0),
        dilation=unless_all(dilation, 1),
        groups=unless(groups, 1),
        layout=unless(layout, CHANNELS_FIRST),
    )
