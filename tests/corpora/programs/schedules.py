"""Programs with a value that the user changes before every call; from the third recording on it is an input
of the graph.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import Program

_COUNT = 7


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


class Scheduled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.rate, self.step, self.mask = nn.Linear(3, 3), 1.0, 0, torch.ones(3)
        self.settings, self.options = (
            types.SimpleNamespace(inner=types.SimpleNamespace(offset=0.5)),
            {"power": 1.0},
        )

    def forward(self, x: Any) -> Any:
        x = self.linear(x) * self.rate + self.step
        x = x * (self.mask * 2) + self.settings.inner.offset
        return x.abs() ** self.options["power"]


_STEPS: dict[str, Callable[[Any, int], Any]] = {
    "rate": lambda m, n: setattr(m, "rate", 0.1 * n),
    "step": lambda m, n: setattr(m, "step", n),
    "rate_and_step": lambda m, n: (setattr(m, "rate", 0.9**n), setattr(m, "step", m.step + 1)),
    "mask_replaced": lambda m, n: setattr(m, "mask", torch.arange(3.0) * n),
    "mask_written": lambda m, n: m.mask.mul_(1 + n),
    "mask_written_unseen": lambda m, n: m.mask.data.add_(n),
    "object": lambda m, n: setattr(m.settings.inner, "offset", 1.0 / n),
    "dict": lambda m, n: m.options.update(power=1 + n / 4),
}


class Branching(nn.Module):
    """Branches on a number that changes: each branch needs a variant, but not each number."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: Any) -> Any:
        return x * self.step if self.step < 4 else x - self.step


def _program(name: str, make: Callable[[], Any], step: Callable[[Any, int], Any], variants: int) -> Program:
    changes = {number: lambda model, number=number: step(model, number) for number in range(1, _COUNT)}
    calls = tuple(_x(2 + number % 2) for number in range(_COUNT))
    return Program(name, make, calls, variants=variants, changes=changes)


PROGRAMS = [
    *(_program(name, Scheduled, step, 3) for name, step in _STEPS.items()),
    _program("branching", Branching, _STEPS["step"], 4),
]
