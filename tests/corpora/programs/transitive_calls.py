"""Programs whose state is reachable only through what they call: methods, operators, callbacks in containers,
decorators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper that multiplies the result by the number of calls so far."""
    calls: list[int] = []

    def inner(*args: Any) -> Any:
        calls.append(len(calls))
        return function(*args) * len(calls)

    return inner


def method() -> Any:
    log: list[int] = []

    class Box:
        def add(self, x: Any) -> Any:
            log.append(x.shape[0])
            return x * len(log)

    box = Box()
    return lambda x: box.add(x) + 1


def variable_of_a_method() -> Any:
    number, seen = 0, torch.zeros(3)

    class Box:
        def add(self, x: Any) -> Any:
            nonlocal number, seen
            number, seen = number + 1, seen + x.sum(0)
            return x * number + seen

    box = Box()
    return lambda x: box.add(x) + 1


def operators() -> Any:
    log: list[int] = []

    class Box:
        def __len__(self) -> int:
            log.append(1)
            return len(log)

        @property
        def scale(self) -> int:
            log.append(2)
            return len(log)

    box = Box()
    return lambda x: x * len(box) + box.scale


def inherited() -> Any:
    class Base:
        calls: list[int] = []  # noqa: RUF012

        @classmethod
        def count(cls) -> int:
            log.append(1)
            return len(log)

    class Box(Base):
        def add(self, x: Any) -> Any:
            return x * self.count()

    log = Base.calls
    boxes = {"first": [Box()]}
    return lambda x: boxes["first"][0].add(x) + 1


def in_a_table() -> Any:
    table = {"double": [_counted(lambda x: x * 2)], "other": (_counted(lambda x: x + 1), 3)}
    return lambda x: table["other"][0](table["double"][0](x))


def in_an_attribute() -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.callbacks = [_counted(torch.sin)]

        def forward(self, x: Any) -> Any:
            for callback in self.callbacks:
                x = callback(x)
            return x

    return Model()


def decorated_method() -> Any:
    class Box:
        @_counted
        def add(self, x: Any) -> Any:
            return x + 1

    box = Box()
    return lambda x: box.add(x) + 1


def middleware() -> Any:
    hits: dict[str, int] = {"scaled": 0}

    def scaled(x: Any, following: Any) -> Any:
        hits["scaled"] += 1
        return following(x * hits["scaled"])

    stack = [scaled, lambda x, following: following(x) + hits["scaled"]]

    def run(x: Any, place: int = 0) -> Any:
        return stack[place](x, lambda y: run(y, place + 1)) if place < len(stack) else x

    return lambda x: run(x) + 1


_MADE = (
    method,
    variable_of_a_method,
    operators,
    inherited,
    in_a_table,
    in_an_attribute,
    decorated_method,
    middleware,
)
PROGRAMS = [Program(made.__name__, made, tuple(map(_x, (2, 4, 2, 1)))) for made in _MADE]
