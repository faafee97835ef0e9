"""Linear algebra and short-time Fourier transforms that NumPy lacks, or has with other conventions.

Loops of decompositions and solvers run over rows or columns, for all matrices of a batch at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.array_code import singular_cutoff
from .statistics import vector_norm


def conjugate_transpose(x: np.ndarray) -> np.ndarray:
    return np.conj(x.mT)


def grouped_matmul(x: np.ndarray, weight: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Multiply rows ``offsets[g - 1]:offsets[g]`` of ``x`` by the matrix ``weight[g]``, for each group ``g``.

    The first group starts at row 0.
    """
    result = np.zeros((x.shape[0], weight.shape[-1]), x.dtype)
    start = 0
    for matrix, end in zip(weight, offsets.tolist()):
        result[start:end] = x[start:end] @ matrix
        start = end
    return result


def complex_eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # NumPy returns real numbers if all eigenvalues are real, which depends on the elements.
    values, vectors = np.linalg.eig(x)
    dtype = np.result_type(x.dtype, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


# -------------------------------------------------------------------------------------------- norms and ranks
def matrix_norm(x: np.ndarray, *, ord: Any = "fro", keepdims: bool = False) -> np.ndarray:
    """Compute the norm of the matrices in the last two axes.

    ``ord`` is "fro", "nuc", 1, -1, 2, -2, inf or -inf, as in ``np.linalg.matrix_norm``.
    """
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims)


def matrix_rank(
    x: np.ndarray,
    rtol: np.ndarray | float | None = None,
    atol: np.ndarray | float | None = None,
    *,
    hermitian: bool = False,
) -> np.ndarray:
    """Count the singular values of the matrices above ``max(atol, rtol * largest)``.

    ``largest`` is the largest singular value. With ``hermitian``, only the lower triangles are read.
    """
    values = np.abs(np.linalg.eigvalsh(x)) if hermitian else np.linalg.svdvals(x)
    cutoff = singular_cutoff(x, np.max(values, axis=-1, initial=0), rtol, atol)
    return np.sum(values > cutoff[..., None], axis=-1)


def pinv(
    x: np.ndarray,
    rtol: np.ndarray | float | None = None,
    atol: np.ndarray | float | None = None,
    *,
    hermitian: bool = False,
) -> np.ndarray:
    """Compute the pseudo-inverse of the matrices in the last two axes.

    Singular values up to ``max(atol, rtol * largest)``, where ``largest`` is the largest one, count as zero.
    With ``hermitian``, only the lower triangles of the matrices are read.
    """
    if hermitian:
        values, right = np.linalg.eigh(x)
        left, rows = right, conjugate_transpose(right)
    else:
        left, values, rows = np.linalg.svd(x, full_matrices=False)
    cutoff = singular_cutoff(x, np.max(np.abs(values), axis=-1, initial=0), rtol, atol)
    inverse = np.where(np.abs(values) > cutoff[..., None], 1 / values, 0).astype(values.dtype)
    return (conjugate_transpose(rows) * inverse[..., None, :]) @ conjugate_transpose(left)


