"""Linear algebra beyond the array API standard, in the field's usual names."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..errors import InvalidGraph
from .array_api.linear_algebra import least
from .dtypes import complex_of, real_of
from .registry import ArraySpec, Unknown, declare, decomposition
from .rules import broadcast, broadcast_dims, dtype_of

_SECTION = "linalg"


# ---------------------------------------------------------------------------------------------- products
@declare(_SECTION)
def einsum(*arrays: ArraySpec, equation: str) -> ArraySpec:
    """Compute the sum of products that ``equation`` defines, such as ``"bij,bjk->bik"``.

    It consists of letters, ``...`` and an explicit result.
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


@declare(_SECTION)
def inner(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Contract the last axes of ``x1`` and ``x2``, without conjugation.

    The other axes of ``x1``, then those of ``x2``, remain.
    """
    return ArraySpec(x1.shape[:-1] + x2.shape[:-1], dtype_of(x1, x2))


@decomposition("inner")
def _inner(b: Any, x1: Any, x2: Any) -> Any:
    return b.tensordot(x1, x2, axes=((x1.ndim - 1,), (x2.ndim - 1,)))


@declare(_SECTION)
def kron(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute the Kronecker product: blocks of ``x2`` scaled by the elements of ``x1``."""
    rank = max(x1.ndim, x2.ndim)
    left, right = ((1,) * (rank - x.ndim) + x.shape for x in (x1, x2))
    return ArraySpec(tuple(a * b for a, b in zip(left, right, strict=True)), dtype_of(x1, x2))


@declare(_SECTION)
def multi_dot(*arrays: ArraySpec) -> ArraySpec:
    """Multiply two or more matrices in the cheapest order; the first and the last may be vectors."""
    first, last = arrays[0], arrays[-1]
    return ArraySpec(first.shape[:-1] + last.shape[1:], dtype_of(*arrays))


@decomposition("multi_dot")
def _multi_dot(b: Any, *arrays: Any) -> Any:
    # The cheapest order only saves time, so a target without the function multiplies from left to right.
    return reduce(b.matmul, arrays)


@declare(_SECTION)
def matrix_exp(x: ArraySpec, /) -> ArraySpec:
    """Compute the matrix exponential."""
    return x


@declare(_SECTION)
def householder_product(x: ArraySpec, tau: ArraySpec, /) -> ArraySpec:
    """Compute the first columns of the product of Householder reflections, as many as ``x`` has.

    The vectors of the reflections are below the diagonal of ``x``, their factors are ``tau``.
    """
    return x


@declare(_SECTION)
def geqrf(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute the QR decomposition in the format of LAPACK.

    In the first result, R is on and above the diagonal, and the Householder vectors are below it. The
    second result has their factors.
    """
    return x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), x.dtype)


@declare(_SECTION)
def ormqr(
    x: ArraySpec, tau: ArraySpec, x2: ArraySpec, /, *, left: bool = True, transpose: bool = False
) -> ArraySpec:
    """Multiply ``x2`` by the full Q of ``geqrf``, or by its adjoint, from the left or the right."""
    return x2


@declare(_SECTION)
def cond(x: ArraySpec, /, *, ord: Any = 2) -> ArraySpec:
    """Compute the condition number: the matrix norm ``ord`` times that of the inverse.

    For 2 and -2 it is computed from the singular values.
    """
    return ArraySpec(x.shape[:-2], real_of(x.dtype))


# ---------------------------------------------------------------------------------------------- solutions
@declare(_SECTION)
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

    With ``left=False`` it solves ``x @ x1 == x2``; ``transpose`` transposes ``x1``.
    """
    return ArraySpec(broadcast(x1.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(x1, x2))


@declare(_SECTION)
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


@declare(_SECTION)
def cholesky_solve(x1: ArraySpec, x2: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Solve ``A @ x == x2``, given the Cholesky factor ``x1`` of A; leading axes broadcast."""
    return ArraySpec(broadcast(x1.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(x1, x2))


@declare(_SECTION)
def cholesky_inverse(x: ArraySpec, /, *, upper: bool = False) -> ArraySpec:
    """Compute the inverse of the matrix whose Cholesky factor is ``x``."""
    return x


@declare(_SECTION)
def lstsq(x1: ArraySpec, x2: ArraySpec, /, *, rcond: float | None = None) -> tuple[ArraySpec, ArraySpec]:
    """Compute the minimum-norm least-squares solution of ``x1 @ x == x2``, and the rank of ``x1``.

    Singular values up to ``rcond`` times the largest count as zero. None means ``max(M, N) * eps``.
    """
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    return ArraySpec((*batch, x1.shape[-1], x2.shape[-1]), dtype_of(x1, x2)), ArraySpec(
        x1.shape[:-2], "int64"
    )


@declare(_SECTION)
def tensorsolve(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Solve ``tensordot(x1, x, x.ndim) == x2``.

    The leading axes of ``x1``, as many as ``x2`` has, are the rows of the equations.
    """
    return ArraySpec(x1.shape[x2.ndim :], dtype_of(x1, x2))


@declare(_SECTION)
def tensorinv(x: ArraySpec, /, *, ind: int = 2) -> ArraySpec:
    """Compute the inverse for ``tensordot``: the first ``ind`` axes are the rows, the others the columns."""
    return ArraySpec(x.shape[ind:] + x.shape[:ind], x.dtype)


# --------------------------------------------------------------------------------------------- decompositions
@declare(_SECTION)
def eig(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute complex eigenvalues and eigenvectors of a square matrix, in no particular order."""
    return eigvals(x), ArraySpec(x.shape, complex_of(x.dtype))


@declare(_SECTION)
def eigvals(x: ArraySpec, /) -> ArraySpec:
    """Compute the complex eigenvalues of a square matrix, in no particular order."""
    return ArraySpec(x.shape[:-1], complex_of(x.dtype))


@declare(_SECTION)
def cholesky_ex(x: ArraySpec, /, *, upper: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """Compute ``cholesky``, and the order of the first leading minor that is not positive.

    The order is int32, and 0 if all minors are positive. If a matrix has no factor, the first result is
    unspecified: NaN, or what the target returns.
    """
    return x, ArraySpec(x.shape[:-2], "int32")


@declare(_SECTION)
def lu(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Compute P, L, U with ``P @ L @ U == x``: a permutation, a unit lower and an upper triangular matrix."""
    return lu_unpack(x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), "int32"))


@declare(_SECTION)
def lu_factor(x: ArraySpec, /) -> tuple[ArraySpec, ArraySpec]:
    """Compute L and U in one matrix, and the pivots as in LAPACK.

    The pivots are int32: element ``i`` is the row, counted from 1, that row ``i`` was swapped with.
    """
    return x, ArraySpec((*x.shape[:-2], least(x.shape[-2], x.shape[-1])), "int32")


@declare(_SECTION)
def lu_unpack(lu: ArraySpec, pivots: ArraySpec, /) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """Return P, L and U from the results of ``lu_factor``."""
    batch, rows, columns = lu.shape[:-2], lu.shape[-2], lu.shape[-1]
    inner = least(rows, columns)
    shapes = ((rows, rows), (rows, inner), (inner, columns))
    return tuple(ArraySpec((*batch, *shape), lu.dtype) for shape in shapes)  # type: ignore[return-value]


@declare(_SECTION)
def lu_solve(
    lu: ArraySpec, pivots: ArraySpec, x2: ArraySpec, /, *, left: bool = True, adjoint: bool = False
) -> ArraySpec:
    """Solve ``A @ x == x2``, given the ``lu_factor`` of A.

    With ``left=False`` it solves ``x @ A == x2``; ``adjoint`` uses the adjoint of A.
    """
    return ArraySpec(broadcast(lu.shape[:-2], x2.shape[:-2]) + x2.shape[-2:], dtype_of(lu, x2))
