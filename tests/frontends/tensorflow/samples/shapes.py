"""Samples of shapes, slices, joining, padding, creation."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array, bools, ints

from .table import sample


def _reshaped(x: Any) -> Any:
    return tf.raw_ops.Reshape(tensor=x, shape=tf.stack([tf.shape(x)[0], tf.shape(x)[1] * tf.shape(x)[2]]))


def _first_rows(x: Any, count: Any) -> Any:
    return tf.raw_ops.StridedSlice(
        input=x, begin=tf.stack([count, 0]), end=tf.stack([count + 1, 2]), strides=[1, 1], shrink_axis_mask=1
    )


def _dynamic(x: Any, start: Any) -> Any:
    return tf.raw_ops.Slice(input=x, begin=tf.stack([start, 0]), size=[2, 2])


def _range(x: Any) -> Any:
    return tf.raw_ops.Range(start=0, limit=tf.shape(x)[0], delta=1)


def _broadcast(x: Any, y: Any) -> Any:
    return tf.raw_ops.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y))


def _broadcast_to_numbers(x: Any, shape: Any) -> Any:
    return tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.cast(3 + 0 * shape, "int32"), tf.shape(x)))


def _filled(x: Any) -> Any:
    return tf.raw_ops.Fill(dims=tf.shape(x), value=2.5)


def _sized(x: Any) -> Any:
    return tf.raw_ops.OneHot(indices=x, depth=5, on_value=1.0, off_value=0.0)


_BIG, _OTHER = array(4, 5, 6), array(7, 8, 9)
_SLICES: list[dict[str, Any]] = [
    {"begin": [1, 0], "end": [3, 2], "strides": [1, 1]},
    {"begin": [0, -3], "end": [0, -1], "strides": [1, 1], "begin_mask": 1, "end_mask": 1},
    {"begin": [0, 0, 0], "end": [0, 0, 0], "strides": [-1, 1, -2], "begin_mask": 7, "end_mask": 7},
    {"begin": [0, 1, 0], "end": [0, 2, 3], "strides": [1, 1, 2], "ellipsis_mask": 1, "shrink_axis_mask": 2},
    {
        "begin": [0, 0, 2],
        "end": [0, 0, 3],
        "strides": [1, 1, 1],
        "new_axis_mask": 2,
        "begin_mask": 1,
        "end_mask": 1,
        "shrink_axis_mask": 4,
    },
    {"begin": [2, -1], "end": [100, -100], "strides": [1, -1]},
    {"begin": [-1], "end": [0], "strides": [1], "shrink_axis_mask": 1},
]

SAMPLES: list[Sample] = [
    sample("Reshape", [array(2, 3, 4)], [array(5, 3, 4)], shape=[-1, 12]),
    sample("Reshape", [array(2, 3, 4)], [array(5, 3, 2)], "-flat", shape=[-1]),
    Sample(_reshaped, (array(2, 3, 4),), {}, (array(5, 6, 7),), "Reshape-sizes"),
    sample("Reshape", [array(1)], [array(1)], "-scalar", shape=np.zeros(0, np.int32)),
    sample("Transpose", [array(2, 3, 4)], [array(5, 6, 7)], perm=[2, 0, 1]),
    sample(
        "ConjugateTranspose", [array(2, 3, dtype="complex64")], [array(5, 6, dtype="complex64")], perm=[1, 0]
    ),
    sample("ExpandDims", [array(2, 3)], [array(5, 6)], axis=-1),
    sample("ExpandDims", [array(2, 3)], [array(5, 6)], "-first", axis=0),
    sample("Squeeze", [array(2, 1, 3, 1)], [array(5, 1, 6, 1)], axis=[1, -1]),
    sample("Squeeze", [array(2, 1, 3, 1)], [array(5, 1, 6, 1)], "-all"),
    sample("Pack", [[array(2, 3), array(2, 3)]], [[array(4, 5), array(4, 5)]], axis=1),
    sample("Pack", [[array(2, 3), array(2, 3)]], [[array(4, 5), array(4, 5)]], "-last", axis=-1),
    sample("Unpack", [array(2, 3)], [array(4, 3)], num=3, axis=1),
    sample("Unpack", [array(1, 3)], [array(1, 4)], "-one", num=1, axis=0),
    sample("ConcatV2", [[array(2, 3), array(2, 4)]], [[array(5, 6), array(5, 2)]], axis=-1),
    sample("Concat", [[array(2, 3), array(4, 3)]], [[array(5, 6), array(2, 6)]], concat_dim=0),
    sample("Split", [array(6, 4)], [array(9, 2)], axis=0, num_split=3),
    sample("Split", [array(6, 4)], [array(9, 2)], "-one", axis=0, num_split=1),
    sample("SplitV", [array(6, 4)], [array(9, 4)], size_splits=[2, -1, 1], axis=0, num_split=3),
    sample("Pad", [array(2, 3)], [array(4, 5)], paddings=[[1, 2], [0, 3]]),
    sample("Pad", [bools(2, 3)], [bools(4, 5)], "-bool", paddings=[[1, 2], [0, 3]]),
    sample("Pad", [ints(2, 3)], [ints(4, 5)], "-int64", paddings=[[1, 2], [0, 3]]),
    sample("PadV2", [array(2, 3)], [array(4, 5)], paddings=[[1, 2], [0, 3]], constant_values=1.5),
    sample(
        "PadV2",
        [array(2, 3), np.float32(3.0)],
        [array(4, 5), np.float32(4.0)],
        "-computed",
        paddings=[[1, 2], [0, 3]],
    ),
    *(
        sample("MirrorPad", [array(4, 5)], [array(6, 7)], f"-{mode}", paddings=[[1, 2], [0, 3]], mode=mode)
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    *(
        sample(
            "MirrorPadGrad", [array(7, 8)], [array(9, 9)], f"-{mode}", paddings=[[1, 2], [0, 3]], mode=mode
        )
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    sample("Tile", [array(2, 3)], [array(4, 5)], multiples=[2, 3]),
    sample("BroadcastTo", [array(1, 3)], [array(1, 3)], shape=[4, 2, 3]),
    sample("ReverseV2", [array(2, 3, 4)], [array(4, 5, 6)], axis=[0, -1]),
    sample("Reverse", [array(2, 3, 4)], [array(4, 5, 6)], dims=[True, False, True]),
    sample(
        "ReverseSequence",
        [array(2, 5, 3), np.array([3, 5])],
        [array(3, 6, 2), np.array([0, 6, 1])],
        seq_dim=1,
        batch_dim=0,
    ),
    sample(
        "ReverseSequence",
        [array(5, 3, 2), np.array([3, 5, 1], np.int32)],
        None,
        "-time_first",
        seq_dim=0,
        batch_dim=1,
    ),
    sample("Roll", [array(4, 5)], [array(6, 7)], shift=[1, -2], axis=[0, 1]),
    sample(
        "Roll",
        [array(4, 5), np.array([3, -1], np.int32)],
        [array(6, 7), np.array([-9, 2], np.int32)],
        "-computed",
        axis=[0, 1],
    ),
    sample("Roll", [array(4, 5)], [array(6, 7)], "-one", shift=2, axis=-1),
    *(
        sample("StridedSlice", [_BIG], [_OTHER], f"-{number}", **{"begin_mask": 0, **options})
        for number, options in enumerate(_SLICES)
    ),
    Sample(_first_rows, (array(4, 5), np.int32(2)), {}, (array(6, 7), np.int32(5)), "StridedSlice-computed"),
    sample(
        "TensorStridedSliceUpdate",
        [array(4, 5), array(2, 2)],
        [array(6, 7), array(2, 2)],
        begin=[1, 0],
        end=[3, 2],
        strides=[1, 1],
    ),
    sample("StridedSliceGrad", [array(2, 2)], None, shape=[4, 5], begin=[1, 0], end=[3, 2], strides=[1, 1]),
    sample(
        "StridedSliceGrad",
        [array(4, 3)],
        None,
        "-negative",
        shape=[4, 5],
        begin=[0, 0],
        end=[0, 0],
        strides=[-1, -2],
        begin_mask=3,
        end_mask=3,
    ),
    sample(
        "StridedSliceGrad",
        [array(5)],
        None,
        "-shrunk",
        shape=[4, 5],
        begin=[1, 0],
        end=[2, 0],
        strides=[1, 1],
        shrink_axis_mask=1,
        begin_mask=2,
        end_mask=2,
    ),
    sample("Slice", [_BIG], [_OTHER], begin=[1, 0, 2], size=[2, -1, 3]),
    Sample(_dynamic, (array(4, 5), np.int32(2)), {}, (array(6, 7), np.int32(3)), "Slice-computed"),
    sample("Shape", [_BIG], [_OTHER]),
    sample("Shape", [_BIG], [_OTHER], "-int64", out_type="int64"),
    sample("ShapeN", [[_BIG, array(2)]], [[_OTHER, array(3)]]),
    sample("Size", [_BIG], [_OTHER]),
    sample("Rank", [_BIG], [_OTHER]),
    sample("InvertPermutation", [np.array([2, 0, 1, 3], np.int32)], [np.array([1, 0], np.int32)]),
    sample("DataFormatVecPermute", [np.array([7, 8, 9, 10], np.int32)], [np.array([1, 2, 3, 4], np.int32)]),
    sample("DataFormatDimMap", [np.array([0, 1, 2, 3, -1], np.int32)], [np.array([1, 2], np.int32)]),
    sample("SpaceToDepth", [array(2, 4, 6, 3)], [array(1, 8, 2, 5)], block_size=2),
    sample("DepthToSpace", [array(2, 2, 3, 12)], [array(1, 4, 2, 8)], block_size=2),
    sample(
        "SpaceToBatchND",
        [array(2, 4, 5, 3)],
        [array(1, 6, 2, 2)],
        block_shape=[2, 3],
        paddings=[[0, 0], [1, 0]],
    ),
    sample(
        "BatchToSpaceND",
        [array(12, 2, 2, 3)],
        [array(6, 4, 1, 2)],
        block_shape=[2, 3],
        crops=[[0, 1], [1, 0]],
    ),
    sample("SpaceToBatch", [array(2, 4, 4, 3)], [array(1, 6, 2, 2)], block_size=2, paddings=[[0, 0], [1, 1]]),
    sample("BatchToSpace", [array(8, 2, 2, 3)], [array(4, 4, 1, 2)], block_size=2, crops=[[0, 1], [1, 0]]),
    Sample(_filled, (array(2, 3),), {}, (array(4, 5),), "Fill-sizes"),
    sample("Fill", [np.float32(2.5)], [np.float32(3.5)], dims=[2, 3]),
    sample("ZerosLike", [array(2, 3)], [array(4, 5)]),
    sample("OnesLike", [ints(2, 3)], [ints(4, 5)]),
    sample("ZerosLike", [bools(2, 3)], [bools(4, 5)], "-bool"),
    Sample(_range, (array(2, 3),), {}, (array(4, 5),), "Range-sizes"),
    sample("LinSpace", [np.float32(1.0), np.float32(3.0)], [np.float32(-1.0), np.float32(4.0)], num=5),
    sample(
        "LinSpace", [np.float32(1.0), np.float32(3.0)], [np.float32(-1.0), np.float32(4.0)], "-one", num=1
    ),
    Sample(_sized, (np.array([0, 2, -1, 7]),), {}, (np.array([4, 5]),), "OneHot-outside"),
    sample(
        "OneHot",
        [ints(2, 3, low=0, high=4), np.float32(2.0), np.float32(-1.0)],
        [ints(4, 5, low=0, high=4), np.float32(3.0), np.float32(0.5)],
        depth=4,
        axis=1,
    ),
    sample(
        "OneHot",
        [ints(2, 3, low=0, high=4, dtype="int32")],
        [ints(4, 5, low=0, high=4, dtype="int32")],
        "-bool",
        depth=4,
        on_value=True,
        off_value=False,
        axis=0,
    ),
    sample("Empty", [], None, shape=[2, 3], dtype="float32", init=True),
    Sample(_broadcast, (array(2, 1), array(3)), {}, (array(4, 1), array(5)), "BroadcastArgs"),
    Sample(
        _broadcast_to_numbers, (array(1, 3), ints(2)), {}, (array(1, 3), ints(2)), "BroadcastArgs-numbers"
    ),
]
