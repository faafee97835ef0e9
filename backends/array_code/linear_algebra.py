"""Linear algebra on top of the factorisations and solvers of each target."""

from __future__ import annotations

from .own import (
    Array,
    cholesky_solve,
    conjugate_transpose,
    lu_factor,
    lu_unpack,
    matrix_norm,
    matrix_rank,
    pinv,
    solve_triangular,
    xp,
)


def condition_number(x: Array, *, ord: float | str = 2) -> Array:
    """Compute the condition number of the matrices in the last two axes; 0 for empty matrices.

    For ``ord`` 2 and -2, it is a quotient of singular values, otherwise ``norm(x) * norm(inv(x))``. For
    the latter NumPy raises ``LinAlgError`` if a matrix is singular.
    """
    if 0 in x.shape[-2:]:
        return xp.zeros(x.shape[:-2], x.real.dtype)
    if ord in (2, -2):
        values = xp.linalg.svdvals(x)
        ratio = values[..., 0] / values[..., -1]
        return ratio if ord == 2 else 1 / ratio
    return matrix_norm(x, ord=ord) * matrix_norm(xp.linalg.inv(x), ord=ord)


def singular_cutoff(
    x: Array, largest: Array, rtol: Array | float | None, atol: Array | float | None
) -> Array:
    """Return ``max(atol, rtol * largest)``. Singular values up to it count as zero.

    The default of ``rtol`` is the larger dimension times the machine epsilon, or 0 if ``atol`` is given.
    """
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(xp.finfo(x.dtype).eps) if atol is None else 0.0
    return xp.maximum(0.0 if atol is None else atol, rtol * largest)


def cholesky_inverse(x: Array, *, upper: bool = False) -> Array:
    """Invert the matrix whose Cholesky factor is ``x``."""
    return cholesky_solve(x, xp.eye(x.shape[-1], dtype=x.dtype), upper=upper)


def lstsq(x1: Array, x2: Array, *, rcond: float | None = None) -> tuple[Array, Array]:
    """Return the minimum-norm least-squares solution of ``x1 @ x == x2``, and the rank of ``x1``."""
    return pinv(x1, rcond) @ x2, matrix_rank(x1, rcond)


def tensor_solve(x1: Array, x2: Array) -> Array:
    """Solve ``tensordot(x1, x, x.ndim) == x2``."""
    return xp.linalg.solve(x1.reshape(x2.size, x2.size), x2.reshape(-1)).reshape(x1.shape[x2.ndim :])


def lu_decomposition(x: Array) -> tuple[Array, Array, Array]:
    """Return a permutation, a unit lower and an upper triangular matrix whose product is ``x``."""
    return lu_unpack(*lu_factor(x))


def lu_solve(lu: Array, pivots: Array, x2: Array, *, left: bool = True, adjoint_of: bool = False) -> Array:
    """Solve ``A @ x == x2`` from the LU factors and pivots of ``A``; ``x @ A == x2`` unless ``left``.

    With ``adjoint_of``, the matrix is the adjoint of ``A``.
    """
    # A solution from the right is the adjoint of one from the left.
    if not left:
        return conjugate_transpose(lu_solve(lu, pivots, conjugate_transpose(x2), adjoint_of=not adjoint_of))
    swapped, lower, upper = lu_unpack(lu, pivots)
    if adjoint_of:
        inner = solve_triangular(conjugate_transpose(upper), x2, upper=False)
        return swapped @ solve_triangular(conjugate_transpose(lower), inner, upper=True)
    return solve_triangular(
        upper, solve_triangular(lower, conjugate_transpose(swapped) @ x2, upper=False), upper=True
    )
