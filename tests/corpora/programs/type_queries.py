"""Programs that query the class of a size or of a number that was read, or the dtype of an array or weight."""

from __future__ import annotations

import builtins
import functools
import json
from typing import Any

import torch
from torch import nn

from .table import Program


def _x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6).reshape(shape).to(dtype)


_ROWS = (lambda: (_x(2, 3),), lambda: (_x(4, 3),), lambda: (_x(2, 3) + 1,))
_WIDTHS = tuple(
    lambda dtype=dtype: (_x(2, 3, dtype=dtype),)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.float64, torch.float32)
)


def _kinds(item: Any) -> Any:
    return (
        type(item) is int,
        type(item) in (int, float),
        type(item).__name__,
        isinstance(type(item), type),
        type(item)(2.5),
    )


def of_sizes(x: Any) -> Any:
    rows = x.shape[0]
    return x * rows, [_kinds(item) for item in (rows, rows + 1, rows / 2, x.numel(), len(x), 1.5)]


def of_numbers(x: Any) -> Any:
    most = x.abs().max().item()
    return x * most, _kinds(most), _kinds(int(most)), _kinds(x.argmax().item())


def of_objects(x: Any) -> Any:
    return x * 2 if type(x) is torch.Tensor and type(x.shape) is torch.Size else x, type(
        "Made", (), {"n": 3}
    )().n


def by_width(x: Any) -> Any:
    """The target may have one dtype for two of the source."""
    return x * {torch.float32: 2, torch.float64: 3, torch.int32: 4, torch.int64: 5}[x.dtype]


def seeded_with_a_size(x: Any) -> Any:
    """C code accepts only a plain ``int``."""
    return x * torch.Generator().manual_seed(x.shape[0]).initial_seed()


def written_as_json(x: Any) -> Any:
    """C code accepts no symbolic size, even if that imitates an ``int``."""
    return x * 2, json.dumps({"rows": x.shape[0], "columns": [x.size(1)]})


class Asking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 2)
        self.register_buffer("table", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return x.to(next(self.parameters()).dtype) * self.table.shape[0], self.linear.bias.is_floating_point()


def _lengthen(model: Any) -> None:
    model.table = torch.ones(5)


_KIND = type


def under_a_local_name(x: Any) -> Any:
    """``type`` is not replaced under another name, so that sizes and numbers must be plain here."""
    kind = type
    return x * 2, kind(x.shape[0]) is int, kind(x.max().item()) is float


def under_a_global_name(x: Any) -> Any:
    return x * 2, [_KIND(size) is int for size in x.shape], set(map(_KIND, x.shape))


def of_builtins(x: Any) -> Any:
    return x * 2, builtins.type(x.shape[0]) is int, functools.partial(builtins.type, x.shape[0])() is int


def as_default() -> Any:
    def function(x: Any, kind: Any = type) -> Any:
        return x * 2, kind(x.shape[0]) is int

    return function


class Kinds:
    kind = type

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls, [self.kind(self.calls) is int, self.kind(x.shape[0]) is int]


class InheritedKinds(Kinds):
    """``type`` is an attribute of a base class."""


PROGRAMS = [
    *(
        Program(f.__name__, lambda f=f: f, _ROWS)
        for f in (under_a_local_name, under_a_global_name, of_builtins)
    ),
    *(Program(make.__name__, make, _ROWS) for make in (as_default, Kinds, InheritedKinds)),
    Program(
        "of_weights",
        Asking,
        (*_ROWS, *_ROWS),
        variants=4,
        changes={1: lambda m: m.double(), 3: _lengthen, 5: lambda m: m.float()},
    ),
    *(
        Program(f.__name__, lambda f=f: f, _ROWS)
        for f in (of_sizes, of_numbers, of_objects, seeded_with_a_size, written_as_json)
    ),
    Program("by_width", lambda: by_width, _WIDTHS, variants=4),
]
