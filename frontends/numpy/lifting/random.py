"""Rows of ``numpy.random``: samples of the same distributions, from the key of the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import product
from .table import NumpyBuilder, dtype_name, rows, shape_of

Row = Callable[..., Any]


def random_row(*names: str) -> Callable[[Row], Row]:
    """Return a decorator that registers a row for functions of ``numpy.random`` and methods of generators."""

    def register(row: Row) -> Row:
        @functools.wraps(row)
        def of_generator(b: NumpyBuilder, generator: Any, *args: Any, **kwargs: Any) -> Any:
            return row(b, *args, **kwargs)

        for name in names:
            rows.row(f"random.{name}")(row)
            rows.row(f"random.Generator.{name}")(of_generator)
        return row

    return register


@rows.row("random.seed")
def seed(b: NumpyBuilder, seed: Any) -> Any:
    if not isinstance(seed, int):
        raise UnsupportedOperation("seed of an array or a size has no row")
    b.seed(None, seed)
    return ()


def _shape(b: NumpyBuilder, size: Any, *params: Any) -> tuple[Any, ...]:
    if size is not None:
        return shape_of(size)
    arrays = [b.array(item, "float64") for item in params if isinstance(item, (Value, list, tuple))]
    return tuple(functools.reduce(b.add, arrays).shape) if arrays else ()


def _scaled(b: NumpyBuilder, drawn: Value, scale: Any, loc: Any = 0.0) -> Value:
    scale, loc = (
        b.array(item, "float64") if isinstance(item, (Value, list, tuple)) else item for item in (scale, loc)
    )
    wide = drawn if not isinstance(scale, Value) and scale == 1 else b.multiply(drawn, scale)
    return wide if not isinstance(loc, Value) and loc == 0 else b.add(wide, loc)


def _filled(b: NumpyBuilder, parameter: Any, shape: tuple[Any, ...]) -> Value:
    return b.broadcast_to(b.array(parameter, "float64"), shape=shape)


# ----------------------------------------------------------------------------------------- uniform and normal
@random_row("rand")
def rand(b: NumpyBuilder, *sizes: Any) -> Any:
    return b.random_uniform(b.next_key(), shape=sizes, dtype="float64")


@random_row("random", "random_sample", "ranf", "sample")
def random(b: NumpyBuilder, size: Any = None, dtype: Any = "float64") -> Any:
    return b.random_uniform(b.next_key(), shape=_shape(b, size), dtype=dtype_name(dtype))


@random_row("uniform")
def uniform(b: NumpyBuilder, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    shape = _shape(b, size, low, high)
    drawn = b.random_uniform(b.next_key(), shape=shape, dtype="float64")
    low, high = b.array(low, "float64"), b.array(high, "float64")
    return b.add(low, b.multiply(drawn, b.subtract(high, low)))


@random_row("randn")
def randn(b: NumpyBuilder, *sizes: Any) -> Any:
    return b.random_normal(b.next_key(), shape=sizes, dtype="float64")


@random_row("standard_normal")
def standard_normal(b: NumpyBuilder, size: Any = None, dtype: Any = "float64") -> Any:
    return b.random_normal(b.next_key(), shape=_shape(b, size), dtype=dtype_name(dtype))


@random_row("normal")
def normal(b: NumpyBuilder, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _scaled(
        b, b.random_normal(b.next_key(), shape=_shape(b, size, loc, scale), dtype="float64"), scale, loc
    )


@random_row("lognormal")
def lognormal(b: NumpyBuilder, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return b.exp(normal(b, mean, sigma, size))


@random_row("multivariate_normal")
def multivariate_normal(b: NumpyBuilder, mean: Any, cov: Any, size: Any = None, **_: Any) -> Any:
    """Sample ``mean + z @ (U * sqrt(s)).T``, with standard normal ``z`` and ``U, s, _ = svd(cov)``."""
    mean, cov = b.array(mean, "float64"), b.array(cov, "float64")
    left, values, _ = b.svd(cov, full_matrices=False)
    drawn = b.random_normal(b.next_key(), shape=(*_shape(b, size), mean.shape[0]), dtype="float64")
    return b.add(mean, b.matmul(drawn, b.permute_dims(b.multiply(left, b.sqrt(values)), axes=(1, 0))))


# --------------------------------------------------------------------------------------- integers and choices
@random_row("randint", "integers")
def integers(
    b: NumpyBuilder,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = "int64",
    endpoint: bool = False,
) -> Any:
    low, high = (0, low) if high is None else (low, high)
    if isinstance(low, (Value, list)) or isinstance(high, (Value, list)):
        raise UnsupportedOperation("integers between arrays have no row; pass numbers")
    return b.random_integers(
        b.next_key(), shape=_shape(b, size), low=low, high=high + bool(endpoint), dtype=dtype_name(dtype)
    )


@random_row("permutation")
def permutation(b: NumpyBuilder, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, (Value, list, tuple)):
        return b.random_permutation(b.next_key(), n=x, dtype="int64")
    array = b.array(x)
    return b.take(
        array, b.random_permutation(b.next_key(), n=array.shape[axis], dtype="int64"), axis=axis % array.ndim
    )


@random_row("choice")
def choice(
    b: NumpyBuilder,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    among = b.array(a) if isinstance(a, (Value, list, tuple)) else None
    if among is not None and not among.ndim:
        raise UnsupportedOperation("choice of as many as an element says has no row")
    n = a if among is None else among.shape[axis]
    shape = _shape(b, size)
    if p is not None:
        drawn = b.random_categorical(
            b.next_key(), b.array(p, "float64"), samples=product(shape), replacement=bool(replace)
        )
        places = b.reshape(drawn, shape=shape)
    elif replace:
        places = b.random_integers(b.next_key(), shape=shape, low=0, high=n, dtype="int64")
    else:
        order = b.random_permutation(b.next_key(), n=n, dtype="int64")
        places = b.reshape(b.getitem(order, key=((None, product(shape), 1),)), shape=shape)
    return (
        places
        if among is None
        else b.take(among, places, axis=axis % among.ndim)
        if places.ndim == 1
        else _at(b, among, places, axis)
    )


def _at(b: NumpyBuilder, among: Value, places: Value, axis: int) -> Value:
    if axis % among.ndim:
        raise UnsupportedOperation("choice of several axes along another than the first has no row")
    return b.gather_nd(among, places, axes=(0,))


# ---------------------------------------------------------------------------------------- other distributions
@random_row("exponential")
def exponential(b: NumpyBuilder, scale: Any = 1.0, size: Any = None) -> Any:
    return _scaled(
        b, b.random_exponential(b.next_key(), shape=_shape(b, size, scale), dtype="float64"), scale
    )


@random_row("standard_exponential")
def standard_exponential(b: NumpyBuilder, size: Any = None) -> Any:
    return exponential(b, 1.0, size)


@random_row("gumbel")
def gumbel(b: NumpyBuilder, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _scaled(
        b, b.random_gumbel(b.next_key(), shape=_shape(b, size, loc, scale), dtype="float64"), scale, loc
    )


@random_row("standard_cauchy")
def standard_cauchy(b: NumpyBuilder, size: Any = None) -> Any:
    return b.random_cauchy(b.next_key(), shape=_shape(b, size), dtype="float64")


@random_row("laplace")
def laplace(b: NumpyBuilder, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    shape = _shape(b, size, loc, scale)
    # The difference of two exponential variables has a Laplace distribution.
    first, second = (b.random_exponential(b.next_key(), shape=shape, dtype="float64") for _ in range(2))
    return _scaled(b, b.subtract(first, second), scale, loc)


@random_row("logistic")
def logistic(b: NumpyBuilder, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    shape = _shape(b, size, loc, scale)
    # The difference of two Gumbel variables has a logistic distribution.
    first, second = (b.random_gumbel(b.next_key(), shape=shape, dtype="float64") for _ in range(2))
    return _scaled(b, b.subtract(first, second), scale, loc)


@random_row("rayleigh")
def rayleigh(b: NumpyBuilder, scale: Any = 1.0, size: Any = None) -> Any:
    return _scaled(
        b,
        # The root of twice an exponential variable has a Rayleigh distribution.
        b.sqrt(
            b.multiply(b.random_exponential(b.next_key(), shape=_shape(b, size, scale), dtype="float64"), 2.0)
        ),
        scale,
    )


@random_row("standard_gamma")
def standard_gamma(b: NumpyBuilder, shape: Any, size: Any = None) -> Any:
    return b.random_gamma(b.next_key(), _filled(b, shape, _shape(b, size, shape)))


@random_row("gamma")
def gamma(b: NumpyBuilder, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    return _scaled(b, b.random_gamma(b.next_key(), _filled(b, shape, _shape(b, size, shape, scale))), scale)


@random_row("chisquare")
def chisquare(b: NumpyBuilder, df: Any, size: Any = None) -> Any:
    # A chi-squared variable is twice a gamma variable of half as many degrees of freedom.
    half = b.divide(b.array(df, "float64"), 2.0)
    return b.multiply(standard_gamma(b, half, _shape(b, size, df)), 2.0)


@random_row("beta")
def beta(builder: NumpyBuilder, /, a: Any, b: Any, size: Any = None) -> Any:
    shape = _shape(builder, size, a, b)
    # The share of one gamma variable in the sum of two has a beta distribution.
    first, other = (standard_gamma(builder, item, shape) for item in (a, b))
    return builder.divide(first, builder.add(first, other))


@random_row("poisson")
def poisson(b: NumpyBuilder, lam: Any = 1.0, size: Any = None) -> Any:
    return b.astype(b.random_poisson(b.next_key(), _filled(b, lam, _shape(b, size, lam))), dtype="int64")


@random_row("binomial")
def binomial(b: NumpyBuilder, n: Any, p: Any, size: Any = None) -> Any:
    shape = _shape(b, size, n, p)
    return b.astype(
        b.random_binomial(b.next_key(), _filled(b, n, shape), _filled(b, p, shape)), dtype="int64"
    )
