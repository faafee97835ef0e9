"""Search for a valid call with the same signature as a call that torch rejects.

A graph that was recorded with the valid call must reject the other one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graph_compiler.trees import map_structure

Call = tuple[tuple[Any, ...], dict[str, Any]]
TRIES = 600
MOST_ELEMENTS = 1 << 16
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


def good_call(
    bad: Call, samples: Callable[[torch.dtype], Iterator[Call]], accepts: Callable[[Call], bool]
) -> Call | None:
    """Return a call that ``accepts`` accepts and that differs from ``bad`` only in sizes and elements, or
    None.

    Candidates are the operator's samples and 600 calls with random sizes.
    """
    candidates = itertools.chain(_alike(bad, samples), _with_other_sizes(bad))
    return next((call for call in candidates if accepts(call)), None)


def _alike(bad: Call, samples: Callable[[torch.dtype], Iterator[Call]]) -> Iterator[Call]:
    """Yield the samples of the operator that have the signature of ``bad``."""
    wanted = signature(bad)
    for dtype in dict.fromkeys(tensor.dtype for tensor in _tensors(bad)):
        yield from (call for call in samples(dtype) if signature(call) == wanted)


def _with_other_sizes(bad: Call) -> Iterator[Call]:
    """Yield ``bad`` with random sizes and with its own elements, zeros or ones.

    In turn, equal sizes stay equal, sizes are taken from the other tensors, or each size is random.
    """
    draw = random.Random(0)
    for attempt in range(TRIES):
        sizes: dict[Any, int] = {}

        def other(
            tensor: torch.Tensor, sizes: dict[Any, int] = sizes, attempt: int = attempt
        ) -> torch.Tensor:
            if attempt % 3 == 0:
                shape = tuple(sizes.setdefault(size, draw.choice(_SIZES)) for size in tensor.shape)
            elif attempt % 3 == 1:
                shape = tuple(draw.choice((size, *_sizes_of(bad))) for size in tensor.shape)
            else:
                shape = tuple(draw.choice(_SIZES[:5]) for _ in tensor.shape)
            return _filled(tensor, shape, draw.randrange(3))

        yield map_structure(lambda item: other(item) if isinstance(item, torch.Tensor) else item, bad)


def _filled(tensor: torch.Tensor, shape: tuple[int, ...], how: int) -> torch.Tensor:
    count = math.prod(shape)
    if count > MOST_ELEMENTS:
        return tensor
    if how == 0 and tensor.numel():
        return tensor.detach().reshape(-1).repeat(-(-count // tensor.numel()))[:count].reshape(shape)
    return torch.full(shape, how % 2, dtype=tensor.dtype)


def _sizes_of(call: Call) -> tuple[int, ...]:
    return tuple(size for tensor in _tensors(call) for size in tensor.shape)


def _tensors(structure: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_structure(lambda item: found.append(item) if isinstance(item, torch.Tensor) else None, structure)
    return found


def signature(call: Call) -> str:
    """Return a text that is equal for calls of the same variant: structure, dtype and rank of tensors, and
    all other values.
    """
    return repr(
        map_structure(lambda item: (item.dtype, item.ndim) if isinstance(item, torch.Tensor) else item, call)
    )
