"""Random numbers of a seed that are TensorFlow's in distribution, the same ones at every call; shuffles, which are TensorFlow's own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.dtypes import is_floating
from ..table import TensorFlowBuilder, numbers, rows
from .random import bits, checked, scrambled, uniform
from .shapes import size_of

log = logging.getLogger("graph_compiler")
_OTHER = "%s draws numbers of a seed: each framework draws others from it, of the same distribution and the same at every call"
_SLOPE = "the derivative of gamma numbers of a seed by their concentration is not written; draw them without a seed"
_HALVED = 40  # times, a range in which a number is looked for
Source = tuple[Value, Value]


def _drawn(b: TensorFlowBuilder, shape: Any, source: Source) -> Value:
    """Uniform numbers of float32, from which others are made."""
    log.warning(_OTHER, b.graph.name)
    found: Value = uniform(b, shape, source, "float32")
    return found


def _float(b: TensorFlowBuilder, x: Any) -> Value:
    x = b.array(x)
    return x if x.dtype in ("float32", "float64") else b.astype(x, dtype="float32")


def _inverse(b: TensorFlowBuilder, share: Callable[[Value], Value], drawn: Value, low: Value, high: Value, whole: bool) -> Value:
    """The least of the numbers up to ``high``, whole ones or any, below which at least the ``drawn`` share lies, by halving the range."""

    def step(below: Value, above: Value) -> Any:
        middle = b.multiply(b.add(below, above), 0.5)
        middle = b.floor(middle) if whole else middle
        reached = b.greater_equal(share(middle), drawn)
        return b.where(reached, below, middle), b.where(reached, middle, above)

    arguments = [b.argument(name, x.spec) for name, x in (("below", low), ("above", high))]
    _below, found = b.run("scan", [low, high], [b.body("step", arguments, step)], carried=2, sequences=0, length=_HALVED, reverse=False)
    return found


def _far(b: TensorFlowBuilder, mean: Value) -> Value:
    """A number that none is beyond, but once in very many times."""
    found: Value = b.ceil(b.add(mean, b.add(b.multiply(b.sqrt(mean), 12.0), 40.0)))
    return found


def _gamma(b: TensorFlowBuilder, shape: Any, source: Source, alpha: Any) -> Any:
    """Of these concentrations, and rate 1: by the inverse of the distribution function, in logarithms."""
    given = b.broadcast_to(b.array(alpha, b.result.dtype), shape=shape)
    kind = b.stop_gradient(b.astype(given, dtype="float32") if b.result.dtype in ("float16", "bfloat16") else given)
    drawn, low = b.astype(_drawn(b, shape, source), dtype=kind.dtype), b.full(shape=shape, fill_value=-80.0, dtype=kind.dtype)
    found = b.exp(_inverse(b, lambda x: b.gammainc(kind, b.exp(x)), drawn, low, b.log(_far(b, kind)), False))
    return b.refuse_gradient(b.astype(found, dtype=b.result.dtype), given, message=_SLOPE)


@rows.row("StatelessRandomGammaV2", static=("shape", "seed"))
def stateless_gamma_v2(b: TensorFlowBuilder, shape: Any, seed: Any, alpha: Any, **_: Any) -> Any:
    """Of these concentrations, and rate 1."""
    return _gamma(b, numbers(shape, "the shape"), scrambled(b, seed), alpha)


@rows.row("StatelessRandomGammaV3", static=("shape", "alg"))
def stateless_gamma_v3(b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any, alpha: Any, **_: Any) -> Any:
    """Of these concentrations, and rate 1."""
    return _gamma(b, *checked(b, shape, key, counter, alg), alpha)


@rows.row("StatelessRandomPoisson", static=("shape", "seed"))
def stateless_poisson(b: TensorFlowBuilder, shape: Any, seed: Any, lam: Any, **_: Any) -> Any:
    """Of these rates."""
    sizes = numbers(shape, "the shape")
    rate = b.stop_gradient(b.broadcast_to(_float(b, lam), shape=sizes))
    drawn, low = b.astype(_drawn(b, sizes, scrambled(b, seed)), dtype=rate.dtype), b.full(shape=sizes, fill_value=-1.0, dtype=rate.dtype)
    found = _inverse(b, lambda x: b.gammaincc(b.add(x, 1.0), rate), drawn, low, _far(b, rate), True)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("StatelessRandomBinomial", static=("shape", "seed"))
def stateless_binomial(b: TensorFlowBuilder, shape: Any, seed: Any, counts: Any, probs: Any, **_: Any) -> Any:
    """How many of ``counts`` trials succeed."""
    sizes = numbers(shape, "the shape")
    many, chance = (b.stop_gradient(b.broadcast_to(b.astype(_float(b, item), dtype="float32"), shape=sizes)) for item in (counts, probs))
    low, fails = b.full(shape=sizes, fill_value=-1.0, dtype="float32"), b.subtract(1.0, chance)

    def share(x: Value) -> Value:
        found: Value = b.betainc(b.maximum(b.subtract(many, x), 1e-6), b.add(x, 1.0), fails)
        return found

    found = _inverse(b, share, _drawn(b, sizes, scrambled(b, seed)), low, many, True)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("StatelessMultinomial", static=("num_samples", "seed"))
def stateless_multinomial(b: TensorFlowBuilder, logits: Any, num_samples: Any, seed: Any, **_: Any) -> Any:
    """Indices drawn in proportion to the exponentials of ``logits``: TensorFlow's own ones depend on the number of threads."""
    batch, classes = logits.shape
    shape = (batch, size_of(num_samples), 1)
    shares = b.cumulative_sum(b.softmax(b.stop_gradient(b.astype(logits, dtype="float32")), axis=1), axis=1)
    below = b.less_equal(b.reshape(shares, shape=(batch, 1, classes)), _drawn(b, shape, scrambled(b, seed)))
    found = b.sum(b.astype(below, dtype="int32"), axis=2, dtype="int32")
    return b.astype(b.minimum(found, b.array(classes - 1, "int32")), dtype=b.result.dtype)


