"""Samples of recurrent layers over several steps, CTC, and functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array

from .table import sample


def _weights(inputs: int, units: int) -> list[Any]:
    return [array(inputs + units, 4 * units), array(units), array(units), array(units), array(4 * units)]


def _layer(time: int, batch: int, inputs: int, units: int) -> list[Any]:
    return [array(time, batch, inputs), array(batch, units), array(batch, units), *_weights(inputs, units)]


def _shown(name: str, **options: Any) -> Any:
    """Return states and outputs, the ones that TensorFlow sets after the longest sequence too."""

    def call(length: Any, *operands: Any) -> Any:
        names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        found = getattr(tf.raw_ops, name)(seq_len_max=length, **dict(zip(names, operands)), **options)
        return found.cs, found.h

    return call


def _gradients(name: str, of: str, **options: Any) -> Any:
    def call(length: Any, *operands: Any) -> Any:
        names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        *layer, cs_grad, h_grad = operands
        given = dict(zip(names, layer))
        made = getattr(tf.raw_ops, of)(seq_len_max=length, **given, **options)._asdict()
        found = getattr(tf.raw_ops, name)(
            seq_len_max=length,
            **given,
            **made,
            cs_grad=cs_grad,
            h_grad=h_grad,
            use_peephole=options["use_peephole"],
        )
        return tuple(found)

    return call


def _grad(name: str) -> str:
    return name.replace("LSTM", "LSTMGrad")


_SHAPES = ((4, 2, 3, 2), (6, 3, 2, 4))
_LENGTH = tuple(np.int64(time) for time, *_ in _SHAPES)
_LAYERS = [
    (name, {"use_peephole": peephole, "cell_clip": clip})
    for name in ("BlockLSTM", "BlockLSTMV2")
    for peephole, clip in ((False, 0.0), (True, 0.8))
]

# ------------------------------------------------------------------------------------ temporal classification
_LABELS = (
    np.array([[0, 0], [0, 1], [0, 2], [1, 0]], np.int64),
    np.array([1, 1, 2, 0], np.int32),
    np.array([7, 5], np.int32),
)
_OTHER = (
    np.array([[0, 0], [1, 0], [1, 1], [2, 0], [2, 1]], np.int64),
    np.array([2, 1, 0, 0, 0], np.int32),
    np.array([6, 8, 5], np.int32),
)


def _classified(inputs: Any, indices: Any, values: Any, lengths: Any) -> Any:
    return tuple(
        tf.raw_ops.CTCLoss(
            inputs=inputs, labels_indices=indices, labels_values=values, sequence_length=lengths
        )
    )


def _greedy(**options: Any) -> Any:
    def call(inputs: Any, lengths: Any) -> Any:
        return tuple(tf.raw_ops.CTCGreedyDecoder(inputs=inputs, sequence_length=lengths, **options))

    return call


# ------------------------------------------------------------------------------------- matrices
def _positive(x: Any) -> Any:
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(3, dtype=x.dtype) + tf.linalg.band_part(0.3 * x, 0, -1)


def _of_positive(name: str) -> Any:
    return lambda x: getattr(tf.raw_ops, name)(input=_positive(x))


SAMPLES: list[Sample] = [
    *(
        Sample(
            _shown(name, **options),
            (_LENGTH[0], *_layer(*_SHAPES[0])),
            {},
            (_LENGTH[1], *_layer(*_SHAPES[1])),
            f"{name}-{place}",
        )
        for place, (name, options) in enumerate(_LAYERS)
    ),
    Sample(
        _shown("BlockLSTM"),
        (np.int64(3), *_layer(*_SHAPES[0])),
        {},
        (np.int64(2), *_layer(*_SHAPES[1])),
        "BlockLSTM-short",
    ),
    sample(
        "BlockLSTMV2",
        [_LENGTH[0], *_layer(*_SHAPES[0])],
        [_LENGTH[1], *_layer(*_SHAPES[1])],
        "-gates",
        use_peephole=True,
    ),
    *(
        Sample(
            _gradients(_grad(name), name, **options),
            (_LENGTH[0], *_layer(*_SHAPES[0]), array(4, 2, 2), array(4, 2, 2)),
            {},
            (_LENGTH[1], *_layer(*_SHAPES[1]), array(6, 3, 4), array(6, 3, 4)),
            f"{_grad(name)}-{place}",
        )
        for place, (name, options) in enumerate(_LAYERS)
    ),
    Sample(_classified, (array(7, 2, 4), *_LABELS), {}, (array(8, 3, 5), *_OTHER), "CTCLoss"),
    Sample(_classified, (array(7, 2, 4), *_LABELS), {}, (array(9, 2, 6), *_LABELS), "CTCLoss-classes"),
    *(
        Sample(
            _greedy(**options),
            (array(7, 2, 4), _LABELS[2]),
            {},
            (array(8, 3, 5), _OTHER[2]),
            f"CTCGreedyDecoder-{place}",
        )
        for place, options in enumerate(({}, {"merge_repeated": True}, {"blank_index": 0}))
    ),
    *(
        Sample(
            _of_positive("MatrixSquareRoot"),
            (array(3, 3, dtype=dtype),),
            {},
            None,
            f"MatrixSquareRoot-{dtype}",
        )
        for dtype in ("float32", "float64", "complex64")
    ),
    Sample(
        _of_positive("MatrixSquareRoot"), (array(2, 3, 3),), {}, (array(4, 3, 3),), "MatrixSquareRoot-batch"
    ),
    Sample(
        _of_positive("MatrixLogarithm"),
        (array(2, 3, 3, dtype="complex64"),),
        {},
        (array(4, 3, 3, dtype="complex64"),),
        "MatrixLogarithm",
    ),
    Sample(
        _of_positive("MatrixLogarithm"),
        (array(3, 3, dtype="complex128"),),
        {},
        None,
        "MatrixLogarithm-complex128",
    ),
    *(
        sample(
            f"SparseSegment{name}GradV2",
            [
                array(3, 4),
                np.array([1, 4, 1, 0, 2], np.int32),
                np.array([0, 0, 1, 2, 2], np.int32),
                np.array(6, np.int32),
            ],
            [
                array(2, 3),
                np.array([3, 3, 0], np.int32),
                np.array([0, 1, 1], np.int32),
                np.array(4, np.int32),
            ],
        )
        for name in ("Sum", "Mean", "SqrtN")
    ),
]
