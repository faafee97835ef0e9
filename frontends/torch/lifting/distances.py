"""Norms, distances, correlations, histograms and integrals of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir.node import Value
from ....sizes import hint_of
from .demands import assume
from .one_number import held
from .reductions import over
from .table import TorchBuilder, axes, axis, rows


# ---------------------------------------------------------------------------------------------- norms
def _number(ord: Any) -> Any:
    return 2.0 if ord is None else ord if isinstance(ord, str) else float(ord)


def _vector_norm(b: TorchBuilder, x: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    return b.vector_norm(x, ord=_number(ord), axis=over(dim, x), keepdims=bool(keepdim))


def _matrix_norm(b: TorchBuilder, x: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    rows_axis, columns_axis = axes(dim, x.ndim) or (0, 1)
    if ord == "fro":
        return b.vector_norm(x, axis=(rows_axis, columns_axis), keepdims=bool(keepdim))
    rest = tuple(i for i in range(x.ndim) if i not in (rows_axis, columns_axis))
    norm = b.matrix_norm(b.permute_dims(x, axes=(*rest, rows_axis, columns_axis)), ord=ord)
    if not keepdim:
        return norm
    return b.reshape(norm, shape=tuple(1 if i in (rows_axis, columns_axis) else size for i, size in enumerate(x.shape)))


def _given(b: TorchBuilder, x: Any, dtype: Any) -> Any:
    return x if dtype is None else b.cast(x, dtype)


@rows.row("norm")
def norm(b: TorchBuilder, input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """torch.norm: "fro" is the 2-norm over any axes, "nuc" the nuclear norm of matrices."""
    x = _given(b, input, dtype)
    if p == "nuc":
        return _matrix_norm(b, x, p, dim, keepdim)
    return _vector_norm(b, x, None if p == "fro" else p, dim, keepdim)


@rows.row("linalg_norm")
def linalg_norm(b: TorchBuilder, A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """torch.linalg.norm: of vectors along one axis, of matrices along two; of all elements without ``ord`` and ``dim``."""
    x = _given(b, A, dtype)
    count = len(axes(dim, x.ndim) or ()) if dim is not None else x.ndim
    if ord is None or count == 1:
        return _vector_norm(b, x, ord, dim, keepdim)
    return _matrix_norm(b, x, ord if isinstance(ord, str) else _short(ord), dim, keepdim)


def _short(ord: Any) -> Any:
    return int(ord) if ord in (1, -1, 2, -2) else float(ord)


rows.table({
    "linalg_vector_norm": lambda b, x, ord=2, dim=None, keepdim=False, *, dtype=None: _vector_norm(
        b, _given(b, x, dtype), ord, dim, keepdim
    ),
    "linalg_matrix_norm": lambda b, A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None: _matrix_norm(
        b, _given(b, A, dtype), ord if isinstance(ord, str) else _short(ord), dim, keepdim
    ),
})  # fmt: skip


@rows.row("renorm")
def renorm(b: TorchBuilder, input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """torch.renorm: slices along ``dim`` whose norm is above ``maxnorm`` are scaled down to it, of half precision by a factor in
    float32."""
    place = axis(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != place)
    wide = b.cast(input, "float32") if input.dtype in ("float16", "bfloat16") else input
    norms = b.vector_norm(wide, ord=float(p), axis=others, keepdims=True)
    factor = b.divide(b.full(shape=(), fill_value=float(maxnorm), dtype=norms.dtype), b.add(norms, 1e-7))
    return b.cast(b.multiply(wide, b.cast(b.where(b.greater(norms, float(maxnorm)), factor, 1.0), wide.dtype)), input.dtype)


# ---------------------------------------------------------------------------------------------- distances
@rows.row("dist")
def dist(b: TorchBuilder, input: Any, other: Any, p: Any = 2) -> Any:
    x, y = b.promote(input, other)
    return b.vector_norm(b.subtract(x, y), ord=float(p))


rows.table({
    ("cdist", "_cdist_forward"): lambda b, x1, x2, p=2.0, compute_mode=None: b.cdist(*b.promote(x1, x2), p=float(p)),
    ("pdist", "_pdist_forward"): lambda b, input, p=2: b.pdist(input, p=float(p)),
})  # fmt: skip


@rows.row("cosine_similarity")
def cosine_similarity(b: TorchBuilder, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    if x1.ndim == x2.ndim == 0:
        x1, x2 = b.reshape(x1, shape=(1,)), b.reshape(x2, shape=(1,))
    x, y = b.promote(x1, x2)
    return b.cosine_similarity(x, y, axis=axis(dim, max(x1.ndim, x2.ndim)), epsilon=held(eps, x.dtype))


@rows.row("pairwise_distance")
def pairwise_distance(b: TorchBuilder, x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """torch.nn.functional.pairwise_distance: the norm of ``x1 - x2 + eps`` along the last axis."""
    difference = b.combined("add", b.combined("subtract", x1, x2), float(eps))
    return b.vector_norm(difference, ord=float(p), axis=difference.ndim - 1, keepdims=bool(keepdim))


# ---------------------------------------------------------------------------------------------- correlation
@rows.row("cov")
def cov(b: TorchBuilder, input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """torch.cov; weights of a wider type widen the result."""
    return b.cov(b.cast(b.floating(_variables(b, input)), b.recorded[0].dtype), fweights, aweights, correction=correction)


rows.table({"corrcoef": lambda b, input: b.corrcoef(b.floating(_variables(b, input)))})  # of one variable it has no axes


def _variables(b: TorchBuilder, input: Any) -> Any:
    """A single variable as a vector: torch gives no axes for it, however it comes."""
    if input.ndim == 2 and hint_of(input.shape[0]) == 1 and b.fix(input.shape[0]) == 1:
        return b.reshape(input, shape=(input.shape[1],))
    if input.ndim == 2:
        assume(b, "ne", input.shape[0], 1)
    return input


# ---------------------------------------------------------------------------------------------- counting
@rows.row("bincount")
def bincount(b: TorchBuilder, input: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """torch.bincount; weights that are no float32 count as float64."""
    if weights is not None and weights.dtype != "float32":
        weights = b.cast(weights, "float64")
    return b.bincount(input, weights, minlength=minlength, hint=b.recorded[0].shape[0])


rows.table({"histc": lambda b, input, bins=100, min=0, max=0: b.histc(input, bins=b.fix(bins), min=min, max=max)})


@rows.row("histogram")
def histogram(b: TorchBuilder, input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    if isinstance(bins, Value):
        edges = bins
    else:
        edges = b.histogram_bin_edges(input, bins=b.fix(bins), range=None if range is None else tuple(range))
    return b.histogram(input, edges, weight, density=bool(density)), edges


# ---------------------------------------------------------------------------------------------- integrals
_NARROW = ("uint8", "int8", "int16", "uint16", "uint32", "uint64")


def _integral(name: str) -> Callable[..., Any]:
    def row(b: TorchBuilder, y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
        if y.dtype in _NARROW or (x is not None and x.dtype in _NARROW):
            raise NotImplementedError(f"{name} of integers that wrap around")
        values = b.floating(y)
        if x is None:
            return getattr(b, name)(values, dx=dx, axis=axis(dim, y.ndim))
        points = b.cast(x, values.dtype)
        if 1 < x.ndim < y.ndim:
            points = b.reshape(points, shape=(1,) * (y.ndim - x.ndim) + x.shape)
        return getattr(b, name)(values, points, axis=axis(dim, y.ndim))

    return row


rows.row("trapezoid", "trapz")(_integral("trapezoid"))
rows.row("cumulative_trapezoid")(_integral("cumulative_trapezoid"))
