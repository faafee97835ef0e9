"""Rows of random numbers.

Operations without an operand for the seed (``RandomUniform``) sample other numbers than TensorFlow, of the
same distribution. Some of those with one compute TensorFlow's own numbers by Philox.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import Value
from ....ops.dtypes import is_floating
from ....sizes import product
from ...common.indexing import along, cut, holds_with_guard
from .manipulation import size_of
from .table import TensorFlowBuilder, numbers, require_static, rows

_Chances = Callable[..., Value]


def _expected_counts(b: TensorFlowBuilder, chances: Value, tries: Value, count: int) -> Value:
    # This is the probability that a class was sampled at least once in so many tries. If all tries gave
    # different classes, TensorFlow takes the probability times the count instead.
    again = b.negative(b.expm1(b.multiply(tries, b.log1p(b.negative(chances)))))
    found: Value = b.where(b.equal(tries, float(count)), b.multiply(chances, float(count)), again)
    return found


def _sample_classes(
    b: TensorFlowBuilder, true_classes: Value, chances: Value, count: int, unique: bool
) -> tuple[Value, Value, Value]:
    """Sample ``count`` classes with the probabilities ``chances``, without repetition if ``unique``.

    Return the classes, and the expected counts of ``true_classes`` and of the sampled ones.
    """
    if unique:
        # The classes with the largest sums of logarithm and Gumbel noise are a sample without repetition.
        scores = b.add(b.log(chances), b.random_gumbel(b.next_key(), shape=chances.shape, dtype="float32"))
        classes = cut(b, b.argsort(scores, axis=0, descending=True, stable=True), 0, 0, count)
        taken = b.take(chances, classes, axis=0)
        before = b.subtract(b.cumulative_sum(taken, axis=0), taken)
        seen = b.clip(before, 0.0, 1.0 - 1e-7)
        drawn = b.random_uniform(b.next_key(), shape=(count,), dtype="float32")
        more = b.floor(
            b.divide(b.log(b.maximum(b.subtract(1.0, drawn), 1e-30)), b.log(b.maximum(seen, 1e-30)))
        )
        tries = b.sum(b.add(b.where(b.greater(seen, 0.0), more, b.array(0.0, "float32")), 1.0), axis=0)
    else:
        row = b.reshape(chances, shape=(1, chances.shape[0]))
        classes = b.reshape(
            b.random_categorical(b.next_key(), row, samples=count, replacement=True), shape=(count,)
        )
        tries = b.array(float(count), "float32")
    classes = b.astype(classes, dtype="int64")
    counts = [
        _expected_counts(b, b.take(chances, places, axis=0), tries, count)
        for places in (true_classes, classes)
    ]
    return classes, counts[0], counts[1]


def _sampler(chances: _Chances) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, true_classes: Any, *, num_sampled: int, unique: bool, **options: Any
    ) -> Any:
        return _sample_classes(b, true_classes, chances(b, **options), num_sampled, bool(unique))

    return row


def _uniform(b: TensorFlowBuilder, *, range_max: int, **_: Any) -> Value:
    found: Value = b.full(shape=(range_max,), fill_value=1.0 / range_max, dtype="float32")
    return found


def _log_uniform(b: TensorFlowBuilder, *, range_max: int, **_: Any) -> Value:
    place = b.arange(start=0, stop=range_max, step=1, dtype="float32")
    found: Value = b.divide(b.log(b.divide(b.add(place, 2.0), b.add(place, 1.0))), math.log1p(range_max))
    return found


def _unigram(
    b: TensorFlowBuilder, *, range_max: int, unigrams: Any, distortion: float = 1.0,
    num_reserved_ids: int = 0, num_shards: int = 1, vocab_file: str = "", **_: Any,
) -> Value:  # fmt: skip
    if vocab_file or num_shards != 1:
        raise NotImplementedError("classes whose counts stand in a file, or are divided")
    weights = [0.0] * num_reserved_ids + [float(count) ** distortion for count in unigrams]
    total = sum(weights)
    found: Value = b.asarray(data=tuple(weight / total for weight in weights), dtype="float32")
    return found


rows.row("UniformCandidateSampler")(_sampler(_uniform))
rows.row("LogUniformCandidateSampler")(_sampler(_log_uniform))
rows.row("FixedUnigramCandidateSampler")(_sampler(_unigram))


@rows.row("AllCandidateSampler")
def all_candidates(b: TensorFlowBuilder, true_classes: Any, *, num_sampled: int, **_: Any) -> Any:
    one = b.ones(shape=true_classes.shape, dtype="float32")
    return (
        b.arange(start=0, stop=num_sampled, step=1, dtype="int64"),
        one,
        b.ones(shape=(num_sampled,), dtype="float32"),
    )


def _is_last(b: TensorFlowBuilder, x: Value) -> Value:
    place = b.arange(start=0, stop=x.shape[0], step=1, dtype="int32")
    behind = b.less(b.reshape(place, shape=(x.shape[0], 1)), place)
    again = b.logical_and(behind, b.equal(b.reshape(x, shape=(x.shape[0], 1)), x))
    found: Value = b.logical_not(b.any(again, axis=1))
    return found


@rows.row("ComputeAccidentalHits")
def accidental_hits(b: TensorFlowBuilder, true_classes: Any, sampled_candidates: Any, **_: Any) -> Any:
    count, many = true_classes.shape[0], true_classes.shape[1]
    same = b.logical_and(
        b.equal(b.reshape(true_classes, shape=(count, many, 1)), sampled_candidates),
        # Of a class that was sampled twice, TensorFlow reports the last sample only.
        _is_last(b, sampled_candidates),
    )
    found = b.argwhere(same, hint=b.recorded[0].hints[0])
    row, place = (b.getitem(found, key=along(1, number)) for number in (0, 2))
    weights = b.full(shape=(found.shape[0],), fill_value=-3.4028234663852886e38, dtype="float32")
    return b.astype(row, dtype="int32"), b.astype(place, dtype="int64"), weights


# ------------------------------------------------------------------------------------- stateful samples
rows.table({
    "RandomUniform": lambda b, shape, **_: b.random_uniform(
        b.next_key(), shape=numbers(shape, "the shape"), dtype=b.result.dtype
    ),
    "RandomStandardNormal": lambda b, shape, **_: b.random_normal(
        b.next_key(), shape=numbers(shape, "the shape"), dtype=b.result.dtype
    ),
    "RandomGamma": lambda b, shape, alpha, **_: b.random_gamma(
        b.next_key(), _for_each(b, shape, b.array(alpha))
    ),
}, static=("shape",))  # fmt: skip


@rows.row("RandomUniformInt", static=("shape", "minval", "maxval"))
def random_uniform_int(b: TensorFlowBuilder, shape: Any, minval: Any, maxval: Any, **_: Any) -> Any:
    low, high = size_of(minval, "the least number"), size_of(maxval, "the largest number")
    return b.random_integers(
        b.next_key(), shape=numbers(shape, "the shape"), low=low, high=high, dtype=b.result.dtype
    )


@rows.row("TruncatedNormal", static=("shape",))
def truncated_normal(b: TensorFlowBuilder, shape: Any, **_: Any) -> Any:
    return _sample_truncated(b, numbers(shape, "the shape"), b.result.dtype, 0.5 * math.erfc(math.sqrt(2.0)))


def _sample_truncated(b: TensorFlowBuilder, shape: Any, dtype: str, below: float) -> Any:
    wide = dtype if dtype in ("float32", "float64") else "float32"
    drawn = b.random_uniform(b.next_key(), shape=shape, dtype=wide)
    return b.astype(
        b.clip(b.ndtri(b.add(b.multiply(drawn, 1.0 - 2.0 * below), below)), -2.0, 2.0), dtype=dtype
    )


def _for_each(b: TensorFlowBuilder, shape: Any, parameter: Value) -> Any:
    front = numbers(shape, "the shape")
    return b.broadcast_to(parameter, shape=(*front, *parameter.shape))


@rows.row("RandomPoissonV2", static=("shape",))
def random_poisson(b: TensorFlowBuilder, shape: Any, rate: Any, **_: Any) -> Any:
    rate = b.array(rate)
    rate = rate if is_floating(rate.dtype) else b.astype(rate, dtype="float32")
    return b.astype(b.random_poisson(b.next_key(), _for_each(b, shape, rate)), dtype=b.result.dtype)


@rows.row("Multinomial", static=("num_samples",))
def multinomial(b: TensorFlowBuilder, logits: Any, num_samples: Any, **_: Any) -> Any:
    weights = b.softmax(logits, axis=logits.ndim - 1)
    drawn = b.random_categorical(b.next_key(), weights, samples=size_of(num_samples), replacement=True)
    return b.astype(drawn, dtype=b.result.dtype)


@rows.row("RandomShuffle")
def random_shuffle(b: TensorFlowBuilder, value: Any, **_: Any) -> Any:
    return b.take(
        b.stop_gradient(value), b.random_permutation(b.next_key(), n=value.shape[0], dtype="int64"), axis=0
    )


# ------------------------------------------------------------------------------------- seeds and keys
_PHILOX, _AUTOMATIC = 1, 3
# TensorFlow derives key and counter from a seed by one block of Philox with this key.
_SCRAMBLE = (0x3EC8F720, 0x02461E29)


def _words_of_seed(b: TensorFlowBuilder, seed: Any) -> list[Value]:
    found = []
    for place in range(2):
        item = seed[place] if isinstance(seed, tuple) else b.getitem(seed, key=(place,))
        if not isinstance(item, Value):
            found += (
                [b.array(int(item) >> shift & 0xFFFFFFFF, "uint32") for shift in (0, 32)]
                if isinstance(item, int)
                else _halves(b, b.array(item, "int32"))
            )
        else:
            found += _halves(b, item)
    return found


def _halves(b: TensorFlowBuilder, number: Value) -> list[Value]:
    if number.dtype in ("int64", "uint64"):
        upper = b.bitwise_right_shift(number, b.array(32, number.dtype))
        return [b.astype(number, dtype="uint32"), b.astype(upper, dtype="uint32")]
    if number.dtype == "uint32":
        return [number, b.array(0, "uint32")]
    negative = b.less(number, 0)
    return [
        b.bitcast(b.astype(number, dtype="int32"), dtype="uint32"),
        b.where(negative, b.array(0xFFFFFFFF, "uint32"), b.array(0, "uint32")),
    ]


def derive_source(b: TensorFlowBuilder, seed: Any) -> tuple[Value, Value]:
    """Return the key and the counter that TensorFlow derives from a seed, as two and four uint32 words."""
    counts = b.stack(*_words_of_seed(b, seed), axis=0)
    mixed = b.philox(b.array(_SCRAMBLE, "uint32"), counts)
    behind = cut(b, mixed, 0, 2, 4)
    return cut(b, mixed, 0, 0, 2), b.concat(b.zeros(shape=(2,), dtype="uint32"), behind, axis=0)


def _as_uint64(b: TensorFlowBuilder, words: Value, count: int) -> Any:
    return b.reshape(b.bitcast(b.reshape(words, shape=(count, 2)), dtype="uint64"), shape=(count,))


@rows.row("StatelessRandomGetKeyCounter", static=("seed",))
def key_counter(b: TensorFlowBuilder, seed: Any, **_: Any) -> Any:
    key, counter = derive_source(b, seed)
    return _as_uint64(b, key, 1), _as_uint64(b, counter, 2)


rows.table(
    {
        "StatelessRandomGetKeyCounterAlg": lambda b, seed, **_: (
            *key_counter(b, seed),
            b.array(_PHILOX, "int32"),
        )
    },
    static=("seed",),
)


rows.table({"StatelessRandomGetAlg": lambda b, **_: b.array(_PHILOX, "int32")})


def _words(b: TensorFlowBuilder, x: Any, count: int) -> Any:
    """Return the 64-bit integers ``x`` as ``count`` uint32 words, the lower word of each first."""
    # If they were made from words, these are returned, because some targets lack 64-bit unsigned integers.
    node = b.maker(x)
    if (
        node is not None
        and node.op == "reshape"
        and (inner := b.maker(node.inputs[0])) is not None
        and inner.op == "bitcast"
    ):
        return b.reshape(inner.inputs[0], shape=(count,))
    # The state of a generator is int64.
    if node is not None and node.op == "bitcast" and node.inputs[0].dtype == "int64":
        parts = [b.getitem(node.inputs[0], key=(place,)) for place in range(count // 2)]
        return b.stack(*(half for part in parts for half in _halves(b, part)), axis=0)
    held = next((array for value, array in b.graph.constants.values() if value is x), None)
    # The key and counter of a constant seed are constants.
    if held is not None:
        x = tuple(np.asarray(held).tolist())
    if isinstance(x, tuple):
        return b.array(tuple(item >> shift & 0xFFFFFFFF for item in x for shift in (0, 32)), "uint32")
    return b.reshape(b.bitcast(b.reshape(x, shape=(*x.shape, 1)), dtype="uint32"), shape=(count,))


def bits(b: TensorFlowBuilder, key: Value, counter: Value, count: Any) -> Any:
    groups = (count + 3) // 4
    found = _blocks(b, key, counter, b.arange(start=0, stop=groups, step=1, dtype="uint32"))
    return cut(b, b.reshape(found, shape=(groups * 4,)), 0, None, count)


def _blocks(b: TensorFlowBuilder, key: Value, counter: Value, steps: Value) -> Any:
    """Return the four Philox words for ``key`` at ``counter + step``, for each of ``steps``.

    ``counter`` is a 128-bit number of four uint32 words, the lowest first.
    """
    words = [b.getitem(counter, key=(place,)) for place in range(4)]
    lowest = b.add(words[0], steps)
    carry: Any = b.less(_sortable(b, lowest), _sortable(b, words[0]))
    counts = [lowest]
    for word in words[1:]:
        moved = b.add(word, b.astype(carry, dtype="uint32"))
        carry = b.logical_and(carry, b.equal(moved, b.array(0, "uint32")))
        counts.append(moved)
    return b.philox(key, b.stack(*counts, axis=1))


def _sortable(b: TensorFlowBuilder, x: Value) -> Any:
    # Some targets cannot compare unsigned integers. With the highest bit flipped, their order is that of
    # int32.
    return b.bitcast(b.bitwise_xor(x, b.array(0x80000000, "uint32")), dtype="int32")


def _unit(b: TensorFlowBuilder, bits: Value, dtype: str) -> Any:
    """Convert uint32 words to floats in [0, 1) of ``dtype``, which must not be float64."""
    if dtype == "float64":
        raise NotImplementedError("random numbers of float64 of a seed")
    places = {"float32": 23, "float16": 10, "bfloat16": 7}[dtype]
    low = b.bitwise_and(bits, b.array(2**places - 1, "uint32"))
    return b.astype(
        b.multiply(b.astype(b.bitcast(low, dtype="int32"), dtype="float32"), 2.0**-places), dtype=dtype
    )


def uniform(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    return b.reshape(_unit(b, bits(b, *source, product(shape)), dtype), shape=shape)


def _normal(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    count = product(shape)
    pairs = (count + 1) // 2
    found = _box_muller(b, b.reshape(bits(b, *source, pairs * 2), shape=(pairs, 2)), dtype)
    return b.astype(
        b.reshape(cut(b, b.reshape(found, shape=(pairs * 2,)), 0, None, count), shape=shape), dtype=dtype
    )


def _box_muller(b: TensorFlowBuilder, words: Value, dtype: str) -> Any:
    """Return two float32 samples of the normal distribution for each row of ``words``, ``[pair, 2]``."""
    drawn = _unit(b, words, "float64" if dtype == "float64" else "float32")
    first, second = (b.getitem(drawn, key=along(1, place)) for place in range(2))
    # TensorFlow has the same lower bound, which keeps the logarithm finite.
    length = b.sqrt(b.multiply(b.log(b.maximum(first, b.array(1e-7, "float32"))), -2.0))
    angle = b.multiply(second, 2.0 * math.pi)
    return b.stack(b.multiply(b.sin(angle), length), b.multiply(b.cos(angle), length), axis=1)


# TensorFlow reserves this many Philox steps for four samples, because it redraws those out of bounds.
_RESERVED = 256
# Four samples are taken from so many candidates. The chance that fewer are within the bounds is below 1e-14.
_CANDIDATES = 16
_MOST_GROUPS = 2**32 // _RESERVED


def _truncated(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    count = product(shape)
    groups = (count + 3) // 4
    if not holds_with_guard(b, groups, _MOST_GROUPS):
        raise NotImplementedError(
            f"more than {4 * _MOST_GROUPS} numbers of a truncated normal distribution of a seed"
        )
    steps = b.add(
        b.reshape(
            b.multiply(b.arange(start=0, stop=groups, step=1, dtype="uint32"), b.array(_RESERVED, "uint32")),
            shape=(groups, 1),
        ),
        b.arange(start=0, stop=_CANDIDATES // 4, step=1, dtype="uint32"),
    )
    words = _blocks(b, *source, b.reshape(steps, shape=(groups * (_CANDIDATES // 4),)))
    tried = b.reshape(
        _box_muller(b, b.reshape(words, shape=(groups * (_CANDIDATES // 2), 2)), dtype),
        shape=(groups, _CANDIDATES),
    )
    # Candidates out of bounds are dropped and replaced by the next ones.
    inside = b.less(b.abs(tried), 2.0)
    place = b.cumulative_sum(b.astype(inside, dtype="int32"), axis=1)
    kept = [
        b.sum(b.where(b.logical_and(inside, b.equal(place, number)), tried, b.array(0.0, "float32")), axis=1)
        for number in range(1, 5)
    ]
    found = b.reshape(b.stack(*kept, axis=1), shape=(groups * 4,))
    return b.astype(b.reshape(cut(b, found, 0, None, count), shape=shape), dtype=dtype)


def _integers(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    if dtype not in ("int32", "uint32"):
        raise NotImplementedError(f"random {dtype} of a seed")
    words = b.reshape(bits(b, *source, product(shape)), shape=shape)
    return words if dtype == "uint32" else b.bitcast(words, dtype="int32")


def source_of_key(
    b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any
) -> tuple[Any, tuple[Value, Value]]:
    if require_static(alg, "the algorithm") not in (_PHILOX, _AUTOMATIC):
        raise NotImplementedError("random numbers of another algorithm than Philox")
    return numbers(shape, "the shape"), (_words(b, key, 2), _words(b, counter, 4))


def _of_key(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, shape, key, counter, alg, **_: draw(
        b, *source_of_key(b, shape, key, counter, alg), b.result.dtype
    )


def _of_seed(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, shape, seed, **_: draw(
        b, numbers(shape, "the shape"), derive_source(b, seed), b.result.dtype
    )


_DRAWN = {
    "RandomUniform": uniform, "RandomNormal": _normal, "RandomUniformFullInt": _integers,
    "TruncatedNormal": _truncated,
}  # fmt: skip
for _name, _draw in _DRAWN.items():
    rows.row(f"Stateless{_name}V2", static=("shape", "alg"))(_of_key(_draw))
    rows.row(f"Stateless{_name}", static=("shape", "seed"))(_of_seed(_draw))


def _in_range(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], low: Any, high: Any) -> Any:
    if b.result.dtype != "int32":
        raise NotImplementedError(f"random {b.result.dtype} of a seed")
    low, high = b.array(low, "int32"), b.array(high, "int32")
    span = b.bitcast(b.subtract(high, low), dtype="uint32")
    words = b.reshape(bits(b, *source, product(shape)), shape=shape)
    return b.add(b.bitcast(b.remainder(words, span), dtype="int32"), low)


@rows.row("StatelessRandomUniformIntV2", static=("shape", "alg"))
def stateless_int_v2(
    b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any, minval: Any, maxval: Any, **_: Any
) -> Any:
    return _in_range(b, *source_of_key(b, shape, key, counter, alg), minval, maxval)


@rows.row("StatelessRandomUniformInt", static=("shape", "seed"))
def stateless_int(b: TensorFlowBuilder, shape: Any, seed: Any, minval: Any, maxval: Any, **_: Any) -> Any:
    return _in_range(b, numbers(shape, "the shape"), derive_source(b, seed), minval, maxval)


log = logging.getLogger("graph_compiler")
_OTHER = (
    "%s draws numbers of a seed: each framework draws others from it, of the same distribution and the "
    "same at every call"
)
_SLOPE = (
    "the derivative of gamma numbers of a seed by their concentration is not written; draw them without a "
    "seed"
)
# Steps of the bisection.
_BISECTIONS = 40
Source = tuple[Value, Value]


def _sample_uniform(b: TensorFlowBuilder, shape: Any, source: Source) -> Value:
    # TensorFlow samples these distributions by other algorithms, such as rejection sampling.
    log.warning(_OTHER, b.graph.name)
    found: Value = uniform(b, shape, source, "float32")
    return found


def _float(b: TensorFlowBuilder, x: Any) -> Value:
    x = b.array(x)
    return x if x.dtype in ("float32", "float64") else b.astype(x, dtype="float32")


def _inverse(
    b: TensorFlowBuilder, share: Callable[[Value], Value], drawn: Value, low: Value, high: Value, whole: bool
) -> Value:
    """Find where the cumulative distribution function ``share`` reaches ``drawn``.

    Bisect between ``low`` and ``high``, over integers if ``whole``.
    """

    def step(below: Value, above: Value) -> Any:
        middle = b.multiply(b.add(below, above), 0.5)
        middle = b.floor(middle) if whole else middle
        reached = b.greater_equal(share(middle), drawn)
        return b.where(reached, below, middle), b.where(reached, middle, above)

    arguments = [b.argument(name, x.spec) for name, x in (("below", low), ("above", high))]
    _below, found = b.run(
        "scan",
        [low, high],
        [b.body("step", arguments, step)],
        carried=2,
        sequences=0,
        length=_BISECTIONS,
        reverse=False,
    )
    return found


def _upper_bound(b: TensorFlowBuilder, mean: Value) -> Value:
    found: Value = b.ceil(b.add(mean, b.add(b.multiply(b.sqrt(mean), 12.0), 40.0)))
    return found


def _gamma(b: TensorFlowBuilder, shape: Any, source: Source, alpha: Any) -> Any:
    given = b.broadcast_to(b.array(alpha, b.result.dtype), shape=shape)
    kind = b.stop_gradient(
        b.astype(given, dtype="float32") if b.result.dtype in ("float16", "bfloat16") else given
    )
    drawn, low = (
        b.astype(_sample_uniform(b, shape, source), dtype=kind.dtype),
        b.full(shape=shape, fill_value=-80.0, dtype=kind.dtype),
    )
    found = b.exp(
        _inverse(b, lambda x: b.gammainc(kind, b.exp(x)), drawn, low, b.log(_upper_bound(b, kind)), False)
    )
    return b.refuse_gradient(b.astype(found, dtype=b.result.dtype), given, message=_SLOPE)


@rows.row("StatelessRandomGammaV2", static=("shape", "seed"))
def stateless_gamma_v2(b: TensorFlowBuilder, shape: Any, seed: Any, alpha: Any, **_: Any) -> Any:
    return _gamma(b, numbers(shape, "the shape"), derive_source(b, seed), alpha)


@rows.row("StatelessRandomGammaV3", static=("shape", "alg"))
def stateless_gamma_v3(
    b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any, alpha: Any, **_: Any
) -> Any:
    return _gamma(b, *source_of_key(b, shape, key, counter, alg), alpha)


@rows.row("StatelessRandomPoisson", static=("shape", "seed"))
def stateless_poisson(b: TensorFlowBuilder, shape: Any, seed: Any, lam: Any, **_: Any) -> Any:
    sizes = numbers(shape, "the shape")
    rate = b.stop_gradient(b.broadcast_to(_float(b, lam), shape=sizes))
    drawn, low = (
        b.astype(_sample_uniform(b, sizes, derive_source(b, seed)), dtype=rate.dtype),
        b.full(shape=sizes, fill_value=-1.0, dtype=rate.dtype),
    )
    found = _inverse(b, lambda x: b.gammaincc(b.add(x, 1.0), rate), drawn, low, _upper_bound(b, rate), True)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("StatelessRandomBinomial", static=("shape", "seed"))
def stateless_binomial(b: TensorFlowBuilder, shape: Any, seed: Any, counts: Any, probs: Any, **_: Any) -> Any:
    sizes = numbers(shape, "the shape")
    many, chance = (
        b.stop_gradient(b.broadcast_to(b.astype(_float(b, item), dtype="float32"), shape=sizes))
        for item in (counts, probs)
    )
    low, fails = b.full(shape=sizes, fill_value=-1.0, dtype="float32"), b.subtract(1.0, chance)

    def share(x: Value) -> Value:
        found: Value = b.betainc(b.maximum(b.subtract(many, x), 1e-6), b.add(x, 1.0), fails)
        return found

    found = _inverse(b, share, _sample_uniform(b, sizes, derive_source(b, seed)), low, many, True)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("StatelessMultinomial", static=("num_samples", "seed"))
def stateless_multinomial(b: TensorFlowBuilder, logits: Any, num_samples: Any, seed: Any, **_: Any) -> Any:
    # TensorFlow's own samples depend on the number of threads.
    batch, classes = logits.shape
    shape = (batch, size_of(num_samples), 1)
    shares = b.cumulative_sum(b.softmax(b.stop_gradient(b.astype(logits, dtype="float32")), axis=1), axis=1)
    below = b.less_equal(
        b.reshape(shares, shape=(batch, 1, classes)), _sample_uniform(b, shape, derive_source(b, seed))
    )
    found = b.sum(b.astype(below, dtype="int32"), axis=2, dtype="int32")
    return b.astype(b.minimum(found, b.array(classes - 1, "int32")), dtype=b.result.dtype)


# ------------------------------------------------------------------------------------- bounds
def _to_truncated_normal(
    b: TensorFlowBuilder, drawn: Value, mean: Value, deviation: Value, low: Value, high: Value
) -> Any:
    first, last = (b.divide(b.subtract(bound, mean), deviation) for bound in (low, high))
    # If both bounds are above the mean, they are mirrored, because the function is more precise below it.
    above = b.greater(first, 0.0)
    one, two = b.where(above, b.negative(last), first), b.where(above, b.negative(first), last)
    below, beside = b.ndtr(one), b.ndtr(two)
    found = b.clip(b.ndtri(b.add(below, b.multiply(drawn, b.subtract(beside, below)))), one, two)
    return b.add(b.multiply(b.where(above, b.negative(found), found), deviation), mean)


@rows.row("ParameterizedTruncatedNormal", static=("shape",))
def parameterized_truncated_normal(
    b: TensorFlowBuilder, shape: Any, means: Any, stdevs: Any, minvals: Any, maxvals: Any, **_: Any
) -> Any:
    sizes, wide = numbers(shape, "the shape"), b.result.dtype if b.result.dtype == "float64" else "float32"
    given = (
        b.astype(b.array(item, b.result.dtype), dtype=wide) for item in (means, stdevs, minvals, maxvals)
    )
    each = [
        b.reshape(item, shape=(*item.shape, *(1,) * (len(sizes) - 1))) if item.ndim else item
        for item in given
    ]
    drawn = b.random_uniform(b.next_key(), shape=sizes, dtype=wide)
    return b.astype(
        _to_truncated_normal(b, drawn, *(b.broadcast_to(item, shape=sizes) for item in each)),
        dtype=b.result.dtype,
    )


@rows.row("StatelessParameterizedTruncatedNormal", static=("shape", "seed"))
def stateless_truncated_normal(
    b: TensorFlowBuilder,
    shape: Any,
    seed: Any,
    means: Any,
    stddevs: Any,
    minvals: Any,
    maxvals: Any,
    **_: Any,
) -> Any:
    sizes, dtype = numbers(shape, "the shape"), b.result.dtype
    given = (b.broadcast_to(b.array(item, dtype), shape=sizes) for item in (means, stddevs, minvals, maxvals))
    drawn = b.astype(_sample_uniform(b, sizes, derive_source(b, seed)), dtype=dtype)
    return _to_truncated_normal(b, drawn, *given)


# ------------------------------------------------------------------------------------- order
@rows.row("StatelessShuffle", static=("alg",))
def stateless_shuffle(b: TensorFlowBuilder, value: Any, key: Any, counter: Any, alg: Any, **_: Any) -> Any:
    count = value.shape[0]
    _sizes, source = source_of_key(b, (count,), key, counter, alg)
    place = b.arange(start=0, stop=count, step=1, dtype="int32")
    left = b.astype(b.subtract(b.array(count, "int32"), place), dtype="uint32")
    other = b.add(place, b.astype(b.remainder(bits(b, *source, count), left), dtype="int32"))

    def step(order: Value, one: Value, two: Value) -> Any:
        first, second = (b.take(order, at, axis=0) for at in (one, two))
        after = b.where(b.equal(place, one), second, b.where(b.equal(place, two), first, order))
        return (after,)

    arguments = [
        b.argument("order", place.spec),
        *(b.argument(name, type(place.spec)((), "int32")) for name in ("one", "two")),
    ]
    (order,) = b.run(
        "scan",
        [place, place, other],
        [b.body("step", arguments, step)],
        carried=1,
        sequences=2,
        length=count,
        reverse=False,
    )
    return b.take(b.stop_gradient(value) if is_floating(value.dtype) else value, order, axis=0)
