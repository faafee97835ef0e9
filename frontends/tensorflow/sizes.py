"""Sizes of traced tensors as the user's code sees them: numbers that remember where they come from.

TensorFlow itself asks for the sizes that it knows, and computes with ``tf.shape`` where it knows none. The user's code, which runs eagerly
where it is not recorded, expects a number from ``x.shape[0]``: it gets a :class:`SizeNumber`, which TensorFlow takes wherever it takes a
scalar.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.types import core

from ...sizes import Size, SymbolicNumber, product

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
    def dtype(self) -> Any:
        """The type that TensorFlow gives a number of Python."""
        return tf.as_dtype({bool: tf.bool, int: tf.int32}.get(self.expression.type, tf.float32))

    @property
    def shape(self) -> Any:
        """Of a scalar."""
        return tf.TensorShape(())

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self.sizes.tensor(self.expression, dtype or self.dtype)


class Shape(tf.TensorShape):
    """The shape of a traced tensor, whose unknown sizes are symbolic numbers."""

    def __init__(self, known: Any, numbers: tuple[Any, ...]) -> None:
        super().__init__(known)
        self.numbers = numbers

    def __getitem__(self, key: Any) -> Any:
        return Shape(super().__getitem__(key), self.numbers[key]) if isinstance(key, slice) else self.numbers[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tf.TensorShape) and other.rank is None:
            return False
        others = other if isinstance(other, (list, tuple)) else getattr(other, "numbers", None) or list(other)  # type: ignore[call-overload]
        return len(others) == len(self.numbers) and all(bool(one == two) for one, two in zip(self.numbers, others))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tf.TensorShape.__hash__

    def as_list(self) -> list[Any]:
        """The sizes."""
        return list(self.numbers)

    def num_elements(self) -> Any:
        """The product of all sizes."""
        return product(self.numbers)

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return tf.stack([tf.convert_to_tensor(number, dtype or tf.int32) for number in self.numbers])


def symbolic(sizes: Sizes, expression: Any) -> Any:
    """An expression as the user's code may hold it: a symbolic number, or a plain one."""
    return SizeNumber(sizes, expression) if isinstance(expression, Size) else expression


def asked_by(*packages: str) -> bool:
    """Whether the code that asks for something, behind functions of numpy, is that of one of these packages."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numpy."):
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__', '')}.".startswith(packages)


def _refuse_trial(frame: FrameType) -> None:
    """``TypeError`` where TensorFlow tries whether a shape holds numbers alone: it then makes a tensor of it."""
    if frame.f_globals.get("__name__") == _TRIES_MODULE or frame.f_code.co_name == _TRIES_FUNCTION:
        raise TypeError("this size is not known yet")


__all__ = ["Shape", "SizeNumber", "Sizes", "asked_by", "symbolic"]
