"""Samples of linear algebra.

Results that are unique only up to signs or phases (singular vectors, eigenvectors, Q) are compared by what
they reconstruct.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.support.samples import Array, ErrorSample, Sample, array, bools, ints, quietly

_LINALG = torch.linalg


# ---------------------------------------------------------------------------------------------- products
def _products() -> list[Sample]:
    x, y, other_x, other_y = array(3, 4), array(4, 5), array(2, 6), array(6, 7)
    v, w = array(4), array(6)
    return [
        Sample(torch.matmul, (x, y), other=(other_x, other_y)),
        Sample(torch.matmul, (array(2, 1, 3, 4), array(5, 4, 2)), other=(array(3, 1, 2, 5), array(2, 5, 4))),
        # For several axes times one matrix TensorFlow's own product writes beyond its memory.
        Sample(torch.matmul, (array(16, 1, 7, 8), array(8, 5)), other=(array(8, 1, 3, 8), array(8, 5))),
        Sample(torch.matmul, (array(16, 1, 7, 8), array(1, 8, 5)), other=(array(8, 1, 3, 8), array(1, 8, 5))),
        Sample(torch.matmul, (array(16, 1, 7, 8), array(8)), other=(array(8, 2, 3, 8), array(8))),
        Sample(
            torch.nn.functional.linear,
            (array(16, 1, 7, 8), array(5, 8), array(5)),
            other=(array(8, 2, 3, 8), array(5, 8), array(5)),
        ),
        Sample(torch.matmul, (v, y), other=(w, other_y)),
        Sample(torch.matmul, (v, v), other=(w, w)),
        Sample(torch.matmul, (ints(3, 4), ints(4, 2))),
        Sample(torch.Tensor.__rmatmul__, (y, x), other=(other_y, other_x)),
        Sample(torch.mm, (x, y), other=(other_x, other_y)),
        Sample(torch.mm, (), {"input": x, "mat2": y}),
        Sample(torch.bmm, (array(2, 3, 4), array(2, 4, 5)), other=(array(3, 1, 2), array(3, 2, 4))),
        Sample(torch.mm, (array(3, 4, dtype="bfloat16"), array(4, 5, dtype="bfloat16"))),
        Sample(torch.mm, (array(3, 4, dtype="complex64"), array(4, 5, dtype="complex64"))),
        Sample(torch.mm, (array(3, 0), array(0, 5))),
        Sample(torch.mv, (x, v), other=(other_x, w)),
        Sample(torch.dot, (v, v), other=(w, w)),
        Sample(torch.dot, (array(4, dtype="complex64"), array(4, dtype="complex64"))),
        Sample(torch.vdot, (array(4, dtype="complex64"), array(4, dtype="complex64"))),
        Sample(_LINALG.vecdot, (array(2, 1, 4), array(3, 4)), other=(array(5, 1, 2), array(6, 2))),
        Sample(_LINALG.vecdot, (array(3, 4), array(3, 1)), other=(array(2, 5), array(2, 1))),
        Sample(_LINALG.vecdot, (array(2, 4, dtype="complex64"), array(2, 4, dtype="complex64")), {"dim": 0}),
        Sample(torch.inner, (x, array(5, 4)), other=(other_x, array(3, 6))),
        Sample(torch.inner, (array(2, 3, 4), v), other=(array(3, 5, 6), w)),
        Sample(torch.inner, (array(), x), other=(array(), other_x)),
        Sample(torch.inner, (array(3, dtype="complex64"), array(3, dtype="complex64"))),
        Sample(torch.outer, (v, array(3)), other=(w, array(2))),
        Sample(torch.outer, (ints(4), v)),
        Sample(torch.ger, (v, v), other=(w, w)),
        Sample(torch.kron, (x, y), other=(other_x, other_y)),
        Sample(torch.kron, (array(2), x), other=(array(3), other_x)),
        Sample(torch.kron, (ints(2, 2), x)),
        Sample(torch.kron, (bools(2, 2), bools(2, 3))),
        Sample(torch.addr, (bools(3, 4), bools(3), bools(4)), other=(bools(2), bools(5), bools(2))),
        Sample(torch.addr, (bools(4), bools(3), bools(4)), {"beta": False}),
        Sample(torch.addr, (bools(3, 4), bools(3), bools(4)), {"alpha": 0}),
        Sample(torch.kron, (array(2, 2, 3), array(2, 3, 2)), other=(array(3, 2, 2), array(2, 2, 2))),
        Sample(_LINALG.cross, (array(2, 3), array(1, 3)), other=(array(4, 3), array(1, 3))),
        Sample(_LINALG.cross, (array(3, 5), array(3, 5)), {"dim": 0}, other=(array(3, 2), array(3, 2))),
        Sample(
            torch.cross, (array(2, 3, 4), array(2, 3, 4)), {"dim": 1}, other=(array(5, 3, 2), array(5, 3, 2))
        ),
        Sample(quietly, (torch.cross, array(4, 3), array(4, 3))),
        Sample(torch.trace, (array(4, 5),), other=(array(6, 3),)),
        Sample(torch.trace, (ints(3, 3, dtype="int32"),)),
        Sample(quietly, (torch.chain_matmul, x, y, array(5, 2))),
        Sample(
            _LINALG.multi_dot,
            ([x, y, array(5, 2), array(2)],),
            other=([other_x, other_y, array(7, 3), array(3)],),
        ),
        Sample(_LINALG.multi_dot, ([x, y],)),
    ]


def _sums_with_products() -> list[Sample]:
    scale = {"beta": 0.5, "alpha": 2}
    x, y = array(3, 4), array(4, 5)
    samples = []
    for given in ({}, scale, {"beta": 0}):
        samples += [
            Sample(torch.addmm, (array(3, 5), x, y), given, other=(array(2, 7), array(2, 6), array(6, 7))),
            Sample(torch.addmv, (array(3), x, array(4)), given, other=(array(2), array(2, 6), array(6))),
            Sample(
                torch.addr, (array(3, 4), array(3), array(4)), given, other=(array(2, 5), array(2), array(5))
            ),
            Sample(
                torch.addbmm,
                (array(3, 5), array(2, 3, 4), array(2, 4, 5)),
                given,
                other=(array(2, 3), array(6, 2, 1), array(6, 1, 3)),
            ),
            Sample(
                torch.baddbmm,
                (array(2, 3, 5), array(2, 3, 4), array(2, 4, 5)),
                given,
                other=(array(6, 2, 3), array(6, 2, 1), array(6, 1, 3)),
            ),
        ]
    return samples + [
        Sample(torch.addmm, (array(5), x, y)),
        Sample(torch.addmm, (array(1, 1), x, y)),
        Sample(torch.addmm, (ints(3, 5), ints(3, 4), ints(4, 5)), {"alpha": 2, "beta": 3}),
        Sample(torch.addr, (array(3, 4), ints(3), array(4))),
        Sample(unaffected, (x, y), other=(array(2, 6), array(6, 7))),
    ]


def unaffected(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """With ``beta=0``, NaN in the added array must not reach the result."""
    return torch.addmm(torch.full((1,), math.nan), x, y, beta=0)


def _einsum() -> list[Sample]:
    x, y, other_x, other_y = array(3, 4), array(4, 5), array(2, 6), array(6, 7)
    batch, other_batch = array(2, 3, 4), array(5, 2, 6)
    return [
        Sample(torch.einsum, ("ij,jk->ik", x, y), other=("ij,jk->ik", other_x, other_y)),
        Sample(torch.einsum, ("ij , jk", x, y), other=("ij , jk", other_x, other_y)),
        Sample(torch.einsum, ("Ba,aB", x, array(4, 3))),
        Sample(torch.einsum, ("zB,By", x, y)),
        Sample(torch.einsum, ("ij->ji", x), other=("ij->ji", other_x)),
        Sample(torch.einsum, ("ij->", x), other=("ij->", other_x)),
        Sample(torch.einsum, ("ii->i", array(4, 4)), other=("ii->i", array(3, 3))),
        Sample(torch.einsum, ("ii", array(4, 4))),
        Sample(
            torch.einsum, ("...ij,...jk->...ik", batch, y), other=("...ij,...jk->...ik", other_batch, other_y)
        ),
        Sample(torch.einsum, ("b...i,ij", batch, array(4, 5))),
        Sample(
            torch.einsum,
            ("bij,bkj,bk->bi", batch, array(2, 5, 4), array(2, 5)),
            other=("bij,bkj,bk->bi", other_batch, array(5, 3, 6), array(5, 3)),
        ),
        Sample(
            torch.einsum, (x, [0, 1], y, [1, 2], [0, 2]), other=(other_x, [0, 1], other_y, [1, 2], [0, 2])
        ),
        Sample(torch.einsum, (batch, [Ellipsis, 1], array(4), [1])),
        Sample(torch.einsum, ("ij,jk", array(2, 1), array(3, 4))),
        Sample(torch.einsum, ("ii,ij->j", array(1, 1), array(3, 4))),
        Sample(
            torch.einsum,
            ("...ik, ...j -> ij", array(1, 2, 3), array(4)),
            other=("...ik, ...j -> ij", array(1, 5, 2), array(3)),
        ),
        Sample(torch.einsum, ("i,i->i", ints(4), ints(4))),
        Sample(torch.tensordot, (batch, array(3, 4, 5)), other=(other_batch, array(2, 6, 3))),
        Sample(torch.tensordot, (batch, array(5, 3)), {"dims": ([1], [1])}, other=(other_batch, array(3, 2))),
        Sample(torch.tensordot, (batch, array(4, 2)), {"dims": ([-1, 0], [0, 1])}),
        Sample(torch.tensordot, (x, y), {"dims": 0}, other=(other_x, other_y)),
        Sample(torch.tensordot, (array(2, 1), array(3, 4)), {"dims": 1}),
    ]


# --------------------------------------------------------------------------------------------- whole matrices
def told_by_a_triangle(function: Any, x: torch.Tensor, **options: Any) -> Any:
    """Call ``function`` with a positive definite matrix in one triangle and other elements in the second."""
    definite = x @ x.mH + 4 * torch.eye(x.shape[-1], dtype=x.dtype)
    return function(definite + (x.tril(-1) if options.get("upper") else x.triu(1)), **options)


def positive_definite(function: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` with a well-conditioned positive definite matrix made of ``x``."""
    return function(x @ x.mH + torch.eye(x.shape[-2], dtype=x.dtype), *args, **kwargs)


