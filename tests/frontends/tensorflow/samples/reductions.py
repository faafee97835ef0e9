"""Samples of reductions, cumulative statistics, segments and counts."""

from __future__ import annotations

import numpy as np

from tests.support.samples import Sample, array, bools, ints

from .table import sample

_NANS = np.array(
    [[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, -np.inf, 2.0], [5.0, 5.0, 1.0]], np.float32
)
_BIG, _OTHER = array(2, 3, 4), array(5, 2, 6)
_IDS = np.array([0, 0, 2, 2, 3], np.int32)
_OTHER_IDS = np.array([0, 1, 1, 4, 4, 6], np.int32)
# Segments of infinities alone, with an empty one between them.
_INFINITE = np.array([[-np.inf, np.inf], [-np.inf, np.inf], [-np.inf, 2], [1, np.inf], [3, -2]], np.float32)
_PLACES = np.array([[0, 2, -1], [1, 2, 2]], np.int32)
_SUMS = ("Sum", "Prod", "Mean", "Max", "Min", "EuclideanNorm")

SAMPLES: list[Sample] = [
    *(
        sample(name, [np.array([[1, 2, 2], [0, 0, -1]], np.float32)], None, "-kinks", axis=[1])
        for name in ("Max", "Min", "Prod", "EuclideanNorm")
    ),
    *(sample(name, [_BIG], [_OTHER], axis=[1]) for name in _SUMS),
    *(sample(name, [_BIG], [_OTHER], "-kept", axis=[0, -1], keep_dims=True) for name in _SUMS),
    *(sample(name, [_BIG], [_OTHER], "-one", axis=-1) for name in _SUMS),
    *(sample(name, [_BIG], [_OTHER], "-none", axis=np.zeros(0, np.int32)) for name in _SUMS),
    *(
        sample(name, [ints(2, 3, 4, dtype="int32")], [ints(5, 2, 6, dtype="int32")], "-int32", axis=[1, 2])
        for name in _SUMS
    ),
    *(
        sample(name, [ints(2, 3, 4, dtype="uint8")], [ints(5, 2, 6, dtype="uint8")], "-uint8", axis=[1])
        for name in _SUMS[:5]
    ),
    *(
        sample(name, [array(2, 3, dtype="complex64")], [array(5, 2, dtype="complex64")], "-complex", axis=[1])
        for name in ("Sum", "Prod", "Mean", "EuclideanNorm")
    ),
    *(
        sample(name, [array(2, 3, dtype="float16")], [array(5, 2, dtype="float16")], "-float16", axis=[1])
        for name in _SUMS[:5]
    ),
    *(sample(name, [_NANS], None, "-edges", axis=[1]) for name in _SUMS),
    *(sample(name, [array(2, 0, 3)], None, "-empty", axis=[1]) for name in _SUMS),
    *(sample(name, [bools(2, 3)], [bools(4, 5)], axis=[1]) for name in ("All", "Any")),
    *(
        sample(name, [bools(2, 3)], [bools(4, 5)], "-kept", axis=[0], keep_dims=True)
        for name in ("All", "Any")
    ),
    *(sample(name, [_BIG], [_OTHER], dimension=1) for name in ("ArgMax", "ArgMin")),
    *(
        sample(name, [_BIG], [_OTHER], "-int32", dimension=-1, output_type="int32")
        for name in ("ArgMax", "ArgMin")
    ),
    *(sample(name, [_NANS], None, "-edges", dimension=1) for name in ("ArgMax", "ArgMin")),
    *(
        sample(name, [ints(3, 4, dtype="int32")], [ints(2, 6, dtype="int32")], "-integers", dimension=1)
        for name in ("ArgMax", "ArgMin")
    ),
    *(sample(name, [bools(3, 4)], [bools(2, 6)], "-bool", dimension=1) for name in ("ArgMax", "ArgMin")),
    *(
        sample(
            name, [_BIG], [_OTHER], f"-{exclusive}-{reverse}", axis=1, exclusive=exclusive, reverse=reverse
        )
        for name in ("Cumsum", "Cumprod", "CumulativeLogsumexp")
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    *(
        sample(name, [ints(3, 4, dtype="int32")], [ints(2, 6, dtype="int32")], "-int32", axis=-1)
        for name in ("Cumsum", "Cumprod")
    ),
    *(
        sample(name, [array(5, 3), _IDS], [array(6, 4), _OTHER_IDS])
        for name in ("SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean")
    ),
    *(
        sample(name, [ints(5, 3, dtype="int32"), _IDS], [ints(6, 4, dtype="int32"), _OTHER_IDS], "-int32")
        for name in ("SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean")
    ),
    *(
        sample(name, [_INFINITE, _IDS], [array(6, 4), _OTHER_IDS], "-infinite")
        for name in ("SegmentMax", "SegmentMin")
    ),
    *(
        sample(name, [_INFINITE, _IDS], [array(6, 4), _OTHER_IDS], "-infinite", num_segments=7)
        for name in ("UnsortedSegmentMax", "UnsortedSegmentMin")
    ),
    *(
        sample(name, [array(2, 3, 2), _PLACES], [array(2, 3, 4), _PLACES[::-1].copy()], num_segments=4)
        for name in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
    ),
    *(
        sample(
            name,
            [ints(2, 3, 2, dtype="int32"), _PLACES],
            [ints(2, 3, 4, dtype="int32"), _PLACES[::-1].copy()],
            "-int32",
            num_segments=4,
        )
        for name in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
    ),
    *(
        sample(
            f"SparseSegment{kind}",
            [array(4, 3), np.array([3, 0, 1, 1, 2], np.int32), _IDS],
            [array(7, 2), np.array([6, 5, 4, 0, 1, 1], np.int32), _OTHER_IDS],
        )
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    *(
        sample(
            f"SparseSegment{kind}WithNumSegments",
            [array(4, 3), np.array([3, 0, 1, 1, 2], np.int32), _IDS],
            [array(7, 2), np.array([6, 5, 4, 0, 1, 1], np.int32), _OTHER_IDS],
            num_segments=8,
        )
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    *(
        sample(
            f"SparseSegment{kind}Grad",
            [array(4, 3), np.array([3, 0, 1, 1, 2], np.int32), _IDS],
            None,
            output_dim0=6,
        )
        for kind in ("Sum", "Mean", "SqrtN")
    ),
    sample(
        "Bincount",
        [ints(6, low=0, high=5, dtype="int32"), array(6)],
        [ints(9, low=0, high=5, dtype="int32"), array(9)],
        size=4,
    ),
    sample(
        "Bincount",
        [ints(6, low=0, high=5, dtype="int32")],
        [ints(9, low=0, high=5, dtype="int32")],
        "-plain",
        size=7,
        weights=np.zeros(0, np.int32),
    ),
    sample(
        "DenseBincount",
        [ints(6, low=0, high=5, dtype="int32"), array(6)],
        [ints(9, low=0, high=5, dtype="int32"), array(9)],
        size=4,
    ),
    sample(
        "DenseBincount",
        [ints(3, 6, low=0, high=5, dtype="int32")],
        [ints(2, 9, low=0, high=5, dtype="int32")],
        "-rows",
        size=7,
        weights=np.zeros(0, np.float32),
    ),
    sample(
        "DenseBincount",
        [ints(3, 6, low=0, high=5, dtype="int32")],
        [ints(2, 9, low=0, high=5, dtype="int32")],
        "-binary",
        size=7,
        weights=np.zeros(0, np.float32),
        binary_output=True,
    ),
    sample("BiasAddGrad", [array(2, 3, 4, 5)], [array(3, 2, 2, 6)]),
    sample("ApproxTopK", [array(3, 9, kind="distinct")], [array(2, 12, kind="distinct")], k=4),
    sample("BiasAddGrad", [array(2, 3, 4, 5)], [array(3, 2, 2, 6)], "-NCHW", data_format="NCHW"),
]
