"""Products of matrices and vectors of torch."""

from __future__ import annotations

from typing import Any

from ....sizes import hint_of
from .demands import assume
from .manipulation import broadcast_all
from .table import TorchBuilder, axes, rows

# ---------------------------------------------------------------------------------------------- products of two
rows.table({
    ("matmul", "__matmul__", "linalg_matmul"): lambda b, input, other: b.matmul(input, other),
    "__rmatmul__": lambda b, input, other: b.matmul(other, input),  # ``other @ input``
    ("mm", "bmm"): lambda b, input, mat2: b.matmul(input, mat2),
    "mv": lambda b, input, vec: b.matmul(input, vec),
    "dot": lambda b, input, tensor: b.matmul(input, tensor),  # nothing is conjugated
    "vdot": lambda b, input, other: b.vecdot(input, other),  # ``input`` is conjugated
    ("outer", "ger"): lambda b, input, vec2: b.outer(*b.promote(input, vec2)),
    "kron": lambda b, input, other: b.kron(*b.promote(input, other)),
    "linalg_cross": lambda b, input, other, *, dim=-1: b.cross(input, other, axis=_from_the_back(dim, input.ndim)),
})  # fmt: skip


@rows.row("linalg_vecdot")
def linalg_vecdot(b: TorchBuilder, x: Any, y: Any, *, dim: int = -1) -> Any:
    """torch.linalg.vecdot: ``x`` is conjugated."""
    axis = _from_the_back(dim, max(x.ndim, y.ndim))
    if hint_of(x.shape[axis]) != hint_of(y.shape[axis]):  # one element goes with all others
        x, y = broadcast_all(b, x, y)
    assume(b, "eq", x.shape[axis], y.shape[axis])
    return b.vecdot(x, y, axis=axis)


def _from_the_back(dim: int, rank: int) -> int:
    return dim if dim < 0 else dim - rank


@rows.row("inner")
def inner(b: TorchBuilder, input: Any, other: Any) -> Any:
    """torch.inner; with a 0-d array, the product."""
    if input.ndim == 0 or other.ndim == 0:
        return b.multiply(*b.promote(input, other))
    return b.inner(input, other)


@rows.row("cross")
def cross(b: TorchBuilder, input: Any, other: Any, dim: Any = None) -> Any:
    """torch.cross: along the first axis of three without ``dim``."""
    if dim is None:
        dim = next(i for i, size in enumerate(input.shape) if hint_of(size) == 3)
        for size in input.shape[: dim + 1]:
            b.fix(size)
    return b.cross(input, other, axis=_from_the_back(dim, input.ndim))


# ---------------------------------------------------------------------------------------------- sums with a product
def _scaled(b: TorchBuilder, x: Any, factor: Any) -> Any:
    return x if not hasattr(factor, "spec") and factor == 1 else b.multiply(x, b.operand(factor, x.dtype))


