"""Rows of linear algebra and Fourier transforms in NumPy and SciPy, and of matrix products."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import complex_of, is_complex, is_inexact, real_of
from ....sizes import Size, apply, hint_of, product
from ...common.input_checks import condition_number
from .table import NumpyBuilder, axes_of, axis_of, rows


def _inexact(b: NumpyBuilder, *arrays: Any) -> tuple[Value, ...]:
    made = b.promote(*arrays)
    return tuple(item if is_inexact(item.dtype) else b.astype(item, dtype="float64") for item in made)


# ---------------------------------------------------------------------------------------------- products
@rows.row("dot")
def dot(b: NumpyBuilder, a: Any, b_: Any) -> Any:
    x, y = b.promote(a, b_)
    if not x.ndim or not y.ndim:
        return b.multiply(x, y)
    if x.ndim <= 2 and y.ndim <= 2:
        return b.matmul(x, y)
    return b.tensordot(x, y, axes=((x.ndim - 1,), (max(y.ndim - 2, 0),)))


@rows.row("vdot")
def vdot(b: NumpyBuilder, a: Any, b_: Any, /) -> Any:
    x, y = (b.reshape(item, shape=(product(item.shape),)) for item in b.promote(a, b_))
    return b.matmul(b.conj(x) if is_complex(x.dtype) else x, y)


@rows.row("inner")
def inner(b: NumpyBuilder, a: Any, b_: Any) -> Any:
    x, y = b.promote(a, b_)
    return b.inner(x, y) if x.ndim and y.ndim else b.multiply(x, y)


@rows.row("outer", "linalg.outer")
def outer(b: NumpyBuilder, a: Any, b_: Any) -> Any:
    x, y = (b.reshape(item, shape=(product(item.shape),)) for item in b.promote(a, b_))
    return b.outer(x, y)


@rows.row("tensordot", "linalg.tensordot")
def tensordot(b: NumpyBuilder, a: Any, b_: Any, axes: Any = 2) -> Any:
    x, y = b.promote(a, b_)
    if isinstance(axes, (int, Size)):
        axes = b.fix(axes)
        pairs = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    else:
        left, right = (item if isinstance(item, (tuple, list)) else (item,) for item in axes)
        pairs = tuple(axis_of(axis, x.ndim) for axis in left), tuple(axis_of(axis, y.ndim) for axis in right)
    return b.tensordot(x, y, axes=pairs)


@rows.row("linalg.matmul")
def matmul(b: NumpyBuilder, x1: Any, x2: Any, /) -> Any:
    return rows.get("matmul")(b, x1, x2)  # type: ignore[misc]


@rows.row("kron")
def kron(b: NumpyBuilder, a: Any, b_: Any) -> Any:
    x, y = b.promote(a, b_)
    return b.kron(x, y) if x.ndim and y.ndim else b.multiply(x, y)


@rows.row("cross", "linalg.cross")
def cross(
    b: NumpyBuilder, a: Any, b_: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    x, y = b.promote(a, b_)
    along = {axisa, axisb, axisc} if axis is None else {axis}
    if len(along) > 1 or x.ndim != y.ndim and along != {-1} or hint_of(x.shape[along_of(along)]) != 3:
        raise UnsupportedOperation(
            "cross of vectors along different axes, or of other than three numbers, has no row"
        )
    place = along_of(along)
    return b.cross(x, y, axis=place if place < 0 else place - max(x.ndim, y.ndim))


def along_of(axes: set[int]) -> int:
    return next(iter(axes))


@rows.row("einsum")
def einsum(
    b: NumpyBuilder,
    *operands: Any,
    optimize: Any = False,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
) -> Any:
    if not isinstance(operands[0], str):
        operands = _from_lists(operands)
    equation, arrays = operands[0].replace(" ", ""), [b.array(item) for item in operands[1:]]
    # The result for one array may be a view, which is taken of integer positions too.
    kind = arrays[0].dtype if len(arrays) == 1 and dtype is None else b.recorded_dtype()
    inputs, _, result = equation.partition("->")
    if "->" not in equation:
        result = _implicit(inputs)
    return b.einsum(*(b.cast(item, kind) for item in arrays), equation=f"{inputs}->{result}")


def _from_lists(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert operands of ``einsum`` such as ``x, [0, 1], y, [1, 2], [0, 2]`` to ``"AB,BC->AC", x, y``."""
    count = len(operands) // 2
    labels = [
        "".join("..." if axis is Ellipsis else string.ascii_letters[(axis + 26) % 52] for axis in axes)
        for axes in operands[1::2]
    ]
    result = (
        "->" + "".join("..." if a is Ellipsis else string.ascii_letters[(a + 26) % 52] for a in operands[-1])
        if len(operands) % 2
        else ""
    )
    return ",".join(labels) + result, *operands[: 2 * count : 2]


