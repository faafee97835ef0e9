"""Random numbers, in the manner of ``jax.random``: an explicit ``key`` (uint32[2]) comes first, so the
operations are pure.

The same key gives the same numbers; ``random_fold_in`` derives any number of independent keys from one.
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
    """The ``index``-th key derived from ``key``; the index is a number, or an integer array without axes."""
    if shape_of(index):
        raise InvalidGraph(f"a key is derived by one integer, not {index}")
    return key


@declare(_SECTION)
def random_key(*, seed: int) -> ArraySpec:
    """The key that stands for ``seed``: the same one at every call."""
    return ArraySpec((2,), "uint32")


@declare(_SECTION)
def threefry(keys: ArraySpec, counts: ArraySpec, /) -> ArraySpec:
    """Two words of 32 random bits for each key and count, which are two words along the last axis of uint32
    arrays; other axes are broadcast.

    Threefry-2x32 with 20 rounds (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011): the
    generator of JAX, exactly.
    """
    return ArraySpec((*broadcast(keys.shape[:-1], counts.shape[:-1]), 2), "uint32")


@declare(_SECTION)
def philox(keys: ArraySpec, counts: ArraySpec, /) -> ArraySpec:
    """Four words of 32 random bits for each key of two words and count of four, along the last axis of uint32
    arrays; other axes are broadcast.

    Philox-4x32 with 10 rounds (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011): the
    generator of TensorFlow, exactly.
    """
    return ArraySpec((*broadcast(keys.shape[:-1], counts.shape[:-1]), 4), "uint32")


@declare(_SECTION)
def random_uniform(
    key: ArraySpec, /, *, shape: _Shape, low: Any = 0.0, high: Any = 1.0, dtype: str
) -> ArraySpec:
    """Numbers in [low, high), all equally likely."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_normal(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Numbers of the normal distribution with mean 0 and standard deviation 1; complex: of variance 1 in all."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_integers(key: ArraySpec, /, *, shape: _Shape, low: Any, high: Any, dtype: str) -> ArraySpec:
    """Integers in [low, high), all equally likely."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_bernoulli(key: ArraySpec, probability: Input, /, *, shape: _Shape) -> ArraySpec:
    """True with the given probability, a number or an array that is broadcast."""
    return ArraySpec(broadcast(shape, shape_of(probability)), "bool")


@declare(_SECTION)
def random_permutation(key: ArraySpec, /, *, n: Dim, dtype: str) -> ArraySpec:
    """The integers from 0 to ``n - 1`` in random order."""
    return ArraySpec((n,), dtype)


@declare(_SECTION)
def random_exponential(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Numbers of the exponential distribution with rate 1."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_gumbel(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Numbers of the standard Gumbel distribution, ``-log(-log(uniform))``."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_cauchy(key: ArraySpec, /, *, shape: _Shape, dtype: str) -> ArraySpec:
    """Numbers of the standard Cauchy distribution."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def random_gamma(key: ArraySpec, concentration: ArraySpec, /) -> ArraySpec:
    """Numbers of the gamma distributions with these concentrations and rate 1."""
    return ArraySpec(concentration.shape, concentration.dtype)


@declare(_SECTION)
def random_poisson(key: ArraySpec, rate: ArraySpec, /) -> ArraySpec:
    """Numbers of the Poisson distributions with these rates, as floats."""
    return ArraySpec(rate.shape, rate.dtype)


@declare(_SECTION)
def random_binomial(key: ArraySpec, count: ArraySpec, probability: ArraySpec, /) -> ArraySpec:
    """How many of ``count`` trials succeed, each with ``probability``, as floats."""
    return ArraySpec(broadcast(count.shape, probability.shape), probability.dtype)


@declare(_SECTION)
def random_categorical(
    key: ArraySpec, weights: ArraySpec, /, *, samples: Dim, replacement: bool = True
) -> ArraySpec:
    """Indices along the last axis, drawn in proportion to ``weights``; without ``replacement`` each at most
    once.
    """
    return ArraySpec((*weights.shape[:-1], samples), "int64")


@declare(_SECTION)
def dropout(key: ArraySpec, x: ArraySpec, /, *, rate: float, shared_axes: tuple[int, ...] = ()) -> ArraySpec:
    """``x`` with a share ``rate`` of its elements set to 0 and the others divided by ``1 - rate``;
    ``shared_axes`` live or die together.
    """
    return ArraySpec(x.shape, x.dtype)
