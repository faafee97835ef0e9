"""Symbolic sizes of traced tensors, as the user's code sees them.

TensorFlow asks for static sizes and computes with ``tf.shape`` for unknown ones. The user's code runs
eagerly when it is not recorded, and expects a number from ``x.shape[0]``. It gets a :class:`SizeTensor`,
which TensorFlow accepts as a scalar tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.types import core

from ...forwarding import forwards
from ...sizes import Size, SymbolicNumber, product
from .names import PACKAGES

# NumPy, and the modules that format containers (namedtuples, dataclasses), ask on behalf of their callers.
# TensorFlow itself logs namedtuples of tensors (pfor), which must not count as a read by the user's code.
_ASK_FOR_OTHERS = ("numpy.", "collections.", "reprlib.")
# This code of TensorFlow first tries a shape as numbers, and converts it to a tensor if that fails.
_TRIES_MODULE, _TRIES_FUNCTION = "tensorflow.python.framework.tensor_shape", "_constant_if_small"


class Sizes(Protocol):
    """Protocol of a trace, with the members that symbolic sizes use."""

    def decide(self, size: Size) -> Any:
        """Return the number that a size is while recording, with a guard if needed."""

    def tensor(self, size: Size, dtype: Any) -> Any:
        """Return a size as a scalar tensor of ``dtype``."""


class SizeTensor(SymbolicNumber, core.Tensor):
    """Symbolic number that TensorFlow accepts as a scalar tensor."""

    def __init__(self, sizes: Sizes, expression: Size) -> None:
        self.sizes, self.expression = sizes, expression

    def decide(self, size: Size) -> Any:
        return self.sizes.decide(size)

    def symbolic(self, expression: Any) -> Any:
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
        if not asked_by(*PACKAGES):
            raise AttributeError("a number has no dtype")
        return tf.as_dtype({bool: tf.bool, int: tf.int32}.get(self.expression.type, tf.float32))

    @property
    @forwards
    def shape(self) -> Any:
        if not asked_by(*PACKAGES):
            raise AttributeError("a number has no shape")
        return tf.TensorShape(())

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self.sizes.tensor(self.expression, dtype or self.dtype)


def symbolic(sizes: Sizes, expression: Any) -> Any:
    return SizeTensor(sizes, expression) if isinstance(expression, Size) else expression


def asked_by(*packages: str) -> bool:
    """Return True if code of ``packages`` calls the function that calls this one.

    Frames of NumPy and of code that formats containers are skipped.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and _module(frame).startswith(_ASK_FOR_OTHERS):
        frame = frame.f_back
    return _module(frame).startswith(packages)


def _module(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}."


@forwards
def _refuse_trial(frame: FrameType) -> None:
    if frame.f_globals.get("__name__") == _TRIES_MODULE or frame.f_code.co_name == _TRIES_FUNCTION:
        raise TypeError("this size is not known yet")


class PartialShape(tf.TensorShape):
    """Base class of shapes that may have unknown sizes. ``resolve`` returns a known shape, or raises."""

    def resolve(self) -> Any:
        raise NotImplementedError


def _answer(cls: type[PartialShape], *names: str) -> None:
    for name in names:
        setattr(cls, name, _method_for(name))


def _method_for(name: str) -> Any:
    before = getattr(tf.TensorShape, name)

    def method(shape: PartialShape, *args: Any) -> Any:
        return before(
            shape if asked_by(*PACKAGES) or tf.TensorShape.is_fully_defined(shape) else shape.resolve(), *args
        )

    return method


_KNOWN = tf.TensorShape.dims.fget
PartialShape.dims = property(lambda shape: _KNOWN(shape if asked_by(*PACKAGES) else shape.resolve()))
_answer(
    PartialShape,
    "__str__",
    "__repr__",
    "__hash__",
    "merge_with",
    "with_rank",
    "with_rank_at_least",
    "with_rank_at_most",
)
_answer(
    PartialShape,
    "assert_is_compatible_with",
    "is_subtype_of",
    "most_specific_compatible_shape",
    "most_specific_common_supertype",
)


class Shape(PartialShape):
    """Shape of a tensor of the recorded function, whose sizes may be symbolic."""

    def __init__(self, known: Any, numbers: tuple[Any, ...]) -> None:
        super().__init__(known)
        self.numbers = numbers

    def __getitem__(self, key: Any) -> Any:
        return (
            Shape(super().__getitem__(key), self.numbers[key])
            if isinstance(key, slice)
            else self.numbers[key]
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, tf.TensorShape) and other.rank is None:
            return False
        others = other if isinstance(other, (list, tuple)) else getattr(other, "numbers", None) or list(other)
        return len(others) == len(self.numbers) and all(
            bool(one == two) for one, two in zip(self.numbers, others)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = PartialShape.__hash__

    def is_compatible_with(self, other: Any) -> bool:
        others = getattr(other, "numbers", None) or tf.TensorShape(other)
        if isinstance(others, tf.TensorShape) and others.rank is None:
            return True
        return len(others) == len(self.numbers) and all(
            two is None or bool(one == two) for one, two in zip(self.numbers, others)
        )

    def is_fully_defined(self) -> bool:
        return not asked_by(*PACKAGES) or super().is_fully_defined()

    def assert_is_fully_defined(self) -> None: ...

    def __add__(self, other: Any) -> Any:
        return self.concatenate(other)

    def concatenate(self, other: Any) -> Any:
        return Shape(
            super().concatenate(other),
            (*self.numbers, *(getattr(other, "numbers", None) or tf.TensorShape(other))),
        )

    def resolve(self) -> Any:
        return tf.TensorShape([int(number) for number in self.numbers])

    def as_list(self) -> list[Any]:
        return list(self.numbers)

    def num_elements(self) -> Any:
        return product(self.numbers)

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return tf.stack([tf.convert_to_tensor(number, dtype or tf.int32) for number in self.numbers])


class RequiredShape(PartialShape):
    """Shape of a tensor in an inner ``tf.function``, for code that needs known sizes.

    Indexing an unknown size, or iterating over a shape that has one, raises ``RuntimeError``.
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return RequiredShape(super().__getitem__(key))
        found = super().__getitem__(key)
        return self.resolve() if found is None else found

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__() if tf.TensorShape.is_fully_defined(self) else iter(self.resolve())

    @forwards
    def resolve(self) -> Any:
        # After this error, the recording may start again with fixed sizes of the arguments.
        raise RuntimeError(
            f"all sizes of a tensor of shape {tf.TensorShape(self)} are needed, which are unknown while "
            "it is traced"
        )


_answer(
    RequiredShape,
    "__eq__",
    "__ne__",
    "as_list",
    "num_elements",
    "is_fully_defined",
    "assert_is_fully_defined",
    "is_compatible_with",
)


def resolving_partial_shapes(name: str) -> Any:
    """Return a replacement of the method ``name`` of ``tf.TensorShape`` that resolves a ``PartialShape``."""
    before = getattr(tf.TensorShape, name)

    def method(shape: Any, other: Any) -> Any:
        return before(
            shape, other.resolve() if isinstance(other, PartialShape) and not asked_by(*PACKAGES) else other
        )

    return method
