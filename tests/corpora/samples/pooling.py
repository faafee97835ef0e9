"""Samples of pooling: ceil mode, counted padding, indices, unpooling, adaptive sizes."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.support.samples import Sample, array, ints

_IMAGE, _OTHER = array(2, 3, 9, 8), array(1, 3, 12, 7)

SAMPLES = [
    Sample(F.max_pool1d, (array(2, 3, 9), 2), other=(array(4, 3, 12), 2)),
    Sample(F.max_pool2d, (_IMAGE, 2), other=(_OTHER, 2)),
    Sample(F.max_pool2d, (_IMAGE, 3), {"stride": 2, "padding": 1}, other=(_OTHER, 3)),
    Sample(F.max_pool2d, (_IMAGE, (2, 3)), {"stride": (3, 2), "ceil_mode": True}, other=(_OTHER, (2, 3))),
    Sample(F.max_pool2d, (_IMAGE, 3, 1, 1, 2), {}, other=(_OTHER, 3, 1, 1, 2), name="max_pool2d-dilation"),
    Sample(F.max_pool2d, (_IMAGE, 3, 2, 1), {"return_indices": True}, other=(_OTHER, 3, 2, 1)),
    Sample(F.max_pool2d, (array(3, 9, 8), 2), name="max_pool2d-unbatched"),
    Sample(F.max_pool2d, (ints(2, 3, 6, 6), 2), name="max_pool2d-integers"),
    Sample(
        F.max_pool2d,
        (array(2, 3, 6, 6, dtype="bfloat16"), 2),
        {"return_indices": True},
        name="max_pool2d-bfloat16",
    ),
    Sample(lambda x: F.max_pool3d(x.double(), 2), (array(1, 2, 5, 6, 7),), name="max_pool3d of float64"),
    Sample(lambda x: F.avg_pool3d(x.double(), 2), (array(1, 2, 5, 6, 7),), name="avg_pool3d of float64"),
    Sample(F.max_pool3d, (array(1, 2, 5, 6, 7), 2), {"ceil_mode": True, "return_indices": True}),
    Sample(torch.max_pool2d, (_IMAGE, [2, 2])),
    Sample(F.avg_pool1d, (array(2, 3, 9), 3), {"stride": 2, "padding": 1}, other=(array(2, 3, 14), 3)),
    Sample(F.avg_pool2d, (_IMAGE, 2), other=(_OTHER, 2)),
    Sample(F.avg_pool2d, (_IMAGE, 3), {"stride": 2, "padding": 1, "ceil_mode": True}, other=(_OTHER, 3)),
    Sample(
        F.avg_pool2d,
        (_IMAGE, 3),
        {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
        other=(_OTHER, 3),
    ),
    Sample(F.avg_pool2d, (_IMAGE, (3, 2)), {"divisor_override": 5}),
    Sample(F.avg_pool2d, (ints(2, 3, 6, 6), 2), name="avg_pool2d-integers"),
    Sample(F.avg_pool2d, (array(2, 3, 6, 6, dtype="float16"), 3), name="avg_pool2d-float16"),
    Sample(F.avg_pool3d, (array(1, 2, 5, 6, 7), (2, 3, 2)), {"count_include_pad": False, "padding": 1}),
    Sample(F.lp_pool1d, (array(2, 3, 9), 3.0, 2), other=(array(2, 3, 11), 3.0, 2)),
    Sample(F.lp_pool2d, (array(2, 3, 9, 8, kind="positive"), 1.5, (2, 3)), {"stride": 2, "ceil_mode": True}),
    Sample(F.lp_pool2d, (_IMAGE, float("inf"), 2)),
    Sample(F.lp_pool3d, (array(1, 2, 4, 4, 4), 2, 2)),
    Sample(F.adaptive_avg_pool1d, (array(2, 3, 9), 4), other=(array(2, 3, 13), 4)),
    Sample(F.adaptive_avg_pool2d, (_IMAGE, 1), other=(_OTHER, 1)),
    Sample(F.adaptive_avg_pool2d, (_IMAGE, (4, 3)), other=(_OTHER, (4, 3))),
    Sample(F.adaptive_avg_pool2d, (_IMAGE, (None, 5)), other=(_OTHER, (None, 5))),
    Sample(
        F.adaptive_avg_pool2d, (array(3, 9, 8, dtype="bfloat16"), (4, 3)), name="adaptive_avg_pool2d-bfloat16"
    ),
    Sample(F.adaptive_avg_pool3d, (array(1, 2, 5, 6, 7), (2, 3, 4))),
    Sample(F.adaptive_max_pool1d, (array(2, 3, 9), 4), {"return_indices": True}, other=(array(2, 3, 13), 4)),
    Sample(F.adaptive_max_pool2d, (_IMAGE, 1), other=(_OTHER, 1)),
    Sample(F.adaptive_max_pool2d, (_IMAGE, (4, 3)), other=(_OTHER, (4, 3))),
    Sample(F.adaptive_max_pool2d, (_IMAGE, (4, 3)), {"return_indices": True}, other=(_OTHER, (4, 3))),
    Sample(F.adaptive_max_pool3d, (array(1, 2, 5, 6, 7), (2, 3, 4))),
    Sample(torch.adaptive_max_pool1d, (array(2, 3, 9), 4), name="torch.adaptive_max_pool1d"),
    Sample(
        F.max_unpool2d,
        (array(1, 2, 2, 2), ints(1, 2, 2, 2, low=5, high=6), 2),
        name="max_unpool2d-equal-places",
    ),
    Sample(
        lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2),
        (array(2, 3, 8),),
        name="max_unpool1d",
    ),
    Sample(
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape),
        (_IMAGE,),
        other=(_OTHER,),
        name="max_unpool2d",
    ),
    Sample(
        lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2),
        (array(1, 2, 4, 4, 6),),
        name="max_unpool3d",
    ),
    Sample(
        lambda x, gradient: torch.ops.aten.max_pool2d_with_indices_backward(
            gradient,
            x,
            [3, 2],
            [2, 2],
            [1, 0],
            [1, 1],
            False,
            F.max_pool2d(x, (3, 2), 2, (1, 0), return_indices=True)[1],
        ),
        (array(2, 3, 7, 8), array(2, 3, 4, 4)),
        other=(array(1, 2, 5, 6), array(1, 2, 3, 3)),
        name="max_pool2d-backward",
    ),
    Sample(
        lambda x, gradient: torch.ops.aten.adaptive_max_pool2d_backward(
            gradient, x, F.adaptive_max_pool2d(x, (4, 3), return_indices=True)[1]
        ),
        (_IMAGE, array(2, 3, 4, 3)),
        name="adaptive_max_pool2d-backward",
    ),
    Sample(
        lambda x, samples: F.fractional_max_pool2d(
            x, 2, output_size=(4, 5), return_indices=True, _random_samples=samples
        ),
        (_IMAGE, array(2, 3, 2, kind="positive")),
        other=(array(0, 3, 8, 7), array(0, 3, 2)),
        name="fractional_max_pool2d",
    ),
]