# ---------------------------------------------------------------------------------------------- solutions
def solve_triangular(
    x1: np.ndarray,
    x2: np.ndarray,
    *,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> np.ndarray:
    """Solve ``x1 @ x == x2`` for a triangular ``x1``, or ``x @ x1 == x2`` unless ``left``.

    ``upper`` says which triangle of ``x1`` is read, before ``transpose`` transposes it. With
    ``unit_diagonal``, its diagonal counts as 1.
    """
    # The transposed equation has ``x1.T`` on the left.
    if not left:
        return solve_triangular(
            x1, x2.mT, upper=upper, transpose=not transpose, unit_diagonal=unit_diagonal
        ).mT.copy()
    if transpose:
        x1, upper = x1.mT, not upper
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = np.broadcast_to(x2, batch + x2.shape[-2:]).copy()
    size = x1.shape[-1]
    for row in reversed(range(size)) if upper else range(size):
        known = slice(row + 1, size) if upper else slice(0, row)
        result[..., row, :] -= (x1[..., row : row + 1, known] @ result[..., known, :])[..., 0, :]
        if not unit_diagonal:
            result[..., row, :] /= x1[..., row, row, None]
    return result


def cholesky_solve(x1: np.ndarray, x2: np.ndarray, *, upper: bool = False) -> np.ndarray:
    """Solve ``A @ x == x2`` for the ``A`` whose lower (or ``upper``) Cholesky factor is ``x1``."""
    factor = x1 if upper else conjugate_transpose(x1)
    return solve_triangular(
        factor, solve_triangular(conjugate_transpose(factor), x2, upper=False), upper=True
    )


# --------------------------------------------------------------------------------------------- decompositions
def cholesky_ex(x: np.ndarray, *, upper: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the Cholesky factor, and the order of the first leading minor that is not positive.

    The order is 0 if all are positive, else the factor is NaN.
    """
    if (factor := factor_or_none(x, upper)) is not None:
        return factor, np.zeros(x.shape[:-2], np.int32)
    # NumPy raises for the whole batch if one matrix is not positive definite.
    factor, first = np.full_like(x, np.nan), np.zeros(x.shape[:-2], np.int32)
    for place in np.ndindex(first.shape):
        if (one := factor_or_none(x[place], upper)) is None:
            first[place] = first_indefinite(x[place], upper)
        else:
            factor[place] = one
    return factor, first


def first_indefinite(x: np.ndarray, upper: bool) -> int:
    """Return the order of the first leading minor without a Cholesky factor, for a matrix without one."""
    # LAPACK decides, because its rounding errors decide whether a nearly singular matrix has a factor.
    positive, order = 0, x.shape[-1]
    while order - positive > 1:
        middle = (positive + order) // 2
        if factor_or_none(x[:middle, :middle], upper) is None:
            order = middle
        else:
            positive = middle
    return order


def factor_or_none(x: np.ndarray, upper: bool) -> np.ndarray | None:
    try:
        factor = np.linalg.cholesky(x, upper=upper)
    except np.linalg.LinAlgError:
        return None
    return None if np.isnan(factor).any() else factor


def lu_factor(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the LU factorisation with partial pivoting.

    Return L and U in one matrix, and the pivots, counted from 1.
    """
    rows, columns = x.shape[-2:]
    factors = np.array(x).reshape(np.prod(x.shape[:-2], dtype=int), rows, columns)
    every = np.arange(len(factors))
    pivots = np.empty((len(factors), min(rows, columns)), np.int32)
    for step in range(min(rows, columns)):
        column = factors[:, step:, step]
        # LAPACK compares complex numbers by this sum, too.
        pivot = step + np.argmax(np.abs(column.real) + np.abs(column.imag), axis=1)
        pivots[:, step] = pivot + 1
        factors[every, pivot], factors[:, step] = factors[:, step].copy(), factors[every, pivot]
        divisor = factors[:, step, step, None]
        factors[:, step + 1 :, step] /= np.where(divisor == 0, 1, divisor)
        factors[:, step + 1 :, step + 1 :] -= (
            factors[:, step + 1 :, step, None] * factors[:, None, step, step + 1 :]
        )
    return factors.reshape(x.shape), pivots.reshape(*x.shape[:-2], min(rows, columns))


def lu_unpack(lu: np.ndarray, pivots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrices P, L and U of a factorisation by ``lu_factor``.

    Their product ``P @ L @ U`` is the factorised matrix.
    """
    rows, columns = lu.shape[-2:]
    inner = min(rows, columns)
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for step in range(pivots.shape[-1]):
        other = pivots[..., step, None].astype(np.int64) - 1
        swapped = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., step, None].copy(), -1)
        order[..., step, None] = swapped
    permutation = (order[..., None, :] == np.arange(rows)[:, None]).astype(lu.dtype)
    return (
        permutation,
        np.tril(lu[..., :inner], -1) + np.eye(rows, inner, dtype=lu.dtype),
        np.triu(lu[..., :inner, :]),
    )


def geqrf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R with the Householder vectors below its diagonal, and the scalar factors of the reflections."""
    # In this mode NumPy returns the transpose.
    transposed, tau = np.linalg.qr(x, mode="raw")
    return transposed.mT.astype(x.dtype), tau.astype(x.dtype)


def householder_product(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return the first ``x.shape[-1]`` columns of the product of Householder reflections.

    The vectors of the reflections are below the diagonal of ``x``, and their scalar factors are ``tau``.
    """
    rows, columns = x.shape[-2:]
    result = np.broadcast_to(np.eye(rows, columns, dtype=x.dtype), x.shape).copy()
    vectors = np.tril(x, -1) + np.eye(rows, columns, dtype=x.dtype)
    for step in reversed(range(tau.shape[-1])):
        vector = vectors[..., step, None]
        result -= tau[..., step, None, None] * vector @ (conjugate_transpose(vector) @ result)
    return result


def ormqr(
    x: np.ndarray, tau: np.ndarray, x2: np.ndarray, *, left: bool = True, transpose: bool = False
) -> np.ndarray:
    """Multiply ``x2`` by the full Q of the Householder reflections ``x`` and ``tau``.

    With ``transpose``, multiply by the adjoint of Q instead. Q is the left factor if ``left``, else the right
    one.
    """
    # Further columns hold no reflections.
    x = x[..., : x.shape[-2]]
    missing = x.shape[-2] - x.shape[-1]
    whole = householder_product(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]), tau)
    whole = conjugate_transpose(whole) if transpose else whole
    return whole @ x2 if left else x2 @ whole


def centered_window(window: np.ndarray | None, n_fft: int) -> np.ndarray | float:
    if window is None:
        return 1.0
    before = (n_fft - len(window)) // 2
    return np.pad(window, (before, n_fft - len(window) - before))


def stft(
    x: np.ndarray,
    window: np.ndarray | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> np.ndarray:
    """Compute the Fourier transforms of frames of the last axis of ``x``, ``hop_length`` elements apart.

    The result has the shape ``[..., frequencies, frames]``. Each frame of ``n_fft`` elements is multiplied by
    ``window``, padded to this length, unless it is None. With ``center``, ``x`` is padded first, so that
    frames are centred at multiples of ``hop_length``.
    """
    if center:
        mode: Any = {"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode)
        widths = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = np.pad(x, widths, mode=mode)
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop_length)
    parts = x[..., starts[:, None] + np.arange(n_fft)] * centered_window(window, n_fft)
    spectrum = (np.fft.rfft if onesided else np.fft.fft)(parts, norm="ortho" if normalized else "backward")
    return np.swapaxes(spectrum, -1, -2)


def istft(
    x: np.ndarray,
    window: np.ndarray | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    as_complex: bool = False,
) -> np.ndarray:
    """Invert ``stft`` by overlap-add, and divide by the sum of the squared windows.

    The signal is real unless ``as_complex``.
    """
    norm: Any = "ortho" if normalized else "backward"
    spectrum = np.swapaxes(x, -1, -2)
    parts = (
        np.fft.ifft(spectrum, n_fft, norm=norm)
        if as_complex
        else np.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    )
    weights = np.broadcast_to(centered_window(window, n_fft), n_fft)
    size = hop_length * (x.shape[-1] - 1) + n_fft
    signal, envelope = np.zeros((*x.shape[:-2], size), parts.dtype), np.zeros(size, weights.dtype)
    for part in range(x.shape[-1]):
        place = slice(part * hop_length, part * hop_length + n_fft)
        signal[..., place] += (parts[..., part, :] * weights).astype(parts.dtype)
        envelope[place] += weights**2
    start = n_fft // 2 if center else 0
    end = size - start if length is None else start + length
    signal = (signal[..., start:end] / envelope[start:end]).astype(parts.dtype)
    return np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, max(end - size, 0))])
