"""Rows of functions that torch has for channels in axis 1 only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....ops import ArraySpec
from ....ops.layouts import CHANNELS_FIRST
from ...rows import Operand, operand

Row = Callable[..., str]


def _moved(x: Operand, axis: int) -> Operand:
    """``x`` with its ``axis`` at place 1."""
    if x.spec is None:
        return x
    shape = [dim for place, dim in enumerate(x.shape) if place != axis % x.ndim]
    return operand(f"{x}.movedim({axis}, 1)", ArraySpec((shape[0], x.shape[axis], *shape[1:]), x.spec.dtype), x.given)


def channels_first(row: Row) -> Row:
    """The row of an operation with a ``layout``: channels that come last are moved to the front for the call, and back."""

    @wraps(row)
    def either(x: Operand, *operands: Any, layout: str, **params: Any) -> str:
        if layout == CHANNELS_FIRST:
            return row(x, *operands, **params)
        return f"{row(_moved(x, -1), *operands, **params)}.movedim(1, -1)"

    return either


def channels_in_axis_1(row: Row) -> Row:
    """The row of an operation whose channels stand in ``axis``."""

    @wraps(row)
    def either(x: Operand, *operands: Any, axis: int, **params: Any) -> str:
        if axis == 1:
            return row(x, *operands, **params)
        return f"{row(_moved(x, axis), *operands, **params)}.movedim(1, {axis})"

    return either