def _functions() -> list[Sample]:
    x, other, stack, other_stack = array(4, 4), array(3, 3), array(2, 3, 3), array(5, 4, 4)
    samples = []
    for function in (
        torch.det,
        _LINALG.slogdet,
        _LINALG.inv,
        _LINALG.inv_ex,
        torch.logdet,
        _LINALG.cond,
        _LINALG.matrix_rank,
        _LINALG.eigvalsh,
    ):
        for given in (x, stack, array(3, 3, dtype="complex64")):
            samples.append(
                Sample(
                    positive_definite,
                    (function, given),
                    other=(function, other if given is x else other_stack if given is stack else given),
                )
            )
    samples += [Sample(_LINALG.matrix_power, (stack, n), other=(other_stack, n)) for n in (0, 1, 2, 5)]
    samples += [
        Sample(positive_definite, (_LINALG.cond, x, p), other=(_LINALG.cond, other, p))
        for p in (2, -2, 1, math.inf, "fro", "nuc")
    ]
    return samples + [
        Sample(torch.det, (x,), other=(other,)),
        Sample(torch.slogdet, (stack,), other=(other_stack,)),
        Sample(torch.logdet, (stack,), other=(other_stack,)),
        Sample(torch.det, (array(0, 0),)),
        Sample(positive_definite, (torch.matrix_power, x, -2), other=(torch.matrix_power, other, -2)),
        Sample(torch.matrix_exp, (stack,), other=(other_stack,)),
        Sample(_LINALG.matrix_exp, (x,), other=(other,)),
        Sample(_LINALG.pinv, (array(4, 3),), other=(array(3, 5),)),
        Sample(torch.pinverse, (array(2, 4, 3),), other=(array(5, 2, 3),)),
        Sample(_LINALG.pinv, (array(5, 3),), {"rtol": 0.4}, other=(array(6, 4),)),
        Sample(_LINALG.pinv, (array(5, 3),), {"atol": 1.5}, other=(array(6, 4),)),
        Sample(_LINALG.pinv, (array(5, 3),), {"atol": 0.5, "rtol": 0.6}),
        Sample(positive_definite, (_LINALG.pinv, x), {"hermitian": True}),
        # The matrix is not symmetric; only the lower triangle counts.
        Sample(_LINALG.pinv, (x,), {"hermitian": True}, other=(other,)),
        Sample(_LINALG.matrix_rank, (array(3, 3, kind="positive"),), {"hermitian": True, "atol": 1.0}),
        Sample(low_rank, (array(5, 2), array(2, 4)), other=(array(6, 3), array(3, 5))),
        Sample(low_rank, (array(5, 2), array(2, 4)), {"rtol": 0.5}),
        Sample(low_rank, (array(5, 2), array(2, 4)), {"atol": 1.0, "rtol": 0.1}),
        Sample(low_rank, (array(5, 2), array(2, 4)), {"tol": 1.0}),
        Sample(low_rank, (array(5, 2), array(2, 4)), {"atol": 0.0}, other=(array(6, 2), array(2, 3))),
        Sample(inverse_of_low_rank, (array(5, 2), array(2, 4)), {"atol": 0.0}),
        Sample(low_rank_by_tolerances, (array(5, 2), array(2, 4)), other=(array(6, 2), array(2, 3))),
    ]


