"""Programs that depend on storage: the order of writes to several arguments, and the stride order of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import ELSEWHERE, Program


def _x(*shape: int) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6.0).reshape(shape)


def _pairs(*sizes: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    return tuple(lambda size=size: (_x(size, size), _x(size, size) * 2 + 1) for size in sizes)


# --------------------------------------------------------------------------- several arguments are written to
def swapped(a: Any, b: Any) -> None:
    a[:], b[:] = b.clone(), a.clone()


def swapped_with_views(a: Any, b: Any) -> Any:
    before = a.t().clone()
    a.copy_(b.flip(0))
    b.copy_(before)
    return a[0].sum()


def swapped_in_part(a: Any, b: Any) -> None:
    row = a[0].clone()
    a[0] = b[1]
    b[:] = row


# -------------------------------------------------------------------------- the layout decides what is a view
_LAYOUTS = (
    lambda: (_x(3, 4),),
    lambda: (_x(4, 3).t(),),
    lambda: (_x(1, 4),),
    lambda: (_x(5, 2),),
    lambda: (_x(3, 8)[:, ::2],),
    lambda: (_x(6, 5).t(),),
)


def view_or_copy_of_computed(x: Any) -> Any:
    made = x * 1
    made.reshape(-1).add_(1)
    return made


def view_or_copy_of_permuted(x: Any) -> Any:
    """Whether ``reshape`` copies depends on sizes."""
    made = x * 1
    flat = made.t().reshape(-1)
    flat.add_(1)
    return made, flat


def copy_that_nobody_looks_at(x: Any) -> Any:
    """For a single row ``reshape`` returns a view, so that the write is visible."""
    made = (x + 0).t()
    made.reshape(-1)[0] = 9
    return made


def view_or_copy_of_part(x: Any) -> Any:
    made = x * 1
    flat = made[:, :2].flatten()
    made.add_(1)
    return flat, made


def itself_or_copy(x: Any) -> Any:
    """``contiguous`` returns the array itself or a copy, depending on sizes."""
    made = x * 1
    other = made.contiguous()
    other.add_(1)
    return made, other


def axes_that_are_split(x: Any) -> Any:
    return x.view(x.shape[0], 1, -1, 1) * 2


# ----------------------------------------------------------------- what is written is read at other positions
_GAPS = (lambda: (_x(3, 4),), lambda: (_x(2, 4),), lambda: (_x(3, 4) * 2,))


def added_to_its_neighbours(x: Any) -> Any:
    """torch rejects this overlap only if the memory has no gaps."""
    x[:, 1:] += x[:, :-1]
    return x


def less_its_first_column(x: Any) -> Any:
    x -= x[:, :1]
    return x


def moved_by_one(x: Any) -> Any:
    x[:, 1:] = x[:, :-1]
    return x


def columns_apart(x: Any) -> Any:
    x[:, 0] += x[:, 1]
    x[:, -1].mul_(x[:, 0])
    x[1:, :2].copy_(x[:1, 2:])
    return x.mul_(x)


_OVERLAP = {ELSEWHERE: "reads part of the memory that it writes"}
PROGRAMS = [
    *(
        Program(f.__name__, lambda f=f: f, _GAPS, _OVERLAP)
        for f in (added_to_its_neighbours, less_its_first_column, moved_by_one)
    ),
    Program("columns_apart", lambda: columns_apart, _GAPS),
    *(
        Program(f.__name__, lambda f=f: f, _pairs(2, 3))
        for f in (swapped, swapped_with_views, swapped_in_part)
    ),
    *(
        Program(f.__name__, lambda f=f: f, _LAYOUTS)
        for f in (
            view_or_copy_of_computed,
            view_or_copy_of_permuted,
            copy_that_nobody_looks_at,
            view_or_copy_of_part,
            itself_or_copy,
        )
    ),
    Program("axes_that_are_split", lambda: axes_that_are_split, _LAYOUTS, variants=1),
]
