"""Random numbers that ``jax.random`` has no one call for."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp


def dropout(key: jax.Array, x: jax.Array, rate: float, shared_axes: tuple[int, ...] = ()) -> jax.Array:
    """``x`` with a share ``rate`` of its elements set to 0, the others scaled up; ``shared_axes`` live or die together.

    The numbers of one long axis are those of the shape, and XLA compiles them in a tenth of the time that four axes take on a CPU.
    """
    if rate == 1:
        return jnp.zeros_like(x)
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    kept = jax.random.bernoulli(key, 1 - rate, (math.prod(shape),)).reshape(shape)
    return jnp.where(kept, x / (1 - rate), 0)


def random_categorical(key: jax.Array, weights: jax.Array, samples: int, replacement: bool) -> jax.Array:
    """Indices along the last axis in proportion to ``weights``."""
    logits = jnp.log(weights)
    index = jnp.result_type(int)
    if replacement:
        drawn = jax.random.categorical(key, logits, axis=-1, shape=(samples, *weights.shape[:-1]))
        return jnp.moveaxis(drawn, 0, -1).astype(index)
    return jax.lax.top_k(logits + jax.random.gumbel(key, logits.shape, logits.dtype), samples)[1].astype(index)


def philox(keys: jax.Array, counts: jax.Array) -> jax.Array:
    """Philox-4x32 with 10 rounds: four random words for each key of two words and count of four, which stand along the last axis."""

    def high(x: jax.Array, factor: int) -> jax.Array:
        """The upper half of a product, without integers of 64 bits."""
        low, up, low_factor, up_factor = x & 0xFFFF, x >> 16, jnp.uint32(factor & 0xFFFF), jnp.uint32(factor >> 16)
        left, right = low * up_factor, up * low_factor
        carry = (low * low_factor >> 16) + (left & 0xFFFF) + (right & 0xFFFF)
        return up * up_factor + (left >> 16) + (right >> 16) + (carry >> 16)

    first, second = keys[..., 0], keys[..., 1]
    words = [counts[..., place] for place in range(4)]
    for turn in range(10):
        key, other = first + jnp.uint32(turn * 0x9E3779B9 % 2**32), second + jnp.uint32(turn * 0xBB67AE85 % 2**32)
        words = [
            high(words[2], 0xCD9E8D57) ^ words[1] ^ key,
            words[2] * jnp.uint32(0xCD9E8D57),
            high(words[0], 0xD2511F53) ^ words[3] ^ other,
            words[0] * jnp.uint32(0xD2511F53),
        ]
    return jnp.stack(jnp.broadcast_arrays(*words), axis=-1)


def threefry(keys: jax.Array, counts: jax.Array) -> jax.Array:
    """Threefry-2x32 with 20 rounds: two random words for each key and count, which are words along the last axis."""
    first, second = keys[..., 0], keys[..., 1]
    words = (first, second, first ^ second ^ jnp.uint32(0x1BD11BDA))
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            y = x ^ ((y << bits) | (y >> (32 - bits)))
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + jnp.uint32(turn + 1)
    return jnp.stack([x, y], axis=-1)
