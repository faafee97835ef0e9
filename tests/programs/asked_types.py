"""Functions that ask what something is: the class of a size or of a number that was read, the data type of an array or a weight."""

from __future__ import annotations

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
    return type(item) is int, type(item) in (int, float), type(item).__name__, isinstance(type(item), type), type(item)(2.5)


def of_sizes(x: Any) -> Any:
    """In a function further inside, and of what is computed from sizes."""
    rows = x.shape[0]
    return x * rows, [_kinds(item) for item in (rows, rows + 1, rows / 2, x.numel(), len(x), 1.5)]


def of_numbers(x: Any) -> Any:
    most = x.abs().max().item()
    return x * most, _kinds(most), _kinds(int(most)), _kinds(x.argmax().item())


def of_objects(x: Any) -> Any:
    return x * 2 if type(x) is torch.Tensor and type(x.shape) is torch.Size else x, type("Made", (), {"n": 3})().n


def by_width(x: Any) -> Any:
    """Also where the target has one type for two of the source's."""
    return x * {torch.float32: 2, torch.float64: 3, torch.int32: 4, torch.int64: 5}[x.dtype]


def seeded_with_a_size(x: Any) -> Any:
    """Code in C takes nothing but a plain number."""
    return x * torch.Generator().manual_seed(x.shape[0]).initial_seed()


class Asking(nn.Module):
    """Asks its weights for nothing but their types and sizes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 2)
        self.register_buffer("table", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return x.to(next(self.parameters()).dtype) * self.table.shape[0], self.linear.bias.is_floating_point()


def _lengthen(model: Any) -> None:
    model.table = torch.ones(5)


PROGRAMS = [
    Program("of_weights", Asking, (*_ROWS, *_ROWS), variants=4, changes={1: lambda m: m.double(), 3: _lengthen, 5: lambda m: m.float()}),
    *(Program(f.__name__, lambda f=f: f, _ROWS) for f in (of_sizes, of_numbers, of_objects, seeded_with_a_size)),
    Program("by_width", lambda: by_width, _WIDTHS, variants=4),
]