def low_rank(x: torch.Tensor, y: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.linalg.matrix_rank(x @ y, **options)


def inverse_of_low_rank(x: torch.Tensor, y: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.linalg.pinv(x @ y, **options)


def low_rank_by_tolerances(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Take one matrix with no absolute tolerance, for which the relative one counts, and with another."""
    twice, atol = (x @ y).expand(2, -1, -1), torch.tensor([0.0, 1.0])
    return torch.linalg.matrix_rank(twice, atol=atol), torch.linalg.pinv(twice, atol=atol)


# ---------------------------------------------------------------------------------------------- solutions
def solved(function: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` with a matrix that is far from singular."""
    return function(x + 4 * torch.eye(x.shape[-1], dtype=x.dtype), *args, **kwargs)


def triangular(x: torch.Tensor, right: torch.Tensor, **options: Any) -> torch.Tensor:
    """Call ``torch.linalg.solve_triangular``, which must read only one triangle."""
    return torch.linalg.solve_triangular(x + 4 * torch.eye(x.shape[-1]), right, **options)


def tensor_solved(x: torch.Tensor, right: torch.Tensor, dims: Any = None) -> torch.Tensor:
    return torch.linalg.tensorsolve(x.reshape(2, 3, 6), right, dims=dims)


def tensor_inverse(x: torch.Tensor, ind: int) -> torch.Tensor:
    return torch.linalg.tensorinv(x.reshape(6, 2, 3) if ind == 1 else x.reshape(2, 3, 6), ind=ind)


def least_squares(x: torch.Tensor, right: torch.Tensor, driver: str | None = None) -> Any:
    return tuple(torch.linalg.lstsq(x, right, driver=driver))


def _solutions() -> list[Sample]:
    x, other, stack, other_stack = array(4, 4), array(3, 3), array(2, 3, 3), array(5, 4, 4)
    solve = _LINALG.solve
    samples = [
        Sample(solved, (solve, x, array(4, 2)), other=(solve, other, array(3, 5))),
        Sample(solved, (solve, x, array(4)), other=(solve, other, array(3))),
        Sample(solved, (solve, stack, array(2, 3)), other=(solve, other_stack, array(5, 4))),
        Sample(solved, (solve, stack, array(3, 4)), other=(solve, other_stack, array(4, 2))),
        Sample(solved, (solve, stack, array(3))),
        Sample(solved, (solve, x, array(2, 4)), {"left": False}, other=(solve, other, array(5, 3))),
        Sample(solved, (_LINALG.solve_ex, x, array(4, 2)), other=(_LINALG.solve_ex, other, array(3, 5))),
        Sample(solved, (solve, array(3, 3, dtype="complex64"), array(3, 2, dtype="complex64"))),
        Sample(least_squares, (array(5, 3), array(5, 2)), other=(array(6, 4), array(6, 3))),
        Sample(least_squares, (array(2, 5, 3), array(2, 5, 2)), other=(array(3, 6, 4), array(3, 6, 1))),
        Sample(least_squares, (array(3, 5), array(3, 2))),
        *(
            Sample(
                least_squares,
                (array(2, 5, 3), array(2, 5, 2)),
                {"driver": driver},
                other=(array(3, 6, 4), array(3, 6, 1)),
            )
            for driver in ("gels", "gelsd", "gelss")
        ),
        Sample(
            least_squares,
            (array(2, 4, 2), array(2, 4)),
            {"driver": "gelsd"},
            other=(array(3, 5, 2), array(3, 5)),
        ),
        Sample(
            least_squares, (array(3, 5), array(3, 2)), {"driver": "gelss"}, other=(array(2, 6), array(2, 1))
        ),
        Sample(tensor_solved, (array(6, 6), array(2, 3))),
        Sample(tensor_solved, (array(6, 6), array(6)), {"dims": (0, 1)}),
        Sample(tensor_inverse, (array(6, 6), 2)),
        Sample(tensor_inverse, (array(6, 6), 1)),
        Sample(
            positive_definite, (cholesky_solved, x, array(4, 2)), other=(cholesky_solved, other, array(3, 5))
        ),
        Sample(positive_definite, (cholesky_solved, x, array(4, 2)), {"upper": True}),
        Sample(positive_definite, (cholesky_inverted, stack), other=(cholesky_inverted, other_stack)),
        Sample(positive_definite, (cholesky_inverted, array(3, 3, dtype="complex64")), {"upper": True}),
        Sample(old_triangular, (x, array(4, 2)), other=(other, array(3, 5))),
        Sample(old_triangular, (x, array(4, 2)), {"upper": False, "transpose": True}),
    ]
    for given in ({"upper": True}, {"upper": False}, {"upper": True, "unitriangular": True}):
        samples.append(Sample(triangular, (stack, array(3, 2)), given, other=(other_stack, array(4, 5))))
    samples.append(
        Sample(
            triangular,
            (stack, array(4, 3)),
            {"upper": False, "left": False},
            other=(other_stack, array(2, 4)),
        )
    )
    return samples


def cholesky_solved(x: torch.Tensor, right: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return torch.cholesky_solve(right, torch.linalg.cholesky(x, upper=upper), upper=upper)


def cholesky_inverted(x: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return torch.cholesky_inverse(torch.linalg.cholesky(x, upper=upper), upper=upper)


def old_triangular(x: torch.Tensor, right: torch.Tensor, **options: Any) -> Any:
    return tuple(quietly(torch.triangular_solve, right, x + 4 * torch.eye(x.shape[-1]), **options))


# --------------------------------------------------------------------------------------------- decompositions
def old_qr(x: torch.Tensor, some: bool = True) -> Any:
    return quietly(torch.qr, x, some)


def old_cholesky(x: torch.Tensor, upper: bool = False) -> torch.Tensor:
    return quietly(torch.cholesky, x, upper)


def product_of_qr(function: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return Q R, the products of Q's columns, and the absolute values of R, which do not depend on signs."""
    q, r = function(x, *args, **kwargs)
    return q @ r, q.mH @ q, r.abs()


def product_of_svd(x: torch.Tensor, full_matrices: bool) -> Any:
    """Return U S V^H, S, and the products of the singular vectors, which do not depend on signs."""
    u, s, vh = torch.linalg.svd(x, full_matrices=full_matrices)
    inner = s.shape[-1]
    return (u[..., :inner] * s[..., None, :].to(x.dtype)) @ vh[..., :inner, :], s, u.mH @ u, vh @ vh.mH


def product_of_old_svd(x: torch.Tensor, some: bool = True) -> Any:
    """Return U S V^H and S of ``torch.svd``, which returns V itself."""
    u, s, v = torch.svd(x, some=some)
    inner = s.shape[-1]
    return (u[..., :inner] * s[..., None, :]) @ v[..., :inner].mH, s


def product_of_eigh(x: torch.Tensor, **options: Any) -> Any:
    """Return V L V^H and L, which do not depend on signs."""
    values, vectors = torch.linalg.eigh(x, **options)
    return values, (vectors * values[..., None, :].to(x.dtype)) @ vectors.mH


def product_of_eig(x: torch.Tensor) -> Any:
    """Return the residual of ``A V = V L`` and the sum of the eigenvalues, which do not depend on order and
    phases.
    """
    values, vectors = torch.linalg.eig(x)
    return (
        x.to(vectors.dtype) @ vectors - vectors * values[..., None, :],
        values.sum(-1),
        torch.linalg.eigvals(x).sum(-1),
    )


def lu_product(x: torch.Tensor) -> Any:
    return tuple(torch.linalg.lu(x)), tuple(torch.lu_unpack(*torch.linalg.lu_factor(x)))


def lu_solved(x: torch.Tensor, right: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.linalg.lu_solve(*torch.linalg.lu_factor(x), right, **options)


def lu_of_singular(x: torch.Tensor) -> Any:
    """Factorise matrices, one of which has a third column of zeros; the number of its zero pivot is reported."""
    singular = x * torch.tensor([1.0, 1.0, 0.0])
    return torch.linalg.lu_factor_ex(torch.stack([x, singular, x]))


def where_there_is_one(function: Any, *args: Any, **options: Any) -> Any:
    """Return the reported status of each matrix, and the results of those with status 0; torch leaves the
    others undefined.
    """
    result, info = function(*args, **options)
    return info, torch.where((info == 0).reshape(info.shape + (1,) * (result.ndim - info.ndim)), result, 7.0)


def old_lu_solved(x: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return quietly(torch.lu_solve, right, *quietly(torch.lu, x))


def householder(x: torch.Tensor, right: torch.Tensor) -> Any:
    """Return Q R, the absolute values of Q, and a product with Q and its transpose, which do not depend on
    signs.
    """
    reflections, tau = torch.geqrf(x)
    q = torch.linalg.householder_product(reflections, tau)
    whole = torch.ormqr(reflections, tau, torch.ormqr(reflections, tau, right), transpose=True)
    return q @ reflections[: x.shape[1]].triu(), torch.orgqr(reflections, tau).abs(), whole


# Matrices with and without an inverse, and with leading minors that are not positive at each of the orders.
_SOME = (
    ((4.0, 2, 2), (2, 1, 1), (2, 1, 3)),
    ((1.0, 0, 0), (0, 2, 0), (0, 0, -1)),
    ((2.0, 1, 0), (1, 2, 1), (0, 1, 2)),
    ((0.0, 0, 0), (0, 1, 0), (0, 0, 1)),
)
_OTHERS = (
    ((4.0, 2, 0), (2, 4, 2), (0, 2, 4)),
    ((-1.0, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((1.0, 2, 0), (2, 4, 0), (0, 0, 1)),
)


def _decompositions() -> list[Sample]:
    tall, wide, stack = array(5, 3), array(3, 5), array(2, 4, 3)
    complex_ = Array((3, 3), "complex64")
    samples = []
    for x, other in (
        (tall, array(6, 2)),
        (wide, array(2, 4)),
        (stack, array(3, 5, 4)),
        (complex_, Array((4, 4), "complex64")),
    ):
        samples += [
            Sample(product_of_qr, (_LINALG.qr, x), other=(_LINALG.qr, other)),
            Sample(product_of_qr, (_LINALG.qr, x, "complete"), other=(_LINALG.qr, other, "complete")),
            Sample(product_of_svd, (x, False), other=(other, False)),
            Sample(product_of_svd, (x, True), other=(other, True)),
            Sample(_LINALG.svdvals, (x,), other=(other,)),
            Sample(lu_product, (x,), other=(other,)),
        ]
    square, later = array(4, 4), array(3, 3)
    for upper in (False, True):
        for function in (_LINALG.cholesky, old_cholesky, _LINALG.cholesky_ex):
            samples.append(
                Sample(positive_definite, (function, square), {"upper": upper}, other=(function, later))
            )
        samples.append(Sample(product_of_eigh, (square,), {"UPLO": "U" if upper else "L"}, other=(later,)))
        samples.append(Sample(_LINALG.eigvalsh, (square,), {"UPLO": "U" if upper else "L"}, other=(later,)))
    for options in ({}, {"left": False}, {"adjoint": True}, {"left": False, "adjoint": True}):
        samples.append(Sample(lu_solved, (square, array(4, 4)), options, other=(later, array(3, 3))))
    some, others = torch.tensor(_SOME), torch.tensor(_OTHERS)
    for x, other in (
        (some, others),
        (some[1], others[0]),
        (some.to(torch.complex64), others.to(torch.complex64)),
    ):
        vectors = (
            array(3, 2, dtype=str(x.dtype).removeprefix("torch.")),
            array(3, 1, dtype=str(x.dtype).removeprefix("torch.")),
        )
        samples += [
            Sample(
                where_there_is_one,
                (_LINALG.cholesky_ex, x),
                {"upper": len(x) == 3},
                other=(_LINALG.cholesky_ex, other),
            ),
            Sample(where_there_is_one, (_LINALG.inv_ex, x), other=(_LINALG.inv_ex, other)),
            Sample(
                where_there_is_one,
                (_LINALG.solve_ex, x, vectors[0]),
                other=(_LINALG.solve_ex, other, vectors[1]),
            ),
        ]
    return samples + [
        Sample(
            where_there_is_one,
            (_LINALG.solve_ex, some[1], array(1, 3)),
            {"left": False},
            other=(_LINALG.solve_ex, others[0], array(2, 3)),
        ),
        Sample(
            where_there_is_one,
            (_LINALG.solve_ex, some[:2], array(2, 3)),
            other=(_LINALG.solve_ex, others[:2], array(2, 3)),
        ),
        Sample(positive_definite, (_LINALG.cholesky, complex_), {"upper": True}),
        Sample(told_by_a_triangle, (_LINALG.cholesky, square), other=(_LINALG.cholesky, later)),
        Sample(told_by_a_triangle, (_LINALG.cholesky_ex, complex_), {"upper": True}),
        Sample(product_of_qr, (old_qr, tall), {"some": False}, other=(old_qr, array(6, 2))),
        Sample(product_of_old_svd, (tall,), other=(array(6, 2),)),
        Sample(product_of_old_svd, (wide, False), other=(array(2, 4), False)),
        Sample(product_of_eigh, (complex_,)),
        Sample(product_of_eig, (square,), other=(later,)),
        Sample(product_of_eig, (complex_,)),
        Sample(_LINALG.lu_factor, (square,), other=(later,)),
        Sample(_LINALG.lu_factor_ex, (stack,), other=(array(3, 5, 4),)),
        Sample(lu_of_singular, (later,)),
        Sample(old_lu_solved, (square, array(4, 2)), other=(later, array(3, 5))),
        Sample(householder, (tall, array(5, 2)), other=(array(6, 4), array(6, 3))),
        Sample(torch.ormqr, (wide, array(3), array(3, 2)), other=(array(2, 6), array(2), array(2, 4))),
    ]


def _of_nothing() -> list[Sample]:
    """Return samples of matrices without elements, either recorded or called later."""
    square, nothing = array(3, 3), array(0, 0)
    orders = ("fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf)
    return [
        Sample(_LINALG.lu_factor_ex, (square,), other=(nothing,)),
        Sample(_LINALG.lu, (array(2, 0, 0),), other=(array(2, 3, 3),)),
        Sample(_LINALG.inv_ex, (square,), other=(nothing,)),
        Sample(_LINALG.cholesky_ex, (nothing,), other=(array(1, 1, kind="positive"),)),
        *(
            Sample(_LINALG.cond, (square,), {"p": order}, other=(nothing,), name=f"cond of nothing {order}")
            for order in orders
        ),
        *(
            Sample(_LINALG.cond, (_SINGULAR,), {"p": order}, name=f"cond of singular {order}")
            for order in (-2, 1, math.inf, "fro")
        ),
        *(
            Sample(
                _LINALG.matrix_norm,
                (array(3, 2),),
                {"ord": order},
                other=(array(0, 2),),
                name=f"norm of nothing {order}",
            )
            for order in (2, 1)
        ),
        Sample(
            _LINALG.matrix_norm,
            (array(3, 2),),
            {"ord": math.inf},
            other=(array(3, 0),),
            name="norm of nothing inf",
        ),
    ]


def _times_a_matrix_with_more_axes(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.arange(30.0).reshape(1, 1, 1, 5, 6)


_SINGULAR = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])

SAMPLES: list[Sample] = [
    *_of_nothing(),
    *_products(),
    *_sums_with_products(),
    *_einsum(),
    *_functions(),
    *_solutions(),
    *_decompositions(),
    Sample(_times_a_matrix_with_more_axes, (array(2, 3, 4, 5),), other=(array(3, 1, 2, 5),)),
]

ERRORS: list[ErrorSample] = [
    ErrorSample(_LINALG.lu, (array(3, 3),), {"pivot": False}, Exception, "pivoting"),
]
