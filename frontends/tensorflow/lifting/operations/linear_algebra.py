"""Products and decompositions of matrices."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from .....ops.dtypes import is_complex
from .....sizes import apply, hint_of
from ....slicing import along, cut
from ..table import TensorFlowBuilder, rows


def _turned(b: TensorFlowBuilder, x: Value, transposed: Any, adjoint: Any = False) -> Any:
    """A matrix, its transpose or its adjoint."""
    if not transposed and not adjoint:
        return x
    x = b.conj(x) if adjoint and is_complex(x.dtype) else x
    return b.permute_dims(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _adjoint(b: TensorFlowBuilder, x: Value) -> Any:
    return _turned(b, x, False, True)


@rows.row("MatMul")
def matmul(b: TensorFlowBuilder, a: Any, b_: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any) -> Any:
    """The product of two matrices, each perhaps transposed."""
    return b.matmul(_turned(b, a, transpose_a), _turned(b, b_, transpose_b))


@rows.row("SparseMatMul")
def sparse_matmul(b: TensorFlowBuilder, a: Any, b_: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any) -> Any:
    """The product of two matrices that hold many zeros, in float32."""
    a, b_ = (b.astype(item, dtype="float32") for item in (a, b_))
    return matmul(b, a, b_, transpose_a=transpose_a, transpose_b=transpose_b)


@rows.row("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(b: TensorFlowBuilder, x: Any, y: Any, *, adj_x: bool = False, adj_y: bool = False, **_: Any) -> Any:
    """Products of matrices, each perhaps the adjoint, with axes of batch that broadcast."""
    return b.matmul(*(b.astype(item, dtype=b.result.dtype) for item in (_turned(b, x, False, adj_x), _turned(b, y, False, adj_y))))


@rows.row("Einsum")
def einsum(b: TensorFlowBuilder, inputs: Any, *, equation: str, **_: Any) -> Any:
    """The sum of products that an equation says."""
    labels, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow:
        letters = sorted({letter for letter in labels if letter.isalpha() and labels.count(letter) == 1})
        result = ("..." if "..." in labels else "") + "".join(letters)
    return b.einsum(*b.arrays(*inputs), equation=f"{labels}->{result}")


rows.table({"Cross": lambda b, a, b_, **_: b.cross(a, b_, axis=-1)})  # of vectors of three along the last axis


# ------------------------------------------------------------------------------------- decompositions
rows.table({
    "Cholesky": lambda b, input, **_: b.cholesky(input),  # the lower factor
    "Qr": lambda b, input, *, full_matrices=False, **_: b.qr(input, mode="complete" if full_matrices else "reduced"),  # Q and R
    # the inverse of a matrix or of its adjoint
    "MatrixInverse": lambda b, input, *, adjoint=False, **_: b.inv(_turned(b, input, False, adjoint)),
    "MatrixDeterminant": lambda b, input, **_: b.det(input),  # the determinant
    # the solution of linear equations
    "MatrixSolve": lambda b, matrix, rhs, *, adjoint=False, **_: b.solve(_turned(b, matrix, False, adjoint), rhs),
})  # fmt: skip


@rows.row("CholeskyGrad")
def cholesky_grad(b: TensorFlowBuilder, l: Any, grad: Any, **_: Any) -> Any:  # noqa: E741
    """The gradient of the factor ``l`` (Murray 2016)."""
    middle = b.tril(b.matmul(_turned(b, l, True), grad))
    half = b.subtract(middle, b.multiply(_diagonal_matrix(b, b.diagonal(middle)), 0.5))
    right = b.solve_triangular(l, half, upper=False, left=True, transpose=True)
    whole = _turned(b, b.solve_triangular(l, _turned(b, right, True), upper=False, left=True, transpose=True), True)
    return b.multiply(b.add(whole, _turned(b, whole, True)), 0.5)


def _diagonal_matrix(b: TensorFlowBuilder, x: Value) -> Any:
    return b.diag_embed(x)


@rows.row("Svd")
def svd(b: TensorFlowBuilder, input: Any, *, compute_uv: bool = True, full_matrices: bool = False, **_: Any) -> Any:
    """Singular values, U and V; both empty where they are not asked for."""
    if not compute_uv:
        return b.svdvals(input), *(b.zeros(shape=spec.hints, dtype=spec.dtype) for spec in b.recorded[1:])
    left, values, right = b.svd(input, full_matrices=bool(full_matrices))
    return values, left, _adjoint(b, right)


@rows.row("SelfAdjointEigV2")
def eigh(b: TensorFlowBuilder, input: Any, *, compute_v: bool = True, **_: Any) -> Any:
    """Eigenvalues, ascending, and eigenvectors, which are empty where they are not asked for."""
    if not compute_v:
        return b.as_result(b.eigvalsh(input)), b.zeros(shape=b.recorded[1].hints, dtype=input.dtype)
    values, vectors = b.eigh(input)
    return b.as_result(values), vectors


@rows.row("Eig")
def eig(b: TensorFlowBuilder, input: Any, *, compute_v: bool = True, **_: Any) -> Any:
    """Complex eigenvalues and eigenvectors."""
    if not compute_v:
        return b.eigvals(input), b.zeros(shape=b.recorded[1].hints, dtype=b.result.dtype)
    return b.eig(input)


@rows.row("Lu")
def lu(b: TensorFlowBuilder, input: Any, *, output_idx_type: Any = "int32", **_: Any) -> Any:
    """L and U in one matrix, and the row of the matrix that each row of them is."""
    packed, pivots = b.lu_factor(input)
    exchange, _, _ = b.lu_unpack(packed, pivots)
    exchange = b.real(exchange) if is_complex(exchange.dtype) else exchange
    return packed, b.astype(b.argmax(exchange, axis=input.ndim - 2), dtype=output_idx_type)


@rows.row("LogMatrixDeterminant")
def log_matrix_determinant(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """The sign and the logarithm of the determinant."""
    sign, logarithm = b.slogdet(input)
    return sign, b.astype(logarithm, dtype=b.recorded[1].dtype)


@rows.row("MatrixSolveLs", static=("l2_regularizer",))
def matrix_solve_ls(b: TensorFlowBuilder, matrix: Any, rhs: Any, l2_regularizer: Any, *, fast: bool = True, **_: Any) -> Any:
    """Least squares by the normal equations, with a weight on the solution, or the solution of least norm."""
    adjoint = _adjoint(b, matrix)
    if not fast:
        return b.matmul(b.pinv(matrix), rhs)
    weight = b.array(l2_regularizer, "float64")
    tall = hint_of(matrix.shape[-2]) >= hint_of(matrix.shape[-1])
    b.guard(apply("ge" if tall else "lt", matrix.shape[-2], matrix.shape[-1]))
    size = matrix.shape[-1 if tall else -2]
    unit = b.multiply(b.eye(n_rows=size, n_cols=size, dtype=matrix.dtype), b.astype(weight, dtype=matrix.dtype))
    if tall:
        return b.solve(b.add(b.matmul(adjoint, matrix), unit), b.matmul(adjoint, rhs))
    return b.matmul(adjoint, b.solve(b.add(b.matmul(matrix, adjoint), unit), rhs))


@rows.row("MatrixTriangularSolve")
def matrix_triangular_solve(b: TensorFlowBuilder, matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False, **_: Any) -> Any:
    """The solution for a triangular matrix."""
    matrix = b.conj(matrix) if adjoint and is_complex(matrix.dtype) else matrix
    return b.solve_triangular(matrix, rhs, upper=not lower, left=True, transpose=bool(adjoint))


@rows.row("BandedTriangularSolve")
def banded_triangular_solve(b: TensorFlowBuilder, matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False, **_: Any) -> Any:
    """The solution for a triangular matrix of which the bands are given as rows."""
    bands, size = b.fix(matrix.shape[-2]), matrix.shape[-1]
    whole: Any = None
    for row in range(bands):
        offset = -row if lower else bands - 1 - row
        band = b.getitem(matrix, key=along(matrix.ndim - 2, row))
        part = cut(b, band, band.ndim - 1, row, None) if lower else cut(b, band, band.ndim - 1, None, size - offset)
        placed = b.diag_embed(part, offset=offset)
        whole = placed if whole is None else b.add(whole, placed)
    return matrix_triangular_solve(b, whole, rhs, lower=lower, adjoint=adjoint)


@rows.row("TridiagonalSolve")
def tridiagonal_solve(b: TensorFlowBuilder, diagonals: Any, rhs: Any, **_: Any) -> Any:
    """The solution for a matrix of three diagonals: the upper one, the middle one, the lower one."""
    upper, middle, lower = (b.getitem(diagonals, key=along(diagonals.ndim - 2, row)) for row in range(3))
    return b.tridiagonal_solve(lower, middle, upper, rhs)


@rows.row("TridiagonalMatMul")
def tridiagonal_matmul(b: TensorFlowBuilder, superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any, **_: Any) -> Any:
    """The product of a matrix of three diagonals with others."""
    upper, middle, lower = (
        b.permute_dims(item, axes=(*range(item.ndim - 2), item.ndim - 1, item.ndim - 2)) for item in (superdiag, maindiag, subdiag)
    )
    rank = rhs.ndim
    none = ((0, 0),) * (rank - 2)
    behind = b.pad(rhs, padding=(*none, (-1, 1), (0, 0)))
    before = b.pad(rhs, padding=(*none, (1, -1), (0, 0)))
    return b.add(b.add(b.multiply(upper, behind), b.multiply(middle, rhs)), b.multiply(lower, before))
