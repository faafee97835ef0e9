"""Random numbers from a ``np.random.Generator``. Each operation draws from a generator of its own, derived from the one of the call."""

from __future__ import annotations

from typing import Any

import numpy as np


def derived_generator(key: np.random.Generator, index: Any) -> np.random.Generator:
    """The ``index``-th generator derived from ``key``, which does not advance: the same key gives the same numbers."""
    seeds: Any = key.bit_generator.seed_seq
    return np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, int(index))))


def random_uniform(key: np.random.Generator, shape: tuple[int, ...], low: float, high: float, dtype: np.dtype) -> np.ndarray:
    """Numbers in [low, high): in steps that the type can tell apart, so that none is rounded up to ``high``."""
    steps = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24}.get(np.dtype(dtype).name, 2**53)
    numbers = (low + (high - low) * (key.integers(0, steps, shape) / steps)).astype(dtype)
    below = np.nextafter(np.array(high, dtype), np.array(low, dtype))
    return np.where(numbers < np.array(high, dtype), numbers, below)


def random_normal(key: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Numbers of the standard normal distribution; complex ones of variance 1 in all."""
    dtype = np.dtype(dtype)
    if dtype.kind != "c":
        return key.standard_normal(shape, dtype)
    parts = key.standard_normal((*shape, 2), dtype.type().real.dtype) * 0.5**0.5
    return parts[..., 0] + 1j * parts[..., 1]


def random_bernoulli(key: np.random.Generator, probability: np.ndarray | float, shape: tuple[int, ...]) -> np.ndarray:
    """True with the given probability."""
    return key.random(np.broadcast_shapes(shape, np.shape(probability))) < probability


def dropout(key: np.random.Generator, x: np.ndarray, rate: float, shared_axes: tuple[int, ...] = ()) -> np.ndarray:
    """``x`` with a share ``rate`` of its elements set to 0, the others scaled up; ``shared_axes`` live or die together."""
    if rate == 1:
        return np.zeros_like(x)
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    return np.where(key.random(shape, np.float32) < rate, 0, x / (1 - rate))


def random_categorical(key: np.random.Generator, weights: np.ndarray, samples: int, replacement: bool) -> np.ndarray:
    """Indices along the last axis in proportion to ``weights``."""
    weights = weights.astype(np.float64)
    if not replacement:
        return np.argsort(-np.log(weights) - key.gumbel(size=weights.shape), axis=-1)[..., :samples]
    sums = np.cumsum(weights, axis=-1)
    drawn = key.random((*weights.shape[:-1], samples)) * sums[..., -1:]
    return np.sum(sums[..., None, :] <= drawn[..., None], axis=-1)


def philox(keys: Any, counts: Any) -> Any:
    """Philox-4x32 with 10 rounds: four random words for each key of two words and count of four, which stand along the last axis."""
    first, second = keys[..., 0], keys[..., 1]
    words = [counts[..., place] for place in range(4)]
    for turn in range(10):
        left = words[0].astype(np.uint64) * np.uint64(0xD2511F53)
        right = words[2].astype(np.uint64) * np.uint64(0xCD9E8D57)
        key, other = first + np.uint32(turn * 0x9E3779B9 % 2**32), second + np.uint32(turn * 0xBB67AE85 % 2**32)
        words = [
            (right >> np.uint64(32)).astype(np.uint32) ^ words[1] ^ key,
            right.astype(np.uint32),
            (left >> np.uint64(32)).astype(np.uint32) ^ words[3] ^ other,
            left.astype(np.uint32),
        ]
    return np.stack(np.broadcast_arrays(*words), axis=-1)


def threefry(keys: Any, counts: Any) -> Any:
    """Threefry-2x32 with 20 rounds: two random words for each key and count, which are words along the last axis."""
    first, second = keys[..., 0], keys[..., 1]
    words = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(bits)) | (y >> np.uint32(32 - bits)))
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + np.uint32(turn + 1)
    return np.stack([x, y], axis=-1)
