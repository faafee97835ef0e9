"""Resampling in torch."""

from __future__ import annotations

from typing import Any

from .....errors import UnsupportedOperation
from ....calls import call, unless
from ....rows import Operand
from ..layouts import channels_first
from ..table import rows

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
_SAMPLED = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}

rows.table(
    {
        "pixel_shuffle": "F.pixel_shuffle({x}, {factor})",
        "pixel_unshuffle": "F.pixel_unshuffle({x}, {factor})",
        "channel_shuffle": "F.channel_shuffle({x}, {groups})",
    }
)


def _mode(method: str, rank: int, antialias: bool) -> str:
    """The name that torch has for a method over ``rank`` axes."""
    if method.startswith("nearest") and 1 <= rank <= 3:
        return method
    if method == "linear" and rank in ((2,) if antialias else _LINEAR):
        return _LINEAR[rank]
    if method in ("cubic", "lanczos") and rank == 2:
        return "bicubic" if method == "cubic" else method
    raise UnsupportedOperation(f"torch has no {method} interpolation over {rank} axes{' with antialias' if antialias else ''}")


@rows.row("interpolate")
@channels_first
def _interpolate(x: Operand, *, size: Any, method: str, scales: Any, align_corners: bool, antialias: bool) -> str:
    """``F.interpolate``; with scales the function below it, which takes them beside the size."""
    mode = _mode(method, len(size), antialias)
    if x.ndim != len(size) + 2:
        raise UnsupportedOperation(f"torch interpolates arrays [batch, channels, *space]; this one has {x.ndim} axes, {len(size)} of space")
    if scales is None:
        options = {"mode": unless(mode, "nearest"), "align_corners": align_corners or None, "antialias": antialias or None}
        return call("F.interpolate", x, size, **options)
    private = "_" if antialias or mode == "nearest-exact" else ""
    name = f"{private}upsample_{mode.replace('-', '_')}{len(size)}d{'_aa' if antialias else ''}"
    corners = () if mode.startswith("nearest") else (align_corners,)
    return f"torch.ops.aten.{name}({', '.join(map(repr, (x, size, *corners, *scales)))})"


@rows.row("grid_sample")
def _grid_sample(x: Operand, grid: Operand, *, method: str, padding: str, align_corners: bool) -> str:
    options = {"mode": unless(_SAMPLED[method], "bilinear"), "padding_mode": unless(padding, "zeros")}
    return call("F.grid_sample", x, grid, **options, align_corners=align_corners)


@rows.row("affine_grid")
def _affine_grid(theta: Operand, *, size: Any, align_corners: bool) -> str:
    sizes = ", ".join(map(repr, size))
    return f"F.affine_grid({theta}, ({theta}.shape[0], 1, {sizes}), align_corners={align_corners})"