def _implicit(inputs: str) -> str:
    letters = inputs.replace(",", "").replace(".", "")
    once = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return ("..." if "..." in inputs else "") + once


rows.table({"linalg.multi_dot": lambda b, arrays: b.multi_dot(*b.promote(*arrays))})


@rows.row("linalg.matrix_power")
def matrix_power(b: NumpyBuilder, a: Any, n: int) -> Any:
    n = b.fix(n)
    if a.dtype == "bool" and n > 0:
        # A product of boolean matrices stays boolean, which powers of numbers do not.
        return _squared(b, a, n)
    return b.matrix_power(a if n >= 0 else _inexact(b, a)[0], n=int(n))


def _squared(b: NumpyBuilder, x: Value, n: int) -> Value:
    if n == 1:
        return x
    half = _squared(b, x, n // 2)
    square = b.matmul(half, half)
    return b.matmul(square, x) if n % 2 else square


@rows.row("linalg.vecdot")
def vecdot(b: NumpyBuilder, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = b.promote(x1, x2)
    return b.vecdot(x, y, axis=axis if axis < 0 else axis - max(x.ndim, y.ndim))


# ------------------------------------------------------------------------------------- single matrices
def _plain(name: str, op: str) -> None:
    @rows.row(f"linalg.{name}")
    def row(b: NumpyBuilder, a: Any) -> Any:
        return getattr(b, op)(*_inexact(b, a))


for _name, _op in {"det": "det", "slogdet": "slogdet", "inv": "inv", "svdvals": "svdvals"}.items():
    _plain(_name, _op)


rows.table({
    "linalg.solve": lambda b, a, b_: b.solve(*_inexact(b, a, b_)),
    "linalg.cholesky": lambda b, a, /, *, upper=False: b.cholesky(*_inexact(b, a), upper=bool(upper)),
    "linalg.eigh": lambda b, a, UPLO="L": b.eigh(*_inexact(b, a), upper=UPLO.upper() == "U"),
    "linalg.eigvalsh": lambda b, a, UPLO="L": b.eigvalsh(*_inexact(b, a), upper=UPLO.upper() == "U"),
    "linalg.matrix_rank": lambda b, A, tol=None, hermitian=False, *, rtol=None: b.matrix_rank(
        _inexact(b, A)[0],
        # An absolute tolerance replaces the default of the relative one.
        rtol if rtol is not None else 0.0 if tol is not None else None,
        tol,
        hermitian=bool(hermitian),
    ),
    "linalg.tensorinv": lambda b, a, ind=2: b.tensorinv(_inexact(b, a)[0], ind=ind),
    "linalg.diagonal": lambda b, x, /, *, offset=0: b.diagonal(
        x, offset=offset, axis1=x.ndim - 2, axis2=x.ndim - 1
    ),
})  # fmt: skip


@rows.row("linalg.cond")
def cond(b: NumpyBuilder, x: Any, p: Any = None) -> Any:
    (matrix,) = _inexact(b, x)
    if p == "nuc":
        # The inverse of a singular matrix is NaN, and NumPy raises an exception for the nuclear norm of NaN.
        is_singular = b.any(b.equal(b.diagonal(b.lu_factor(matrix)[0]), 0))
        b.expect(b.logical_or(b.any(b.isnan(matrix)), is_singular), False)
    return condition_number(b, matrix, 2 if p is None else p, keeps_nan=True)


@rows.row("linalg.qr")
def qr(b: NumpyBuilder, a: Any, mode: str = "reduced") -> Any:
    if mode == "raw":
        raise UnsupportedOperation("qr with mode='raw' has no row")
    q, r = b.qr(*_inexact(b, a), mode="complete" if mode == "complete" else "reduced")
    return r if mode == "r" else (q, r)


@rows.row("linalg.svd")
def svd(
    b: NumpyBuilder, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    x = _inexact(b, a)[0]
    return b.svd(x, full_matrices=bool(full_matrices)) if compute_uv else b.svdvals(x)


@rows.row("linalg.eig")
def eig(b: NumpyBuilder, a: Any) -> Any:
    # Whether the result of a real matrix is real depends on its elements.
    if not is_complex(b.recorded_dtype()):
        raise UnsupportedOperation(
            "numpy gives real eigenvalues where all of them are real, which depends on the elements; use "
            "eigh, or pass a complex matrix"
        )
    return b.eig(*_inexact(b, a))


@rows.row("linalg.eigvals")
def eigvals(b: NumpyBuilder, a: Any) -> Any:
    found, is_wide = b.eigvals(*_inexact(b, a)), is_complex(b.recorded_dtype())
    if not is_complex(b.array(a).dtype):
        # The dtype of the result depends on whether all eigenvalues of a real matrix are real, so this is
        # guarded.
        b.expect(b.any(b.not_equal(b.imag(found), 0)), is_wide)
    return found if is_wide else b.real(found)


@rows.row("linalg.pinv")
def pinv(
    b: NumpyBuilder, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue
) -> Any:
    x = _inexact(b, a)[0]
    bound = rcond if rtol is np._NoValue else rtol
    # This is NumPy's default if neither tolerance is passed. ``rtol=None`` depends on the sizes instead.
    return b.pinv(x, 1e-15 if bound is None and rtol is np._NoValue else bound, hermitian=bool(hermitian))


@rows.row("linalg.lstsq")
def lstsq(b: NumpyBuilder, a: Any, b_: Any, rcond: Any = None) -> Any:
    x, y = _inexact(b, a, b_)
    matrix = b.reshape(y, shape=(y.shape[0], 1)) if y.ndim == 1 else y
    # NumPy takes -1 for the machine epsilon.
    rcond = float(np.finfo(x.dtype).eps) if rcond == -1 else rcond
    # Fits of np.polynomial compute rcond from the number of points.
    if isinstance(rcond, Value):
        solution, rank = b.matmul(b.pinv(x, rcond), matrix), b.matrix_rank(x, rcond, None)
    else:
        solution, rank = b.lstsq(x, matrix, rcond=rcond)
    rest = b.sum(b.square(b.abs(b.subtract(matrix, b.matmul(x, solution)))), axis=(0,))
    # NumPy returns no residuals if the rank is not full, or if there are not more rows than columns.
    if not hint_of(b.recorded[1].shape[0]):
        b.guard(
            apply("le", x.shape[0], x.shape[1])
            if hint_of(x.shape[0]) <= hint_of(x.shape[1])
            else apply("gt", x.shape[0], x.shape[1])
        )
        if hint_of(x.shape[0]) > hint_of(x.shape[1]):
            raise UnsupportedOperation(
                "lstsq of a matrix whose rank is not full gives no residuals, which depends on the elements"
            )
        rest = b.zeros(shape=(0,), dtype=rest.dtype)
    else:
        b.guard(apply("gt", x.shape[0], x.shape[1]))
    solution = b.reshape(solution, shape=(x.shape[1],)) if y.ndim == 1 else solution
    return solution, rest, b.astype(rank, dtype=b.recorded_dtype(2)), b.svdvals(x)


@rows.row("linalg.tensorsolve")
def tensorsolve(b: NumpyBuilder, a: Any, b_: Any, axes: Any = None) -> Any:
    if axes is not None:
        raise UnsupportedOperation("axes= of tensorsolve has no row")
    return b.tensorsolve(*_inexact(b, a, b_))


@rows.row("linalg.trace")
def trace(b: NumpyBuilder, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return rows.get("trace")(b, x, offset, -2, -1, dtype)  # type: ignore[misc]


# ---------------------------------------------------------------------------------------------- norms
@rows.row("linalg.norm")
def norm(b: NumpyBuilder, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = b.floating(x)
    axes = axes_of(axis, x.ndim)
    if axes is None and ord is None:
        return b.vector_norm(x, axis=None, ord=2.0, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axes is None else axes
    # Of one axis, NumPy computes the norm of vectors, even if the array is a matrix.
    if len(axes) == 1:
        return vector_norm(b, x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    first, second = axes
    order = (*(i for i in range(x.ndim) if i not in axes), first, second)
    found = b.matrix_norm(b.permute_dims(x, axes=order), ord="fro" if ord is None else ord)
    return (
        b.reshape(found, shape=tuple(1 if i in axes else dim for i, dim in enumerate(x.shape)))
        if keepdims
        else found
    )


@rows.row("linalg.vector_norm")
def vector_norm(b: NumpyBuilder, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    order = math.inf if ord == math.inf else -math.inf if ord == -math.inf else float(ord)
    x = b.floating(x)
    found = b.vector_norm(x, axis=axes_of(axis, x.ndim), ord=order, keepdims=keepdims)
    return b.cast(found, b.recorded_dtype())


rows.table(
    {
        "linalg.matrix_norm": lambda b, x, /, *, keepdims=False, ord="fro": b.matrix_norm(
            b.floating(x), ord=ord, keepdims=keepdims
        )
    }
)


_FROM_COMPLEX = frozenset({"fft", "ifft", "fftn", "ifftn", "irfft", "irfftn", "hfft"})


def _input(b: NumpyBuilder, name: str, a: Any) -> Any:
    result = b.recorded_dtype()
    if name in _FROM_COMPLEX:
        return b.astype(a, dtype=complex_of(result) if not is_complex(result) else result)
    return b.astype(a, dtype=real_of(result))


# SciPy's functions have these parameters, too. Memory that may be overwritten and processors do not change
# results.
def _line(name: str) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: Any = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        x = _input(b, name, b.array(a))
        return getattr(b, name)(x, n=n, axis=axis_of(axis, x.ndim), norm=norm or "backward")

    return row


def _several(name: str, default: Any) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, s: Any = None, axes: Any = default, norm: Any = None,
        overwrite_x: Any = False, workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        x = _input(b, name, b.array(a))
        # SciPy takes a single size, too.
        s = (s,) if isinstance(s, int) else s
        if axes is None:
            axes = tuple(range(x.ndim - len(s), x.ndim)) if s is not None else tuple(range(x.ndim))
        return getattr(b, name)(
            x, s=None if s is None else tuple(s), axes=axes_of(axes, x.ndim), norm=norm or "backward"
        )

    return row


for _fft_name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    rows.row(f"fft.{_fft_name}", f"scipy.fft.{_fft_name}")(_line(_fft_name))
for _fft_name in ("fftn", "ifftn", "rfftn", "irfftn"):
    rows.row(f"fft.{_fft_name}", f"scipy.fft.{_fft_name}")(_several(_fft_name, None))
    rows.row(f"fft.{_fft_name[:-1]}2", f"scipy.fft.{_fft_name[:-1]}2")(_several(_fft_name, (-2, -1)))


rows.table({
    "fft.fftfreq": lambda b, n, d=1.0, device=None: b.fftfreq(n=n, d=d, dtype="float64"),
    "fft.rfftfreq": lambda b, n, d=1.0, device=None: b.rfftfreq(n=n, d=d, dtype="float64"),
})  # fmt: skip


def _shift(name: str) -> None:
    @rows.row(f"fft.{name}")
    def row(b: NumpyBuilder, x: Any, axes: Any = None) -> Any:
        places = axes_of(axes, x.ndim)
        # torch shifts all axes if it is given none.
        return (
            b.copy(x)
            if places == ()
            else getattr(b, name)(x, axes=tuple(range(x.ndim)) if places is None else places)
        )


_shift("fftshift")
_shift("ifftshift")


# ---------------------------------------------------------------------------------------------- scipy
# Memory that may be overwritten (overwrite_a=) and processors (workers=) do not change results. Nor does
# check_finite=, unless an element is not finite.


def _lapack(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a row of ``scipy.linalg``, with results cast to recorded dtypes."""

    def register(row: Callable[..., Any]) -> Callable[..., Any]:
        @rows.row(f"scipy.linalg.{name}")
        @functools.wraps(row)
        def cast(b: NumpyBuilder, *args: Any, **kwargs: Any) -> Any:
            found = row(b, *args, **kwargs)
            several = found if isinstance(found, tuple) else (found,)
            made = tuple(b.cast(item, spec.dtype) for item, spec in zip(several, b.recorded, strict=True))
            return made if isinstance(found, tuple) else made[0]

        return row

    return register


def _matrices(b: NumpyBuilder, *arrays: Any) -> tuple[Value, ...]:
    # LAPACK has no half precision.
    return tuple(b.cast(x, "float32") if x.dtype == "float16" else x for x in _inexact(b, *arrays))


def _unstructured(name: str, assume_a: Any) -> None:
    if assume_a not in (None, "gen", "general"):
        raise UnsupportedOperation(f"{name} with assume_a={assume_a!r} has no row; leave it out")


def _solution(b: NumpyBuilder, y: Value, solve: Callable[[Value], Value]) -> Value:
    if y.ndim != 1:
        return solve(y)
    found = solve(b.reshape(y, shape=(y.shape[0], 1)))
    return b.reshape(found, shape=found.shape[:-1])


@_lapack("inv")
def scipy_inv(
    b: NumpyBuilder, a: Any, overwrite_a: Any = False, check_finite: Any = True, *, assume_a: Any = None,
    lower: Any = False,
) -> Any:  # fmt: skip
    _unstructured("inv", assume_a)
    return b.inv(*_matrices(b, a))


@_lapack("det")
def scipy_det(b: NumpyBuilder, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    # The determinant of a float32 matrix is float64 in SciPy.
    return b.det(b.cast(_matrices(b, a)[0], b.recorded_dtype()))


@_lapack("solve")
def scipy_solve(
    b: NumpyBuilder, a: Any, b_: Any, lower: Any = False, overwrite_a: Any = False, overwrite_b: Any = False,
    check_finite: Any = True, assume_a: Any = None, transposed: Any = False,
) -> Any:  # fmt: skip
    _unstructured("solve", assume_a)
    x, y = _matrices(b, a, b_)
    if transposed:
        x = b.permute_dims(x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return _solution(b, y, lambda y: b.solve(x, y))


_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


@_lapack("solve_triangular")
def scipy_solve_triangular(
    b: NumpyBuilder, a: Any, b_: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False,
    overwrite_b: Any = False, check_finite: Any = True,
) -> Any:  # fmt: skip
    x, y = _matrices(b, a, b_)
    if not unit_diagonal:
        b.expect(b.any(b.equal(b.diagonal(x, axis1=x.ndim - 2, axis2=x.ndim - 1), 0)), False)
    x = b.conj(x) if trans in (2, "C") and is_complex(x.dtype) else x
    return _solution(
        b,
        y,
        lambda y: b.solve_triangular(
            x, y, upper=not lower, transpose=_TRANSPOSED[trans], unit_diagonal=bool(unit_diagonal)
        ),
    )


@_lapack("cholesky")
def scipy_cholesky(
    b: NumpyBuilder, a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True
) -> Any:
    return b.cholesky(*_matrices(b, a), upper=not lower)


@_lapack("cho_solve")
def scipy_cho_solve(
    b: NumpyBuilder, c_and_lower: Any, b_: Any, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    factor, lower = c_and_lower
    x, y = _matrices(b, factor, b_)
    x = b.tril(x) if lower else b.triu(x)
    return _solution(b, y, lambda y: b.cholesky_solve(x, y, upper=not lower))


@_lapack("lu")
def scipy_lu(
    b: NumpyBuilder, a: Any, permute_l: Any = False, overwrite_a: Any = False, check_finite: Any = True,
    p_indices: Any = False,
) -> Any:  # fmt: skip
    if p_indices:
        raise UnsupportedOperation("lu with p_indices=True has no row; use the permutation matrix")
    p, lower, upper = b.lu(*_matrices(b, a))
    return (b.matmul(p, lower), upper) if permute_l else (p, lower, upper)


@_lapack("lu_factor")
def scipy_lu_factor(b: NumpyBuilder, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    packed, pivots = b.lu_factor(*_matrices(b, a))
    # SciPy counts rows from 0.
    return packed, b.astype(b.subtract(pivots, 1), dtype=b.recorded_dtype(1))


@_lapack("lu_solve")
def scipy_lu_solve(
    b: NumpyBuilder, lu_and_piv: Any, b_: Any, trans: Any = 0, overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    packed, pivots = lu_and_piv
    x, y = _matrices(b, packed, b_)
    if trans == 1 and is_complex(x.dtype):
        raise UnsupportedOperation(
            "lu_solve of a transposed complex matrix has no row; use trans=2 of its conj"
        )
    pivots = b.astype(b.add(pivots, 1), dtype="int32")
    return _solution(b, y, lambda y: b.lu_solve(x, pivots, y, adjoint=bool(trans)))


@_lapack("qr")
def scipy_qr(
    b: NumpyBuilder, a: Any, overwrite_a: Any = False, lwork: Any = None, mode: str = "full",
    pivoting: Any = False, check_finite: Any = True,
) -> Any:  # fmt: skip
    if pivoting or mode == "raw":
        raise UnsupportedOperation("qr with pivoting or mode='raw' has no row")
    q, r = b.qr(*_matrices(b, a), mode="reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


@_lapack("svd")
def scipy_svd(
    b: NumpyBuilder, a: Any, full_matrices: Any = True, compute_uv: Any = True, overwrite_a: Any = False,
    check_finite: Any = True, lapack_driver: Any = "gesdd",
) -> Any:  # fmt: skip
    return svd(b, a, full_matrices, compute_uv)


@_lapack("svdvals")
def scipy_svdvals(b: NumpyBuilder, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return b.svdvals(*_matrices(b, a))


@_lapack("norm")
def scipy_norm(
    b: NumpyBuilder, a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    # Sums in SciPy have the precision of the result.
    x = b.floating(b.array(a))
    wide = complex_of(b.recorded_dtype()) if is_complex(x.dtype) else b.recorded_dtype()
    return norm(b, b.cast(x, wide), ord, axis, keepdims)


@_lapack("expm")
def scipy_expm(b: NumpyBuilder, A: Any) -> Any:
    return b.matrix_exp(*_matrices(b, A))


@_lapack("eigh")
def scipy_eigh(
    b: NumpyBuilder, a: Any, b_: Any = None, *, lower: Any = True, eigvals_only: Any = False,
    overwrite_a: Any = False, overwrite_b: Any = False, type: Any = 1, check_finite: Any = True,
    subset_by_index: Any = None, subset_by_value: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    if b_ is not None or subset_by_index is not None or subset_by_value is not None:
        raise UnsupportedOperation("eigh of two matrices, or of a part of the eigenvalues, has no row")
    x = _matrices(b, a)
    return b.eigvalsh(*x, upper=not lower) if eigvals_only else b.eigh(*x, upper=not lower)


@_lapack("eigvalsh")
def scipy_eigvalsh(b: NumpyBuilder, a: Any, b_: Any = None, **options: Any) -> Any:
    return scipy_eigh(b, a, b_, eigvals_only=True, **options)


@_lapack("pinv")
def scipy_pinv(
    b: NumpyBuilder, a: Any, *, atol: Any = None, rtol: Any = None, return_rank: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    if atol or return_rank:
        raise UnsupportedOperation("pinv with atol= or return_rank=True has no row")
    return b.pinv(_matrices(b, a)[0], rtol)


def _circular(b: NumpyBuilder, column: Value, count: Any) -> Value:
    """Return the matrix of ``column[(i - j) % len(column)]``, with ``count`` columns ``j``."""
    places = b.subtract(
        b.reshape(b.arange(stop=column.shape[0], dtype="int64"), shape=(column.shape[0], 1)),
        b.arange(stop=count, dtype="int64"),
    )
    # The elements before the first are the last ones.
    return b.take(column, b.remainder(places, column.shape[0]), axis=0)


@_lapack("circulant")
def scipy_circulant(b: NumpyBuilder, c: Any) -> Any:
    column = b.array(c)
    if column.ndim != 1:
        raise UnsupportedOperation("circulant of several columns has no row")
    return _circular(b, column, column.shape[0])


@_lapack("toeplitz")
def scipy_toeplitz(b: NumpyBuilder, c: Any, r: Any = None) -> Any:
    column = b.array(c)
    line = (b.conj(column) if is_complex(column.dtype) else column) if r is None else b.array(r)
    if column.ndim != 1 or line.ndim != 1:
        raise UnsupportedOperation("toeplitz of several columns has no row")
    column, line = b.promote(column, line)
    count, width = column.shape[0], line.shape[0]
    both = b.concat(column, b.flip(b.getitem(line, key=((1, None, 1),)), axis=(0,)), axis=0)
    return b.getitem(_circular(b, both, width), key=((None, count, 1),))


@_lapack("block_diag")
def scipy_block_diag(b: NumpyBuilder, *arrs: Any) -> Any:
    blocks = b.promote(*(b.array(item) for item in arrs))
    if any(item.ndim > 2 for item in blocks):
        raise UnsupportedOperation("block_diag of stacks of matrices has no row")
    matrices = [b.reshape(item, shape=(1,) * (2 - item.ndim) + tuple(item.shape)) for item in blocks]
    widths = [item.shape[1] for item in matrices]
    lines = []
    for place, block in enumerate(matrices):
        before, after = sum(widths[:place]), sum(widths[place + 1 :])
        lines.append(b.pad(block, padding=((0, 0), (before, after))))
    return b.concat(*lines, axis=0)


# The order of the norm of differences for each metric, under each of its names.
_METRICS = {
    **dict.fromkeys(("cityblock", "cblock", "cb", "c"), 1.0),
    **dict.fromkeys(("euclidean", "euclid", "eu", "e"), 2.0),
    **dict.fromkeys(("sqeuclidean", "sqeuclid", "sqe"), 2.0),
    **dict.fromkeys(("chebyshev", "chebychev", "cheby", "cheb", "ch"), math.inf),
}
_METRICS_OF_POWERS = frozenset({"minkowski", "mi", "m", "pnorm"})


@rows.row("scipy.spatial.distance.cdist")
def cdist(b: NumpyBuilder, XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:
    name = str(metric).lower()
    order = options.pop("p", 2) if name in _METRICS_OF_POWERS else _METRICS.get(name)
    if order is None or options:
        raise UnsupportedOperation(
            f"cdist with the metric {metric!r} has no row; cityblock, euclidean, sqeuclidean, chebyshev and "
            "minkowski have one"
        )
    # SciPy computes distances in float64, and from differences, where a product would lose digits.
    x, y = (b.astype(b.array(item), dtype="float64") for item in (XA, XB))
    x = b.reshape(x, shape=(x.shape[0], 1, x.shape[1]))
    differences = b.subtract(x, y)
    if name.startswith("sqe"):
        return b.sum(b.square(differences), axis=(2,))
    return b.vector_norm(differences, axis=(2,), ord=float(order))
