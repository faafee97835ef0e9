"""Sizes of traced tensors as the user's code sees them: numbers that remember where they come from.

TensorFlow itself asks for the sizes that it knows, and computes with ``tf.shape`` where it knows none. The user's code, which runs eagerly
where it is not recorded, expects a number from ``x.shape[0]``: it gets a :class:`SizeNumber`, which TensorFlow takes wherever it takes a
scalar.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.types import core

from ...forwarding import forwards
from ...sizes import Size, SymbolicNumber
from .folders import PACKAGES

# Functions of numpy, and those that make the text of a container of Python (a namedtuple, a dataclass).
_ASK_FOR_OTHERS = ("numpy.", "collections.", "reprlib.")
# Code of TensorFlow that takes a shape for one of numbers first, and makes a tensor of it where that fails.
_TRIES_MODULE, _TRIES_FUNCTION = "tensorflow.python.framework.tensor_shape", "_constant_if_small"


class Sizes(Protocol):
    """What sizes ask of a recording."""

    def decide(self, size: Size) -> Any:
        """The number of a size, as a guard."""

    def tensor(self, size: Size, dtype: Any) -> Any:
        """A size as a scalar of the traced graph."""


class SizeNumber(SymbolicNumber, core.Tensor):
    """A number of a recording, which TensorFlow takes for a scalar."""

    def __init__(self, sizes: Sizes, expression: Size) -> None:
        self.sizes, self.expression = sizes, expression

    def decide(self, size: Size) -> Any:
        return self.sizes.decide(size)

    def made(self, expression: Any) -> Any:
        return symbolic(self.sizes, expression)

    def compared(self, function: str, other: Any) -> Any:
        _refuse_trial(sys._getframe(2))
        return super().compared(function, other)

    def __index__(self) -> int:
        _refuse_trial(sys._getframe(1))
        return super().__index__()

    @property
    @forwards
    def dtype(self) -> Any:
        """The type that TensorFlow gives a number of Python; the user's code, to which this is one, finds none."""
        if not asked_by(*PACKAGES):
            raise AttributeError("a number has no dtype")
        return tf.as_dtype({bool: tf.bool, int: tf.int32}.get(self.expression.type, tf.float32))

    @property
    @forwards
    def shape(self) -> Any:
        """Of a scalar."""
        if not asked_by(*PACKAGES):
            raise AttributeError("a number has no shape")
        return tf.TensorShape(())

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self.sizes.tensor(self.expression, dtype or self.dtype)


def symbolic(sizes: Sizes, expression: Any) -> Any:
    """An expression as the user's code may hold it: a symbolic number, or a plain one."""
    return SizeNumber(sizes, expression) if isinstance(expression, Size) else expression


def asked_by(*packages: str) -> bool:
    """Whether the code that asks for something, behind functions that ask for others, is that of one of these packages."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _module(frame).startswith(_ASK_FOR_OTHERS):
        frame = frame.f_back
    return _module(frame).startswith(packages)


def _module(frame: FrameType) -> str:
    """The name of the module of a frame, with a point behind it."""
    return f"{frame.f_globals.get('__name__', '')}."


@forwards
def _refuse_trial(frame: FrameType) -> None:
    """``TypeError`` where TensorFlow tries whether a shape holds numbers alone: it then makes a tensor of it."""
    if frame.f_globals.get("__name__") == _TRIES_MODULE or frame.f_code.co_name == _TRIES_FUNCTION:
        raise TypeError("this size is not known yet")