# ------------------------------------------------------------------------------------- bounds
def _within(b: TensorFlowBuilder, drawn: Value, mean: Value, deviation: Value, low: Value, high: Value) -> Any:
    """Uniform numbers as those of a normal distribution between two bounds, by the inverse of its distribution function, on the side of
    the mean where this is exact."""
    first, last = (b.divide(b.subtract(bound, mean), deviation) for bound in (low, high))
    above = b.greater(first, 0.0)
    one, two = b.where(above, b.negative(last), first), b.where(above, b.negative(first), last)
    below, beside = b.ndtr(one), b.ndtr(two)
    found = b.clip(b.ndtri(b.add(below, b.multiply(drawn, b.subtract(beside, below)))), one, two)
    return b.add(b.multiply(b.where(above, b.negative(found), found), deviation), mean)


@rows.row("ParameterizedTruncatedNormal", static=("shape",))
def truncated_normal(b: TensorFlowBuilder, shape: Any, means: Any, stdevs: Any, minvals: Any, maxvals: Any, **_: Any) -> Any:
    """Between bounds; each row has its own mean, deviation and bounds."""
    sizes, wide = numbers(shape, "the shape"), b.result.dtype if b.result.dtype == "float64" else "float32"
    given = (b.astype(b.array(item, b.result.dtype), dtype=wide) for item in (means, stdevs, minvals, maxvals))
    each = [b.reshape(item, shape=(*item.shape, *(1,) * (len(sizes) - 1))) if item.ndim else item for item in given]
    drawn = b.random_uniform(b.next_key(), shape=sizes, dtype=wide)
    return b.astype(_within(b, drawn, *(b.broadcast_to(item, shape=sizes) for item in each)), dtype=b.result.dtype)


@rows.row("StatelessParameterizedTruncatedNormal", static=("shape", "seed"))
def stateless_truncated_normal(
    b: TensorFlowBuilder, shape: Any, seed: Any, means: Any, stddevs: Any, minvals: Any, maxvals: Any, **_: Any
) -> Any:
    """Between bounds, all of which are broadcast."""
    sizes, dtype = numbers(shape, "the shape"), b.result.dtype
    given = (b.broadcast_to(b.array(item, dtype), shape=sizes) for item in (means, stddevs, minvals, maxvals))
    drawn = b.astype(_drawn(b, sizes, scrambled(b, seed)), dtype=dtype)
    return _within(b, drawn, *given)


# ------------------------------------------------------------------------------------- order
@rows.row("StatelessShuffle", static=("alg",))
def stateless_shuffle(b: TensorFlowBuilder, value: Any, key: Any, counter: Any, alg: Any, **_: Any) -> Any:
    """The rows in the order of Fisher and Yates, of which TensorFlow takes no gradient: each changes places with itself or one behind."""
    count = value.shape[0]
    _sizes, source = checked(b, (count,), key, counter, alg)
    place = b.arange(start=0, stop=count, step=1, dtype="int32")
    left = b.astype(b.subtract(b.array(count, "int32"), place), dtype="uint32")
    other = b.add(place, b.astype(b.remainder(bits(b, *source, count), left), dtype="int32"))

    def step(order: Value, one: Value, two: Value) -> Any:
        first, second = (b.take(order, at, axis=0) for at in (one, two))
        after = b.where(b.equal(place, one), second, b.where(b.equal(place, two), first, order))
        return (after,)

    arguments = [b.argument("order", place.spec), *(b.argument(name, type(place.spec)((), "int32")) for name in ("one", "two"))]
    (order,) = b.run("scan", [place, place, other], [b.body("step", arguments, step)], carried=1, sequences=2, length=count, reverse=False)
    return b.take(b.stop_gradient(value) if is_floating(value.dtype) else value, order, axis=0)
