"""Sizes of traced tensors as the user's code sees them: numbers that remember where they come from.

TensorFlow itself asks for the sizes that it knows, and computes with ``tf.shape`` where it knows none. The user's code, which runs eagerly
where it is not recorded, expects a number from ``x.shape[0]``: it gets a :class:`SizeNumber`, which TensorFlow takes wherever it takes a
scalar.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Container, Iterator
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python.types import core

from ...sizes import Size, apply, product

_NUMBERS = (bool, int, float)
# Code of TensorFlow that takes a shape for one of numbers first, and makes a tensor of it where that fails.
_TRIES_MODULE, _TRIES_FUNCTION = "tensorflow.python.framework.tensor_shape", "_constant_if_small"


class Sizes(Protocol):
    """What sizes ask of a recording."""

    def decide(self, size: Size) -> Any:
        """The number of a size, as a guard."""

    def tensor(self, size: Size, dtype: Any) -> Any:
        """A size as a scalar of the traced graph."""


class SizeNumber(core.Tensor):
    """Passes for the number that it stands for. Where Python needs the number itself (``range``, ``if``) it is decided, as a guard."""

    def __init__(self, sizes: Sizes, expression: Size) -> None:
        self.sizes, self.expression = sizes, expression

    def number(self) -> Any:
        """The number, which later calls must have too."""
        return self.sizes.decide(self.expression)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for, beside the type
        return self.expression.type

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

    def __index__(self) -> int:
        _refuse_trial()
        return operator.index(self.number())

    def __int__(self) -> int:
        return int(self.number())

    def __float__(self) -> float:
        return float(self.number())

    def __bool__(self) -> bool:
        return bool(self.number())

    def __hash__(self) -> int:
        return hash(self.number())

    def __repr__(self) -> str:
        return repr(self.number())

    def __format__(self, spec: str) -> str:
        return format(self.number(), spec)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return symbolic(self.sizes, -self.expression)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return symbolic(self.sizes, apply("abs", self.expression))


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


def is_symbolic(item: Any) -> bool:
    """Whether this is a symbolic number of a recording."""
    return type(item) is SizeNumber


def expression_of(item: Any) -> Any:
    """The size expression behind a symbolic number; anything else as it is."""
    return item.expression if is_symbolic(item) else item


def asked_by(*packages: str) -> bool:
    """Whether the code that asks for something, behind functions of numpy, is that of one of these packages."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numpy."):
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__', '')}.".startswith(packages)


def asked_in(functions: Container[tuple[str, str]]) -> bool:
    """Whether one of these functions, given by module and name, asks for something."""
    frame = sys._getframe(2)
    return (frame.f_globals.get("__name__", ""), frame.f_code.co_name) in functions


def _operator(compute: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[..., Any]:
    def method(self: SizeNumber, other: Any) -> Any:
        other = expression_of(other)
        if type(other) not in (*_NUMBERS, Size):
            return NotImplemented
        return symbolic(self.sizes, compute(other, self.expression) if reflected else compute(self.expression, other))

    return method


def _refuse_trial() -> None:
    """``TypeError`` where TensorFlow tries whether a shape holds numbers alone: it then makes a tensor of it."""
    frame = sys._getframe(2)
    if frame.f_globals.get("__name__") == _TRIES_MODULE or frame.f_code.co_name == _TRIES_FUNCTION:
        raise TypeError("this size is not known yet")


def _comparison(function: str) -> Callable[..., Any]:
    def method(self: SizeNumber, other: Any) -> Any:
        _refuse_trial()
        other = expression_of(other)
        if type(other) not in (*_NUMBERS, Size):
            return NotImplemented
        answer = apply(function, self.expression, other)
        return self.sizes.decide(answer) if isinstance(answer, Size) else answer

    return method


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "truediv": operator.truediv, "pow": operator.pow,
}  # fmt: skip
for _name, _compute in _ARITHMETIC.items():
    setattr(SizeNumber, f"__{_name}__", _operator(_compute))
    setattr(SizeNumber, f"__r{_name}__", _operator(_compute, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SizeNumber, f"__{_name}__", _comparison(_name))

__all__ = ["Shape", "SizeNumber", "Sizes", "asked_by", "asked_in", "expression_of", "is_symbolic", "symbolic"]
