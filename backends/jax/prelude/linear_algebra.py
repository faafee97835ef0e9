"""Linear algebra that ``jax.numpy.linalg`` lacks, or has with other conventions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...common.array_code import singular_cutoff
from .statistics import vector_norm


def conjugate_transpose(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x.conj(), -1, -2)


# -------------------------------------------------------------------------------------------- norms and ranks
def matrix_norm(x: jax.Array, *, ord: float | str = "fro", keepdims: bool = False) -> jax.Array:
    """Compute the norm of the matrices in the last two axes.

    ``ord`` is "fro", "nuc", 1, -1, 2, -2, inf or -inf, as in ``jnp.linalg.matrix_norm``.
    """
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    # The sums of ``vector_norm`` have derivative 0 at 0, unlike those of ``jnp.linalg.matrix_norm``.
    if not isinstance(ord, str) and abs(ord) in (1, math.inf):
        extreme = jnp.max if ord > 0 else jnp.min
        return extreme(
            vector_norm(x, axis=-2 if abs(ord) == 1 else -1, ord=1, keepdims=True),
            axis=(-2, -1),
            keepdims=keepdims,
        )
    return jnp.linalg.matrix_norm(x, ord=ord, keepdims=keepdims)


def matrix_rank(
    x: jax.Array,
    rtol: jax.Array | float | None = None,
    atol: jax.Array | float | None = None,
    *,
    hermitian: bool = False,
) -> jax.Array:
    """Count the singular values of the matrices above ``max(atol, rtol * largest)``.

    ``largest`` is the largest singular value. With ``hermitian``, only the lower triangles are read.
    """
    values = jnp.abs(jnp.linalg.eigvalsh(hermitian_matrix(x))) if hermitian else jnp.linalg.svdvals(x)
    cutoff = singular_cutoff(x, jnp.max(values, axis=-1, initial=0), rtol, atol)
    return jnp.sum(values > cutoff[..., None], axis=-1)


def pinv(
    x: jax.Array,
    rtol: jax.Array | float | None = None,
    atol: jax.Array | float | None = None,
    *,
    hermitian: bool = False,
) -> jax.Array:
    """Compute the pseudo-inverse of the matrices in the last two axes.

    Singular values up to ``max(atol, rtol * largest)``, where ``largest`` is the largest one, count as zero.
    With ``hermitian``, only the lower triangles are read.
    """
    x = hermitian_matrix(x) if hermitian else x
    if atol is None:
        rtol = max(x.shape[-2:]) * float(jnp.finfo(x.dtype).eps) if rtol is None else rtol
        return jnp.linalg.pinv(x, rtol=rtol, hermitian=hermitian)
    largest = jnp.max(jnp.linalg.svdvals(x), axis=-1, initial=0)
    cutoff = singular_cutoff(x, largest, rtol, atol)
    return jnp.linalg.pinv(x, rtol=cutoff / jnp.where(largest > 0, largest, 1), hermitian=hermitian)


# ---------------------------------------------------------------------------------------------- solutions
def with_same_batch(x1: jax.Array, x2: jax.Array) -> tuple[jax.Array, jax.Array]:
    batch = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return jnp.broadcast_to(x1, batch + x1.shape[-2:]), jnp.broadcast_to(x2, batch + x2.shape[-2:])


def solve_triangular(
    x1: jax.Array,
    x2: jax.Array,
    *,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> jax.Array:
    """Solve ``x1 @ x == x2`` for a triangular ``x1``, or ``x @ x1 == x2`` unless ``left``.

    ``upper`` says which triangle of ``x1`` is read, before ``transpose`` transposes it. With
    ``unit_diagonal``, its diagonal counts as 1.
    """
    x1, x2 = with_same_batch(x1, x2)
    return lax.linalg.triangular_solve(
        x1, x2, left_side=left, lower=not upper, transpose_a=transpose, unit_diagonal=unit_diagonal
    )


def cholesky_solve(x1: jax.Array, x2: jax.Array, *, upper: bool = False) -> jax.Array:
    """Solve ``A @ x == x2`` for the ``A`` whose lower (or ``upper``) Cholesky factor is ``x1``."""
    factor = jnp.triu(x1) if upper else conjugate_transpose(jnp.tril(x1))
    return solve_triangular(
        factor, solve_triangular(conjugate_transpose(factor), x2, upper=False), upper=True
    )


# --------------------------------------------------------------------------------------------- decompositions
def hermitian_matrix(x: jax.Array, *, upper: bool = False) -> jax.Array:
    """Return the Hermitian matrix of the lower (or ``upper``) triangle of ``x``, whose diagonal is real."""
    lower = conjugate_transpose(x) if upper else x
    told = lax.stop_gradient(jnp.tril(lower) + conjugate_transpose(jnp.tril(lower, -1)))
    # This has the value 0, and carries the gradient to both triangles.
    zeros = jnp.where(jnp.isfinite(lower), lower - lax.stop_gradient(lower), 0)
    return told + (zeros + conjugate_transpose(zeros)) / 2


def cholesky(x: jax.Array, *, upper: bool = False) -> jax.Array:
    """Compute the lower (or ``upper``) Cholesky factor from this triangle of ``x``.

    The triangle is NaN if the matrix is not positive definite.
    """
    factor = lax.linalg.cholesky(hermitian_matrix(x, upper=upper), symmetrize_input=False)
    return conjugate_transpose(factor) if upper else factor


def cholesky_ex(x: jax.Array, *, upper: bool = False) -> tuple[jax.Array, jax.Array]:
    """Return the Cholesky factor, and the order of the first leading minor that is not positive.

    The order is 0 if all are positive, else the factor is NaN.
    """
    factor = cholesky(x, upper=upper)
    if not x.size:
        return factor, jnp.zeros(x.shape[:-2], jnp.int32)
    none = jnp.zeros_like(x[..., 0, 0], dtype=jnp.int32)
    whole = conjugate_transpose(x) if upper else x
    first = lax.cond(jnp.any(jnp.isnan(factor)), first_indefinite, lambda _: none, lax.stop_gradient(whole))
    return jnp.where((first != 0)[..., None, None], jnp.nan, factor), first


def first_indefinite(x: jax.Array) -> jax.Array:
    """Return the order of the first leading minor that is not positive, or 0 if all are.

    Only the lower triangle of ``x`` is read.
    """

    def step(k: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        a, first = state
        pivot, column = a[..., k, k], a[..., :, k]
        first = jnp.where((first == 0) & ~(pivot.real > 0), k + 1, first)
        return a - (column / pivot[..., None])[..., :, None] * column.conj()[..., None, :], first

    whole = jnp.tril(x) + conjugate_transpose(jnp.tril(x, -1))
    return lax.fori_loop(0, x.shape[-1], step, (whole, jnp.zeros_like(whole[..., 0, 0], dtype=jnp.int32)))[1]


def lu_factor(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute the LU factorisation with partial pivoting.

    Return L and U in one matrix, and the pivots, counted from 1.
    """
    # JAX counts pivots from 0.
    factors, pivots, _ = lax.linalg.lu(x)
    return factors, pivots + 1


