"""Determinants, inverses, solvers and matrix decompositions; collectives and backward kernels."""

from __future__ import annotations

import math
from typing import Any

import torch

from ....ir import Value
from ....ops.collectives import COLLECTIVES, KERNELS
from ....ops.dtypes import real_of
from ....sizes import apply, hint_of, hints
from ...common.input_checks import condition_number, nuclear_condition_number
from ...common.lifter import lift_collective
from ..basics.tensors import torch_dtype
from .manipulation import adjoint, matrix_transpose, select_scatter, slice_scatter
from .table import TorchBuilder, axis, rows


@rows.row("select_backward")
def select_backward(b: TorchBuilder, grad_output: Any, input_sizes: Any, dim: int, index: Any) -> Any:
    return select_scatter(b, _zeros(b, grad_output, input_sizes), grad_output, dim, index)


@rows.row("slice_backward")
def slice_backward(
    b: TorchBuilder, grad_output: Any, input_sizes: Any, dim: int, start: Any, end: Any, step: Any
) -> Any:
    return slice_scatter(b, _zeros(b, grad_output, input_sizes), grad_output, dim, start, end, step)


def _zeros(b: TorchBuilder, gradient: Any, sizes: Any) -> Any:
    return b.zeros(shape=tuple(sizes), dtype=gradient.dtype)


# The call returns ``value``. Taking a gradient of it raises ``message``.
rows.table(
    {
        "refuse_gradient": lambda b, value, sources, message, memory="own": b.refuse_gradient(
            value, *sources, message=message
        )
    }
)


def _row(key: str) -> None:
    name = key.removesuffix("_kernel")

    @rows.row(key)
    def row(b: TorchBuilder, *operands: Any) -> Any:
        return lift_collective(b, name, *operands[:-1], axis_name=operands[-1])


for _key in (*COLLECTIVES, *KERNELS):
    _row(_key)


@rows.row("sharding_hint")
def sharding_hint(b: TorchBuilder, x: Any, layout: str) -> Any:
    return b.sharding_hint(
        x, layout=tuple(tuple(names.split("+")) if names else None for names in layout.split(","))
    )


def _status(b: TorchBuilder, A: Any) -> Any:
    # Guards on the elements exclude matrices for which the status is not 0.
    return b.zeros(shape=A.shape[:-2], dtype="int32")


# ---------------------------------------------------------------------------------- determinants and inverses
def _tolerances(b: TorchBuilder, A: Any, rtol: Any, atol: Any) -> tuple[Any, Any]:
    """Return the tolerances of a rank as canonical operations take them: the relative and the absolute one.

    torch's default of the relative one is ``max(m, n) * eps``, or 0 with a positive absolute one.
    """
    if not isinstance(atol, Value):
        return rtol, None if atol is not None and atol <= 0 else atol
    if rtol is None:
        relative = apply("max", *A.shape[-2:]) * torch.finfo(torch_dtype(A.dtype)).eps
        rtol = b.where(b.greater(atol, 0), 0.0, b.array(relative, real_of(A.dtype)))
    return rtol, atol


rows.table({
    ("det", "linalg_det"): lambda b, A: b.det(A),
    ("slogdet", "linalg_slogdet"): lambda b, A: b.slogdet(A),
    "_linalg_det": lambda b, A: (b.det(A), *b.lu_factor(A)),
    "_linalg_slogdet": lambda b, A: (*b.slogdet(A), *b.lu_factor(A)),
    ("inverse", "linalg_inv"): lambda b, A: b.inv(A),
    "pinverse": lambda b, input, rcond=1e-15: b.pinv(input, rcond),
    "linalg_pinv": lambda b, A, rcond=None, hermitian=False, *, atol=None, rtol=None: b.pinv(
        A, *_tolerances(b, A, rcond if rtol is None else rtol, atol), hermitian=bool(hermitian)
    ),
})  # fmt: skip


@rows.row("logdet")
def logdet(b: TorchBuilder, input: Any) -> Any:
    sign, logarithm = b.slogdet(input)
    if "complex" in input.dtype:
        return b.add(b.log(sign), b.astype(logarithm, dtype=input.dtype))
    return b.where(b.less(sign, 0.0), math.nan, logarithm)


