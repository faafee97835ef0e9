"""Samples of gathering, scattering, sorting and searching."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from tests.support.samples import Sample, array, bools, ints

from .table import sample

_TIES = np.array([[1.0, 3.0, 3.0, -1.0, 2.0], [0.0, -0.0, 5.0, 5.0, 5.0]], np.float32)
_VECTORS = np.array([[0, 1], [2, 0], [0, 1]], np.int32)
_OTHER_VECTORS = np.array([[3, 1], [2, 2]], np.int32)
_ROWS, _OTHER_ROWS = np.array([[0], [2], [0]]), np.array([[3], [1]])
_REPEATED = np.array([3, 1, 3, 2, 1, 7], np.int32)
_ALL = ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin")


def _updated(x: Any, update: Any, start: Any) -> Any:
    return keras.ops.slice_update(x, start, update), keras.ops.slice_update(x, [1, 0], update)


SAMPLES: list[Sample] = [
    Sample(
        _updated,
        (array(5, 6), array(2, 3), np.array([2, 5], np.int32)),
        {},
        (array(7, 5), array(2, 4), np.array([-1, 1], np.int32)),
        "XlaDynamicUpdateSlice",
    ),
    sample(
        "Gather",
        [array(4, 3), ints(2, 5, low=0, high=4)],
        [array(6, 2), ints(3, low=0, high=6)][:0] or [array(6, 2), ints(3, 2, low=0, high=6)],
    ),
    sample(
        "GatherV2", [array(4, 3, 5), ints(2, low=0, high=3)], [array(2, 4, 6), ints(3, low=0, high=4)], axis=1
    ),
    sample("GatherV2", [array(4, 3, 5), np.int32(1)], [array(2, 4, 6), np.int32(3)], "-scalar", axis=-1),
    sample(
        "GatherV2",
        [array(4, 3, 5), ints(4, 2, low=0, high=3)],
        [array(2, 4, 6), ints(2, 3, low=0, high=4)],
        "-batch",
        axis=1,
        batch_dims=1,
    ),
    sample(
        "GatherV2",
        [array(4, 3, 5), ints(4, 2, low=0, high=5)],
        [array(2, 4, 6), ints(2, 3, low=0, high=6)],
        "-batch_behind",
        axis=2,
        batch_dims=1,
    ),
    sample(
        "GatherV2",
        [array(4, 3, 5), ints(4, 3, 2, 2, low=0, high=5)],
        [array(2, 4, 6), ints(2, 4, 3, 1, low=0, high=6)],
        "-batches",
        axis=2,
        batch_dims=2,
    ),
    sample(
        "GatherV2",
        [array(4, 3, 5), ints(4, low=0, high=5)],
        [array(2, 4, 6), ints(2, low=0, high=6)],
        "-batch_only",
        axis=2,
        batch_dims=1,
    ),
    sample("GatherNd", [array(4, 3, 5), _VECTORS], [array(5, 4, 6), _OTHER_VECTORS]),
    sample(
        "GatherNd",
        [array(4, 3), np.zeros((2, 2, 1), np.int64)],
        [array(5, 4), np.ones((3, 1, 1), np.int64)],
        "-rows",
    ),
    sample("ScatterNd", [_VECTORS, array(3, 5)], [_OTHER_VECTORS, array(2, 5)], shape=[4, 3, 5]),
    sample(
        "ScatterNd",
        [_ROWS, ints(3, dtype="int32")],
        [_OTHER_ROWS, ints(2, dtype="int32")],
        "-int32",
        shape=[4],
    ),
    *(
        sample(name, [array(4, 3), _VECTORS, array(3)], [array(5, 4), _OTHER_VECTORS, array(2)])
        for name in _ALL[1:]
    ),
    *(
        sample(name, [array(4, 3), _ROWS, array(3, 3)], [array(5, 4), _OTHER_ROWS, array(2, 4)], "-rows")
        for name in _ALL[1:]
    ),
    sample(
        "TensorScatterUpdate", [array(4, 3), _VECTORS[:2], array(2)], [array(5, 4), _OTHER_VECTORS, array(2)]
    ),
    sample(
        "ScatterNdNonAliasingAdd", [array(4, 3), _ROWS, array(3, 3)], [array(5, 4), _OTHER_ROWS, array(2, 4)]
    ),
    sample(
        "DynamicPartition",
        [array(5, 3), ints(5, low=0, high=3, dtype="int32")],
        [array(7, 2), ints(7, low=0, high=3, dtype="int32")],
        num_partitions=3,
    ),
    sample(
        "DynamicStitch",
        [[np.array([0, 3], np.int32), np.array([1, 2], np.int32)], [array(2, 3), array(2, 3)]],
        [[np.array([0, 4, 3], np.int32), np.array([1, 2], np.int32)], [array(3, 5), array(2, 5)]],
    ),
    sample(
        "DynamicStitch",
        [[array(2, 3), array(2, 3)]],
        [[array(2, 5), array(2, 5)]],
        "-known",
        indices=[[0, 3], [1, 2]],
    ),
    sample(
        "ParallelDynamicStitch",
        [[array(2, 3), array(2, 3)]],
        [[array(2, 5), array(2, 5)]],
        "-known",
        indices=[[0, 3], [1, 2]],
    ),
    sample("TopKV2", [array(3, 5)], [array(4, 7)], k=3),
    sample("TopKV2", [_TIES], None, "-ties", k=4),
    sample("TopKV2", [ints(3, 5, dtype="int32")], [ints(4, 7, dtype="int32")], "-int32", k=2),
    sample("NthElement", [array(3, 5)], [array(4, 7)], n=2),
    sample("NthElement", [array(3, 5)], [array(4, 7)], "-reverse", n=1, reverse=True),
    sample(
        "InTopK",
        [array(4, 5), ints(4, low=0, high=5, dtype="int32")],
        [array(6, 7), ints(6, low=0, high=7, dtype="int32")],
        k=2,
    ),
    sample(
        "InTopKV2",
        [array(4, 5), ints(4, low=0, high=5), np.int64(2)],
        [array(6, 7), ints(6, low=0, high=7), np.int64(3)],
    ),
    sample(
        "InTopKV2",
        [
            np.array([[1, 2, 2], [np.nan, 1, 2], [1, np.inf, 2], [1, 2, 3]], np.float32),
            np.array([1, 1, 2, 7], np.int32),
        ],
        None,
        "-edges",
        k=2,
    ),
    *(
        sample(
            name,
            [np.array([[1.0, 2.0, 2.0, 5.0]], np.float32), array(1, 6)],
            [np.array([[0.0, 0.5, 1.0]], np.float32), array(1, 4)],
        )
        for name in ("LowerBound", "UpperBound")
    ),
    *(
        sample(
            name,
            [np.array([[1, 2, 2, 5], [0, 0, 1, 3]], np.int32), ints(2, 6, dtype="int32")],
            None,
            "-int64",
            out_type="int64",
        )
        for name in ("LowerBound", "UpperBound")
    ),
    sample("Bucketize", [array(2, 6)], [array(3, 4)], boundaries=[-1.0, 0.0, 0.5]),
    sample(
        "Bucketize",
        [np.array([np.nan, np.inf, -np.inf, 0.0, 0.5, -1.0], np.float32)],
        None,
        "-edges",
        boundaries=[-1.0, 0.0, 0.5],
    ),
    sample("Bucketize", [ints(7)], [ints(3)], "-int64", boundaries=[-1.0, 0.0, 2.5]),
    sample("HistogramFixedWidth", [array(20)], [array(30)], value_range=[-1.0, 1.0], nbins=5),
    sample(
        "HistogramFixedWidth",
        [ints(20, dtype="int32")],
        [ints(30, dtype="int32")],
        "-int32",
        value_range=[-3, 3],
        nbins=4,
        dtype="int64",
    ),
    sample("Where", [bools(3, 4)], [bools(5, 2)]),
    sample("Where", [array(6)], [array(4)], "-numbers"),
    sample("Unique", [_REPEATED], [_REPEATED[:3]]),
    sample("Unique", [array(5)], [array(7)], "-int64", out_idx="int64"),
    sample("UniqueWithCounts", [_REPEATED], [_REPEATED[:4]]),
    sample(
        "UniqueV2",
        [np.array([[1, 2], [3, 4], [1, 2]], np.int32)],
        [np.array([[3, 4], [1, 2], [1, 2], [3, 4]], np.int32)],
        axis=[0],
    ),
    sample("UniqueWithCountsV2", [_REPEATED], [_REPEATED[:4]], axis=[0]),
    sample("ListDiff", [_REPEATED, np.array([1, 7], np.int32)], [_REPEATED[:4], np.array([3], np.int32)]),
    sample(
        "UnravelIndex",
        [ints(5, low=0, high=24)],
        [ints(7, low=0, high=24)],
        dims=np.array([2, 3, 4], np.int64),
    ),
    sample(
        "SparseToDense",
        [_VECTORS[:2], array(2)],
        [_OTHER_VECTORS[::-1].copy(), array(2)],
        output_shape=[4, 3],
        default_value=7.0,
    ),
    sample(
        "SparseTensorDenseAdd",
        [_VECTORS.astype(np.int64)[:2], array(2), array(4, 3)],
        [_OTHER_VECTORS.astype(np.int64), array(2), array(4, 3)],
        a_shape=np.array([4, 3]),
    ),
    sample(
        "SparseTensorDenseMatMul",
        [_VECTORS.astype(np.int64), array(3), array(3, 5)],
        [_OTHER_VECTORS.astype(np.int64), array(2), array(3, 2)],
        a_shape=np.array([4, 3]),
    ),
    sample(
        "SparseTensorDenseMatMul",
        [_VECTORS.astype(np.int64), array(3), array(5, 4)],
        [_OTHER_VECTORS.astype(np.int64), array(2), array(2, 4)],
        "-adjoint",
        a_shape=np.array([4, 3]),
        adjoint_a=True,
        adjoint_b=True,
    ),
]
