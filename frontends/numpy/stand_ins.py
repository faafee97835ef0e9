"""Indices inside of blocks, whose elements only stand for others: one may lie outside of its axis, where a loop takes no step now."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .traced import TracedScalar, seen_of

Call = tuple[Callable[..., Any], tuple[Any, ...]]


def within(function: Callable[..., Any], args: tuple[Any, ...]) -> Call:
    """The call that reads or writes elements, with traced numbers in the index that lie inside of their axes, where these have any."""
    if function not in (operator.getitem, operator.setitem):
        return function, args
    array, index, *item = args
    parts = index if type(index) is tuple else (index,)
    inside = list(_inside(np.shape(seen_of(array)), parts))
    if len(inside) < len(parts):
        return function, args
    return function, (array, tuple(inside) if type(index) is tuple else inside[0], *item)


def _inside(shape: tuple[int, ...], parts: tuple[Any, ...]) -> Iterator[Any]:
    """The parts of an index, as far as each is a number or a slice."""
    for size, part in zip(shape, parts):
        if isinstance(part, TracedScalar) and np.issubdtype(part.dtype, np.integer) and not -size <= part._seen < size:
            yield max(size - 1, 0)
        elif isinstance(part, (int, slice, TracedScalar)):
            yield part
        else:
            return
