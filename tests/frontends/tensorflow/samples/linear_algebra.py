"""Samples of products and decompositions of matrices, diagonals, Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.samples import Sample, array, ints

from .table import sample


def _square(x: Any) -> Any:
    return x + 4.0 * tf.eye(3, dtype=x.dtype)


def _definite(x: Any) -> Any:
    return tf.matmul(x, x, adjoint_b=True) + 2.0 * tf.eye(3, dtype=x.dtype)


def _of(name: str, made: Any, **options: Any) -> Any:
    def call(x: Any, *others: Any) -> Any:
        result = getattr(tf.raw_ops, name)(
            **{_first(name): made(x)}, **dict(zip(_rest(name), others)), **options
        )
        return tuple(result) if isinstance(result, tuple) else result

    return call


def _values(name: str, made: Any, **options: Any) -> Any:
    """Return only the first result, because TensorFlow does not set those that are not requested."""
    return lambda x: getattr(tf.raw_ops, name)(input=made(x), **options)[0]


def _first(name: str) -> str:
    return "matrix" if name in ("MatrixSolve", "MatrixTriangularSolve") else "input"


def _rest(name: str) -> tuple[str, ...]:
    return ("rhs",)


def _rebuilt(x: Any) -> Any:
    """Return the product of the factors and absolute values, which do not depend on signs."""
    q, r = tf.raw_ops.Qr(input=x)
    return tf.matmul(q, r), tf.abs(r)


def _svd(x: Any) -> Any:
    s, u, v = tf.raw_ops.Svd(input=x)
    return s, tf.matmul(u * s[..., tf.newaxis, :], v, adjoint_b=True)


def _eigh(x: Any) -> Any:
    values, vectors = tf.raw_ops.SelfAdjointEigV2(input=_definite(x))
    return values, tf.abs(vectors)


def _eig(x: Any) -> Any:
    values, vectors = tf.raw_ops.Eig(input=x, Tout="complex64")
    return tf.reduce_sum(tf.abs(values), -1), tf.matmul(tf.cast(x, "complex64"), vectors) - vectors * values[
        ..., tf.newaxis, :
    ]


def _cholesky_gradient(x: Any, given: Any) -> Any:
    return tf.raw_ops.CholeskyGrad(l=tf.linalg.cholesky(_definite(x)), grad=tf.linalg.band_part(given, -1, 0))


def _banded(name: str, **options: Any) -> Any:
    """TensorFlow needs a static number of diagonals."""
    return lambda x: getattr(tf.raw_ops, name)(diagonal=tf.ensure_shape(x, [None, 3, None]), **options)


def _set_band(align: str) -> Any:
    """TensorFlow needs static shapes."""

    def call(x: Any, diagonal: Any) -> Any:
        x, diagonal = tf.ensure_shape(x, [2, 4, 5]), tf.ensure_shape(diagonal, [2, 3, 4])
        return tf.raw_ops.MatrixSetDiagV3(input=x, diagonal=diagonal, k=[-1, 1], align=align)

    return call


_X, _Y = array(2, 3, 3), array(4, 3, 3)
_COMPLEX = {"dtype": "complex64"}
_BANDS = [
    (k, align)
    for k in ([-1, 1], [0, 2], [-2, -1], [1, 1])
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
]

SAMPLES: list[Sample] = [
    sample("MatMul", [array(2, 3), array(3, 4)], [array(5, 6), array(6, 2)]),
    sample(
        "MatMul",
        [array(3, 2), array(4, 3)],
        [array(6, 5), array(2, 6)],
        "-transposed",
        transpose_a=True,
        transpose_b=True,
    ),
    sample(
        "MatMul",
        [ints(2, 3, dtype="int32"), ints(3, 4, dtype="int32")],
        [ints(5, 6, dtype="int32"), ints(6, 2, dtype="int32")],
        "-int32",
    ),
    sample("SparseMatMul", [array(2, 3), array(3, 4)], [array(5, 6), array(6, 2)]),
    *(
        sample(name, [array(2, 3, 4), array(2, 4, 5)], [array(3, 2, 6), array(3, 6, 2)])
        for name in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
        if name != "BatchMatMulV3"
    ),
    sample(
        "BatchMatMulV2",
        [array(2, 1, 4, 3), array(3, 5, 4)],
        [array(4, 1, 6, 2), array(2, 3, 6)],
        "-broadcast",
        adj_x=True,
        adj_y=True,
    ),
    sample(
        "BatchMatMulV2",
        [array(2, 4, 3, **_COMPLEX), array(2, 4, 5, **_COMPLEX)],
        None,
        "-complex",
        adj_x=True,
    ),
    sample(
        "BatchMatMulV3", [array(2, 3, 4), array(2, 4, 5)], [array(3, 2, 6), array(3, 6, 2)], Tout="float32"
    ),
    sample(
        "Einsum",
        [[array(2, 3, 4), array(2, 4, 5)]],
        [[array(3, 2, 6), array(3, 6, 2)]],
        equation="bij,bjk->bik",
    ),
    sample(
        "Einsum",
        [[array(2, 3, 4), array(4, 5)]],
        [[array(3, 2, 6), array(6, 2)]],
        "-dots",
        equation="...j,jk->...k",
    ),
    sample("Einsum", [[array(3, 4)]], [[array(2, 6)]], "-sum", equation="ij->j"),
    sample("Cross", [array(2, 3), array(2, 3)], [array(4, 3), array(4, 3)]),
    Sample(_of("Cholesky", _definite), (_X,), {}, (_Y,), "Cholesky"),
    Sample(_cholesky_gradient, (_X, _X), {}, (_Y, _Y), "CholeskyGrad"),
    Sample(_rebuilt, (array(2, 4, 3),), {}, (array(3, 5, 2),), "Qr"),
    Sample(_svd, (array(2, 4, 3),), {}, (array(3, 2, 5),), "Svd"),
    Sample(
        _values("Svd", lambda x: x, compute_uv=False), (array(2, 4, 3),), {}, (array(3, 4, 3),), "Svd-values"
    ),
    Sample(_eigh, (_X,), {}, (_Y,), "SelfAdjointEigV2"),
    Sample(
        _values("SelfAdjointEigV2", _definite, compute_v=False), (_X,), {}, (_Y,), "SelfAdjointEigV2-values"
    ),
    Sample(_eig, (_X,), {}, (_Y,), "Eig"),
    Sample(_of("Lu", _square), (_X,), {}, (_Y,), "Lu"),
    *(
        Sample(_of("MatrixInverse", _square, adjoint=adjoint), (_X,), {}, (_Y,), f"MatrixInverse-{adjoint}")
        for adjoint in (False, True)
    ),
    Sample(_of("MatrixDeterminant", _square), (_X,), {}, (_Y,), "MatrixDeterminant"),
    Sample(_of("LogMatrixDeterminant", _square), (_X,), {}, (_Y,), "LogMatrixDeterminant"),
    *(
        Sample(
            _of("MatrixSolve", _square, adjoint=adjoint),
            (_X, array(2, 3, 2)),
            {},
            (_Y, array(4, 3, 5)),
            f"MatrixSolve-{adjoint}",
        )
        for adjoint in (False, True)
    ),
    *(
        Sample(
            _of("MatrixTriangularSolve", _square, adjoint=adjoint, lower=lower),
            (_X, array(2, 3, 2)),
            {},
            (_Y, array(4, 3, 5)),
            f"MatrixTriangularSolve-{adjoint}-{lower}",
        )
        for adjoint in (False, True)
        for lower in (False, True)
    ),
    sample(
        "MatrixSolveLs",
        [array(2, 5, 3), array(2, 5, 2)],
        [array(3, 6, 2), array(3, 6, 4)],
        "-tall",
        l2_regularizer=np.float64(0.3),
        fast=True,
    ),
    sample(
        "MatrixSolveLs",
        [array(2, 3, 5), array(2, 3, 2)],
        [array(3, 2, 6), array(3, 2, 4)],
        "-wide",
        l2_regularizer=np.float64(0.3),
        fast=True,
    ),
    sample(
        "MatrixSolveLs",
        [array(2, 5, 3), array(2, 5, 2)],
        [array(3, 6, 2), array(3, 6, 4)],
        "-slow",
        l2_regularizer=np.float64(0.0),
        fast=False,
    ),
    *(
        sample(
            "BandedTriangularSolve",
            [array(2, 5, kind="positive"), array(5, 3)],
            [array(2, 4, kind="positive"), array(4, 2)],
            f"-{lower}-{adjoint}",
            lower=lower,
            adjoint=adjoint,
        )
        for lower in (True, False)
        for adjoint in (True, False)
    ),
    sample("TridiagonalSolve", [array(2, 3, 5, kind="positive"), array(2, 5, 2)], None),
    sample(
        "TridiagonalMatMul",
        [array(2, 1, 5), array(2, 1, 5), array(2, 1, 5), array(2, 5, 3)],
        [array(1, 1, 4), array(1, 1, 4), array(1, 1, 4), array(1, 4, 2)],
    ),
    sample("Diag", [array(2, 3)], [array(4, 2)]),
    sample("DiagPart", [array(2, 3, 2, 3)], [array(4, 2, 4, 2)]),
    *(
        sample(
            "MatrixBandPart",
            [array(2, 4, 5)],
            [array(3, 6, 4)],
            f"-{low}-{high}",
            num_lower=low,
            num_upper=high,
        )
        for low, high in ((-1, 0), (0, -1), (1, 2), (-1, -1))
    ),
    sample("MatrixDiag", [array(2, 3)], [array(4, 5)]),
    sample("MatrixDiagPart", [array(2, 3, 4)], [array(2, 5, 3)]),
    sample("MatrixSetDiag", [array(2, 3, 4), array(2, 3)], [array(2, 5, 3), array(2, 3)]),
    *(
        sample(
            "MatrixDiagPartV3",
            [array(2, 4, 5)],
            [array(3, 6, 4)],
            f"-{k[0]}-{k[1]}-{align}",
            k=k,
            padding_value=7.0,
            align=align,
        )
        for k, align in _BANDS
    ),
    sample("MatrixDiagPartV2", [array(2, 4, 5)], [array(3, 6, 4)], k=[-1, 1], padding_value=7.0),
    *(
        Sample(
            _banded("MatrixDiagV3", k=[-1, 1], num_rows=-1, num_cols=-1, padding_value=7.0, align=align),
            (array(2, 3, 4),),
            {},
            (array(3, 3, 6),),
            f"MatrixDiagV3-{align}",
        )
        for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT")
    ),
    sample(
        "MatrixDiagV3", [array(2, 4)], [array(3, 6)], "-one", k=1, num_rows=-1, num_cols=-1, padding_value=0.0
    ),
    sample("MatrixDiagV2", [array(2, 4)], [array(3, 6)], k=0, num_rows=-1, num_cols=-1, padding_value=0.0),
    sample("MatrixSetDiagV2", [array(2, 4, 5), array(2, 4)], [array(3, 6, 4), array(3, 3)], k=1),
    *(
        sample(f"{kind}{suffix}", [array(2, 4, 3, 5, **_COMPLEX)], [array(3, 2, 6, 4, **_COMPLEX)])
        for kind in ("FFT", "IFFT")
        for suffix in ("", "2D", "3D")
    ),
    *(
        sample(f"RFFT{suffix}", [array(2, 4, 3, 5)], [array(3, 2, 6, 4)], fft_length=lengths)
        for lengths, suffix in (([4], ""), ([2, 4], "2D"), ([2, 3, 4], "3D"))
    ),
    *(
        sample(
            f"IRFFT{suffix}",
            [array(2, 4, 3, 5, **_COMPLEX)],
            [array(3, 2, 6, 4, **_COMPLEX)],
            fft_length=lengths,
        )
        for lengths, suffix in (([6], ""), ([2, 6], "2D"), ([2, 3, 6], "3D"))
    ),
    *(
        Sample(_set_band(align), (array(2, 4, 5), array(2, 3, 4)), {}, None, f"MatrixSetDiagV3-{align}")
        for align in ("RIGHT_LEFT", "LEFT_RIGHT")
    ),
]
