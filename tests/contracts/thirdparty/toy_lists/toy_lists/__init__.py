"""A tiny framework whose arrays are lists of Python numbers. It does not depend on graph_compiler."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any


class Lists:
    """An array: a flat list of numbers in row-major order, with a shape."""

    def __init__(self, items: list[Any], shape: tuple[int, ...], dtype: str) -> None:
        self.items, self.shape, self.dtype = items, tuple(shape), dtype
        self.ndim = len(self.shape)

    def tolist(self) -> Any:
        """Return nested lists; a number if there are no axes."""
        found: Any = self.items
        for size in self.shape[:0:-1]:
            found = [found[start : start + size] for start in range(0, len(found), size)]
        return found if self.shape else found[0]


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Lists:
    """Return ``x``, an array or a number, broadcast to ``shape``."""
    x = x if isinstance(x, Lists) else Lists([x], (), "float32")
    sizes = (1,) * (len(shape) - x.ndim) + x.shape
    items = []
    for place in range(math.prod(shape)):
        own, step = 0, 1
        for size, whole in zip(reversed(sizes), reversed(shape)):
            place, index = divmod(place, whole)
            own, step = own + (index if size > 1 else 0) * step, step * size
        items.append(x.items[own])
    return Lists(items, shape, x.dtype)


def together(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Lists:
    """Apply a function of two numbers to broadcast arrays or numbers, element by element."""
    shapes = [item.shape if isinstance(item, Lists) else () for item in (x, y)]
    ndim = max(map(len, shapes))
    shape = tuple(
        max(sizes, key=lambda size: (size != 1, size))
        for sizes in zip(*((1,) * (ndim - len(one)) + one for one in shapes))
    )
    dtype = next(item.dtype for item in (x, y) if isinstance(item, Lists))
    return Lists(
        list(map(function, broadcast_to(x, shape).items, broadcast_to(y, shape).items)), shape, dtype
    )


def add(x: Any, y: Any) -> Lists:
    return together(operator.add, x, y)


def subtract(x: Any, y: Any) -> Lists:
    return together(operator.sub, x, y)


def multiply(x: Any, y: Any) -> Lists:
    return together(operator.mul, x, y)


def each(function: Callable[[Any], Any], x: Lists) -> Lists:
    return Lists(list(map(function, x.items)), x.shape, x.dtype)


def tanh(x: Lists) -> Lists:
    return each(math.tanh, x)


def exp(x: Lists) -> Lists:
    return each(math.exp, x)


def transpose(x: Lists) -> Lists:
    rows, columns = x.shape
    return Lists(
        [x.items[row * columns + column] for column in range(columns) for row in range(rows)],
        (columns, rows),
        x.dtype,
    )


def matmul(x: Lists, y: Lists) -> Lists:
    rows, columns = x.tolist(), transpose(y).tolist()
    return Lists(
        [sum(map(operator.mul, row, column)) for row in rows for column in columns],
        (len(rows), len(columns)),
        x.dtype,
    )


def total(x: Lists) -> Lists:
    return Lists([sum(x.items)], (), x.dtype)
