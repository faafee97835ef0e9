"""Samples of ``tf.linalg`` and ``tf.signal``."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import Call, by, call, each, f, i, p, without, z


def _spd(x: Any) -> Any:
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(tf.shape(x)[-1], dtype=x.dtype) * 2


def _regular(x: Any) -> Any:
    return x + 4 * tf.eye(tf.shape(x)[-1], dtype=x.dtype)


def _of_spd(called: Any, x: Any, *rest: Any, **options: Any) -> Any:
    return called(_spd(x), *rest, **options)


def _of_regular(called: Any, x: Any, *rest: Any, **options: Any) -> Any:
    return called(_regular(x), *rest, **options)


def _magnitudes(called: Any, x: Any, **options: Any) -> Any:
    """Return absolute values of the factors, whose signs are not unique."""
    return [tf.abs(part) for part in tf.nest.flatten(called(x, **options))]


def _eigen(called: Any, x: Any) -> Any:
    values, vectors = called(_spd(x))
    return values, tf.abs(vectors)


def _sorted_complex(called: Any, x: Any) -> Any:
    found = called(x)
    return tf.sort(tf.abs(found if isinstance(found, tf.Tensor) else found[0]), axis=-1)


def _lu_of(called: Any, x: Any, *rest: Any) -> Any:
    return called(*tf.linalg.lu(_regular(x)), *rest)


_DIAGS = [call(f("bn")), call(f("n"), k=1), call(f("b2n"), k=(-1, 0)), call(f("bn"), k=-2, padding_value=7.0), call(i("n")), call(f("23"), k=(0, 1), align="LEFT_RIGHT", num_rows=3)]  # fmt: skip
_SQUARE = [call(f("ss")), call(f("bss")), call(f("ss", dtype="float64")), without(z("ss"))]
_SYSTEMS = [
    call(f("ss"), f("sn")),
    call(f("bss"), f("bsn")),
    call(f("ss"), f("sn"), adjoint=True),
    call(f("ss", dtype="float64"), f("sn", dtype="float64")),
]


def _each_by(function: Any, calls: list[Call]) -> list[Call]:
    return [Call(one.args, one.kwargs, function, one.gradients) for one in calls]


LINALG: dict[str, list[Call]] = {
    "adjoint": [call(f("bnm")), call(z("bnm")), call(i("nm"))],
    "band_part": [
        call(f("bnm"), 1, 0),
        call(f("nm"), -1, 0),
        call(f("nn"), 0, -1),
        call(i("nm"), 1, 1),
        call(f("5m"), 2, 5),
    ],
    "banded_triangular_solve": [
        call(p("2s"), f("sn")),
        call(p("2s"), f("sn"), lower=False),
        call(p("b2s"), f("bsn"), adjoint=True),
    ],
    "cholesky": _each_by(_of_spd, _SQUARE),
    "cholesky_solve": [
        by(lambda f, x, y: f(tf.linalg.cholesky(_spd(x)), y), f("ss"), f("sn")),
        by(lambda f, x, y: f(tf.linalg.cholesky(_spd(x)), y), f("bss"), f("bsn")),
        by(
            lambda f, x, y: f(tf.linalg.cholesky(_spd(x)), y),
            f("ss", dtype="float64"),
            f("sn", dtype="float64"),
        ),
    ],
    "cross": [call(f("b3"), f("b3")), call(f("3"), f("3")), call(i("b3"), i("b3"))],
    "det": _each_by(_of_regular, _SQUARE),
    "inv": [*_each_by(_of_regular, _SQUARE), by(_of_regular, f("bss"), adjoint=True)],
    "diag": _DIAGS,
    "diag_part": [
        call(f("bnm")),
        call(f("nm"), k=1),
        call(f("5m"), k=(-1, 1)),
        call(f("56"), k=(-2, 1), align="LEFT_LEFT", padding_value=9.0),
        call(i("nm"), k=-1),
        call(f("56"), k=(-2, 1), align="RIGHT_LEFT"),
    ],
    "set_diag": [
        call(f("bnn"), f("bn")),
        call(f("45"), f("4"), k=1),
        call(f("45"), f("24"), k=(0, 1)),
        call(i("nn"), i("n")),
    ],
    "eig": [Call(c.args, {}, _sorted_complex, False) for c in _SQUARE[:3]],
    "eigvals": [Call(c.args, {}, _sorted_complex, False) for c in _SQUARE],
    "eigh": [Call(c.args, {}, _eigen, False) for c in _SQUARE],
    "eigvalsh": _each_by(_of_spd, _SQUARE),
    "eigh_tridiagonal": [
        without(np.array([1.0, 2, 3, 4], np.float32), np.array([0.5, 0.2, 0.1], np.float32)),
        without(np.array([1.0, 2, 3], np.float64), np.array([0.5, 0.2], np.float64)),
        without(
            np.array([1.0, 2, 3, 4], np.float32),
            np.array([0.5, 0.2, 0.1], np.float32),
            select="i",
            select_range=(0, 1),
        ),
    ],
    "einsum": [
        call("bij,bjk->bik", f("bnm"), f("bmk")),
        call("ij->", f("nm")),
        call("...ij,...jk", f("bnm"), f("mk")),
        call("ii->i", f("ss")),
        call("i,j->ij", i("n"), i("m")),
        call("bi,bi->b", z("bn"), z("bn")),
    ],
    "expm": [call(f("ss")), call(f("bss")), call(f("ss", dtype="float64")), without(z("ss"))],
    "eye": [
        call(3),
        call(3, 4, dtype="int32"),
        by(lambda f, x: f(tf.shape(x)[0], batch_shape=[2]), f("n")),
        call(3, num_columns=2, batch_shape=[2, 1], dtype="complex64"),
    ],
    "global_norm": [
        call([f("bn"), f("m")]),
        call([f("n")]),
        call([f("bn", dtype="float64"), f("n", dtype="float64")]),
    ],
    **each("logdet", _each_by(_of_spd, _SQUARE)),
    "slogdet": _each_by(_of_regular, _SQUARE),
    "logm": [
        Call(
            c.args,
            {},
            lambda f, x: f(tf.cast(_spd(x), "complex128" if x.dtype == tf.float64 else "complex64")),
            False,
        )
        for c in _SQUARE
    ],
    "sqrtm": [Call(c.args, {}, _of_spd, False) for c in _SQUARE],
    "lstsq": [
        call(f("62"), f("63")),
        call(f("b62"), f("b63"), l2_regularizer=0.5),
        call(f("26"), f("23")),
        call(f("62", dtype="float64"), f("63", dtype="float64")),
        by(lambda f, x, y: f(x, y, fast=False), f("62"), f("63")),
    ],
    "lu": [Call(c.args, {}, _of_regular, c.gradients) for c in _SQUARE[:3]],
    "lu_matrix_inverse": _each_by(_lu_of, _SQUARE[:3]),
    "lu_reconstruct": _each_by(_lu_of, _SQUARE[:3]),
    "lu_solve": [
        by(lambda f, x, y: f(*tf.linalg.lu(_regular(x)), y), f("ss"), f("sn")),
        by(lambda f, x, y: f(*tf.linalg.lu(_regular(x)), y), f("bss"), f("bsn")),
        by(
            lambda f, x, y: f(*tf.linalg.lu(_regular(x)), y),
            f("ss", dtype="float64"),
            f("sn", dtype="float64"),
        ),
    ],
    "matmul": [
        call(f("bnm"), f("bmk")),
        call(f("bmn"), f("km"), transpose_a=True, transpose_b=True),
        call(z("nm"), z("km"), adjoint_b=True),
        call(i("nm"), i("mk")),
        without(f("nm", dtype="float16"), f("mk", dtype="float16")),
        call(f("nm"), f("mk"), a_is_sparse=True),
        call(i("nm", dtype="int8"), i("mk", dtype="int8"), output_type="int32"),
    ],
    "matrix_rank": [
        call(f("bnm")),
        call(np.ones((3, 3), np.float32)),
        call(f("nm", dtype="float64"), tol=0.5),
    ],
    "matrix_transpose": [call(f("bnm")), call(i("nm")), call(z("nm"), conjugate=True)],
    "matvec": [
        call(f("bnm"), f("bm")),
        call(f("mn"), f("m"), transpose_a=True),
        call(z("mn"), z("m"), adjoint_a=True),
    ],
    "norm": [
        call(f("bnm")),
        call(f("bnm"), ord=1, axis=1),
        call(f("bnm"), ord=np.inf, axis=-1, keepdims=True),
        call(f("bnm"), ord="fro", axis=(0, 2)),
        call(f("nm"), ord=2, axis=(0, 1)),
        call(f("bn"), ord=3, axis=0),
        call(f("nm"), ord=1, axis=[-2, -1]),
        call(z("bn"), axis=1),
    ],
    "normalize": [call(f("bn")), call(f("bn"), ord=1, axis=1), call(f("bn"), ord=np.inf, axis=0)],
    "pinv": [call(f("bnm")), call(f("34", dtype="float64")), call(f("43"), rcond=0.3)],
    "qr": [
        Call((f("43"),), {}, _magnitudes, False),
        Call((f("b43"),), {}, _magnitudes, False),
        Call(
            (f("43", dtype="float64"),),
            {"full_matrices": True},
            lambda f, x, **o: [tf.abs(part)[..., :3] for part in f(x, **o)],
            False,
        ),
    ],
    "svd": [
        Call((f("43"),), {}, _magnitudes, False),
        call(f("b43"), compute_uv=False),
        Call((f("34", dtype="float64"),), {}, _magnitudes, False),
        Call((f("43"),), {"full_matrices": True}, lambda f, x, **o: f(x, **o)[0], False),
    ],
    "solve": _each_by(_of_regular, _SYSTEMS),
    "triangular_solve": [*_each_by(_of_regular, _SYSTEMS), by(_of_regular, f("bss"), f("bsn"), lower=False)],
    "tensor_diag": [call(f("n")), call(f("nm")), call(i("n"))],
    "tensor_diag_part": [call(f("ss")), call(f("2323")), call(i("ss"))],
    "tensordot": [
        call(f("bnm"), f("mk"), 1),
        call(f("bnm"), f("nbk"), [[0, 1], [1, 0]]),
        call(f("bn"), f("m"), 0),
        call(f("bnm"), f("bnm"), axes=3),
        call(i("nm"), i("mk"), axes=[1, 0]),
    ],
    "trace": [call(f("bnm")), call(i("nn")), call(z("ss"))],
    "tridiagonal_matmul": [
        call(f("b3s"), f("bsn"), "compact"),
        call(f("3s"), f("sn"), diagonals_format="compact"),
        call(f("ss"), f("sn"), diagonals_format="matrix"),
        call([f("s"), f("s"), f("s")], f("sn"), diagonals_format="sequence"),
    ],
    "tridiagonal_solve": [
        call(p("b3s"), f("bsn")),
        call(p("3s"), f("s")),
        by(lambda f, x, y: f(_regular(x), y, diagonals_format="matrix"), f("ss"), f("sn")),
        call(p("3s", "float64"), f("sn", dtype="float64"), transpose_rhs=False, partial_pivoting=False),
    ],
}

_FFT = [call(z("bt")), call(z("t")), call(z("t", "complex128"))]
_FFT2, _FFT3 = (
    [call(z("bhw")), call(z("hw")), call(z("hw", "complex128"))],
    [call(z("bhwc")), call(z("hwc")), call(z("hwc", "complex128"))],
)
_MDCT = [
    call(f("b8"), 4),
    call(f("bt"), 8),
    call(f("b8", dtype="float64"), 4, norm="ortho"),
    call(f("b9"), 4, pad_end=True),
]
_WINDOWS = [
    by(lambda f, x: f(tf.shape(x)[0]), f("n")),
    by(lambda f, x: f(7) * x, f("7")),
    by(lambda f, x: f(6, dtype="float64") + x, f("6", dtype="float64")),
]
_PERIODIC = [*_WINDOWS, by(lambda f, x: f(7, periodic=False) * x, f("7")), by(lambda f, x: f(1) * x, f("n"))]
_MEL = [
    by(lambda f, x: x @ f(8, 9, 8000, 60.0, 3800.0), f("n9")),
    by(lambda f, x: f(5, 17, 16000) + tf.reduce_sum(x), f("n")),
    by(lambda f, x: f(4, 9, dtype="float64") * x, f("4", dtype="float64")),
]
SIGNAL: dict[str, list[Call]] = {
    "dct": [
        call(f("bt")),
        *[call(f("b8"), type=kind) for kind in (1, 3, 4)],
        call(f("bt"), norm="ortho"),
        call(f("b8"), n=5),
        call(f("b5", dtype="float64"), n=8),
        call(f("b8"), type=3, norm="ortho"),
    ],
    "idct": [
        call(f("bt")),
        *[call(f("b8"), type=kind) for kind in (1, 3, 4)],
        call(f("bt"), norm="ortho"),
        call(f("bt", dtype="float64")),
    ],
    **each("fft ifft", _FFT),
    **each("fft2d ifft2d", _FFT2),
    **each("fft3d ifft3d", _FFT3),
    **each(
        "fftnd ifftnd",
        [
            by(lambda f, x: f(x, axes=[-2, -1]), z("bhw")),
            call(z("hw"), [4, 10], [0, 1]),
            call(z("bhw"), axes=[1]),
        ],
    ),
    "rfftnd": [call(f("hw"), [4, 10], [0, 1]), call(f("bhw"), axes=[1, 2]), call(f("hw", dtype="float64"))],
    "irfftnd": [call(z("h5"), [6, 8], [0, 1]), call(z("bh5"), axes=[1, 2]), call(z("h5", "complex128"))],
    "rfft": [
        call(f("bt")),
        call(f("b5")),
        call(f("bt"), fft_length=[10]),
        call(f("t", dtype="float64"), fft_length=[33]),
    ],
    "rfft2d": [call(f("bhw")), call(f("hw"), fft_length=[4, 9]), call(f("hw", dtype="float64"))],
    "rfft3d": [call(f("bhwc")), call(f("hwc"), fft_length=[4, 9, 2]), call(f("hwc", dtype="float64"))],
    "irfft": [
        call(z("bt")),
        call(z("b5"), fft_length=[7]),
        call(z("t", "complex128")),
        call(z("b5"), fft_length=[12]),
    ],
    "irfft2d": [call(z("bhw")), call(z("hw"), fft_length=[5, 9]), call(z("hw", "complex128"))],
    "irfft3d": [call(z("bhwc")), call(z("hw3"), fft_length=[5, 7, 5]), call(z("hwc", "complex128"))],
    **each(
        "fftshift ifftshift",
        [call(f("bhw")), call(f("bhw"), axes=1), call(i("hw"), axes=(0, 1)), call(z("n"))],
    ),
    "frame": [
        call(f("bt"), 4, 2),
        call(f("t"), 5, 3, pad_end=True, pad_value=2.0),
        call(f("tb"), 3, 1, axis=0),
        call(i("t"), 4, 6),
        call(f("bt"), 5, 7, pad_end=True),
    ],
    **each("hamming_window hann_window", _PERIODIC),
    "kaiser_window": [*_WINDOWS, by(lambda f, x: f(6, beta=4.0) * x, f("6"))],
    "kaiser_bessel_derived_window": [
        by(lambda f, x: f(8) * x, f("8")),
        by(lambda f, x: f(6, beta=4.0) * x, f("6")),
        by(lambda f, x: f(4, dtype="float64") * x, f("4", dtype="float64")),
    ],
    "vorbis_window": _WINDOWS,
    "linear_to_mel_weight_matrix": _MEL,
    "mdct": _MDCT,
    "inverse_mdct": [call(f("b34")), call(f("bn8"), norm="ortho"), call(f("n4", dtype="float64"))],
    "stft": [
        call(f("bt"), 4, 2),
        call(f("t"), 5, 3, fft_length=9),
        call(f("bt"), 6, 2, pad_end=True),
        call(f("bt", dtype="float64"), 4, 2, window_fn=None),
        call(f("bt"), 6, 2, window_fn=tf.signal.hamming_window),
    ],
    "inverse_stft": [
        call(z("bn5"), 8, 4),
        call(z("n5"), 6, 2),
        call(z("bn5", "complex128"), 8, 4, window_fn=None),
        call(z("n5"), 8, 3, window_fn=tf.signal.inverse_stft_window_fn(3)),
    ],
    "inverse_stft_window_fn": [
        by(lambda f, x: f(3)(8, dtype=x.dtype) * x, f("8")),
        by(lambda f, x: f(2)(4, dtype=x.dtype) + x, f("n4")),
        by(lambda f, x: f(4)(9, dtype=x.dtype) * x, f("9", dtype="float64")),
    ],
    "mfccs_from_log_mel_spectrograms": [call(f("bn8")), call(f("n4")), call(f("n6", dtype="float64"))],
    "overlap_and_add": [
        call(f("bn6"), 2),
        call(f("n6"), 6),
        call(f("n4"), 7),
        call(i("bn5"), 3),
        call(f("bn6", dtype="float64"), 4),
    ],
}
SAMPLES: dict[str, list[Call]] = {
    **{f"tf.linalg.{name}": calls for name, calls in LINALG.items()},
    **{f"tf.signal.{name}": calls for name, calls in SIGNAL.items()},
}
