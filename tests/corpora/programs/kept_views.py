"""Programs that store views together with their base tensor, on modules, in closures and containers; a write
to one must be visible in the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(*shape: int) -> torch.Tensor:
    return ((torch.arange(torch.Size(shape).numel()) * 7 % 11 - 5) * 0.5).reshape(shape)


_CALLS = (
    lambda: (_x(4, 6),),
    lambda: (_x(4, 6) * 3 + 1,),
    lambda: (_x(2, 4, 6),),
    lambda: (_x(4, 6) - 2,),
    lambda: (_x(5, 4, 6),),
)
_APART = {ELSEWHERE: "cannot be recorded as one array and views of it"}
PROGRAMS: list[Program] = []


def _program(
    errors: dict[str, str] | None = None, **more: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that adds a program under the name of the function that creates it."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS.append(Program(make.__name__, make, _CALLS, errors or {}, **more))
        return make

    return add


# ---------------------------------------------------------------------------------------------- on a module
class Kept(nn.Module):
    """A module with a buffer and views of it, which ``take`` creates; a call is ``step(buffer, views, x)``."""

    def __init__(self, take: Callable[[Any], Any], step: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()
        self.register_buffer("table", torch.linspace(-1, 1, 24).reshape(4, 6))
        self.rest, self.step = take(self.table), step

    def forward(self, x: Any) -> Any:
        return self.step(self.table, self.rest, x)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda t: t[1],
    "last_rows": lambda t: t[-2:],
    "columns": lambda t: t[:, 1:3],
    "stepped": lambda t: t[:, ::2],
    "transposed": lambda t: t.t(),
    "flat": lambda t: t.view(-1),
    "diagonal": lambda t: t.diagonal(),
    "windows": lambda t: t.unfold(1, 2, 2),
    "element": lambda t: t[0, 0],
    "same": lambda t: t.detach(),
    "data": lambda t: t.data,
    "strided": lambda t: t.as_strided((2, 3), (6, 1), 7),
    "heads": lambda t: t.view(4, 2, 3).transpose(0, 1),
    "reshaped": lambda t: t.reshape(6, 4),
}


def _writes_view(table: Any, view: Any, x: Any) -> Any:
    view.add_(x.mean())
    return table * 1, view * 2


def _writes_table(table: Any, view: Any, x: Any) -> Any:
    before = view + 0
    table.mul_(0.5).add_(x if x.ndim == 2 else x[0])
    return before, view.sum()


def _writes_both(table: Any, view: Any, x: Any) -> Any:
    for step in range(3):
        view.mul_(0.5)
        table[step] += x.sum() * 0.1
    return view + 0, table


def _gives_view(table: Any, view: Any, x: Any) -> Any:
    table[0] = x.mean()
    return view


PROGRAMS += [
    Program(f"{step.__name__.strip('_')}_{name}", lambda take=take, step=step: Kept(take, step), _CALLS)
    for name, take in VIEWS.items()
    for step in (_writes_view, _writes_table, _writes_both, _gives_view)
]


def _rows(table: Any, rows: Any, x: Any) -> Any:
    for number, row in enumerate(rows):
        row.add_(x.mean() * number)
    return table.sum(0)


def _named(table: Any, parts: Any, x: Any) -> Any:
    parts["left"].add_(1)
    parts["right"].copy_(parts["left"] * x.mean())
    return table + x


PROGRAMS += [
    Program("rows_in_a_list", lambda: Kept(lambda t: list(t.unbind(0)), _rows), _CALLS),
    Program("rows_in_a_tuple", lambda: Kept(lambda t: t.unbind(0), _rows), _CALLS),
    Program(
        "halves_in_a_dict",
        lambda: Kept(lambda t: dict(zip(("left", "right"), t.chunk(2, 1))), _named),
        _CALLS,
    ),
    Program("view_of_a_view", lambda: Kept(lambda t: [t[1:], t[1:][:, 2:]], _rows), _CALLS),
]


# ------------------------------------------------------------------------------- kept by a call before, and read
class Keeping(nn.Module):
    """A module whose first call keeps what ``take`` makes of its arrays. Each call takes other views of them."""

    def __init__(self, take: Callable[[Any], Any]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 24).reshape(4, 6))
        self.register_buffer("table", torch.linspace(0, 2, 24).reshape(4, 6))
        self.plain, self.take, self.kept = torch.linspace(1, 3, 24).reshape(4, 6), take, list[Any]()

    def forward(self, x: Any) -> Any:
        others = self.weight.t().sum() * self.table[1:].mean() + self.plain.view(-1)[0]
        with torch.no_grad():
            if not self.kept:
                self.kept.append(self.take(self))
            kept = self.kept[0] * 2
        return x * others + kept.sum(0).mean()


class Replacing(nn.Module):
    """A module that keeps a part of the array that each call replaces by a new one."""

    def __init__(self, take: Callable[[Any], Any]) -> None:
        super().__init__()
        self.total = torch.linspace(-1, 1, 24).reshape(4, 6)
        self.part = take(self.total)

    def forward(self, x: Any) -> Any:
        part = self.part * 2
        self.total = self.total + x.mean()
        return self.total * part.sum()


def _called(take: Callable[[Any], Any]) -> Any:
    module = Keeping(take)
    module(_x(4, 6))
    return module


def _write_arrays(module: Any) -> None:
    with torch.no_grad():
        for array in (module.weight, module.table, module.plain):
            array.mul_(0.5)


PROGRAMS += [
    Program(
        f"kept_{name}", lambda take=take: _called(take), _CALLS, changes={1: _write_arrays, 3: _write_arrays}
    )
    for name, take in {
        "weight": lambda m: m.weight.detach(),
        "data_of_weight": lambda m: m.weight.data,
        "rows_of_weight": lambda m: m.weight.detach()[1:],
        "buffer": lambda m: m.table.view(6, 4),
        "attribute": lambda m: m.plain.t(),
    }.items()
]
PROGRAMS += [
    Program(f"replaced_{name}", lambda take=take: Replacing(take), _CALLS)
    for name, take in {
        "row": lambda t: t[1],
        "transposed": lambda t: t.t(),
        "whole": lambda t: t.detach(),
    }.items()
]


# ----------------------------------------------------------------------- what the user does between two calls
def _row() -> Any:
    return Kept(VIEWS["row"], _writes_table)


def _put(name: str, make: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda module: setattr(module, name, make(module))


def _write(module: Any) -> None:
    module.rest.fill_(7)


def _load(module: Any) -> None:
    module.load_state_dict({"table": torch.full((4, 6), 3.0)})


def _put_data(module: Any) -> None:
    module.table.data = torch.ones(4, 6)


PROGRAMS += [
    Program(f"row_then_{name}", _row, _CALLS, changes={1: change, 3: change})
    for name, change in {
        "other_table": _put("table", lambda m: m.table.clone()),
        "other_row": _put("rest", lambda m: m.table[2]),
        "own_row": _put("rest", lambda m: m.rest.clone()),
        "written": _write,
        "loaded": _load,
        "other_memory": _put_data,
    }.items()
]


# ------------------------------------------------------------------------------------ in closures and objects
@_program()
def row_of_a_table() -> Any:
    table = torch.zeros(4, 6)
    row = table[0]

    def function(x: Any) -> Any:
        row.add_(x.mean())
        table[1] = row * 2
        return table.sum() + x

    return function


@_program()
def halves() -> Any:
    left, right = torch.zeros(4, 6).chunk(2, 1)

    def function(x: Any) -> Any:
        left.add_(x.mean())
        right.sub_(left)
        return left + right * x.sum()

    return function


@_program()
def even_and_odd() -> Any:
    table = torch.zeros(4, 6)
    even, odd = table[:, ::2], table[:, 1::2]

    def function(x: Any) -> Any:
        even.add_(x.mean())
        odd.copy_(even * 2)
        return even - odd

    return function


@_program(_APART)
def windows_that_overlap() -> Any:
    """The function has no reference to the base of the two views."""
    table = torch.zeros(4, 6)
    first, second = table[:3], table[1:]

    def function(x: Any) -> Any:
        first.add_(x.mean())
        return second * 2

    return function


@_program()
def table_and_row_in_one_dict() -> Any:
    table = torch.zeros(4, 6)
    held = {"table": table, "row": table[2]}

    def function(x: Any) -> Any:
        held["row"].add_(x.mean())
        held["table"][0] = 1
        return held["table"] * held["row"]

    return function


@_program(_APART)
def table_and_row_in_one_list() -> Any:
    table = torch.zeros(4, 6)
    held = [table, table[2]]

    def function(x: Any) -> Any:
        held[1].add_(x.mean())
        held[0][:, 0] = 1
        return held[0] * held[1]

    return function


class Board:
    def __init__(self) -> None:
        self.cells = torch.zeros(6, 8)
        self.inner, self.edge = self.cells[1:-1, 1:-1], self.cells[0]

    def __call__(self, x: Any) -> Any:
        self.inner.copy_(x if x.ndim == 2 else x.mean(0))
        self.edge.fill_(self.inner.sum())
        return self.cells[:-1] + self.cells[1:]


PROGRAMS.append(Program("board", Board, _CALLS))


@_program()
def weight_and_its_data() -> Any:
    torch.manual_seed(0)
    layer = nn.Linear(6, 2)
    weight = layer.weight.data

    def function(x: Any) -> Any:
        weight.mul_(0.9)
        return layer(x)

    return function


@_program(_APART)
def weights_of_one_flat_buffer() -> Any:
    layer = nn.Linear(6, 2)
    flat = torch.linspace(-1, 1, 14)
    layer.weight.data, layer.bias.data = flat[:12].view(2, 6), flat[12:]

    def function(x: Any) -> Any:
        flat.mul_(0.5)
        return layer(x)

    return function


@_program()
def tensors_of_one_numpy_array() -> Any:
    numbers = np.zeros((4, 6), np.float32)
    table, row = torch.from_numpy(numbers), torch.from_numpy(numbers[1])

    def function(x: Any) -> Any:
        row.add_(x.mean())
        return table * 2

    return function


@_program(_APART)
def read_as_integers() -> Any:
    table = torch.zeros(4, 6)
    words = table.view(torch.int32)

    def function(x: Any) -> Any:
        table.add_(x.mean())
        return words + 1

    return function
