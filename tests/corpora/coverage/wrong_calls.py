"""Calls that torch refuses, and a call of the same signature that it takes: a graph that was recorded with
the one must refuse the other.
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
    """A call that differs from ``bad`` in sizes and elements only, and that torch accepts: one of its own
    samples, or one with sizes by chance.
    """
    candidates = itertools.chain(_alike(bad, samples), _with_other_sizes(bad))
    return next((call for call in candidates if accepts(call)), None)


def _alike(bad: Call, samples: Callable[[torch.dtype], Iterator[Call]]) -> Iterator[Call]:
    """The samples of the operator that have the signature of ``bad``."""
    wanted = signature(bad)
    for dtype in dict.fromkeys(tensor.dtype for tensor in _tensors(bad)):
        yield from (call for call in samples(dtype) if signature(call) == wanted)


def _with_other_sizes(bad: Call) -> Iterator[Call]:
    """``bad`` itself with other sizes, the same for sizes that are the same, then each its own; elements as
    they are, or all ones or zeros.
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
    """What a graph is recorded for: the structure, the dtype and rank of each tensor, and every number."""
    return repr(
        map_structure(lambda item: (item.dtype, item.ndim) if isinstance(item, torch.Tensor) else item, call)
    )
