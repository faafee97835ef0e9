"""Dropout, and random bits by Philox and Threefry."""

from __future__ import annotations

import torch


def dropout(
    generator: torch.Generator | None, x: torch.Tensor, rate: float, shared_axes: tuple[int, ...] = ()
) -> torch.Tensor:
    """Set each element of ``x`` to 0 with probability ``rate`` and scale the others by ``1 / (1 - rate)``.

    The random choice is the same for all elements along ``shared_axes``, which are not negative. If
    ``generator`` is None, use torch's default generator.
    """
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    kept = torch.rand(shape, generator=generator, device=x.device) >= rate
    return torch.where(kept, x * (1 / (1 - rate) if rate < 1 else 0), 0)


def philox(keys: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Compute Philox-4x32 with 10 rounds.

    ``keys`` has two words of 32 bits along the last axis, and ``counts`` four. Return four random words
    (uint32) along the last axis.
    """
    # torch has no kernels for uint32, so words are int64. A product that overflows still has the correct 64
    # bits.
    mask = 0xFFFFFFFF
    first, second = keys.long().unbind(-1)
    words = list(counts.long().unbind(-1))
    for turn in range(10):
        left, right = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        key, other = first + turn * 0x9E3779B9 & mask, second + turn * 0xBB67AE85 & mask
        words = [
            right >> 32 & mask ^ words[1] ^ key,
            right & mask,
            left >> 32 & mask ^ words[3] ^ other,
            left & mask,
        ]
    return torch.stack(torch.broadcast_tensors(*words), -1).to(torch.uint32)


def threefry(keys: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Compute Threefry-2x32 with 20 rounds.

    ``keys`` and ``counts`` have two words of 32 bits along the last axis. Return two random words (uint32)
    along the last axis.
    """
    # torch has no kernels for uint32, so words are int64.
    mask = 0xFFFFFFFF
    first, second = keys.long().unbind(-1)
    words = (first, second, first ^ second ^ 0x1BD11BDA)
    x, y = (word + key & mask for word, key in zip(counts.long().unbind(-1), words))
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y & mask
            y = x ^ (y << bits & mask | y >> 32 - bits)
        x, y = x + words[(turn + 1) % 3] & mask, y + words[(turn + 2) % 3] + turn + 1 & mask
    return torch.stack([x, y], -1).to(torch.uint32)
