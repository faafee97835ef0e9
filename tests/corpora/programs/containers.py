"""Programs with containers of user-defined classes, whose additional attributes must reach the function and
come back.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import torch

from .table import Program


class Gathers:
    """Replaces its table at each call, as ``torch.amp.GradScaler`` does."""

    def __init__(self) -> None:
        self.table: Any = defaultdict(list)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.table["seen"].append(x)
        (seen,) = self.table["seen"]
        self.table = defaultdict(list)
        return seen * 2


class Repeated(list[Any]):
    """A list whose constructor takes other arguments than its items."""

    def __init__(self, item: Any, times: int) -> None:
        super().__init__([item] * times)


class Shifted(NamedTuple("Shifted", [("left", Any), ("right", Any)])):
    def __new__(cls, x: Any) -> Any:
        return super().__new__(cls, x - 1, x + 1)


class Counted(OrderedDict[str, Any]):
    def __init__(self) -> None:
        super().__init__(count=0)

    def __setitem__(self, key: str, item: Any) -> None:
        super().__setitem__(key, [item])


def makes(x: torch.Tensor) -> Any:
    counted = Counted()
    counted["x"] = x
    del counted["count"]
    return Repeated(x + 1, 2), Shifted(x), counted


def takes_missing(rows: Any) -> Any:
    rows["sums"].append(rows["x"][0].sum())
    return rows["sums"][0] + len(rows["none"])


def takes_what_is_no_item(rows: Any) -> Any:
    rows["default_factory"].append(rows["x"][0] * 2)
    return sum(rows["default_factory"])


def _x(*shape: int) -> torch.Tensor:
    return torch.linspace(-2, 3, int(torch.tensor(shape).prod())).reshape(shape)


def _rows(*shape: int, **others: Any) -> Any:
    return defaultdict(list, {"x": [_x(*shape)], **others})


PROGRAMS = [
    Program("gathers", Gathers, (lambda: (_x(2),), lambda: (_x(3),), lambda: (_x(3),))),
    Program("makes", lambda: makes, (lambda: (_x(2),), lambda: (_x(3, 2),))),
    Program(
        "takes_missing",
        lambda: takes_missing,
        (lambda: (_rows(2),), lambda: (_rows(3),), lambda: (_rows(3, none=[1]),)),
    ),
    Program(
        "takes_what_is_no_item",
        lambda: takes_what_is_no_item,
        (lambda: (_rows(2),), lambda: (_rows(3, default_factory=[_x(1)]),)),
    ),
]
