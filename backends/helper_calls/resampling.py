"""Resampling."""

from __future__ import annotations

from .table import rows

rows.table(
    {
        "interpolate": "interpolate({x}, {size}, {method}, {scales=}, {align_corners=}, {antialias=}, {layout=})",
        "grid_sample": "grid_sample({x}, {grid}, {method=}, {padding=}, {align_corners=})",
        "affine_grid": "affine_grid({theta}, {size}, {align_corners=})",
        "pixel_shuffle": "pixel_shuffle({x}, {factor})",
        "pixel_unshuffle": "pixel_unshuffle({x}, {factor})",
        "channel_shuffle": "channel_shuffle({x}, {groups})",
    }
)
