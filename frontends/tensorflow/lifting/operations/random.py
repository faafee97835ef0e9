"""Random numbers: those of a state are other ones of the same distribution; those of a seed or a key are TensorFlow's own, by Philox."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....ir import Value
from .....ops.dtypes import is_floating
from .....sizes import product
from ....slicing import along, cut, holds
from ..table import TensorFlowBuilder, known, numbers, rows
from .shapes import size_of

# ------------------------------------------------------------------------------------- of a state
rows.table({
    # numbers in [0, 1)
    "RandomUniform": lambda b, shape, **_: b.random_uniform(b.next_key(), shape=numbers(shape, "the shape"), dtype=b.result.dtype),
    # of mean 0 and standard deviation 1
    "RandomStandardNormal": lambda b, shape, **_: b.random_normal(b.next_key(), shape=numbers(shape, "the shape"), dtype=b.result.dtype),
    # of these concentrations, and rate 1
    "RandomGamma": lambda b, shape, alpha, **_: b.random_gamma(b.next_key(), _for_each(b, shape, b.array(alpha))),
}, static=("shape",))  # fmt: skip


@rows.row("RandomUniformInt", static=("shape", "minval", "maxval"))
def random_uniform_int(b: TensorFlowBuilder, shape: Any, minval: Any, maxval: Any, **_: Any) -> Any:
    """Integers from ``minval`` to one below ``maxval``."""
    low, high = size_of(minval, "the least number"), size_of(maxval, "the largest number")
    return b.random_integers(b.next_key(), shape=numbers(shape, "the shape"), low=low, high=high, dtype=b.result.dtype)


@rows.row("TruncatedNormal", static=("shape",))
def truncated_normal(b: TensorFlowBuilder, shape: Any, **_: Any) -> Any:
    """Numbers of the normal distribution between -2 and 2, by the inverse of its distribution function."""
    return _between(b, numbers(shape, "the shape"), b.result.dtype, 0.5 * math.erfc(math.sqrt(2.0)))


def _between(b: TensorFlowBuilder, shape: Any, dtype: str, below: float) -> Any:
    wide = dtype if dtype in ("float32", "float64") else "float32"
    drawn = b.random_uniform(b.next_key(), shape=shape, dtype=wide)
    return b.astype(b.clip(b.ndtri(b.add(b.multiply(drawn, 1.0 - 2.0 * below), below)), -2.0, 2.0), dtype=dtype)


def _for_each(b: TensorFlowBuilder, shape: Any, parameter: Value) -> Any:
    """A parameter for each draw: the axes of the draws come first."""
    front = numbers(shape, "the shape")
    return b.broadcast_to(parameter, shape=(*front, *parameter.shape))


@rows.row("RandomPoissonV2", static=("shape",))
def random_poisson(b: TensorFlowBuilder, shape: Any, rate: Any, **_: Any) -> Any:
    """Of these rates."""
    rate = b.array(rate)
    rate = rate if is_floating(rate.dtype) else b.astype(rate, dtype="float32")
    return b.astype(b.random_poisson(b.next_key(), _for_each(b, shape, rate)), dtype=b.result.dtype)


@rows.row("Multinomial", static=("num_samples",))
def multinomial(b: TensorFlowBuilder, logits: Any, num_samples: Any, **_: Any) -> Any:
    """Indices drawn in proportion to the exponentials of ``logits``."""
    weights = b.softmax(logits, axis=logits.ndim - 1)
    drawn = b.random_categorical(b.next_key(), weights, samples=size_of(num_samples), replacement=True)
    return b.astype(drawn, dtype=b.result.dtype)


@rows.row("RandomShuffle")
def random_shuffle(b: TensorFlowBuilder, value: Any, **_: Any) -> Any:
    """The rows in random order, of which TensorFlow takes no gradient."""
    return b.take(b.stop_gradient(value), b.random_permutation(b.next_key(), n=value.shape[0], dtype="int64"), axis=0)


# ------------------------------------------------------------------------------------- of a seed or a key
_PHILOX, _AUTOMATIC = 1, 3
_SCRAMBLE = (0x3EC8F720, 0x02461E29)


def _words_of_seed(b: TensorFlowBuilder, seed: Any) -> list[Value]:
    """Lower and upper 32 bits of the two numbers of a seed."""
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


def scrambled(b: TensorFlowBuilder, seed: Any) -> tuple[Value, Value]:
    """The key and the first count that a seed leads to."""
    counts = b.stack(*_words_of_seed(b, seed), axis=0)
    mixed = b.philox(b.array(_SCRAMBLE, "uint32"), counts)
    behind = cut(b, mixed, 0, 2, 4)
    return cut(b, mixed, 0, 0, 2), b.concat(b.zeros(shape=(2,), dtype="uint32"), behind, axis=0)


def _wide(b: TensorFlowBuilder, words: Value, count: int) -> Any:
    """Pairs of words as integers of 64 bits."""
    return b.reshape(b.bitcast(b.reshape(words, shape=(count, 2)), dtype="uint64"), shape=(count,))


@rows.row("StatelessRandomGetKeyCounter", static=("seed",))
def key_counter(b: TensorFlowBuilder, seed: Any, **_: Any) -> Any:
    """The key and the first count of a seed."""
    key, counter = scrambled(b, seed)
    return _wide(b, key, 1), _wide(b, counter, 2)


# and the number of the algorithm: Philox
rows.table({"StatelessRandomGetKeyCounterAlg": lambda b, seed, **_: (*key_counter(b, seed), b.array(_PHILOX, "int32"))}, static=("seed",))


rows.table({"StatelessRandomGetAlg": lambda b, **_: b.array(_PHILOX, "int32")})  # the number of the algorithm: Philox


def _words(b: TensorFlowBuilder, x: Any, count: int) -> Any:
    """Integers of 64 bits as words; those that were made of words, which targets without such integers have, as these."""
    node = b.maker(x)
    if node is not None and node.op == "reshape" and (inner := b.maker(node.inputs[0])) is not None and inner.op == "bitcast":
        return b.reshape(inner.inputs[0], shape=(count,))
    if node is not None and node.op == "bitcast" and node.inputs[0].dtype == "int64":  # the state of a generator
        parts = [b.getitem(node.inputs[0], key=(place,)) for place in range(count // 2)]
        return b.stack(*(half for part in parts for half in _halves(b, part)), axis=0)
    held = next((array for value, array in b.graph.constants.values() if value is x), None)
    if held is not None:  # of a seed that is known
        x = tuple(np.asarray(held).tolist())
    if isinstance(x, tuple):
        return b.array(tuple(item >> shift & 0xFFFFFFFF for item in x for shift in (0, 32)), "uint32")
    return b.reshape(b.bitcast(b.reshape(x, shape=(*x.shape, 1)), dtype="uint32"), shape=(count,))


def bits(b: TensorFlowBuilder, key: Value, counter: Value, count: Any) -> Any:
    """The first ``count`` words of 32 random bits."""
    groups = (count + 3) // 4
    found = _blocks(b, key, counter, b.arange(start=0, stop=groups, step=1, dtype="uint32"))
    return cut(b, b.reshape(found, shape=(groups * 4,)), 0, None, count)


def _blocks(b: TensorFlowBuilder, key: Value, counter: Value, steps: Value) -> Any:
    """Four words for each of these ``steps`` after the first count."""
    words = [b.getitem(counter, key=(place,)) for place in range(4)]
    lowest = b.add(words[0], steps)
    carry: Any = b.less(_ordered(b, lowest), _ordered(b, words[0]))
    counts = [lowest]
    for word in words[1:]:
        moved = b.add(word, b.astype(carry, dtype="uint32"))
        carry = b.logical_and(carry, b.equal(moved, b.array(0, "uint32")))
        counts.append(moved)
    return b.philox(key, b.stack(*counts, axis=1))


def _ordered(b: TensorFlowBuilder, x: Value) -> Any:
    """Unsigned numbers as signed ones of the same order."""
    return b.bitcast(b.bitwise_xor(x, b.array(0x80000000, "uint32")), dtype="int32")


def _unit(b: TensorFlowBuilder, bits: Value, dtype: str) -> Any:
    """Words as numbers in [0, 1): 23 bits, or as few as the type holds."""
    if dtype == "float64":
        raise NotImplementedError("random numbers of float64 of a seed")
    places = {"float32": 23, "float16": 10, "bfloat16": 7}[dtype]
    low = b.bitwise_and(bits, b.array(2**places - 1, "uint32"))
    return b.astype(b.multiply(b.astype(b.bitcast(low, dtype="int32"), dtype="float32"), 2.0**-places), dtype=dtype)


def uniform(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    """Numbers in [0, 1)."""
    return b.reshape(_unit(b, bits(b, *source, product(shape)), dtype), shape=shape)


def _normal(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    """Two numbers of each two words."""
    count = product(shape)
    pairs = (count + 1) // 2
    found = _box_muller(b, b.reshape(bits(b, *source, pairs * 2), shape=(pairs, 2)), dtype)
    return b.astype(b.reshape(cut(b, b.reshape(found, shape=(pairs * 2,)), 0, None, count), shape=shape), dtype=dtype)


def _box_muller(b: TensorFlowBuilder, words: Value, dtype: str) -> Any:
    """Two numbers of the normal distribution, in float32, of each two words ``[pair, 2]``."""
    drawn = _unit(b, words, "float64" if dtype == "float64" else "float32")
    first, second = (b.getitem(drawn, key=along(1, place)) for place in range(2))
    length = b.sqrt(b.multiply(b.log(b.maximum(first, b.array(1e-7, "float32"))), -2.0))
    angle = b.multiply(second, 2.0 * math.pi)
    return b.stack(b.multiply(b.sin(angle), length), b.multiply(b.cos(angle), length), axis=1)


_RESERVED = 256  # steps that TensorFlow keeps for each four numbers, of which some are drawn again
_TRIED = 16  # numbers of which four are kept: fewer lie within the bounds once in 10**14 times
_MOST_GROUPS = 2**32 // _RESERVED


def _truncated(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    """Numbers of the normal distribution, of which those beyond -2 and 2 are left out."""
    count = product(shape)
    groups = (count + 3) // 4
    if not holds(b, groups, _MOST_GROUPS):
        raise NotImplementedError(f"more than {4 * _MOST_GROUPS} numbers of a truncated normal distribution of a seed")
    steps = b.add(
        b.reshape(b.multiply(b.arange(start=0, stop=groups, step=1, dtype="uint32"), b.array(_RESERVED, "uint32")), shape=(groups, 1)),
        b.arange(start=0, stop=_TRIED // 4, step=1, dtype="uint32"),
    )
    words = _blocks(b, *source, b.reshape(steps, shape=(groups * (_TRIED // 4),)))
    tried = b.reshape(_box_muller(b, b.reshape(words, shape=(groups * (_TRIED // 2), 2)), dtype), shape=(groups, _TRIED))
    inside = b.less(b.abs(tried), 2.0)
    place = b.cumulative_sum(b.astype(inside, dtype="int32"), axis=1)
    kept = [b.sum(b.where(b.logical_and(inside, b.equal(place, number)), tried, b.array(0.0, "float32")), axis=1) for number in range(1, 5)]
    found = b.reshape(b.stack(*kept, axis=1), shape=(groups * 4,))
    return b.astype(b.reshape(cut(b, found, 0, None, count), shape=shape), dtype=dtype)


def _integers(b: TensorFlowBuilder, shape: Any, source: tuple[Value, Value], dtype: str) -> Any:
    """All bits."""
    if dtype not in ("int32", "uint32"):
        raise NotImplementedError(f"random {dtype} of a seed")
    words = b.reshape(bits(b, *source, product(shape)), shape=shape)
    return words if dtype == "uint32" else b.bitcast(words, dtype="int32")


def checked(b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any) -> tuple[Any, tuple[Value, Value]]:
    """The shape, and the key and first count as words, of the one algorithm that is known."""
    if known(alg, "the algorithm") not in (_PHILOX, _AUTOMATIC):
        raise NotImplementedError("random numbers of another algorithm than Philox")
    return numbers(shape, "the shape"), (_words(b, key, 2), _words(b, counter, 4))


def _of_key(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, shape, key, counter, alg, **_: draw(b, *checked(b, shape, key, counter, alg), b.result.dtype)


def _of_seed(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, shape, seed, **_: draw(b, numbers(shape, "the shape"), scrambled(b, seed), b.result.dtype)


_DRAWN = {
    "RandomUniform": uniform, "RandomNormal": _normal, "RandomUniformFullInt": _integers, "TruncatedNormal": _truncated,
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
def stateless_int_v2(b: TensorFlowBuilder, shape: Any, key: Any, counter: Any, alg: Any, minval: Any, maxval: Any, **_: Any) -> Any:
    """Integers from ``minval`` to one below ``maxval``."""
    return _in_range(b, *checked(b, shape, key, counter, alg), minval, maxval)


@rows.row("StatelessRandomUniformInt", static=("shape", "seed"))
def stateless_int(b: TensorFlowBuilder, shape: Any, seed: Any, minval: Any, maxval: Any, **_: Any) -> Any:
    """Integers from ``minval`` to one below ``maxval``."""
    return _in_range(b, numbers(shape, "the shape"), scrambled(b, seed), minval, maxval)
