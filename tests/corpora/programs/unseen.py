"""Programs whose state is written without torch's version counter between calls, which the next call must
notice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import Program


def _x(rows: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.arange(rows * 3.0).reshape(rows, 3) / 4 - 1,)


_CALLS = (_x(2), _x(4), _x(2), _x(1))
# Numbers of columns: small tensors are compared completely, large ones in pieces.
_SIZES = {"small": 3, "large": 5000}


class _Holder(nn.Module):
    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = table

    def forward(self, x: Any) -> Any:
        # A graph computes this product only once.
        return x @ (self.table * 2)


def _in_closure(table: torch.Tensor) -> Any:
    return lambda x: x @ (table * 2)


def _in_default(table: torch.Tensor) -> Any:
    return lambda x, table=table: x @ (table * 2)


def _in_list(table: torch.Tensor) -> Any:
    held = [table]
    return lambda x: x @ (held[0] * 2)


def _transposed(table: torch.Tensor) -> Any:
    view = table.t()
    return lambda x: (view * 2 @ x.mT).mT


class _Weighted(nn.Module):
    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(table)
        self.register_buffer("shift", table.data[0])
        self.register_buffer("factor", table.data[1], persistent=False)

    def forward(self, x: Any) -> Any:
        return (x @ self.weight + self.shift) * (self.factor * 2)


_PLACES = {
    "closure": _in_closure, "attribute": _Holder, "default": _in_default, "list": _in_list, "transposed": _transposed, "weights": _Weighted,
}  # fmt: skip


def _through_numpy(table: torch.Tensor) -> None:
    table.detach().numpy()[:] *= 3


def _through_data(table: torch.Tensor) -> None:
    table.data.add_(1)


def _on_other_memory(table: torch.Tensor) -> None:
    table.data = table.data + 2


def _foreach(table: torch.Tensor) -> None:
    torch._foreach_add_([table.data], 0.5)


def _in_a_view(table: torch.Tensor) -> None:
    table.detach()[0].sub_(1)


# Other tensors share the memory of these.
_VIEWED = ("transposed", "weights")
_WRITES = (_through_numpy, _through_data, _foreach, _in_a_view, _on_other_memory)


def _held_by(function: Any) -> Any:
    if isinstance(function, nn.Module):
        return function.weight if isinstance(function, _Weighted) else function.table
    held = (function.__defaults__ or [cell.cell_contents for cell in function.__closure__])[0]
    return held[0] if isinstance(held, list) else held


def _program(place: str, size: str, is_of_numpy: bool) -> Program:
    """Return a program with each write in turn before the calls after the first.

    is_of_numpy: True if the memory of the tensor belongs to a NumPy array.
    """
    columns, shared = _SIZES[size], (_on_other_memory,) if place in _VIEWED else ()

    def make() -> Any:
        table = torch.arange(3.0 * columns).reshape(3, columns) / columns
        return _PLACES[place](torch.from_numpy(table.numpy().copy()) if is_of_numpy else table)

    writes = [write for write in _WRITES if write not in shared]
    changes = {
        number: lambda function, write=write: write(_held_by(function))
        for number, write in enumerate(writes, 1)
    }
    calls = tuple(itertools.islice(itertools.cycle(_CALLS), len(writes) + 1))
    return Program(f"{place}_{size}{'_of_numpy' if is_of_numpy else ''}", make, calls, changes=changes)


PROGRAMS = [_program(place, size, is_of_numpy=size == "small") for place in _PLACES for size in _SIZES]