@rows.row("linalg_inv_ex")
def linalg_inv_ex(b: TorchBuilder, A: Any, *, check_errors: bool = False) -> Any:
    if check_errors:
        return aten_inv_ex(b, A)
    # torch leaves the inverse of a singular matrix undefined. Here it is NaN.
    regular, status, fails = _regular(b, A)
    return b.where(fails, math.nan, b.inv(regular)), status


@rows.row("aten.linalg_inv_ex")
def aten_inv_ex(b: TorchBuilder, A: Any, *, check_errors: bool = False) -> Any:
    return b.inv(A), _status(b, A)


def _regular(b: TorchBuilder, A: Any) -> tuple[Any, Any, Any]:
    """Return ``A`` with some matrices replaced by identities, LAPACK's status, and a mask of those replaced.

    Some targets raise for a singular matrix.
    """
    factors = b.lu_factor(A)[0]
    status = _lu_status(b, factors)
    is_broken = b.logical_or(b.not_equal(status, 0), b.logical_not(b.all(b.isfinite(factors), axis=(-2, -1))))
    fails = b.reshape(is_broken, shape=(*is_broken.shape, 1, 1))
    return b.where(fails, b.eye(n_rows=A.shape[-1], n_cols=A.shape[-1], dtype=A.dtype), A), status, fails


