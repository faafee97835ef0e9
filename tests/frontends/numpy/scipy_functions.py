"""Samples of functions of SciPy: compiled ones, which have rows, and Python code of SciPy, which is followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy import linalg
from scipy.linalg import solve_triangular as solve_triangular_by_name

from .arrays import Array, Sample, c, d, f, i, sample

X, V, W = d(6), d(4), d(8)
# Well-conditioned matrices, whose sizes grow from 4 to 6.
A = d(4, 4, kind="definite")
B = d(4, 3)


def _with_lu(a: Any, y: Any) -> Any:
    packed = linalg.lu_factor(a)
    return packed[0], packed[1], linalg.lu_solve(packed, y), linalg.lu_solve(packed, y, trans=1)


def _with_cholesky(a: Any, y: Any) -> Any:
    return (
        linalg.cho_solve(linalg.cho_factor(a), y),
        linalg.cho_solve(linalg.cho_factor(a, lower=True), y[:, 0]),
        linalg.cho_factor(a + np.tri(a.shape[0]) * 0.0, lower=True)[0],
    )


def _absolute(*arrays: Any) -> Any:
    # The signs of the vectors differ between libraries.
    return tuple(map(np.abs, arrays))


_HILBERT = linalg.hilbert(3)


def _overwriting(a: Any, y: Any) -> Any:
    # SciPy may write the result to the memory of the argument.
    return (
        linalg.lu(a * 1.0, overwrite_a=True)[2],
        linalg.solve_triangular(a, y[:, 0] * 1.0, overwrite_b=True),
        linalg.solve(a * 1.0, y[:, 0] * 1.0, False, True, True),
        scipy.fft.fft(a * 1j, overwrite_x=True),
    )


SAMPLES: list[Sample] = [
    sample("linalg.inv", lambda a: (linalg.inv(a), linalg.inv([[2.0, a[0, 0]], [0.5, 3.0]])), A),
    sample(
        "linalg.det", lambda a, k: (linalg.det(a), linalg.det(k + 9 * np.eye(3))), A, i(3, 3), grows=False
    ),
    sample(
        "linalg.solve",
        lambda a, y: (
            linalg.solve(a, y),
            linalg.solve(a, y[:, 0]),
            linalg.solve(a * 1.5, y, transposed=True),
        ),
        A,
        B,
    ),
    sample(
        "linalg.solve_triangular",
        lambda a, y: (
            linalg.solve_triangular(a, y),
            linalg.solve_triangular(a, y[:, 0], lower=True, trans="T"),
            solve_triangular_by_name(a, y, unit_diagonal=True, trans=1),
        ),
        A,
        B,
    ),
    sample("linalg.cholesky", lambda a: (linalg.cholesky(a), linalg.cholesky(a, lower=True)), A),
    sample("linalg.cho_factor", _with_cholesky, A, B),
    sample("linalg.lu", lambda a: (*linalg.lu(a), *linalg.lu(a, permute_l=True)), A),
    sample("linalg.lu_factor", _with_lu, A, B),
    sample(
        "linalg.qr",
        lambda a: _absolute(
            *linalg.qr(a[:, :2]), *linalg.qr(a, mode="economic"), *linalg.qr(a[:, :2], mode="r")
        ),
        A,
    ),
    sample(
        "linalg.svd",
        lambda a: (linalg.svd(a)[1], linalg.svdvals(a[:, :2]), linalg.svd(a, compute_uv=False)),
        A,
    ),
    sample(
        "linalg.eigh",
        lambda a: (
            *_absolute(*linalg.eigh(a)),
            linalg.eigh(a, eigvals_only=True),
            linalg.eigvalsh(a, lower=False),
        ),
        A,
    ),
    sample("linalg.pinv", lambda y: (linalg.pinv(y), linalg.pinv(y, rtol=1e-9)), B),
    sample(
        "linalg.norm",
        lambda a, x: (
            linalg.norm(a),
            linalg.norm(x, 1),
            linalg.norm(a, axis=0),
            linalg.norm(x - 1, np.inf, keepdims=True),
        ),
        A,
        X,
    ),
    sample("linalg.expm", lambda a: (linalg.expm(a * 0.1), linalg.expm(-a)), A),
    sample("linalg.toeplitz", lambda x, y: (linalg.toeplitz(x), linalg.toeplitz(x, y)), X, V),
    sample("linalg.toeplitz of complex numbers", linalg.toeplitz, c(4)),
    sample("linalg.circulant", linalg.circulant, X),
    sample("linalg.block_diag", lambda a, y, x: linalg.block_diag(a, x, y, 2.0), A, B, X),
    sample(
        "linalg in float32",
        lambda a: (
            linalg.inv(a),
            linalg.norm(a),
            a / linalg.norm(a[0]),
            np.float32(1) * linalg.norm(a, 1),
            # SciPy returns float64, but factorises in float32.
            np.asarray(linalg.det(a)).astype(np.float32),
            linalg.expm(a / 10),
        ),
        f(4, 4, kind="definite"),
    ),
    sample(
        "linalg of small integers",
        lambda k: (linalg.inv(k + 9 * np.eye(3, dtype=np.int16)), linalg.norm(k[0])),
        Array((3, 3), "int16"),
        grows=False,
    ),
    sample("linalg that overwrites", _overwriting, A, B),
    sample(
        "linalg of constants", lambda x: linalg.expm(_HILBERT)[0, 0] * x + linalg.lu(_HILBERT)[2][0, 0], X
    ),
    sample(
        "linalg by keywords",
        lambda a, y: (
            linalg.solve(a=a, b=y),
            linalg.solve_triangular(a, b=y, lower=True),
            linalg.solve_triangular(a, y, "T"),
            linalg.lu_solve(list(linalg.lu_factor(a)), y),
            linalg.cho_solve(b=y, c_and_lower=[linalg.cho_factor(a)[0], False]),
            np.linalg.solve(a, b=y),
            np.dot(a, b=y),
        ),
        A,
        B,
    ),
    sample(
        "linalg of stacks",
        lambda s, v: (linalg.solve(s + 4 * np.eye(4), v), linalg.inv(s + 4 * np.eye(4)), linalg.det(s)),
        d(3, 4, 4),
        V,
        grows=False,
    ),
    sample(
        "NumPy's integers as options",
        lambda x: (scipy.fft.fft(x, n=np.int64(5), axis=np.int64(0)), linalg.norm(x[0], np.int64(1))),
        d(3, 8),
    ),
    *(
        sample(f"fft.{name}", lambda x, name=name: getattr(scipy.fft, name)(x), d(3, 8))
        for name in (
            *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
            *(f"{kind}{axes}" for kind in ("fft", "ifft", "rfft", "irfft") for axes in ("2", "n")),
        )
    ),
    sample(
        "fft with options",
        lambda x: (
            scipy.fft.fft(x, 5, axis=0, norm="ortho"),
            scipy.fft.irfft(scipy.fft.rfft(x, axis=-1), n=8, workers=1),
            scipy.fft.fftn(x, s=(4,), axes=(-1,)),
            scipy.fft.fftn(x, s=4, axes=0),
        ),
        d(3, 8),
    ),
    sample(
        "cdist",
        lambda x, y: [
            scipy.spatial.distance.cdist(x, y, metric)
            for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev")
        ],
        d(4, 3),
        d(6, 3),
        again=True,
    ),
    sample(
        "cdist of points far from 0",
        lambda x: (
            scipy.spatial.distance.cdist(1e6 + np.tile(x, (8, 1)), 1e6 + x, "CityBlock")
            + scipy.spatial.distance.cdist(1e6 + np.tile(x, (8, 1)), 1e6 + x)
        ),
        d(4, 3),
    ),
    sample("cdist of a power", lambda x: scipy.spatial.distance.cdist(x, x[:2], "minkowski", p=3), d(4, 2)),
    # ---- Python code of SciPy
    sample(
        "integrate",
        lambda x: (
            scipy.integrate.trapezoid(x),
            scipy.integrate.simpson(x),
            scipy.integrate.cumulative_trapezoid(x),
        ),
        W,
        again=True,
    ),
    sample(
        "stats",
        lambda x: (
            scipy.stats.norm.logpdf(x, loc=1.0, scale=2.0),
            scipy.stats.norm.pdf(x),
            scipy.stats.zscore(x),
        ),
        W,
        again=True,
    ),
    sample(
        "special with lists",
        lambda x: (scipy.special.expit([x[0], x[1]]), scipy.special.logsumexp([x[0], x[1]])),
        X,
    ),
    sample(
        "signal",
        lambda x: (scipy.signal.fftconvolve(x, x[:3]), np.abs(scipy.signal.hilbert(x))),
        W,
        again=True,
    ),
    sample(
        "distances of vectors",
        lambda x: (
            # SciPy returns a Python number, and graphs return a scalar.
            np.square(scipy.spatial.distance.euclidean(x[:2], x[2:4])),
            scipy.spatial.distance.cosine(x[:2], x[2:4]),
        ),
        X,
    ),
]
