"""Rows of reductions, statistics and random numbers. A random key is a ``np.random.Generator``."""

from __future__ import annotations

import math
from typing import Any

from ....ops.rules import normalise_axes
from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "sum": "np.sum({x}, {axis=}, {dtype=}, {keepdims=})",
        "prod": "np.prod({x}, {axis=}, {dtype=}, {keepdims=})",
        "max": "np.max({x}, {axis=}, {keepdims=})",
        "min": "np.min({x}, {axis=}, {keepdims=})",
        "all": "np.all({x}, {axis=}, {keepdims=})",
        "any": "np.any({x}, {axis=}, {keepdims=})",
        "diff": "np.diff({x}, {n=}, {axis=})",
        "nansum": "np.nansum({x}, {axis=}, {dtype=}, {keepdims=})",
        "nanmean": "nan_mean({x}, {axis=}, {keepdims=})",
        "cumulative_sum": "np.cumsum({x}, {axis=}, {dtype=})",
        "cumulative_prod": "np.cumprod({x}, {axis=}, {dtype=})",
        "logcumsumexp": "np.logaddexp.accumulate({x}, {axis=})",
        "logsumexp": "logsumexp({x}, {axis=}, {keepdims=})",
        "quantile": "quantile({x}, {q}, {axis=}, {keepdims=}, {interpolation=}, {skip_nan=})",
        "histogram_bin_edges": "np.histogram_bin_edges({x}, {bins=}, {range=}).astype({x}.dtype)",
        "corrcoef": "correlations({x})",
    },
    unused={"first": "it chooses a derivative"},
)


def _axes(axis: Any, keepdims: bool) -> str:
    return ("" if axis is None else f", axis={axis!r}") + (", keepdims=True" if keepdims else "")


def _count(x: Operand, axis: Any) -> int:
    sizes = [x.shape[i] for i in normalise_axes(axis, x.ndim)]
    # Symbolic sizes may be 0.
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else 0


# ``np.mean`` warns if there are no elements, so it is used only if there certainly are some.
rows.table(
    {
        "mean": lambda x, *, axis, keepdims: (
            f"{'np.mean' if _count(x, axis) else 'mean'}({x}{_axes(axis, keepdims)})"
        )
    }
)


@rows.row("var")
def _var(x: Operand, *, axis: Any, correction: Any, keepdims: bool) -> str:
    # ``np.var`` warns if no degrees of freedom are left.
    known = isinstance(correction, int) and _count(x, axis) > correction
    name = "ddof" if known else "correction"
    given = f", {name}={correction!r}" if correction != 0 else ""
    return f"{'np.var' if known else 'variance'}({x}{_axes(axis, keepdims)}{given})"


@rows.row("trapezoid", "cumulative_trapezoid")
def _trapezoid(y: Operand, x: Operand | None = None, *, dx: Any, axis: int, out: Any) -> str:
    points = f", {x}" if x is not None else "" if dx == 1 else f", dx={dx!r}"
    function = "np.sum" if out[0].ndim < y.ndim else "np.cumsum"
    return f"{function}(trapezoid_areas({y}{points}, axis={axis}), axis={axis})"


@rows.row("bincount")
def _bincount(x: Operand, weights: Operand | None = None, *, minlength: Any, hint: int) -> str:
    given = (f", {weights}" if weights is not None else "") + (
        f", minlength={minlength!r}" if minlength != 0 else ""
    )
    return f"np.bincount({x}{given}){f'.astype({weights}.dtype)' if weights is not None else ''}"


@rows.row("cov")
def _cov(
    x: Operand, fweights: Operand | None = None, aweights: Operand | None = None, *, correction: Any
) -> str:
    given = {"fweights": fweights, "aweights": aweights}
    weights = "".join(f", {name}={array}" for name, array in given.items() if array is not None)
    return f"covariances({x}{'' if correction == 1 else f', correction={correction!r}'}{weights})"


rows.table(
    {
        "random_key": "np.random.default_rng({seed})",
        "random_fold_in": "derived_generator({key}, {index})",
        "random_normal": "random_normal({key}, {shape}, {dtype})",
        "random_bernoulli": "random_bernoulli({key}, {probability}, {shape})",
        "random_exponential": "{key}.standard_exponential({shape}, {dtype})",
        "random_gumbel": "{key}.gumbel(size={shape}).astype({dtype})",
        "random_cauchy": "{key}.standard_cauchy({shape}).astype({dtype})",
        "random_gamma": "{key}.standard_gamma({concentration}).astype({concentration}.dtype)",
        "random_poisson": "{key}.poisson({rate}).astype({rate}.dtype)",
        "random_binomial": "{key}.binomial({count}.astype(np.int64), {probability})"
        ".astype({probability}.dtype)",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "random_permutation": "{key}.permutation({n}).astype({dtype})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    # ``Generator.random`` has no other dtypes and no other bounds.
    if (low, high) == (0, 1) and dtype in ("np.float32", "np.float64"):
        return f"{key}.random({shape!r}, {dtype})"
    return f"random_uniform({key}, {shape!r}, {low!r}, {high!r}, {dtype})"


rows.table(
    {
        "random_integers": lambda key, *, shape, low, high, dtype: (
            f"{key}.integers({low!r}, {high!r}, {shape!r}).astype({dtype})"
        )
    }
)