@rows.row("linalg_matrix_rank")
def linalg_matrix_rank(
    b: TorchBuilder, A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    rtol, atol = (rtol, tol) if atol is None else _tolerances(b, A, rtol, atol)
    return b.matrix_rank(A, rtol, atol, hermitian=bool(hermitian))


@rows.row("linalg_cond")
def linalg_cond(b: TorchBuilder, A: Any, p: Any = None) -> Any:
    order = 2 if p is None else p if isinstance(p, str) or math.isinf(p) else int(p)
    return nuclear_condition_number(b, A) if order == "nuc" else condition_number(b, A, order)


# ---------------------------------------------------------------------------------------------- solutions
def _is_vectors(b: TorchBuilder, A: Any, B: Any) -> bool:
    """Return True if torch takes ``B`` for vectors instead of matrices. Guard on the sizes that decide."""
    if B.ndim == 1:
        return True
    if B.ndim != A.ndim - 1:
        return False
    for left, right in zip(B.shape, A.shape[:-1], strict=True):
        if hint_of(left) != hint_of(right):
            b.guard(apply("ne", left, right))
            return False
    for left, right in zip(B.shape, A.shape[:-1], strict=True):
        b.guard(apply("eq", left, right))
    return True


def _solved(b: TorchBuilder, A: Any, B: Any, left: bool) -> Any:
    if _is_vectors(b, A, B):
        if A.ndim == 2 and left:
            return b.solve(A, B)
        column = b.reshape(B, shape=(*B.shape, 1))
        solution = b.solve(A if left else matrix_transpose(b, A), column)
        return b.reshape(solution, shape=solution.shape[:-1])
    if left:
        return b.solve(A, B)
    return matrix_transpose(b, b.solve(matrix_transpose(b, A), matrix_transpose(b, B)))


rows.table({
    "linalg_solve": lambda b, A, B, *, left=True: _solved(b, A, B, left),
    "_linalg_solve_ex": lambda b, A, B, *, left=True, check_errors=False:
        (_solved(b, A, B, left), *b.lu_factor(A), _status(b, A)),
    "linalg_solve_triangular": lambda b, A, B, *, upper, left=True, unitriangular=False: b.solve_triangular(
        *b.promote(A, B), upper=bool(upper), left=bool(left), unit_diagonal=bool(unitriangular)
    ),
    "linalg_tensorinv": lambda b, A, ind=2: b.tensorinv(A, ind=ind),
})  # fmt: skip


@rows.row("linalg_solve_ex")
def linalg_solve_ex(b: TorchBuilder, A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    if check_errors:
        return _solved(b, A, B, left), _status(b, A)
    regular, status, fails = _regular(b, A)
    solution = _solved(b, regular, B, left)
    return b.where(
        fails if solution.ndim >= fails.ndim else b.reshape(fails, shape=fails.shape[:-1]), math.nan, solution
    ), status


@rows.row("triangular_solve")
def triangular_solve(
    b: TorchBuilder,
    input: Any,
    A: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    solution = b.solve_triangular(
        A, input, upper=bool(upper), transpose=bool(transpose), unit_diagonal=bool(unitriangular)
    )
    return solution, b.broadcast_to(A, shape=(*solution.shape[:-2], *A.shape[-2:]))


@rows.row("linalg_tensorsolve")
def linalg_tensorsolve(b: TorchBuilder, A: Any, B: Any, dims: Any = None) -> Any:
    # torch moves the axes ``dims`` of ``A`` to the end first.
    if dims:
        moved = tuple(axis(dim, A.ndim) for dim in dims)
        A = b.permute_dims(A, axes=(*(i for i in range(A.ndim) if i not in moved), *moved))
    return b.tensorsolve(A, B)


# ---------------------------------------------------------------------------------------------- Cholesky
rows.table({
    "cholesky": lambda b, input, upper=False: b.cholesky(input, upper=bool(upper)),
    "linalg_cholesky": lambda b, A, *, upper=False: b.cholesky(A, upper=bool(upper)),
    # torch passes the right-hand side first, the canonical operation the factor.
    "cholesky_solve": lambda b, input, input2, upper=False:
        b.cholesky_solve(input2, input, upper=bool(upper)),
    "cholesky_inverse": lambda b, input, upper=False: b.cholesky_inverse(input, upper=bool(upper)),
})  # fmt: skip


@rows.row("linalg_cholesky_ex")
def linalg_cholesky_ex(b: TorchBuilder, A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    if check_errors:
        return aten_cholesky_ex(b, A, upper=upper)
    return b.cholesky_ex(A, upper=bool(upper))


@rows.row("aten.linalg_cholesky_ex")
def aten_cholesky_ex(b: TorchBuilder, A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    return b.cholesky(A, upper=bool(upper)), _status(b, A)


# ---------------------------------------------------------------------------------------------- QR
@rows.row("linalg_qr")
def linalg_qr(b: TorchBuilder, A: Any, mode: str = "reduced") -> Any:
    q, r = b.qr(A, mode="reduced" if mode == "r" else mode)
    return (b.zeros(shape=(0,), dtype=A.dtype) if mode == "r" else q), r


rows.table({
    "qr": lambda b, input, some=True: b.qr(input, mode="reduced" if some else "complete"),
    ("linalg_householder_product", "orgqr"): lambda b, input, tau: b.householder_product(input, tau),
    "geqrf": lambda b, input: b.geqrf(input),
    "ormqr": lambda b, input, tau, other, left=True, transpose=False: b.ormqr(
        input, tau, other, left=bool(left), transpose=bool(transpose)
    ),
})  # fmt: skip


# ----------------------------------------------------------------------------------------- values and vectors
rows.table({
    "linalg_svd": lambda b, A, full_matrices=True, *, driver=None:
        b.svd(A, full_matrices=bool(full_matrices)),
    "linalg_svdvals": lambda b, A, *, driver=None: b.svdvals(A),
    "linalg_eig": lambda b, A: b.eig(A),
    ("linalg_eigvals", "_linalg_eigvals"): lambda b, A: b.eigvals(A),
})  # fmt: skip


@rows.row("_linalg_svd")
def aten_svd(
    b: TorchBuilder, A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: Any = None
) -> Any:
    if compute_uv:
        return b.svd(A, full_matrices=bool(full_matrices))
    nothing = b.zeros(shape=(0,), dtype=A.dtype)
    return nothing, b.svdvals(A), nothing


@rows.row("svd")
def svd(b: TorchBuilder, input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        rows_count, columns = input.shape[-2:]
        empty = [
            b.zeros(shape=(*input.shape[:-2], size, size), dtype=input.dtype)
            for size in (rows_count, columns)
        ]
        return empty[0], b.svdvals(input), empty[1]
    # ``torch.svd`` returns V, not its adjoint.
    u, s, vh = b.svd(input, full_matrices=not some)
    return u, s, adjoint(b, vh)


@rows.row("linalg_eigh")
def linalg_eigh(b: TorchBuilder, A: Any, UPLO: str = "L") -> Any:
    # torch accepts the letter in either case.
    return b.eigh(A, upper=UPLO.upper() == "U")


@rows.row("_linalg_eigh")
def aten_eigh(b: TorchBuilder, A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    if compute_v:
        return linalg_eigh(b, A, UPLO)
    return linalg_eigvalsh(b, A, UPLO), b.zeros(shape=(0,), dtype=A.dtype)


@rows.row("linalg_eigvalsh")
def linalg_eigvalsh(b: TorchBuilder, A: Any, UPLO: str = "L") -> Any:
    return b.eigvalsh(A, upper=UPLO.upper() == "U")


# ---------------------------------------------------------------------------------------------- LU
def _need_pivoting(pivot: bool) -> None:
    if not pivot:
        raise NotImplementedError("LU decomposition without pivoting")


@rows.row("linalg_lu")
def linalg_lu(b: TorchBuilder, A: Any, *, pivot: bool = True) -> Any:
    _need_pivoting(pivot)
    return b.lu(A)


@rows.row("linalg_lu_factor")
def linalg_lu_factor(b: TorchBuilder, A: Any, *, pivot: bool = True) -> Any:
    _need_pivoting(pivot)
    factors, pivots = b.lu_factor(A)
    # Unlike ``linalg.lu_factor_ex``, torch raises for a singular matrix here.
    b.expect(b.all(b.not_equal(_lu_diagonal(b, factors), 0)), True)
    return factors, pivots


def _lu_diagonal(b: TorchBuilder, factors: Any) -> Any:
    return b.diagonal(factors)


def _lu_status(b: TorchBuilder, factors: Any) -> Any:
    """Return LAPACK's status for each matrix: the index of the first zero pivot, counted from 1, or 0."""
    is_zero = b.equal(_lu_diagonal(b, factors), 0)
    before = b.cumulative_prod(
        b.astype(b.logical_not(is_zero), dtype="int32"), axis=is_zero.ndim - 1, dtype="int32"
    )
    return b.where(b.any(is_zero, axis=-1), b.add(b.sum(before, axis=-1, dtype="int32"), 1), 0)


@rows.row("linalg_lu_factor_ex", "_lu_with_info")
def linalg_lu_factor_ex(b: TorchBuilder, A: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    _need_pivoting(pivot)
    factors, pivots = linalg_lu_factor(b, A) if check_errors else b.lu_factor(A)
    return factors, pivots, _lu_status(b, factors)


rows.table({
    # Unlike ``linalg.lu_factor``, ``torch.lu`` accepts singular matrices.
    "lu": lambda b, A, pivot=True, get_infos=False, out=None:
        linalg_lu_factor_ex(b, A, pivot)[: 3 if get_infos else 2],
    # torch's name for the right-hand side is ``b``, so the builder has another name.
    "lu_solve": lambda build, b, LU_data, LU_pivots: build.lu_solve(LU_data, LU_pivots, b),
    "linalg_lu_solve": lambda b, LU, pivots, B, *, left=True, adjoint=False: b.lu_solve(
        LU, pivots, B, left=bool(left), adjoint=bool(adjoint)
    ),
})  # fmt: skip


@rows.row("lu_unpack")
def lu_unpack(
    b: TorchBuilder, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    # For another number of pivots torch may read out of bounds.
    if hint_of(LU_pivots.shape[-1]) != min(hints(LU_data.shape[-2:])):
        raise NotImplementedError("lu_unpack with another number of pivots than steps of the elimination")
    p, lower, upper = b.lu_unpack(LU_data, LU_pivots)
    nothing = b.zeros(shape=(0,), dtype=LU_data.dtype)
    return (
        p if unpack_pivots else nothing,
        lower if unpack_data else nothing,
        upper if unpack_data else nothing,
    )
