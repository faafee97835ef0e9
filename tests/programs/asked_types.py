"""Functions that ask what something is: the class of a size or of a number that was read, the data type of an array."""

from __future__ import annotations

from typing import Any

import torch

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


PROGRAMS = [
    *(Program(f.__name__, lambda f=f: f, _ROWS) for f in (of_sizes, of_numbers, of_objects, seeded_with_a_size)),
    Program("by_width", lambda: by_width, _WIDTHS, variants=4),
]
