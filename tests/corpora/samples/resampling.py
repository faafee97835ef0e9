"""Samples of interpolation, grid sampling and pixel shuffles."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.support.samples import ErrorSample, Sample, array, ints

_IMAGE, _OTHER = array(2, 3, 6, 7), array(1, 3, 9, 5)
_BYTES = ints(1, 3, 20, 21, low=0, high=256, dtype="uint8")
_SAMPLED = [
    Sample(F.interpolate, (_IMAGE,), {"mode": mode, **options}, other=(_OTHER,))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
    for options in (
        {"size": (4, 9)},
        {"scale_factor": 2},
        {"scale_factor": (0.6, 1.7)},
        {"scale_factor": 1.5, "recompute_scale_factor": True},
    )
]
_ALIGNED = [
    Sample(F.interpolate, (_IMAGE,), {"mode": mode, "size": (4, 9), "align_corners": True}, other=(_OTHER,))
    for mode in ("bilinear", "bicubic")
]
_ANTIALIASED = [
    Sample(F.interpolate, (_IMAGE,), {"mode": mode, "antialias": True, **options}, other=(_OTHER,))
    for mode in ("bilinear", "bicubic", "lanczos")
    for options in ({"size": (3, 11)}, {"scale_factor": 0.4})
]
_OF_BYTES = [
    Sample(
        F.interpolate,
        (_BYTES,),
        {"mode": mode, "antialias": antialias, "size": (7, 33)},
        name=f"interpolate-bytes-{mode}-{antialias}",
    )
    for mode in ("bilinear", "bicubic")
    for antialias in (False, True)
]
_GRIDS = [
    Sample(
        F.grid_sample,
        (_IMAGE, array(2, 4, 5, 2)),
        {"mode": mode, "padding_mode": padding, "align_corners": align},
        other=(_OTHER, array(1, 3, 2, 2)),
    )
    for mode, align in (("bilinear", False), ("bilinear", True), ("nearest", False), ("bicubic", False))
    for padding in ("zeros", "border", "reflection")
]

SAMPLES = [
    *_SAMPLED,
    *_ALIGNED,
    *_ANTIALIASED,
    *_OF_BYTES,
    *_GRIDS,
    Sample(F.interpolate, (array(2, 3, 7),), {"mode": "linear", "size": 5}, other=(array(2, 3, 4),)),
    Sample(F.interpolate, (array(2, 3, 7),), {"mode": "nearest", "scale_factor": 1.3}),
    Sample(
        F.interpolate,
        (array(1, 2, 39),),
        {"scale_factor": 1.02},
        other=(array(1, 2, 33),),
        name="interpolate-kept-1d",
    ),
    Sample(
        F.interpolate,
        (array(1, 2, 7, 30),),
        {"scale_factor": (1.05, 2.02)},
        other=(array(1, 2, 70, 33),),
        name="interpolate-kept-2d",
    ),
    Sample(
        F.interpolate, (array(1, 2, 3, 4, 7),), {"scale_factor": (1, 1, 1.05)}, name="interpolate-kept-3d"
    ),
    Sample(F.interpolate, (array(1, 2, 3, 4, 5),), {"mode": "trilinear", "size": (5, 3, 7)}),
    Sample(F.interpolate, (array(1, 2, 3, 4, 5),), {"mode": "nearest", "scale_factor": 2}),
    Sample(
        F.interpolate,
        (array(1, 2, 6, 6, dtype="bfloat16"),),
        {"mode": "bilinear", "size": (4, 9)},
        name="interpolate-bfloat16",
    ),
    Sample(
        F.interpolate,
        (array(1, 2, 6, 6, dtype="float64"),),
        {"mode": "bicubic", "size": (4, 9)},
        name="interpolate-float64",
    ),
    Sample(
        lambda x, y: F.interpolate(x, size=y.shape[2:]),
        (_IMAGE, _OTHER),
        other=(_OTHER, _IMAGE),
        name="interpolate-like",
    ),
    Sample(
        lambda x: F.interpolate(x, size=(x.shape[2] * 2, 5), mode="bilinear"),
        (_IMAGE,),
        other=(_OTHER,),
        name="interpolate-sizes",
    ),
    Sample(
        torch.ops.aten.upsample_bilinear2d.vec,
        (_IMAGE, None, False, [1.5, 2.0]),
        name="aten-upsample_bilinear2d-vec",
    ),
    Sample(
        torch.ops.aten.upsample_nearest2d.default,
        (_IMAGE, [9, 10], 1.5, None),
        name="aten-upsample_nearest2d",
    ),
    Sample(
        F.grid_sample,
        (array(2, 3, 4, 5, 6), array(2, 3, 2, 4, 3)),
        {"align_corners": False},
        name="grid_sample-3d",
    ),
    Sample(torch.grid_sampler, (_IMAGE, array(2, 4, 5, 2), 0, 1, True)),
    Sample(F.affine_grid, (array(2, 2, 3), (2, 1, 4, 5)), {"align_corners": False}),
    Sample(F.affine_grid, (array(2, 3, 4), (2, 1, 4, 5, 3)), {"align_corners": True}),
    Sample(F.pixel_shuffle, (array(2, 8, 3, 4), 2), other=(array(1, 12, 2, 5), 2)),
    Sample(F.pixel_unshuffle, (array(2, 2, 6, 4), 2), other=(array(1, 3, 4, 8), 2)),
    Sample(F.pixel_shuffle, (array(9, 2, 2), 3), name="pixel_shuffle-unbatched"),
    Sample(F.channel_shuffle, (array(2, 6, 3, 2), 3), other=(array(1, 9, 4, 2), 3)),
]

ERRORS = [
    ErrorSample(
        F.interpolate,
        (array(2, 3, 7),),
        {"mode": "bilinear", "size": 5},
        NotImplementedError,
        "bilinear mode needs 4D input",
    ),
]
