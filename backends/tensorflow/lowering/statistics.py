"""Statistics in TensorFlow, and random numbers as stateless functions of a key of two integers."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_bool, is_complex, is_floating, is_inexact
from ...common.rows import Operand
from .table import rows

rows.table(
    {
        "diff": "difference({x}, {n=}, {axis=})",
        "nanmean": "nan_mean({x}, {axis=}, {keepdims=})",
        "logcumsumexp": "cumulative_logsumexp({x}, {axis})",
        "histogram_bin_edges": "histogram_bin_edges({x}, {bins=}, {range=})",
        "corrcoef": "corrcoef({x})",
    }
)


def _axes(axis: Any, keepdims: bool) -> str:
    along = "" if axis is None else f", {list(axis) if isinstance(axis, tuple) else axis}"
    return along + (", keepdims=True" if keepdims else "")


def _typed(x: Operand, dtype: str) -> str:
    return str(x) if x.dtype == dtype else f"tf.cast({x}, tf.{dtype})"


def _accumulation(function: str, x: Operand, axis: Any, keepdims: bool, dtype: str) -> str:
    # A result of bool was requested by dtype=.
    if dtype == "bool":
        return f"tf.cast({function}(tf.cast({x}, tf.int64){_axes(axis, keepdims)}), tf.bool)"
    return f"{function}({_typed(x, dtype)}{_axes(axis, keepdims)})"


rows.table({
    "sum": lambda x, *, axis, dtype, keepdims, out: (
        _accumulation("tf.reduce_sum", x, axis, keepdims, out[0].dtype)
    ),
    "mean": lambda x, *, axis, keepdims: f"tf.reduce_mean({x}{_axes(axis, keepdims)})",
    "cumulative_sum": lambda x, *, axis, dtype, out: f"tf.cumsum({_typed(x, out[0].dtype)}, {axis})",
})  # fmt: skip


@rows.row("prod")
def _prod(x: Operand, *, axis: Any, dtype: Any, keepdims: bool, out: Any) -> str:
    if is_inexact(out[0].dtype) and x.ndim:
        return f"product({_typed(x, out[0].dtype)}{_axes(axis, keepdims)})"
    return _accumulation("tf.reduce_prod", x, axis, keepdims, out[0].dtype)


@rows.row("logsumexp")
def _logsumexp(x: Operand, *, axis: Any, keepdims: bool) -> str:
    function = "complex_logsumexp" if is_complex(x.dtype or "") else "tf.reduce_logsumexp"
    return f"{function}({x}{_axes(axis, keepdims)})"


def _extreme(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, keepdims: bool, first: bool) -> str:
        if first and is_floating(x.dtype or ""):
            return (
                f"first_extreme(tf.reduce_{name}, tf.arg{name}, {x}, "
                f"{axis}{', keepdims=True' if keepdims else ''})"
            )
        function = {"max": "any", "min": "all"}[name] if is_bool(x.dtype or "") else name
        return f"tf.reduce_{function}({x}{_axes(axis, keepdims)})"


_extreme("max")
_extreme("min")


def _logical(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: Any, keepdims: bool) -> str:
        # `tf.reduce_all` and `tf.reduce_any` take bools only.
        given = x if is_bool(x.dtype or "") else f"{x} != 0"
        return f"tf.reduce_{name}({given}{_axes(axis, keepdims)})"


_logical("all")
_logical("any")


@rows.row("var")
def _var(x: Operand, *, axis: Any, correction: Any, keepdims: bool) -> str:
    if correction == 0:
        return f"tf.math.reduce_variance({x}{_axes(axis, keepdims)})"
    return f"variance_over({x}{_axes(axis, keepdims).replace(', [', ', axis=[')}, correction={correction!r})"


@rows.row("cumulative_prod")
def _cumulative_prod(x: Operand, *, axis: int, dtype: Any, out: Any) -> str:
    function = "cumulative_prod" if is_inexact(out[0].dtype) and x.ndim else "tf.math.cumprod"
    return f"{function}({_typed(x, out[0].dtype)}, {axis})"


@rows.row("quantile")
def _quantile(
    x: Operand, q: Operand, *, axis: Any, keepdims: bool, interpolation: str, skip_nan: bool
) -> str:
    options = "" if axis is None else f", axis={axis!r}"
    options += ", keepdims=True" if keepdims else ""
    options += "" if interpolation == "linear" else f", method={interpolation!r}"
    return f"quantile({x}, {q}{options}{', skip_nan=True' if skip_nan else ''})"


@rows.row("trapezoid", "cumulative_trapezoid")
def _trapezoid(y: Operand, x: Operand | None = None, *, dx: Any, axis: int, out: Any) -> str:
    points = f", {x}" if x is not None else "" if dx == 1 else f", dx={dx!r}"
    function = "tf.reduce_sum" if out[0].ndim < y.ndim else "tf.cumsum"
    return f"{function}(trapezoid_areas({y}{points}, axis={axis}), {axis})"


@rows.row("bincount")
def _bincount(x: Operand, weights: Operand | None = None, *, minlength: Any, hint: int) -> str:
    options = f", {weights}" if weights is not None else ""
    options += f", minlength={minlength!r}" if minlength != 0 else ""
    return f"bincount({x}{options})"


@rows.row("cov")
def _cov(
    x: Operand, fweights: Operand | None = None, aweights: Operand | None = None, *, correction: Any
) -> str:
    given = {"fweights": fweights, "aweights": aweights}
    weights = "".join(f", {name}={array}" for name, array in given.items() if array is not None)
    return f"covariance({x}{'' if correction == 1 else f', correction={correction!r}'}{weights})"


rows.table(
    {
        "random_key": "tf.constant([{seed} % 2**31, 0], tf.int32)",
        "random_fold_in": "tf.random.fold_in({key}, {index})",
        "random_bernoulli": "random_bernoulli({key}, {probability}, {shape})",
        "random_permutation": "random_permutation({key}, {n}, {dtype})",
        "random_exponential": "-tf.math.log1p(-tf.random.stateless_uniform({shape}, {key}, dtype={dtype}))",
        "random_gumbel": "random_gumbel({key}, {shape}, {dtype})",
        "random_cauchy": (
            "tf.tan(math.pi * (tf.random.stateless_uniform({shape}, {key}, dtype={dtype}) - 0.5))"
        ),
        "random_gamma": (
            "tf.random.stateless_gamma(tf.shape({concentration}), {key}, {concentration}, "
            "dtype={concentration}.dtype)"
        ),
        "random_poisson": "tf.random.stateless_poisson(tf.shape({rate}), {key}, {rate}, dtype={rate}.dtype)",
        "random_binomial": "random_binomial({key}, {count}, {probability})",
        "random_categorical": "random_categorical({key}, {weights}, {samples}, {replacement})",
        "philox": "philox({keys}, {counts})",
        "threefry": "threefry({keys}, {counts})",
        "dropout": "dropout({key}, {x}, {rate}, {shared_axes=})",
    }
)


@rows.row("random_uniform")
def _uniform(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str) -> str:
    if (low, high) == (0, 1):
        return f"tf.random.stateless_uniform({shape!r}, {key}, dtype={dtype})"
    return f"tf.random.stateless_uniform({shape!r}, {key}, {low!r}, {high!r}, dtype={dtype})"


@rows.row("random_normal")
def _normal(key: Operand, *, shape: Any, dtype: str, out: Any) -> str:
    if out[0].dtype.startswith("complex"):
        return f"random_complex_normal({key}, {shape!r}, {dtype})"
    return f"tf.random.stateless_normal({shape!r}, {key}, dtype={dtype})"


@rows.row("random_integers")
def _integers(key: Operand, *, shape: Any, low: Any, high: Any, dtype: str, out: Any) -> str:
    drawn = f"tf.random.stateless_uniform({shape!r}, {key}, {low!r}, {high!r}, dtype=tf.int64)"
    return drawn if out[0].dtype == "int64" else f"tf.cast({drawn}, {dtype})"
