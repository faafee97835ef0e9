"""Dropout from a generator of one's own."""

from __future__ import annotations

import torch


def dropout(
    generator: torch.Generator | None, x: torch.Tensor, rate: float, shared_axes: tuple[int, ...] = ()
) -> torch.Tensor:
    """``x`` with a share ``rate`` of its elements set to 0, the others scaled up; ``shared_axes`` live or die
    together.
    """
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    kept = torch.rand(shape, generator=generator, device=x.device) >= rate
    return torch.where(kept, x * (1 / (1 - rate) if rate < 1 else 0), 0)


def philox(keys: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Philox-4x32 with 10 rounds: four random words for each key of two words and count of four, which stand
    along the last axis.
    """
    mask = 0xFFFFFFFF  # int64 stands for uint32, which torch has no kernels for; of a product that wraps around, all 64 bits are right
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
    """Threefry-2x32 with 20 rounds: two random words for each key and count, which are words along the last
    axis.
    """
    mask = 0xFFFFFFFF  # int64 stands for uint32, which torch has no kernels for
    first, second = keys.long().unbind(-1)
    words = (first, second, first ^ second ^ 0x1BD11BDA)
    x, y = (word + key & mask for word, key in zip(counts.long().unbind(-1), words))
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y & mask
            y = x ^ (y << bits & mask | y >> 32 - bits)
        x, y = x + words[(turn + 1) % 3] & mask, y + words[(turn + 2) % 3] + turn + 1 & mask
    return torch.stack([x, y], -1).to(torch.uint32)
