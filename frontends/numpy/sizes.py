"""Symbolic sizes of traced NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sizes import Size, SymbolicNumber, expression_of, hint_of


class SizeNumber(SymbolicNumber):
    """Symbolic number of a recording, accepted by NumPy as a Python number.

    Ufuncs with it are recorded. Other conversions to an array guard its value.

    capture: the recording.
    expression: the number as an expression over sizes.
    """

    __slots__ = ("__weakref__", "capture", "expression")

    def __init__(self, capture: Any, expression: Size) -> None:
        self.capture, self.expression = capture, expression

    def decide(self, size: Size) -> Any:
        return self.capture.decide(size)

    def made(self, expression: Any) -> Any:
        return symbolic(self.capture, expression)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.capture.ufunc(ufunc, method, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.number(), dtype)


def symbolic(capture: Any, expression: Any) -> Any:
    return SizeNumber(capture, expression) if isinstance(expression, Size) else expression


def hint(item: Any) -> Any:
    return hint_of(expression_of(item))
