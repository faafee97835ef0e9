"""Statistics and random numbers in torch.

A key is a ``torch.Generator``, or None for the default one. Each sample advances its state, so the order of
the samples matters.
"""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import UNSIGNED
from ...common.rows import Operand, call, unless
from .nn import reduction_arguments
from .table import rows

rows.table(
    {
        "diff": "torch.diff({x}, {n=}, {dim=axis})",
        "mode": "torch.mode({x}, {dim=axis}, {keepdim=keepdims})",
        "cummax": "torch.cummax({x}, {dim=axis})",
        "cummin": "torch.cummin({x}, {dim=axis})",
        "logcumsumexp": "torch.logcumsumexp({x}, {dim=axis})",
        "histc": "torch.histc({x}, {bins=}, {min=}, {max=})",
        "histogram_bin_edges": "torch.histogram({x}, {bins=}, {range=}).bin_edges",
        "corrcoef": "torch.corrcoef({x})",
        "cosine_similarity": "F.cosine_similarity({x1}, {x2}, {dim=axis}, eps={epsilon})",
        "cdist": "torch.cdist({x1}, {x2}, {p=})",
        "pdist": "F.pdist({x}, {p=})",
    }
)


def _reductions(names: dict[str, str]) -> None:
    for name, function in names.items():

        def row(x: Operand, *, axis: Any, keepdims: bool, function: str = function) -> str:
            return f"{function}({reduction_arguments(x, axis, keepdims)})"

        rows.row(name)(row)


_reductions({"mean": "torch.mean", "nanmean": "torch.nanmean"})


def _extreme(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, keepdims: bool, first: bool) -> str:
        # Along one axis, torch also finds an index, and the element there gets the gradient.
        return (
            f"torch.{name}({reduction_arguments(x, axis, keepdims)})[0]"
            if first
            else f"torch.a{name}({reduction_arguments(x, axis, keepdims)})"
        )


_extreme("max")
_extreme("min")


def _accumulations(names: dict[str, str]) -> None:
    for name, function in names.items():

        def row(x: Operand, *, axis: Any, dtype: Any, keepdims: bool, function: str = function) -> str:
            return f"{function}({reduction_arguments(x, axis, keepdims)}{_dtype_option(x, dtype)})"

        rows.row(name)(row)


def _dtype_option(x: Operand, dtype: Any) -> str:
    if dtype is None:
        # torch would compute sums and products of unsigned integers in int64.
        return ", dtype=torch.uint64" if x.dtype in UNSIGNED else ""
    return f", dtype={dtype!r}"


_accumulations({"sum": "torch.sum", "nansum": "torch.nansum"})


@rows.row("prod")
def _prod(x: Operand, *, axis: Any, dtype: Any, keepdims: bool) -> str:
    # torch.prod reduces one axis or all.
    if axis == () or (axis is None and not keepdims):
        return f"torch.prod({reduction_arguments(x, axis, keepdims)}{_dtype_option(x, dtype)})"
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    last, *others = sorted((a % max(x.ndim, 1) for a in axes), reverse=True)
    text = f"torch.prod({reduction_arguments(x, last, keepdims)}{_dtype_option(x, dtype)})"
    return text + "".join(
        f".prod({other}{', keepdim=True' if keepdims else ''}{_dtype_option(x, dtype)})" for other in others
    )


def _truth(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, keepdims: bool) -> str:
        # torch returns uint8 for uint8.
        return (
            f"torch.{name}({reduction_arguments(f'{x} != 0' if x.dtype == 'uint8' else x, axis, keepdims)})"
        )


_truth("all")
_truth("any")


def _dispersion(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, correction: Any, keepdims: bool) -> str:
        options = "" if correction == 1 else f", correction={correction!r}"
        return f"torch.{name}({reduction_arguments(x, axis, keepdims)}{options})"


_dispersion("var")
_dispersion("std")


