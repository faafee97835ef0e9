"""Programs that prepare something in their first call: hooks, tables, caches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4,)


class Collects(nn.Module):
    """Installs hooks in its first call that collect the results of layers, as transformers does for hidden
    states.
    """

    def __init__(self, with_kwargs: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.with_kwargs = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)]), with_kwargs
        self.collected: Any = None

    def install(self) -> None:
        if getattr(self, "installed", False):
            return
        for layer in self.layers:
            if self.with_kwargs:
                layer.register_forward_hook(self.keep, with_kwargs=True)
            else:
                layer.register_forward_hook(lambda module, args, output: self.keep(module, args, {}, output))
        self.installed = True

    def keep(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.collected.append((*kwargs.values(), output))

    def forward(self, x: Any) -> Any:
        self.install()
        self.collected = []
        for layer in self.layers:
            x = torch.relu(layer(input=x) if self.with_kwargs else layer(x))
        collected, self.collected = self.collected, None
        return x, collected


class InstallsLate(nn.Module):
    """Adds a hook at the end of the first call, which changes the result from the second call on."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.installed = nn.Linear(3, 3), False

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        if not self.installed:
            self.layer.register_forward_hook(lambda module, args, output: output * 2)
            self.installed = True
        return y


class InstallsEachTime(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        self.layer.register_forward_hook(lambda module, args, output: output + 1)
        return y


class InstallsForACall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        seen: list[Any] = []
        handle = self.layer.register_forward_hook(lambda module, args, output: seen.append(output))
        try:
            return self.layer(x).relu(), seen
        finally:
            handle.remove()


class OtherKeys:
    """Fills its cache with keys that no other instance has."""

    def __init__(self) -> None:
        self._memo: dict[object, float] = {}

    def __call__(self, x: Any) -> Any:
        if not self._memo:
            self._memo[object()] = 2.0
        return x * sum(self._memo.values()) + len(self._memo)


class FirstIsOther:
    def __call__(self, x: Any) -> Any:
        if not hasattr(self, "called"):
            self.called = True
            return x * 2
        return x + 1


class LazyTable:
    table: Any = None

    def __call__(self, x: Any) -> Any:
        if self.table is None or len(self.table) < x.shape[0]:
            self.table = torch.arange(x.shape[0]).float()[:, None] * 0.5
        return x + self.table[: x.shape[0]]


class LazyAttribute(nn.Module):
    def forward(self, x: Any) -> Any:
        if not hasattr(self, "scale"):
            self.scale = torch.full((3,), 2.0)
        return x * self.scale


class CachedProperty(nn.Module):
    @functools.cached_property
    def scale(self) -> Any:
        return torch.arange(3.0)

    @functools.cached_property
    def factor(self) -> float:
        return 1.5

    def forward(self, x: Any) -> Any:
        return x * self.scale * self.factor


@functools.cache
def _mask(length: int) -> Any:
    return torch.ones(length, length).tril()


def cached_function(x: Any) -> Any:
    return _mask(x.shape[0]) @ x


class SetsUp(nn.Module):
    def forward(self, x: Any) -> Any:
        if not hasattr(self, "layer"):
            self.layer = nn.Linear(3, 3)
            nn.init.constant_(self.layer.weight, 0.5)
            nn.init.zeros_(self.layer.bias)
        return self.layer(x)


_CALLS = (_x(2), _x(4), _x(2), _x(1))
PROGRAMS = [
    Program("collects", Collects, _CALLS, variants=1),
    Program("collects_with_kwargs", lambda: Collects(with_kwargs=True), _CALLS),
    Program("installs_late", InstallsLate, _CALLS, variants=2),
    Program("installs_each_time", InstallsEachTime, _CALLS[:3]),
    Program("installs_for_a_call", InstallsForACall, _CALLS),
    Program("other_keys", OtherKeys, _CALLS),
    Program("first_is_other", FirstIsOther, _CALLS, variants=2),
    Program("lazy_table", LazyTable, _CALLS),
    Program("lazy_attribute", LazyAttribute, _CALLS),
    Program("cached_property", CachedProperty, _CALLS),
    Program("cached_function", lambda: cached_function, _CALLS),
    Program(
        "sets_up", SetsUp, _CALLS, dict.fromkeys(("torch", ELSEWHERE), "returns a Linear that holds arrays")
    ),
]
