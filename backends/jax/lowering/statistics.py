"""Rows of reductions, statistics and random numbers."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_floating
from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "sum": "jnp.sum({x}, {axis=}, {dtype=}, {keepdims=})",
        "prod": "jnp.prod({x}, {axis=}, {dtype=}, {keepdims=})",
        "mean": "jnp.mean({x}, {axis=}, {keepdims=})",
        "all": "jnp.all({x}, {axis=}, {keepdims=})",
        "any": "jnp.any({x}, {axis=}, {keepdims=})",
        "diff": "jnp.diff({x}, {n=}, {axis=})",
        "nansum": "jnp.nansum({x}, {axis=}, {dtype=}, {keepdims=})",
        "nanmean": "jnp.nanmean({x}, {axis=}, {keepdims=})",
        "histogram_bin_edges": "histogram_bin_edges({x}, {bins=}, {range=})",
        "corrcoef": "jnp.corrcoef({x})",
    }
)


def _axes(axis: Any, keepdims: bool) -> str:
    return ("" if axis is None else f", axis={axis!r}") + (", keepdims=True" if keepdims else "")


def _extreme(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, keepdims: bool, first: bool) -> str:
        if first and is_floating(x.dtype or ""):
            return f"first_extreme(jnp.{name}, jnp.arg{name}, {x}{_axes(axis, keepdims)})"
        return f"jnp.{name}({x}{_axes(axis, keepdims)})"


_extreme("max")
_extreme("min")


@rows.row("var")
def _var(x: Operand, *, axis: Any, correction: Any, keepdims: bool) -> str:
    if correction in (0, 1):
        return f"jnp.var({x}{_axes(axis, keepdims)}{', correction=1' if correction else ''})"
    return f"variance_over({x}{_axes(axis, keepdims)}, correction={correction!r})"


rows.table({
    "logsumexp": lambda x, *, axis, keepdims: f"jax.nn.logsumexp({x}{_axes(axis, keepdims)})",
    "cumulative_sum": lambda x, *, axis, dtype, out: _running("lax.cumsum", x, axis, out[0].dtype, dtype),
    "cumulative_prod": lambda x, *, axis, dtype, out: _running("lax.cumprod", x, axis, out[0].dtype, dtype),
    "logcumsumexp": lambda x, *, axis: _running("lax.cumlogsumexp", x, axis, x.dtype),
})  # fmt: skip


def _running(function: str, x: Operand, axis: int, dtype: str | None, cast: Any = None) -> str:
    # As in torch, half precision is accumulated in float32.
    if dtype in ("float16", "bfloat16"):
        return f"{function}({x}.astype(jnp.float32), axis={axis}).astype({cast or f'{x}.dtype'})"
    given = x if dtype == x.dtype or cast is None else f"{x}.astype({cast!r})"
    return f"{function}({given}, axis={axis})"


@rows.row("quantile")
def _quantile(
    x: Operand, q: Operand, *, axis: Any, keepdims: bool, interpolation: str, skip_nan: bool
) -> str:
    method = "" if interpolation == "linear" else f', method="{interpolation}"'
    return f"jnp.{'nanquantile' if skip_nan else 'quantile'}({x}, {q}{_axes(axis, keepdims)}{method})"


@rows.row("trapezoid", "cumulative_trapezoid")
def _trapezoid(y: Operand, x: Operand | None = None, *, dx: Any, axis: int, out: Any) -> str:
    points = f", {x}" if x is not None else "" if dx == 1 else f", dx={dx!r}"
    function = "jnp.sum" if out[0].ndim < y.ndim else "jnp.cumsum"
    return f"{function}(trapezoid_areas({y}{points}, axis={axis}), axis={axis})"


@rows.row("bincount")
def _bincount(x: Operand, weights: Operand | None = None, *, minlength: Any, hint: int) -> str:
    options = "" if weights is None else f", {weights}"
    options += f", minlength={minlength!r}" if minlength != 0 else ""
    return f"jnp.bincount({x}{options})"


@rows.row("cov")
def _cov(
    x: Operand, fweights: Operand | None = None, aweights: Operand | None = None, *, correction: Any
) -> str:
    given = {"fweights": fweights, "aweights": aweights}
    weights = "".join(f", {name}={array}" for name, array in given.items() if array is not None)
    return f"jnp.cov({x}{'' if correction == 1 else f', ddof={correction!r}'}{weights})"


rows.table(
    {
        "random_key": "jax.random.PRNGKey({seed})",
        "random_fold_in": "jax.random.fold_in({key}, {index})",
        "random_normal": "jax.random.normal({key}, {shape}, {dtype})",
        "random_bernoulli": "jax.random.bernoulli({key}, {probability}, {shape})",
        "random_permutation": "jax.random.permutation({key}, {n}).astype({dtype})",
        "random_exponential": "jax.random.exponential({key}, {shape}, {dtype})",
        "random_gumbel": "jax.random.gumbel({key}, {shape}, {dtype})",
        "random_cauchy": "jax.random.cauchy({key}, {shape}, {dtype})",
        "random_gamma": "jax.random.gamma({key}, {concentration}, dtype={concentration}.dtype)",
        "random_poisson": "jax.random.poisson({key}, {rate}).astype({rate}.dtype)",
        "random_binomial": "jax.random.binomial({key}, {count}, {probability}, dtype={probability}.dtype)",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    limits = "" if (low, high) == (0, 1) else f", {low!r}, {high!r}"
    return f"jax.random.uniform({key}, {shape!r}, {dtype}{limits})"


@rows.row("random_integers")
def _integers(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if dtype.endswith("int32") and isinstance(high, int):
        # JAX has no int64 bounds without ``jax_enable_x64``.
        high = min(high, 2**31 - 1)
    return f"jax.random.randint({key}, {shape!r}, {low!r}, {high!r}, {dtype})"
