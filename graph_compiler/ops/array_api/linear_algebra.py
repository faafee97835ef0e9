"""Linear algebra functions (array API standard, "Linear Algebra Functions" and its ``linalg`` extension)."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim, apply
from ..dtypes import real_of
from ..registry import ArraySpec, declare
from ..rules import broadcast, dtype_of, is_symbolic, reduced
from .statistical import Axis, accumulated

_SECTION = "linear algebra"


@declare(_SECTION)
def matmul(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Multiply the matrices in the last two axes; leading axes broadcast.

    A vector on the left is a row, a vector on the right a column. The axis that is added for it is dropped
    again.
    """
    left, right = x1.shape, x2.shape
    inner = (left[-1], right[-1 if x2.ndim == 1 else -2])
    # Two expressions that differ may still have equal values, so only ints are compared.
    if inner[0] != inner[1] and not is_symbolic(*inner):
        raise InvalidGraph(f"matmul of {x1} and {x2}: {inner[0]} columns meet {inner[1]} rows")
    batch = broadcast(left[:-2], right[:-2])
    return ArraySpec(batch + left[-2:-1] + (right[-1:] if x2.ndim > 1 else ()), dtype_of(x1, x2))


@declare(_SECTION)
def tensordot(x1: ArraySpec, x2: ArraySpec, /, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> ArraySpec:
    """Sum products over the paired ``axes`` of both arrays.

    The other axes of ``x1``, then those of ``x2``, remain.
    """
    left = tuple(dim for i, dim in enumerate(x1.shape) if i not in axes[0])
    right = tuple(dim for i, dim in enumerate(x2.shape) if i not in axes[1])
    return ArraySpec(left + right, dtype_of(x1, x2))


@declare(_SECTION)
def vecdot(x1: ArraySpec, x2: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """Compute the dot product of the conjugate of ``x1`` with ``x2`` along ``axis``.

    ``axis`` is counted from the back; other axes broadcast.
    """
    whole = ArraySpec(broadcast(x1.shape, x2.shape), dtype_of(x1, x2))
    return reduced(whole, axis, False)


# ---------------------------------------------------------------------------------------------- products
@declare(_SECTION)
def cross(x1: ArraySpec, x2: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """Compute the cross product of vectors of three along ``axis``.

    ``axis`` is counted from the back; other axes broadcast.
    """
    return ArraySpec(broadcast(x1.shape, x2.shape), dtype_of(x1, x2))


@declare(_SECTION)
def outer(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute all products of an element of the vector ``x1`` with one of the vector ``x2``."""
    return ArraySpec((x1.shape[0], x2.shape[0]), dtype_of(x1, x2))


@declare(_SECTION)
def matrix_power(x: ArraySpec, /, *, n: int) -> ArraySpec:
    """Compute ``x @ x @ ... @ x``; a power of the inverse for negative ``n``, the identity for 0."""
    return x


@declare(_SECTION)
def trace(x: ArraySpec, /, *, offset: int = 0, dtype: str | None = None) -> ArraySpec:
    """Sum the diagonal of the last two axes; dtypes as in ``sum``."""
    return ArraySpec(x.shape[:-2], dtype or accumulated(x.dtype))


# ------------------------------------------------------------------------------------- norms and determinants
@declare(_SECTION)
def vector_norm(x: ArraySpec, /, *, axis: Axis = None, ord: float = 2.0, keepdims: bool = False) -> ArraySpec:
    """Compute ``sum(abs(x) ** ord) ** (1 / ord)`` over ``axis``.

    0 counts nonzero elements; inf and -inf are the largest and the smallest absolute value.
    """
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_SECTION)
def matrix_norm(x: ArraySpec, /, *, ord: Any = "fro", keepdims: bool = False) -> ArraySpec:
    """Compute the norm ``ord`` of the matrices in the last two axes.

    ``ord`` is "fro", "nuc", 1, -1, 2, -2, inf or -inf.
    """
    return reduced(x, (x.ndim - 2, x.ndim - 1), keepdims, real_of(x.dtype))


@declare(_SECTION)
def det(x: ArraySpec, /) -> ArraySpec:
    """Compute the determinant."""
    return ArraySpec(x.shape[:-2], x.dtype)


@declare(_SECTION)
def slogdet(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute the sign and the logarithm of the absolute value of the determinant."""
    return ArraySpec(x.shape[:-2], x.dtype), ArraySpec(x.shape[:-2], real_of(x.dtype))


@declare(_SECTION)
def matrix_rank(x: ArraySpec, rtol: Any = None, atol: Any = None, /, *, hermitian: bool = False) -> ArraySpec:
    """Count the singular values above ``max(atol, rtol * largest)``.

    If neither ``rtol`` nor ``atol`` is given, ``rtol`` is ``max(M, N) * eps``.
    """
    return ArraySpec(broadcast(x.shape[:-2], *_shapes(rtol, atol)), "int64")


def _shapes(*operands: Any) -> list[tuple[Any, ...]]:
    return [operand.shape for operand in operands if isinstance(operand, ArraySpec)]


# ------------------------------------------------------------------------------------- inverses and solutions
@declare(_SECTION)
def inv(x: ArraySpec, /) -> ArraySpec:
    """Compute the matrix inverse."""
    return x


@declare(_SECTION)
def pinv(x: ArraySpec, rtol: Any = None, atol: Any = None, /, *, hermitian: bool = False) -> ArraySpec:
    """Compute the pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero."""
    batch = broadcast(x.shape[:-2], *_shapes(rtol, atol))
    return ArraySpec((*batch, x.shape[-1], x.shape[-2]), x.dtype)


@declare(_SECTION)
def solve(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Solve ``x1 @ x == x2``; leading axes broadcast.

    ``x2`` is a vector if it has one axis, and holds matrices otherwise.
    """
    # The standard takes ``x2`` for a vector only if it has one axis, because stacks of vectors would be
    # ambiguous.
    if x2.ndim == 1:
        return ArraySpec(x1.shape[:-1], dtype_of(x1, x2))
    return ArraySpec(broadcast(x1.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(x1, x2))


# --------------------------------------------------------------------------------------------- decompositions
@declare(_SECTION)
def cholesky(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the lower triangular L with ``L @ L^H == x``, or its adjoint with ``upper``."""
    return x


@declare(_SECTION)
def qr(x: ArraySpec, /, *, mode: str = "reduced") -> tuple[ArraySpec, ArraySpec]:
    """Compute Q with orthonormal columns and upper triangular R, ``Q @ R == x``.

    Q is square if ``mode`` is "complete".
    """
    batch, rows, columns = x.shape[:-2], x.shape[-2], x.shape[-1]
    inner = rows if mode == "complete" else least(rows, columns)
    return ArraySpec((*batch, rows, inner), x.dtype), ArraySpec((*batch, inner, columns), x.dtype)


@declare(_SECTION)
def svd(x: ArraySpec, /, *, full_matrices: bool = True) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Compute U, the singular values in descending order, and V^H: ``(U * s) @ Vh == x``."""
    batch, rows, columns = x.shape[:-2], x.shape[-2], x.shape[-1]
    inner = least(rows, columns)
    left, right = (rows, columns) if full_matrices else (inner, inner)
    values = ArraySpec((*batch, inner), real_of(x.dtype))
    return ArraySpec((*batch, rows, left), x.dtype), values, ArraySpec((*batch, right, columns), x.dtype)


@declare(_SECTION)
def svdvals(x: ArraySpec, /) -> ArraySpec:
    """Compute the singular values in descending order."""
    return ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), real_of(x.dtype))


@declare(_SECTION)
def eigh(x: ArraySpec, /, *, upper: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Compute the ascending eigenvalues and the eigenvectors of a Hermitian matrix.

    Only its lower triangle is read, or with ``upper`` the upper one.
    """
    return eigvalsh(x), x


@declare(_SECTION)
def eigvalsh(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the ascending eigenvalues of a Hermitian matrix.

    Only its lower triangle is read, or with ``upper`` the upper one.
    """
    return ArraySpec(x.shape[:-1], real_of(x.dtype))


def least(left: Dim, right: Dim) -> Any:
    return left if left == right else apply("min", left, right)
