"""Random numbers as in ``jax.random``: operations with an explicit ``key`` (uint32[2]).

``random_fold_in`` derives other keys from one. Each draw needs a key of its own: a target may use a generator
object for a key, which each draw advances.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim
from .registry import ArraySpec, declare
from .rules import Input, broadcast, shape_of

_SECTION = "random"
_Shape = tuple[Dim, ...]


@declare(_SECTION)
def random_fold_in(key: ArraySpec, index: Input, /) -> ArraySpec:
    """Derive the ``index``-th key from ``key``; ``index`` is an integer or an integer scalar array."""
    if shape_of(index):
        raise InvalidGraph(f"a key is derived by one integer, not {index}")
    return key


@declare(_SECTION)
def random_key(*, seed: int) -> ArraySpec:
    """Return the key for ``seed``, the same at every call."""
    return ArraySpec((2,), "uint32")


@declare(_SECTION)
def threefry(keys: ArraySpec, counts: ArraySpec, /) -> ArraySpec:
    """Generate two 32-bit random words for each key and count of two words.

    Keys and counts have two words each. The words of keys, counts and results are along the last axis; other
    axes broadcast. This is Threefry-2x32 with 20 rounds (Salmon et al., *Parallel random numbers: as easy as
    1, 2, 3*, 2011) on uint32 arrays, a generator of JAX.
    """
    return ArraySpec((*broadcast(keys.shape[:-1], counts.shape[:-1]), 2), "uint32")


@declare(_SECTION)
def philox(keys: ArraySpec, counts: ArraySpec, /) -> ArraySpec:
    """Generate four 32-bit random words for each key of two words and count of four.

    The words of keys, counts and results are along the last axis; other axes broadcast. This is Philox-4x32
    with 10 rounds (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011) on uint32 arrays, a
    generator of TensorFlow.
    """
    return ArraySpec((*broadcast(keys.shape[:-1], counts.shape[:-1]), 4), "uint32")


@declare(_SECTION)
def random_uniform(
    key: ArraySpec, /, *, shape: _Shape, low: Any = 0.0, high: Any = 1.0, dtype: str
) -> ArraySpec:
    """Sample from the uniform distribution between ``low`` and ``high``, by default from [0, 1)."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_normal(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Sample from the standard normal distribution; complex samples have variance 1 in total."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_integers(key: ArraySpec, /, *, shape: _Shape, low: Any, high: Any, dtype: str) -> ArraySpec:
    """Sample integers uniformly from [low, high)."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_bernoulli(key: ArraySpec, probability: Input, /, *, shape: _Shape) -> ArraySpec:
    """Sample True with ``probability``, a number or an array that broadcasts with ``shape``."""
    return ArraySpec(broadcast(shape, shape_of(probability)), "bool")


@declare(_SECTION)
def random_permutation(key: ArraySpec, /, *, n: Dim, dtype: str) -> ArraySpec:
    """Return the integers from 0 to ``n - 1`` in random order."""
    return ArraySpec((n,), dtype)


@declare(_SECTION)
def random_exponential(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Sample from the exponential distribution with rate 1."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_gumbel(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Sample from the standard Gumbel distribution, ``-log(-log(uniform))``."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_cauchy(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Sample from the standard Cauchy distribution."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_gamma(key: ArraySpec, concentration: ArraySpec, /) -> ArraySpec:
    """Sample from gamma distributions with rate 1, one number for each element of ``concentration``."""
    return ArraySpec(concentration.shape, concentration.dtype)


@declare(_SECTION)
def random_poisson(key: ArraySpec, rate: ArraySpec, /) -> ArraySpec:
    """Sample from Poisson distributions, one number for each element of ``rate`` and of its dtype."""
    return ArraySpec(rate.shape, rate.dtype)


@declare(_SECTION)
def random_binomial(key: ArraySpec, count: ArraySpec, probability: ArraySpec, /) -> ArraySpec:
    """Sample the number of successes in ``count`` trials with ``probability`` each.

    ``count`` and ``probability`` broadcast. The samples have the dtype of ``probability``.
    """
    return ArraySpec(broadcast(count.shape, probability.shape), probability.dtype)


@declare(_SECTION)
def random_categorical(
    key: ArraySpec, weights: ArraySpec, /, *, samples: Dim, replacement: bool = True
) -> ArraySpec:
    """Sample ``samples`` indices into the last axis of ``weights``, with probabilities in proportion to them.

    Without ``replacement`` each index is sampled at most once. The samples are along the last axis of the
    result.
    """
    return ArraySpec((*weights.shape[:-1], samples), "int64")


@declare(_SECTION)
def dropout(key: ArraySpec, x: ArraySpec, /, *, rate: float, shared_axes: tuple[int, ...] = ()) -> ArraySpec:
    """Set each element to 0 with probability ``rate`` and divide the others by ``1 - rate``.

    Elements that differ only in their index along ``shared_axes`` share the decision.
    """
    return ArraySpec(x.shape, x.dtype)
