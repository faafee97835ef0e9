"""What depends on where arrays lie in memory: in which order several arguments are written to, and in which order their elements lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .table import Program


def _x(*shape: int) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6.0).reshape(shape)


def _pairs(*sizes: int) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    """Calls with two square matrices of different elements."""
    return tuple(lambda size=size: (_x(size, size), _x(size, size) * 2 + 1) for size in sizes)


# ---------------------------------------------------------------------------------------------- several arguments are written to
def swapped(a: Any, b: Any) -> None:
    a[:], b[:] = b.clone(), a.clone()


def swapped_with_views(a: Any, b: Any) -> Any:
    """Each is given a view of the other."""
    before = a.t().clone()
    a.copy_(b.flip(0))
    b.copy_(before)
    return a[0].sum()


def swapped_in_part(a: Any, b: Any) -> None:
    """Part of what is written comes from the other argument as it was."""
    row = a[0].clone()
    a[0] = b[1]
    b[:] = row


PROGRAMS = [Program(f.__name__, lambda f=f: f, _pairs(2, 3)) for f in (swapped, swapped_with_views, swapped_in_part)]
