"""Programs whose state the user resets or replaces between calls; the next call must continue from there."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from .table import Program

# Sizes of the state: small tensors are compared completely, large ones in pieces.
_SIZES = {"small": 3, "large": 5000}


def _calls(size: int, count: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    rows = (2, 4, 1, 3, 2, 4, 1)
    return tuple(
        lambda n=n, rows=rows[n]: ((torch.arange(float(rows * size)).reshape(rows, size) + n).sin(),)
        for n in range(count)
    )


class Hidden(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.hidden, self.steps = size, None, 0

    def forward(self, x: Any) -> Any:
        before = torch.zeros(self.size) if self.hidden is None else self.hidden
        self.hidden = torch.tanh(before * 0.5 + x.sum(0))
        self.steps += 1
        return self.hidden * self.steps


class Written(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden = torch.zeros(size)
        self.alias = (self.hidden,)

    def forward(self, x: Any) -> Any:
        self.hidden.mul_(0.5).add_(x.mean(0))
        return x + self.hidden


class Cached(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.cache: dict[str, Any] = {}
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        keys = torch.cat([self.cache["keys"], x]) if "keys" in self.cache else x
        self.cache["keys"] = keys * 1.0
        self.seen.append(x.sum(0))
        return keys.cumsum(0)[-x.shape[0] :] + sum(self.seen)


class Recent(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.recent: Any = collections.deque(maxlen=2)

    def forward(self, x: Any) -> Any:
        self.recent.append(x.sum(0))
        return sum(self.recent) + x


class Buffers(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(size)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("last", torch.zeros(size), persistent=False)

    def forward(self, x: Any) -> Any:
        self.mean = self.mean * 0.5 + x.mean(0).detach()
        self.last.copy_(x[0])
        return self.norm(torch.cat([x, x + 1])) + self.mean + self.last


def _fill(tensor: torch.Tensor, number: float) -> None:
    with torch.no_grad():
        tensor.fill_(number)


def _load(model: nn.Module, number: float) -> None:
    model.load_state_dict({name: torch.full_like(held, number) for name, held in model.state_dict().items()})


_RESETS: dict[type[nn.Module], dict[str, Callable[[Any], Any]]] = {
    Hidden: {
        "none": lambda m: setattr(m, "hidden", None),
        "zeros": lambda m: setattr(m, "hidden", torch.zeros(m.size)),
        "in_place": lambda m: m.hidden.zero_(),
        "data": lambda m: m.hidden.data.fill_(0.25),
        "numpy": lambda m: m.hidden.numpy().fill(0.5),
        "other_data": lambda m: setattr(m.hidden, "data", torch.ones(m.size)),
        "counter": lambda m: setattr(m, "steps", 0),
        "both": lambda m: (setattr(m, "steps", 0), setattr(m, "hidden", None)),
        "copied": lambda m: m(torch.ones(2, m.size)),
        "by_a_copy": lambda m: setattr(m, "hidden", copy.deepcopy(m)(torch.ones(2, m.size)).detach()),
    },
    Written: {
        "in_place": lambda m: m.hidden.zero_(),
        "data": lambda m: m.hidden.data.zero_(),
        "alias": lambda m: _fill(m.alias[0], 3.0),
        "replaced": lambda m: setattr(m, "hidden", torch.ones_like(m.hidden)),
    },
    Cached: {
        "clear": lambda m: (m.cache.clear(), m.seen.clear()),
        "replaced": lambda m: (setattr(m, "cache", {}), setattr(m, "seen", [])),
        "removed": lambda m: (m.cache.pop("keys"), m.seen.pop()),
        "entry": lambda m: (_fill(m.cache["keys"], 1.0), m.seen[-1].data.zero_()),
        "shorter": lambda m: (m.cache.update(keys=m.cache["keys"][1:]), m.seen.insert(0, torch.ones_like(m.seen[0]))),
    },
    Recent: {"clear": lambda m: m.recent.clear(), "longer": lambda m: setattr(m, "recent", collections.deque(m.recent, maxlen=3))},
    Buffers: {
        "running_stats": lambda m: m.norm.reset_running_stats(),
        "load_state_dict": lambda m: _load(m, 2.0),
        "data": lambda m: (m.norm.running_mean.data.fill_(3.0), m.last.data.fill_(2.0)),
        "other_data": lambda m: setattr(m.norm.running_var, "data", torch.full_like(m.norm.running_var, 4.0)),
        "replaced": lambda m: (setattr(m, "mean", torch.ones_like(m.mean)), setattr(m.norm, "running_mean", m.mean.clone())),
        "called": lambda m: m(torch.ones(2, m.mean.shape[0])),
        "mode": lambda m: m.eval(),
    },
}  # fmt: skip


def _programs() -> Iterator[Program]:
    """Yield a program for each reset and the next one in its table, alternating between two sizes."""
    for make, resets in _RESETS.items():
        names = list(resets)
        for place, (first, second) in enumerate(zip(names, [*names[1:], names[0]])):
            size = list(_SIZES)[place % 2]
            changes = {2: resets[first], 3: resets[first], 5: resets[second]}
            made = lambda make=make, size=size: make(_SIZES[size])  # noqa: E731
            yield Program(
                f"{make.__name__}_{first}_{second}_{size}", made, _calls(_SIZES[size], 6), changes=changes
            )


PROGRAMS = list(_programs())
