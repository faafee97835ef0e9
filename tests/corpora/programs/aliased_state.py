"""Programs with equal tensors in their state: distinct ones stay distinct and shared ones shared, though
another framework may use one array for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


_CALLS = (_x(2), _x(2), _x(4), _x(2))


class Kept:
    def __init__(self, keep: Callable[[Kept, Any], Any]) -> None:
        self.keep, self.calls = keep, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.keep(self, x.sum(0))


def computed_twice(kept: Any, x: Any) -> Any:
    if kept.calls > 1:
        kept.first.add_(1)
        x = x + kept.second
    kept.first, kept.second = x.sin(), x.sin()
    return x


def copied(kept: Any, x: Any) -> Any:
    if kept.calls > 1:
        kept.pair[0].mul_(2)
        x = x + kept.pair[1]
    made = x * 2
    kept.pair = [made, made.clone()]
    return x


def argument_and_copy(kept: Any, x: Any) -> Any:
    if kept.calls > 1:
        kept.first.add_(1)
        x = x + kept.second
    kept.first, kept.second = x, x.clone()
    return x * 1


def one_in_many(kept: Any, x: Any) -> Any:
    if kept.calls == 1:
        kept.first = kept.second = torch.ones(3)
        kept.both = [kept.first, kept.first]
    kept.first.add_(x)
    return kept.second * kept.both[0] + kept.both[1]


PROGRAMS = [
    Program(keep.__name__, lambda keep=keep: Kept(keep), _CALLS)
    for keep in (computed_twice, copied, argument_and_copy, one_in_many)
]
