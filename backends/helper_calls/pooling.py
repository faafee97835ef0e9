"""Pooling."""

from __future__ import annotations

from typing import Any

from ...ops.layouts import CHANNELS_FIRST
from ..calls import call, unless, unless_all
from ..rows import Operand
from .table import rows

rows.table(
    {
        "lp_pool": "lp_pool({x}, {ord}, {kernel}, {strides}, {ceil_mode=})",
        "max_unpool": "max_unpool({x}, {indices}, {size})",
        "adaptive_avg_pool": "adaptive_avg_pool({x}, {size}, {layout=})",
        "adaptive_max_pool": "adaptive_max_pool({x}, {size})",
        "adaptive_max_pool_with_indices": "adaptive_max_pool_with_indices({x}, {size})",
        "fractional_max_pool": "fractional_max_pool({x}, {samples}, {kernel}, {size})",
    }
)


def _max_pool(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, kernel: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, layout: str = CHANNELS_FIRST) -> str:
        options = {"padding": unless_all(padding, (0, 0)), "dilation": unless_all(dilation, 1), "ceil_mode": unless(ceil_mode, False)}
        return call(name, x, kernel=kernel, strides=strides, **options, layout=unless(layout, CHANNELS_FIRST))


_max_pool("max_pool")
_max_pool("max_pool_with_indices")


@rows.row("avg_pool")
def _avg_pool(
    x: Operand, *, kernel: Any, strides: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: Any, layout: str
) -> str:
    options = {
        "padding": unless_all(padding, (0, 0)),
        "ceil_mode": unless(ceil_mode, False),
        "count_include_pad": unless(count_include_pad, True),
        "divisor_override": divisor_override,
        "layout": unless(layout, CHANNELS_FIRST),
    }
    return call("avg_pool", x, kernel=kernel, strides=strides, **options)
