"""Samples of products, ``numpy.linalg`` and ``numpy.fft``."""

from __future__ import annotations

import numpy as np

from .arrays import Sample, b, c, d, f, i, sample

S, M = d(3, 3, kind="definite"), d(3, 4)

SAMPLES: list[Sample] = [
    sample("dot", lambda x, y: (x.dot(y), np.dot(x, y), np.dot(x[0], y), np.dot(x, 2.0)), f(3, 4), f(4, 2)),
    sample("dot of more axes", np.dot, f(2, 3, 4), f(2, 4, 5)),
    sample("matmul", lambda x, y: (np.matmul(x, y), x @ y, x[0] @ y), f(2, 3, 4), f(4, 3)),
    sample("matmul of ints", lambda x, y: x @ y, i(3, 4), i(4, 2)),
    sample("matmul promotes", lambda x, y: x @ y, f(3, 4), d(4, 2)),
    sample(
        "products of truth",
        lambda x, y: (
            x @ y,
            x.dot(y),
            np.inner(x, y.T),
            np.tensordot(x, y, 1),
            np.kron(x, y),
            np.outer(x, y),
        ),
        b(3, 4),
        b(4, 3),
    ),
    sample(
        "sums of truth",
        lambda x, y: (np.einsum("ij,jk->ik", x, y), np.einsum("ij->i", x), np.linalg.multi_dot([x, y, x])),
        b(3, 4),
        b(4, 3),
    ),
    sample(
        "vectors of truth",
        lambda x, y: (np.vdot(x, y), np.vecdot(x, y), np.dot(x, y), np.convolve(x, y)),
        b(4),
        b(4),
    ),
    sample("powers of truth", lambda x: tuple(np.linalg.matrix_power(x, n) for n in (0, 1, 5, 999)), b(3, 3)),
    sample("vdot", np.vdot, c(4), c(4)),
    sample("inner", np.inner, f(3, 4), f(2, 4)),
    sample("outer", np.outer, f(3), f(4)),
    sample(
        "tensordot",
        lambda x, y: (np.tensordot(x, y, 1), np.tensordot(x, y, axes=([1], [0]))),
        f(3, 4),
        f(4, 2),
    ),
    sample("kron", np.kron, f(3, 2), f(2, 4)),
    sample("cross", np.cross, f(4, 3), f(4, 3), grows=False),
    sample(
        "einsum",
        lambda x, y: (np.einsum("ij,jk->ik", x, y), np.einsum("ij,jk", x, y), np.einsum("ij->j", x)),
        f(3, 4),
        f(4, 2),
    ),
    sample("einsum with dots", lambda x: np.einsum("...i,...i->...", x, x), f(2, 3, 4)),
    sample(
        "einsum with lists",
        lambda x, y: (np.einsum(x, [0, 1], y, [1, 2]), np.einsum(x, [..., 0], [0, ...])),
        f(3, 4),
        f(4, 2),
    ),
    sample(
        "matvec",
        lambda x, y: (np.matvec(x, y), np.vecmat(y, x.mT), np.vecmat(1j * y, x.mT)),
        f(2, 3, 4),
        f(4),
    ),
    sample("vecdot", np.vecdot, f(3, 4), f(4)),
    sample("multi_dot", lambda x, y: np.linalg.multi_dot([x, y, x]), d(3, 4), d(4, 3)),
    sample("matrix_power", lambda x: (np.linalg.matrix_power(x, 3), np.linalg.matrix_power(x, -1)), S),
    sample("det", lambda x: (np.linalg.det(x), *np.linalg.slogdet(x)), S),
    sample("inv", np.linalg.inv, S),
    sample("inv of ints", lambda x: np.linalg.inv(x + 20 * np.eye(3, dtype=int)), i(3, 3), grows=False),
    sample("solve", lambda x, y: (np.linalg.solve(x, y), np.linalg.solve(x, y[:, 0])), S, d(3, 2)),
    sample("cholesky", np.linalg.cholesky, S),
    sample("qr", lambda x: _abs(np.linalg.qr(x)), d(4, 3)),
    sample("qr r", lambda x: abs(np.linalg.qr(x, mode="r")), d(4, 3)),
    sample("svd", lambda x: np.linalg.svd(x, full_matrices=False)[1], M),
    sample("svd values", lambda x: np.linalg.svd(x, compute_uv=False), M),
    sample("svd whole", lambda x: _again(np.linalg.svd(x, full_matrices=False)), M),
    sample("eigh", lambda x: (np.linalg.eigh(x)[0], np.linalg.eigvalsh(x)), S),
    sample("eigh attributes", lambda x: np.linalg.eigh(x).eigenvalues, S),
    sample("eigvals of complex", lambda x: np.sort(abs(np.linalg.eigvals(x + 0j))), S),
    sample("pinv", np.linalg.pinv, M),
    sample("matrix_rank", np.linalg.matrix_rank, M),
    sample("lstsq", lambda x, y: np.linalg.lstsq(x, y, rcond=None)[0], d(8, 3), d(8)),
    sample("lstsq with all", lambda x, y: np.linalg.lstsq(x, y, rcond=None), d(8, 3), d(8, 2)),
    sample("cond", np.linalg.cond, S),
    sample(
        "norm",
        lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, 1, axis=0, keepdims=True)),
        f(3, 4),
    ),
    sample(
        "norm of matrices",
        lambda x: (
            np.linalg.norm(x, "fro"),
            np.linalg.norm(x, 2),
            np.linalg.norm(x, np.inf),
            np.linalg.norm(x, "nuc"),
        ),
        d(3, 4),
    ),
    sample("norm of ints", np.linalg.norm, i(3, 4)),
    sample("norm inf", lambda x: np.linalg.norm(x, np.inf), f(4)),
    sample("linalg trace", np.linalg.trace, f(2, 3, 4)),
    # ---- Fourier transforms
    sample("fft", lambda x: (np.fft.fft(x), np.fft.fft(x, axis=0), np.fft.fft(x, n=6)), f(3, 8)),
    sample("fft of float64", lambda x: np.fft.fft(x, norm="ortho"), d(8)),
    sample("fft of ints", np.fft.fft, i(8)),
    sample("ifft", np.fft.ifft, c(3, 8)),
    sample("rfft", lambda x: (np.fft.rfft(x), np.fft.irfft(np.fft.rfft(x), n=x.shape[-1])), f(3, 8)),
    sample("irfft", np.fft.irfft, c(5)),
    sample("fft2", lambda x: (np.fft.fft2(x), np.fft.ifft2(x), np.fft.rfft2(x)), f(4, 8)),
    sample("fftn", lambda x: (np.fft.fftn(x), np.fft.rfftn(x, axes=(0, 1))), d(3, 4, 2)),
    sample("hfft", np.fft.hfft, c(5)),
    sample("fftfreq", lambda x: (np.fft.fftfreq(x.shape[0], 0.1), np.fft.rfftfreq(x.shape[0])), d(8)),
    sample("fftshift", lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x, axes=0)), f(3, 4)),
    sample("fftshift of no axes", lambda x: (np.fft.fftshift(x, ()), np.fft.ifftshift(x, axes=())), f(3, 4)),
]


def _abs(pair: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the absolute values of factors, whose signs are not unique."""
    q, r = pair
    return abs(q), abs(r)


def _again(parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    u, s, v = parts
    return (u * s) @ v