@rows.row("logsumexp")
def _logsumexp(x: Operand, *, axis: Any, keepdims: bool) -> str:
    # The function of torch has no default for the axes, and accepts axis 0 of a 0-d tensor.
    axes = axis if axis is not None else tuple(range(x.ndim)) or 0
    return f"torch.logsumexp({reduction_arguments(x, axes, keepdims)})"


def _cumulative(name: str, function: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int, dtype: Any) -> str:
        return f"torch.{function}({x}, dim={axis}{_dtype_option(x, dtype)})"


_cumulative("cumulative_sum", "cumsum")
_cumulative("cumulative_prod", "cumprod")


@rows.row("quantile")
def _quantile(
    x: Operand, q: Operand, *, axis: Any, keepdims: bool, interpolation: str, skip_nan: bool
) -> str:
    options = {"dim": axis, "keepdim": keepdims or None, "interpolation": unless(interpolation, "linear")}
    return call("torch.nanquantile" if skip_nan else "torch.quantile", x, q, **options)


@rows.row("trapezoid", "cumulative_trapezoid")
def _trapezoid(y: Operand, x: Operand | None = None, *, dx: Any, axis: int, out: Any) -> str:
    function = "torch.trapezoid" if out[0].ndim < y.ndim else "torch.cumulative_trapezoid"
    return call(function, y, x, dx=None if x is not None else unless(dx, 1), dim=unless(axis, -1))


@rows.row("bincount")
def _bincount(x: Operand, weights: Operand | None = None, *, minlength: Any, hint: int) -> str:
    # torch sums weights of other dtypes as float64.
    counted = call("torch.bincount", x, weights, minlength=unless(minlength, 0))
    return (
        counted
        if weights is None or weights.dtype in ("float32", "float64")
        else f"{counted}.to({weights}.dtype)"
    )


@rows.row("histogram")
def _histogram(x: Operand, bin_edges: Operand, weights: Operand | None = None, *, density: bool) -> str:
    return f"{call('torch.histogram', x, bin_edges, weight=weights, density=density or None)}.hist"


@rows.row("cov")
def _cov(
    x: Operand, fweights: Operand | None = None, aweights: Operand | None = None, *, correction: Any
) -> str:
    return call("torch.cov", x, correction=unless(correction, 1), fweights=fweights, aweights=aweights)


@rows.row("lower_median")
def _lower_median(x: Operand, *, axis: int, keepdims: bool, skip_nan: bool) -> str:
    return call("torch.nanmedian" if skip_nan else "torch.median", x, dim=axis, keepdim=keepdims or None)


rows.table({"random_fold_in": "{key}"}, unused={"index": "each draw advances the generator"})
rows.table(
    {
        "random_key": "torch.Generator().manual_seed({seed})",
        "random_normal": "torch.randn({shape}, generator={key}, dtype={dtype})",
        "random_bernoulli": "torch.rand({shape}, generator={key}) < {probability}",
        "random_integers": "torch.randint({low}, {high}, {shape}, generator={key}, dtype={dtype})",
        "random_permutation": "torch.randperm({n}, generator={key}, dtype={dtype})",
        "random_exponential": "torch.empty({shape}, dtype={dtype}).exponential_(generator={key})",
        "random_gumbel": "-torch.empty({shape}, dtype={dtype}).exponential_(generator={key}).log()",
        "random_cauchy": "torch.empty({shape}, dtype={dtype}).cauchy_(generator={key})",
        "random_gamma": "torch._standard_gamma({concentration}, generator={key})",
        "random_poisson": "torch.poisson({rate}, generator={key})",
        "random_binomial": "torch.binomial({count}, {probability}, generator={key})",
        "random_categorical": "torch.multinomial({weights}, {samples}, {replacement}, generator={key})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if (low, high) == (0, 1):
        return f"torch.rand({shape!r}, generator={key}, dtype={dtype})"
    return f"torch.empty({shape!r}, dtype={dtype}).uniform_({low!r}, {high!r}, generator={key})"
