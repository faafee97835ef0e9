"""Samples of convolutions and of windows as columns."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.support.samples import ErrorSample, Sample, array

SAMPLES = [
    Sample(
        F.conv1d,
        (array(2, 4, 9), array(6, 4, 3), array(6)),
        other=(array(3, 4, 12), array(6, 4, 3), array(6)),
    ),
    Sample(F.conv1d, (array(2, 4, 9), array(6, 2, 3)), {"stride": 2, "padding": 1, "groups": 2}),
    Sample(
        F.conv1d,
        (array(4, 9), array(6, 4, 3), array(6)),
        name="conv1d-unbatched",
        other=(array(4, 11), array(6, 4, 3), array(6)),
    ),
    Sample(
        F.conv2d,
        (array(2, 3, 8, 9), array(4, 3, 3, 2), array(4)),
        {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)},
        other=(array(1, 3, 11, 7), array(4, 3, 3, 2), array(4)),
    ),
    Sample(
        F.conv2d,
        (array(2, 6, 8, 8), array(6, 1, 3, 3)),
        {"padding": "same", "groups": 6},
        other=(array(1, 6, 5, 9), array(6, 1, 3, 3)),
    ),
    Sample(F.conv2d, (array(2, 3, 8, 8), array(4, 3, 2, 4), None, 1, "same", 2), name="conv2d-same-even"),
    Sample(F.conv2d, (array(2, 3, 8, 8), array(4, 3, 2, 4)), {"padding": "valid"}),
    Sample(F.conv2d, (array(3, 8, 8), array(4, 3, 1, 1), array(4)), name="conv2d-unbatched"),
    Sample(
        F.conv2d,
        (array(2, 3, 8, 8, dtype="float64"), array(4, 3, 3, 3, dtype="float64")),
        name="conv2d-float64",
    ),
    Sample(
        F.conv2d,
        (array(2, 3, 8, 8, dtype="bfloat16"), array(4, 3, 3, 3, dtype="bfloat16")),
        name="conv2d-bfloat16",
    ),
    Sample(F.conv2d, (array(0, 3, 8, 8), array(4, 3, 3, 3)), name="conv2d-empty"),
    Sample(F.conv3d, (array(1, 2, 5, 6, 7), array(4, 2, 2, 3, 2), array(4)), {"padding": 1, "stride": 2}),
    Sample(
        F.conv_transpose1d,
        (array(2, 4, 5), array(4, 3, 3), array(6)),
        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2},
        other=(array(1, 4, 8), array(4, 3, 3), array(6)),
    ),
    Sample(
        F.conv_transpose2d,
        (array(2, 4, 5, 4), array(4, 3, 3, 2)),
        {"stride": (2, 3), "dilation": (2, 1), "padding": (0, 1)},
    ),
    Sample(
        F.conv_transpose2d, (array(4, 5, 4), array(4, 3, 3, 2), array(3)), name="conv_transpose2d-unbatched"
    ),
    Sample(F.conv_transpose3d, (array(1, 2, 3, 4, 3), array(2, 3, 2, 2, 2), array(3)), {"stride": 2}),
    Sample(torch.convolution, (array(1, 2, 6, 6), array(4, 2, 3, 3), None, [2], [1], [1], False, [0], 1)),
    Sample(
        torch.convolution,
        (array(1, 2, 6, 6), array(2, 4, 3, 3), array(4), [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
        name="convolution-transposed",
    ),
    Sample(
        torch.conv_tbc,
        (array(7, 2, 4), array(3, 4, 5), array(5), 1),
        other=(array(9, 3, 4), array(3, 4, 5), array(5), 1),
    ),
    Sample(
        F.unfold,
        (array(2, 3, 6, 7), (2, 3)),
        {"stride": (1, 2), "padding": 1, "dilation": (2, 1)},
        other=(array(1, 3, 9, 8), (2, 3)),
    ),
    Sample(F.unfold, (array(3, 6, 7), 2), name="unfold-unbatched"),
    Sample(F.fold, (array(2, 12, 12), (4, 5), 2), other=(array(3, 12, 12), (4, 5), 2)),
    Sample(F.fold, (array(12, 9), (6, 6), (2, 2)), {"stride": 2}, name="fold-unbatched"),
    Sample(F.fold, (array(1, 18, 20), (4, 5), (3, 2)), {"padding": 1, "dilation": (1, 2)}),
]

ERRORS = [
    ErrorSample(F.conv2d, (array(1, 3, 4, 4), array(4, 2, 3, 3)), {}, RuntimeError, "expected input"),
]
