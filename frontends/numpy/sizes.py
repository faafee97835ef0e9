"""Sizes of arrays as numbers that remember where they come from, so that arithmetic on them is seen while recording."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...sizes import Size, apply, hint_of

_NUMBERS = (bool, int, float)


class SizeNumber:
    """Passes for the number that it stands for. Where Python needs the number itself (``range``, ``if``, an index) it is decided, as a
    guard.

    Arithmetic stays symbolic; comparisons are decided at once. Beside numpy's arrays and functions it counts as a Python number.
    """

    __slots__ = ("__weakref__", "capture", "expression")

    def __init__(self, capture: Any, expression: Size) -> None:
        self.capture, self.expression = capture, expression

    def number(self) -> Any:
        """The number, which later calls must have too."""
        return self.capture.decide(self.expression)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for, beside the type
        return self.expression.type

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.capture.ufunc(ufunc, method, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.number(), dtype)

    def __int__(self) -> int:
        return int(self.number())

    def __index__(self) -> int:
        return operator.index(self.number())

    def __float__(self) -> float:
        return float(self.number())

    def __bool__(self) -> bool:
        return bool(self.number())

    def __complex__(self) -> complex:
        return complex(self.number())

    def __hash__(self) -> int:
        return hash(self.number())

    def __repr__(self) -> str:
        return repr(self.number())

    def __format__(self, spec: str) -> str:
        return format(self.number(), spec)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __trunc__(self) -> Any:
        return self._apply("trunc")

    def __floor__(self) -> Any:
        return self._apply("floor")

    def __ceil__(self) -> Any:
        return self._apply("ceil")

    def __round__(self, digits: int | None = None) -> Any:
        return self._apply("round") if digits is None else self._apply("round_to", digits)

    def __getattr__(self, name: str) -> Any:
        """What only the number has (``n.bit_length()``) is asked of the number."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.number(), name)

    def _apply(self, function: str, *others: Any) -> Any:
        return symbolic(self.capture, apply(function, self.expression, *map(expression_of, others)))


def symbolic(capture: Any, expression: Any) -> Any:
    """An expression as the user's code may hold it: a symbolic number, or a plain one."""
    return SizeNumber(capture, expression) if isinstance(expression, Size) else expression


def is_symbolic(item: Any) -> bool:
    """Whether this is a symbolic number of a recording."""
    return type(item) is SizeNumber


def expression_of(item: Any) -> Any:
    """The size expression behind a symbolic number; other objects are returned unchanged."""
    return item.expression if is_symbolic(item) else item


def hint(item: Any) -> Any:
    """The number seen while recording."""
    return hint_of(item.expression) if is_symbolic(item) else item


def _operator(compute: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[..., Any]:
    def method(self: SizeNumber, other: Any) -> Any:
        other = expression_of(other)
        if type(other) not in (*_NUMBERS, Size):
            return NotImplemented
        pair = (other, self.expression) if reflected else (self.expression, other)
        return symbolic(self.capture, compute(*pair))

    return method


def _comparison(function: str) -> Callable[..., Any]:
    def method(self: SizeNumber, other: Any) -> Any:
        other = expression_of(other)
        if type(other) not in (*_NUMBERS, Size):
            return NotImplemented
        answer = apply(function, self.expression, other)
        return self.capture.decide(answer) if isinstance(answer, Size) else answer

    return method


def _named(function: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: apply(function, a, b)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "truediv": operator.truediv, "pow": operator.pow, "lshift": _named("lshift"), "rshift": _named("rshift"),
    "and": _named("bitwise_and"), "or": _named("bitwise_or"), "xor": _named("bitwise_xor"),
}  # fmt: skip
for _name, _compute in _ARITHMETIC.items():
    setattr(SizeNumber, f"__{_name}__", _operator(_compute))
    setattr(SizeNumber, f"__r{_name}__", _operator(_compute, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SizeNumber, f"__{_name}__", _comparison(_name))
setattr(SizeNumber, "__neg__", lambda self: symbolic(self.capture, -self.expression))  # noqa: B010
setattr(SizeNumber, "__pos__", lambda self: self)  # noqa: B010
setattr(SizeNumber, "__abs__", lambda self: self._apply("abs"))  # noqa: B010