def _added(b: TorchBuilder, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * product``; with ``beta`` 0, not even NaN of ``input`` counts."""
    if product.dtype == "bool":
        one = b.logical_and(product, bool(alpha))
        return b.logical_or(b.broadcast_to(input, shape=product.shape), one) if beta else one
    result = _scaled(b, product, alpha)
    b.expands(input, product.shape)
    return result if not hasattr(beta, "spec") and beta == 0 else b.add(_scaled(b, b.cast(input, result.dtype), beta), result)


@rows.row("addr")
def addr(b: TorchBuilder, input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    x, product = b.promote(input, b.outer(*b.promote(vec1, vec2)))
    return _added(b, x, product, beta, alpha)


rows.table({
    "addmm": lambda b, input, mat1, mat2, *, beta=1, alpha=1: _added(b, input, b.matmul(mat1, mat2), beta, alpha),
    "addmv": lambda b, input, mat, vec, *, beta=1, alpha=1: _added(b, input, b.matmul(mat, vec), beta, alpha),
    "baddbmm": lambda b, input, batch1, batch2, *, beta=1, alpha=1: _added(b, input, b.matmul(batch1, batch2), beta, alpha),
    # the sum over a batch of products is one product over both axes
    "addbmm": lambda b, input, batch1, batch2, *, beta=1, alpha=1: _added(
        b, input, b.einsum(batch1, batch2, equation="bij,bjk->ik"), beta, alpha
    ),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- products of many
@rows.row("einsum")
def einsum(b: TorchBuilder, *args: Any, path: Any = None) -> Any:
    """torch.einsum: an equation and operands, or operands each with its list of axes."""
    if isinstance(args[0], str):
        equation, *arrays = args
        arrays = list(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    else:
        equation, arrays = _from_lists(args)
    equation = _explicit(equation.replace(" ", ""))
    taken, _, given = equation.partition("->")
    if len(arrays) == 1 and set(taken) - set(given):  # no product: a sum, which of integers is wider
        arrays = [b.cast(arrays[0], b.recorded[0].dtype)]
    return b.einsum(*arrays, equation=equation)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """``(x, [0, 1], y, [1, 2], [0, 2])`` as ``"AB,BC->AC"``."""
    result = "->" + _labels(args[-1]) if len(args) % 2 else ""
    count = len(args) // 2
    return ",".join(_labels(args[2 * i + 1]) for i in range(count)) + result, [args[2 * i] for i in range(count)]


def _labels(axes: Any) -> str:
    return "".join("..." if item is Ellipsis else chr(ord("A") + item) if item < 26 else chr(ord("a") + item - 26) for item in axes)


def _explicit(equation: str) -> str:
    """The equation with its result: without one, the labels that come once, in the order of the alphabet, after the ellipsis."""
    if "->" in equation:
        return equation
    letters = equation.replace("...", "").replace(",", "")
    once = "".join(sorted(label for label in set(letters) if letters.count(label) == 1))
    return f"{equation}->{'...' if '...' in equation else ''}{once}"


@rows.row("tensordot")
def tensordot(build: TorchBuilder, a: Any, b: Any, dims: Any = 2, dims_other: Any = None, out: Any = None) -> Any:
    """torch.tensordot: ``dims`` axes from the end of ``a`` and the front of ``b``, or axes of each; an axis of size 1 broadcasts."""
    if isinstance(dims, int):
        left: Any = tuple(range(a.ndim - dims, a.ndim))
        right: Any = tuple(range(dims))
    else:
        both = dims if dims_other is None else (dims, dims_other)
        left, right = axes(tuple(both[0]), a.ndim) or (), axes(tuple(both[1]), b.ndim) or ()
    return build.tensordot(*_without_broadcasting(build, a, b, left, right), axes=(left, right))


def _without_broadcasting(b: TorchBuilder, x: Any, y: Any, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Any, Any]:
    """Where an axis of size 1 meets a longer one, the longer one is summed first."""
    pairs = [(i, j) for i, j in zip(left, right, strict=True) if hint_of(x.shape[i]) != hint_of(y.shape[j])]
    long_left = tuple(i for i, j in pairs if b.fix(y.shape[j]) == 1)
    long_right = tuple(j for i, j in pairs if i not in long_left and b.fix(x.shape[i]) == 1)
    return _summed(b, x, long_left), _summed(b, y, long_right)


def _summed(b: TorchBuilder, x: Any, axis: tuple[int, ...]) -> Any:
    return b.sum(x, axis=axis, keepdims=True, dtype=x.dtype) if axis else x


@rows.row("chain_matmul")
def chain_matmul(b: TorchBuilder, *matrices: Any, out: Any = None) -> Any:
    arrays = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    return linalg_multi_dot(b, arrays)


@rows.row("linalg_multi_dot")
def linalg_multi_dot(b: TorchBuilder, tensors: Any) -> Any:
    if len(tensors) <= 2:
        return b.matmul(*tensors) if len(tensors) == 2 else tensors[0]
    return b.multi_dot(*tensors)


rows.table({
    ("matrix_power", "linalg_matrix_power"): lambda b, input, n: b.matrix_power(input, n=n),
    ("matrix_exp", "linalg_matrix_exp"): lambda b, A: b.matrix_exp(A),
    "trace": lambda b, input: b.trace(input, dtype=None if input.dtype == "int64" or "int" not in input.dtype else "int64"),
})  # fmt: skip