def lu_unpack(lu: jax.Array, pivots: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the matrices P, L and U of a factorisation by ``lu_factor``.

    Their product ``P @ L @ U`` is the factorised matrix.
    """
    rows, columns = lu.shape[-2:]
    inner = min(rows, columns)
    permutation = lax.linalg.lu_pivots_to_permutation(pivots - 1, rows)
    swapped = (permutation[..., None, :] == jnp.arange(rows)[:, None]).astype(lu.dtype)
    return (
        swapped,
        jnp.tril(lu[..., :inner], -1) + jnp.eye(rows, inner, dtype=lu.dtype),
        jnp.triu(lu[..., :inner, :]),
    )


def geqrf(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return R with the Householder vectors below its diagonal, and the scalar factors of the reflections."""
    # In this mode JAX returns the transpose.
    transposed, tau = jnp.linalg.qr(x, mode="raw")
    return jnp.swapaxes(transposed, -1, -2), tau


def ormqr(
    x: jax.Array, tau: jax.Array, x2: jax.Array, *, left: bool = True, transpose: bool = False
) -> jax.Array:
    """Multiply ``x2`` by the full Q of the Householder reflections ``x`` and ``tau``.

    With ``transpose``, multiply by the adjoint of Q instead. Q is the left factor if ``left``, else the right
    one.
    """
    # Further columns hold no reflections.
    x = x[..., : x.shape[-2]]
    missing = x.shape[-2] - x.shape[-1]
    whole = lax.linalg.householder_product(jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]), tau)
    whole = conjugate_transpose(whole) if transpose else whole
    return whole @ x2 if left else x2 @ whole


def centered_window(window: jax.Array | None, n_fft: int) -> jax.Array:
    if window is None:
        return jnp.ones(n_fft)
    before = (n_fft - len(window)) // 2
    return jnp.pad(window, (before, n_fft - len(window) - before))


def stft(
    x: jax.Array,
    window: jax.Array | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> jax.Array:
    """Compute the Fourier transforms of frames of the last axis of ``x``, ``hop_length`` elements apart.

    The result has the shape ``[..., frequencies, frames]``. Each frame of ``n_fft`` elements is multiplied by
    ``window``, padded to this length, unless it is None. With ``center``, ``x`` is padded first, so that
    frames are centred at multiples of ``hop_length``.
    """
    if center:
        widths = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = jnp.pad(x, widths, mode={"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode))
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop_length)
    parts = x[..., starts[:, None] + np.arange(n_fft)]
    if window is not None:
        parts = parts * centered_window(window, n_fft)
    spectrum = (jnp.fft.rfft if onesided else jnp.fft.fft)(parts, norm="ortho" if normalized else "backward")
    return jnp.swapaxes(spectrum, -1, -2)


def istft(
    x: jax.Array,
    window: jax.Array | None = None,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    as_complex: bool = False,
) -> jax.Array:
    """Invert ``stft`` by overlap-add, divided by the sum of the squared windows.

    The signal is real unless ``as_complex``.
    """
    norm = "ortho" if normalized else "backward"
    spectrum = jnp.swapaxes(x, -1, -2)
    parts = (
        jnp.fft.ifft(spectrum, n_fft, norm=norm)
        if as_complex
        else jnp.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    )
    weights = centered_window(window, n_fft)
    places = hop_length * np.arange(x.shape[-1])[:, None] + np.arange(n_fft)
    size = int(places[-1, -1]) + 1
    signal = (
        jnp.zeros((*x.shape[:-2], size), parts.dtype)
        .at[..., places]
        .add((parts * weights).astype(parts.dtype))
    )
    envelope = jnp.zeros(size, weights.dtype).at[places].add(jnp.broadcast_to(weights**2, places.shape))
    start = n_fft // 2 if center else 0
    end = size - start if length is None else start + length
    signal = (signal[..., start:end] / envelope[start:end]).astype(parts.dtype)
    return jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, max(end - size, 0))])
