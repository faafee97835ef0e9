"""Linear algebra of the array API standard and beyond it, Fourier transforms and signals."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, apply
from .dtypes import complex_of, real_of
from .registry import ArraySpec, Unknown, check_axis, declare, decomposition
from .rules import broadcast, broadcast_dims, dtype_of, is_symbolic, reduced
from .statistics import Axis, accumulated

_STANDARD = "linear algebra"


@declare(_STANDARD)
def matmul(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Multiply the matrices in the last two axes; leading axes broadcast.

    A vector on the left is a row, a vector on the right a column. The result lacks the axis that is added to
    the vector.
    """
    left, right = x1.shape, x2.shape
    inner = (left[-1], right[-1 if x2.ndim == 1 else -2])
    # Two expressions that differ may still have equal values, so only ints are compared.
    if inner[0] != inner[1] and not is_symbolic(*inner):
        raise InvalidGraph(f"matmul of {x1} and {x2}: {inner[0]} columns meet {inner[1]} rows")
    batch = broadcast(left[:-2], right[:-2])
    return ArraySpec(batch + left[-2:-1] + (right[-1:] if x2.ndim > 1 else ()), dtype_of(x1, x2))


@declare(_STANDARD)
def tensordot(x1: ArraySpec, x2: ArraySpec, /, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> ArraySpec:
    """Sum products over paired axes: those in ``axes[0]`` of ``x1`` and those in ``axes[1]`` of ``x2``.

    Axes are counted from the front. The result has the other axes of ``x1``, then those of ``x2``.
    """
    for x, paired in zip((x1, x2), axes):
        for axis in paired:
            check_axis(axis, x.ndim)
    left = tuple(dim for i, dim in enumerate(x1.shape) if i not in axes[0])
    right = tuple(dim for i, dim in enumerate(x2.shape) if i not in axes[1])
    return ArraySpec(left + right, dtype_of(x1, x2))


@declare(_STANDARD)
def vecdot(x1: ArraySpec, x2: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """Compute the dot product of the conjugate of ``x1`` with ``x2`` along ``axis``.

    ``axis`` must be negative, because the arrays may have different numbers of axes. Other axes broadcast.
    """
    whole = ArraySpec(broadcast(x1.shape, x2.shape), dtype_of(x1, x2))
    return reduced(whole, axis, False)


# --------------------------------------------------------------------------------------------------- products
@declare(_STANDARD)
def cross(x1: ArraySpec, x2: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """Compute the cross product of vectors of three elements along ``axis``.

    ``axis`` must be negative, because the arrays may have different numbers of axes. Other axes broadcast.
    """
    return ArraySpec(broadcast(x1.shape, x2.shape), dtype_of(x1, x2))


@declare(_STANDARD)
def outer(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute the outer product of two vectors, ``x1[i] * x2[j]``, without conjugation."""
    return ArraySpec((x1.shape[0], x2.shape[0]), dtype_of(x1, x2))


@declare(_STANDARD)
def matrix_power(x: ArraySpec, /, *, n: int) -> ArraySpec:
    """Compute ``x @ ... @ x`` with ``n`` factors; powers of the inverse for ``n < 0``, the identity for 0."""
    return x


@declare(_STANDARD)
def trace(x: ArraySpec, /, *, offset: int = 0, dtype: str | None = None) -> ArraySpec:
    """Sum the diagonal of the matrices in the last two axes.

    Without ``dtype``, integers and bools are summed in 64 bits. ``offset`` selects a diagonal above the main
    one, or below it if it is negative.
    """
    return ArraySpec(x.shape[:-2], dtype or accumulated(x.dtype))


# ------------------------------------------------------------------------------------- norms and determinants
@declare(_STANDARD)
def vector_norm(x: ArraySpec, /, *, axis: Axis = None, ord: float = 2.0, keepdims: bool = False) -> ArraySpec:
    """Compute ``sum(abs(x) ** ord) ** (1 / ord)`` over ``axis``, or over all axes if it is None.

    If ``ord`` is 0, the nonzero elements are counted. If it is inf or -inf, the result is the largest or the
    smallest absolute value.
    """
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_STANDARD)
def matrix_norm(x: ArraySpec, /, *, ord: Any = "fro", keepdims: bool = False) -> ArraySpec:
    """Compute the norm ``ord`` of the matrices in the last two axes.

    ``ord`` is "fro", "nuc", 1, -1, 2, -2, inf or -inf.
    """
    return reduced(x, (x.ndim - 2, x.ndim - 1), keepdims, real_of(x.dtype))


@declare(_STANDARD)
def det(x: ArraySpec, /) -> ArraySpec:
    """Compute the determinants of the matrices in the last two axes."""
    return ArraySpec(x.shape[:-2], x.dtype)


@declare(_STANDARD)
def slogdet(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute the sign and the logarithm of the absolute value of the determinant.

    The sign of a complex determinant is the number divided by its absolute value. If the determinant is 0,
    the sign is 0 and the logarithm -inf.
    """
    return ArraySpec(x.shape[:-2], x.dtype), ArraySpec(x.shape[:-2], real_of(x.dtype))


@declare(_STANDARD)
def matrix_rank(x: ArraySpec, rtol: Any = None, atol: Any = None, /, *, hermitian: bool = False) -> ArraySpec:
    """Count the singular values above ``max(atol, rtol * largest)``.

    If neither ``rtol`` nor ``atol`` is given, ``rtol`` is ``max(M, N) * eps`` for M x N matrices and the
    machine epsilon of the dtype. If only one is given, the other is 0. With ``hermitian``, absolute values of
    eigenvalues are counted instead.
    """
    return ArraySpec(broadcast(x.shape[:-2], *_shapes(rtol, atol)), "int64")


def _shapes(*operands: Any) -> list[tuple[Any, ...]]:
    return [operand.shape for operand in operands if isinstance(operand, ArraySpec)]


# ------------------------------------------------------------------------------------- inverses and solutions
@declare(_STANDARD)
def inv(x: ArraySpec, /) -> ArraySpec:
    """Compute the inverses of the matrices in the last two axes."""
    return x


@declare(_STANDARD)
def pinv(x: ArraySpec, rtol: Any = None, atol: Any = None, /, *, hermitian: bool = False) -> ArraySpec:
    """Compute the pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero.

    ``hermitian``, and the defaults of ``rtol`` and ``atol``, are as in :func:`matrix_rank`.
    """
    batch = broadcast(x.shape[:-2], *_shapes(rtol, atol))
    return ArraySpec((*batch, x.shape[-1], x.shape[-2]), x.dtype)


@declare(_STANDARD)
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
@declare(_STANDARD)
def cholesky(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the lower triangular L with ``L @ L^H == x``, or its adjoint with ``upper``."""
    return x


@declare(_STANDARD)
def qr(x: ArraySpec, /, *, mode: str = "reduced") -> tuple[ArraySpec, ArraySpec]:
    """Compute Q with orthonormal columns and upper triangular R, ``Q @ R == x``.

    Q is square if ``mode`` is "complete".
    """
    batch, rows, columns = x.shape[:-2], x.shape[-2], x.shape[-1]
    inner = rows if mode == "complete" else least(rows, columns)
    return ArraySpec((*batch, rows, inner), x.dtype), ArraySpec((*batch, inner, columns), x.dtype)


@declare(_STANDARD)
def svd(x: ArraySpec, /, *, full_matrices: bool = True) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Compute U, the singular values in descending order, and V^H: ``(U * s) @ Vh == x``.

    With ``full_matrices``, U and V^H are square, and only their first columns and rows are in that product.
    """
    batch, rows, columns = x.shape[:-2], x.shape[-2], x.shape[-1]
    inner = least(rows, columns)
    left, right = (rows, columns) if full_matrices else (inner, inner)
    values = ArraySpec((*batch, inner), real_of(x.dtype))
    return ArraySpec((*batch, rows, left), x.dtype), values, ArraySpec((*batch, right, columns), x.dtype)


@declare(_STANDARD)
def svdvals(x: ArraySpec, /) -> ArraySpec:
    """Compute the singular values in descending order."""
    return ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), real_of(x.dtype))


@declare(_STANDARD)
def eigh(x: ArraySpec, /, *, upper: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Compute the ascending eigenvalues and the eigenvectors, which are columns, of a Hermitian matrix.

    Only the lower triangle of ``x`` is read, or with ``upper`` the upper one.
    """
    return eigvalsh(x), x


@declare(_STANDARD)
def eigvalsh(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the ascending eigenvalues of a Hermitian matrix.

    Only the lower triangle of ``x`` is read, or with ``upper`` the upper one.
    """
    return ArraySpec(x.shape[:-1], real_of(x.dtype))


def least(left: Dim, right: Dim) -> Any:
    return left if left == right else apply("min", left, right)


# ------------------------------------------------------------------------------ beyond the array API standard

_LINALG = "linalg"


# --------------------------------------------------------------------------------------------------- products
@declare(_LINALG)
def einsum(*arrays: ArraySpec, equation: str) -> ArraySpec:
    """Compute the sum of products that ``equation`` defines, such as ``"bij,bjk->bik"``.

    ``equation`` has only letters, ``...``, commas and ``->``; the result must be given. Axes with the same
    letter broadcast, as do the axes of ``...``.
    """
    inputs, _, result = equation.partition("->")
    sizes: dict[str, Any] = {}
    batch: tuple[Any, ...] = ()
    for labels, array in zip(inputs.split(","), arrays, strict=True):
        before, dots, after = labels.partition("...")
        if len(before) + len(after) > array.ndim or (not dots and len(before) != array.ndim):
            raise InvalidGraph(f"einsum {equation!r}: {labels!r} does not fit an array of {array.ndim} axes")
        named = [
            *zip(before, array.shape, strict=False),
            # Labels after the dots belong to the last axes.
            *zip(reversed(after), reversed(array.shape), strict=False),
        ]
        for label, dim in named:
            # A label may have size 1 in one array and another size in the next.
            sizes[label] = _merge_sizes(sizes.get(label, 1), dim)
        # The axes of `...` broadcast against those of the other arrays.
        batch = broadcast(batch, array.shape[len(before) : array.ndim - len(after)])
    before, dots, after = result.partition("...")
    kept = (*(sizes[label] for label in before), *(batch if dots else ()), *(sizes[label] for label in after))
    return ArraySpec(kept, dtype_of(*arrays))


def _merge_sizes(known: Any, dim: Any) -> Any:
    return known if isinstance(known, Unknown) else broadcast_dims(known, dim)


@declare(_LINALG)
def inner(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Sum products over the last axes of ``x1`` and ``x2``, without conjugation.

    The result has the other axes of ``x1``, then those of ``x2``.
    """
    return ArraySpec(x1.shape[:-1] + x2.shape[:-1], dtype_of(x1, x2))


@decomposition("inner")
def _inner(b: Any, x1: Any, x2: Any) -> Any:
    return b.tensordot(x1, x2, axes=((x1.ndim - 1,), (x2.ndim - 1,)))


@declare(_LINALG)
def kron(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute the Kronecker product: blocks of ``x2`` scaled by the elements of ``x1``."""
    rank = max(x1.ndim, x2.ndim)
    left, right = ((1,) * (rank - x.ndim) + x.shape for x in (x1, x2))
    return ArraySpec(tuple(a * b for a, b in zip(left, right, strict=True)), dtype_of(x1, x2))


@declare(_LINALG)
def multi_dot(*arrays: ArraySpec) -> ArraySpec:
    """Multiply two or more matrices; the first and the last may be vectors."""
    first, last = arrays[0], arrays[-1]
    return ArraySpec(first.shape[:-1] + last.shape[1:], dtype_of(*arrays))


@decomposition("multi_dot")
def _multi_dot(b: Any, *arrays: Any) -> Any:
    # The cheapest order only saves time, so a target without the function multiplies from left to right.
    return reduce(b.matmul, arrays)


@declare(_LINALG)
def matrix_exp(x: ArraySpec, /) -> ArraySpec:
    """Compute the exponentials of the square matrices in the last two axes."""
    return x


@declare(_LINALG)
def householder_product(x: ArraySpec, tau: ArraySpec, /) -> ArraySpec:
    """Compute the first columns of a product of Householder reflections, as many as ``x`` has.

    ``x`` and ``tau`` are as in the result of :func:`geqrf`: the vectors of the reflections are below the
    diagonal of ``x``, and their factors are ``tau``.
    """
    return x


@declare(_LINALG)
def geqrf(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute the QR decomposition in the format of LAPACK.

    In the first result, R is on and above the diagonal, and the Householder vectors are below it. The
    second result has their factors.
    """
    return x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), x.dtype)


@declare(_LINALG)
def ormqr(
    x: ArraySpec, tau: ArraySpec, x2: ArraySpec, /, *, left: bool = True, transpose: bool = False
) -> ArraySpec:
    """Multiply ``x2`` by the full Q of ``geqrf``, or by its adjoint, from the left or the right.

    ``x`` and ``tau`` are the results of ``geqrf``. The product is ``Q @ x2``, or ``x2 @ Q`` with
    ``left=False``; ``transpose`` selects the adjoint of Q.
    """
    return x2


@declare(_LINALG)
def cond(x: ArraySpec, /, *, ord: Any = 2) -> ArraySpec:
    """Compute the condition number of the matrices in the last two axes for the norm ``ord``.

    For 2 it is the ratio of the largest to the smallest singular value, for -2 the inverse of that ratio, and
    otherwise the norm of the matrix times that of its inverse.
    """
    return ArraySpec(x.shape[:-2], real_of(x.dtype))


# -------------------------------------------------------------------------------------------------- solutions
@declare(_LINALG)
def solve_triangular(
    x1: ArraySpec,
    x2: ArraySpec,
    /,
    *,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> ArraySpec:
    """Solve ``x1 @ x == x2`` for triangular ``x1``; leading axes broadcast.

    With ``left=False`` it solves ``x @ x1 == x2``. ``upper`` selects the triangle of ``x1`` that is read;
    ``transpose`` then transposes it. With ``unit_diagonal``, its diagonal counts as 1.
    """
    return ArraySpec(broadcast(x1.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(x1, x2))


@declare(_LINALG)
def tridiagonal_solve(lower: ArraySpec, diagonal: ArraySpec, upper: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Solve ``A @ x == x2`` for tridiagonal ``A``, given by its diagonals.

    ``A[i, i - 1] == lower[i]`` and ``A[i, i + 1] == upper[i]``. All three diagonals have equal length, so
    ``lower[0]`` and the last element of ``upper`` are not used.
    """
    return ArraySpec(x2.shape, dtype_of(lower, diagonal, upper, x2))


@decomposition("tridiagonal_solve")
def _tridiagonal_solve(b: Any, lower: Any, diagonal: Any, upper: Any, x2: Any) -> Any:
    rest = ((None, None, 1),) * (diagonal.ndim - 1)
    below = b.diag_embed(b.getitem(lower, key=(*rest, (1, None, 1))), offset=-1)
    above = b.diag_embed(b.getitem(upper, key=(*rest, (None, -1, 1))), offset=1)
    return b.solve(b.add(b.add(below, b.diag_embed(diagonal)), above), x2)


@declare(_LINALG)
def cholesky_solve(x1: ArraySpec, x2: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Solve ``A @ x == x2``, given the Cholesky factor ``x1`` of A; leading axes broadcast.

    The factor is lower triangular, or upper triangular with ``upper``.
    """
    return ArraySpec(broadcast(x1.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(x1, x2))


@declare(_LINALG)
def cholesky_inverse(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the inverse of the matrix whose Cholesky factor is ``x``.

    The factor is lower triangular, or upper triangular with ``upper``.
    """
    return x


@declare(_LINALG)
def lstsq(x1: ArraySpec, x2: ArraySpec, /, *, rcond: float | None = None) -> tuple[ArraySpec, ArraySpec]:
    """Compute the minimum-norm least-squares solution of ``x1 @ x == x2``, and the rank of ``x1``.

    Singular values up to ``rcond`` times the largest count as zero. If ``rcond`` is None, it is ``max(M, N) *
    eps`` for an M x N matrix ``x1`` and the machine epsilon of its dtype.
    """
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    return ArraySpec((*batch, x1.shape[-1], x2.shape[-1]), dtype_of(x1, x2)), ArraySpec(
        x1.shape[:-2], "int64"
    )


@declare(_LINALG)
def tensorsolve(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Solve ``tensordot(x1, x, x.ndim) == x2``.

    The leading axes of ``x1``, as many as ``x2`` has, are the rows of the equations.
    """
    return ArraySpec(x1.shape[x2.ndim :], dtype_of(x1, x2))


@declare(_LINALG)
def tensorinv(x: ArraySpec, /, *, ind: int = 2) -> ArraySpec:
    """Compute the inverse for ``tensordot``: the first ``ind`` axes are the rows, the others the columns.

    The other axes come first in the result.
    """
    return ArraySpec(x.shape[ind:] + x.shape[:ind], x.dtype)


# --------------------------------------------------------------------------------------------- decompositions
@declare(_LINALG)
def eig(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute complex eigenvalues and eigenvectors of a square matrix, in no particular order.

    Eigenvector ``i`` is column ``i`` of the second result.
    """
    return eigvals(x), ArraySpec(x.shape, complex_of(x.dtype))


@declare(_LINALG)
def eigvals(x: ArraySpec, /) -> ArraySpec:
    """Compute the complex eigenvalues of a square matrix, in no particular order."""
    return ArraySpec(x.shape[:-1], complex_of(x.dtype))


@declare(_LINALG)
def cholesky_ex(x: ArraySpec, /, *, upper: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Compute ``cholesky``, and the order of the first leading minor that is not positive.

    The order is int32, and 0 if all minors are positive. If a matrix has no factor, the first result is
    unspecified.
    """
    return x, ArraySpec(x.shape[:-2], "int32")


@declare(_LINALG)
def lu(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Compute P, L, U with ``P @ L @ U == x``: a permutation, a unit lower and an upper triangular matrix."""
    return lu_unpack(x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), "int32"))


@declare(_LINALG)
def lu_factor(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute L and U in one matrix, and the pivots as in LAPACK.

    The pivots are int32: element ``i`` is the row, counted from 1, that row ``i`` was swapped with.
    """
    return x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), "int32")


@declare(_LINALG)
def lu_unpack(lu: ArraySpec, pivots: ArraySpec, /) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Return P, L and U from the results of ``lu_factor``: ``P @ L @ U`` is the factorised matrix."""
    batch, rows, columns = lu.shape[:-2], lu.shape[-2], lu.shape[-1]
    inner = least(rows, columns)
    shapes = ((rows, rows), (rows, inner), (inner, columns))
    return tuple(ArraySpec((*batch, *shape), lu.dtype) for shape in shapes)  # type: ignore[return-value]


@declare(_LINALG)
def lu_solve(
    lu: ArraySpec, pivots: ArraySpec, x2: ArraySpec, /, *, left: bool = True, adjoint: bool = False
) -> ArraySpec:
    """Solve ``A @ x == x2``, given the ``lu_factor`` of A.

    ``lu`` and ``pivots`` are the results of ``lu_factor``. With ``left=False`` it solves ``x @ A == x2``.
    ``adjoint`` uses the adjoint of A instead of A.
    """
    return ArraySpec(broadcast(lu.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(lu, x2))


# ----------------------------------------------------------------------------------------- Fourier transforms
# ``norm`` selects the direction that is divided by the number of points: "backward" or "forward". With
# "ortho", both directions are divided by its square root.

_FFT = "fft"
Sizes = tuple[Dim, ...] | None


def _resized(x: ArraySpec, sizes: Sizes, axes: tuple[int, ...], last: Any = None) -> tuple[Dim, ...]:
    shape = list(x.shape)
    for axis, size in zip(axes, sizes or ()):
        shape[axis] = size
    if last is not None:
        shape[axes[-1]] = last
    return tuple(shape)


def _one(x: ArraySpec, n: Dim | None, axis: int) -> Any:
    return x.shape[axis] if n is None else n


@declare(_FFT)
def fft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the discrete Fourier transform along ``axis``.

    ``x`` is truncated or zero-padded to ``n`` elements, unless ``n`` is None. ``norm`` is that of
    ``numpy.fft``.
    """
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_FFT)
def ifft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``fft``; parameters as in ``fft``."""
    return fftn(x, s=None if n is None else (n,), axes=(axis,))


@declare(_FFT)
def fftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the discrete Fourier transform over ``axes``.

    ``x`` is truncated or zero-padded to the sizes ``s`` of these axes, unless ``s`` is None. ``norm`` is that
    of ``numpy.fft``.
    """
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_FFT)
def ifftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``fftn``; parameters as in ``fftn``."""
    return ArraySpec(_resized(x, s, axes), complex_of(x.dtype))


@declare(_FFT)
def rfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the Fourier transform of real ``x`` along ``axis``, up to frequency ``n // 2``.

    ``x`` is truncated or zero-padded to ``n`` elements; None means the size of ``axis``. ``norm`` is that of
    ``numpy.fft``.
    """
    return ArraySpec(_resized(x, None, (axis,), _one(x, n, axis) // 2 + 1), complex_of(x.dtype))


@declare(_FFT)
def irfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``rfft``, with ``n`` real elements along ``axis``.

    If ``n`` is None, it is ``2 * (m - 1)`` for ``m`` frequencies. ``norm`` is that of ``numpy.fft``.
    """
    return ArraySpec(
        _resized(x, None, (axis,), 2 * (x.shape[axis] - 1) if n is None else n), real_of(x.dtype)
    )


@declare(_FFT)
def rfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute ``rfft`` along the last of ``axes`` and ``fft`` along the others.

    ``s`` and ``norm`` are as in ``fftn``.
    """
    last = _one(x, s[-1] if s else None, axes[-1]) // 2 + 1
    return ArraySpec(_resized(x, s, axes, last), complex_of(x.dtype))


@declare(_FFT)
def irfftn(x: ArraySpec, /, *, s: Sizes = None, axes: tuple[int, ...], norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``rfftn``, with the sizes ``s`` of ``axes``.

    If ``s`` is None, the last size is ``2 * (m - 1)`` for ``m`` frequencies. ``norm`` is that of
    ``numpy.fft``.
    """
    last = s[-1] if s else 2 * (x.shape[axes[-1]] - 1)
    return ArraySpec(_resized(x, s, axes, last), real_of(x.dtype))


@declare(_FFT)
def hfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the real Fourier transform of a Hermitian-symmetric signal, given its first half.

    The result has ``n`` elements along ``axis``, or ``2 * (m - 1)`` for ``m`` given ones if ``n`` is None.
    ``norm`` is that of ``numpy.fft``.
    """
    return irfft(x, n=n, axis=axis)


@declare(_FFT)
def ihfft(x: ArraySpec, /, *, n: Dim | None = None, axis: int = -1, norm: str = "backward") -> ArraySpec:
    """Compute the inverse of ``hfft`` for real ``x``: ``n // 2 + 1`` elements along ``axis``.

    ``x`` is truncated or zero-padded to ``n`` elements; None means the size of ``axis``. ``norm`` is that of
    ``numpy.fft``.
    """
    return rfft(x, n=n, axis=axis)


@declare(_FFT)
def fftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """Return the frequencies of the outputs of ``fft`` with ``n`` points, for a sample spacing of ``d``.

    They are in cycles per unit of ``d``, as in ``numpy.fft.fftfreq``.
    """
    return ArraySpec((n,), dtype)


@declare(_FFT)
def rfftfreq(*, n: Dim, d: float = 1.0, dtype: str = "float32") -> ArraySpec:
    """Return the frequencies of the outputs of ``rfft`` with ``n`` points, for a sample spacing of ``d``.

    They are in cycles per unit of ``d``, as in ``numpy.fft.rfftfreq``.
    """
    return ArraySpec((n // 2 + 1,), dtype)


@declare(_FFT)
def fftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Move frequency zero from the front to the middle of each of ``axes``."""
    return x


@declare(_FFT)
def ifftshift(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Move frequency zero from the middle to the front of each of ``axes``."""
    return x


# ---------------------------------------------------------------------------------------------------- signals
@declare(_FFT)
def stft(
    x: ArraySpec,
    window: ArraySpec | None = None,
    /,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
) -> ArraySpec:
    """Compute the short-time Fourier transform along the last axis: [frequencies, frames].

    A frame has ``n_fft`` elements, and begins ``hop_length`` elements after the one before. It is multiplied
    by ``window``, unless that is None; a shorter window is centred in it. ``center`` pads ``x`` by
    ``n_fft // 2`` elements on both sides, in ``pad_mode``. ``normalized`` divides by ``sqrt(n_fft)``.
    ``onesided`` omits the negative frequencies.
    """
    size = x.shape[-1] + (2 * (n_fft // 2) if center else 0)
    frequencies = n_fft // 2 + 1 if onesided else n_fft
    return ArraySpec((*x.shape[:-1], frequencies, (size - n_fft) // hop_length + 1), complex_of(x.dtype))


@declare(_FFT)
def istft(
    x: ArraySpec,
    window: ArraySpec | None = None,
    /,
    *,
    n_fft: int,
    hop_length: int,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: Dim | None = None,
    as_complex: bool = False,
) -> ArraySpec:
    """Compute the inverse of ``stft`` by overlap-add, divided by the sum of squared windows.

    The other parameters are those of the ``stft``. The result is real unless ``as_complex``. It has
    ``length`` elements, unless that is None; those after the end of the last frame are 0. With ``center`` and
    no ``length``, ``n_fft // 2`` elements are removed on both sides.
    """
    whole = n_fft + hop_length * (x.shape[-1] - 1) - (2 * (n_fft // 2) if center else 0)
    return ArraySpec(
        (*x.shape[:-2], whole if length is None else length), x.dtype if as_complex else real_of(x.dtype)
    )
