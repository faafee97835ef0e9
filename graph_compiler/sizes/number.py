"""Symbolic numbers: what the user's code holds while it is recorded where it would hold a size, or a number that it read from an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..forwarding import forwards
from .algebra import Scalar, Size, apply, hint_of
from .arithmetic import COMPARISONS, rule

_NUMBERS = (int, float, bool, complex)
_HEAVIEST = 256  # symbols and functions in an expression


class SymbolicNumber:
    """Passes for the number of Python that its ``expression`` is.

    Arithmetic stays an expression. Where Python needs the number itself (``range``, ``if``, an index, a text) it is *decided*: later calls
    must have the same one, or the same outcome of a comparison. A framework's subclass says how it notes that (:meth:`decide`) and what the
    user's code gets for an expression (:meth:`made`), and registers itself where the framework looks for numbers.

    >>> from graph_compiler.sizes import Symbol
    >>> class Number(SymbolicNumber):
    ...     def __init__(self, expression):
    ...         self.expression = expression
    ...     def decide(self, size):
    ...         print("assumed:", size, "is", size.hint)
    ...         return size.hint
    ...     def made(self, expression):
    ...         return Number(expression) if isinstance(expression, Size) else expression
    >>> n = Number(Size.of(Symbol("x", 0, hint=6)))
    >>> (2 * n + 1).expression, n - n, isinstance(n, int)
    (x.shape[0] * 2 + 1, 0, True)
    >>> n > 4
    assumed: x.shape[0] > 4 is True
    True
    """

    __slots__ = ()
    expression: Any  # a Size; a plain number where it has been decided for good

    # ------------------------------------------------------------------------------ what a framework gives
    def decide(self, size: Size) -> Any:
        """The number that an expression is now, which later calls must have too."""
        raise NotImplementedError

    def made(self, expression: Scalar) -> Any:
        """What the user's code gets for an expression, or a number, that is computed from this one."""
        raise NotImplementedError

    def operand(self, item: Any) -> Any:
        """The expression or number that another operand is; None where it is none that this one computes with."""
        cls = type(item)
        if cls in _NUMBERS:
            return item
        if issubclass(cls, SymbolicNumber):
            return item.expression
        return int(item) if issubclass(cls, int) else None  # an IntEnum

    def computed(self, expression: Scalar) -> Any:
        """What the user's code gets for the outcome of arithmetic. A long expression is decided: what is computed of itself step by step,
        as in Newton's method, would be three times as long in each."""
        if isinstance(expression, Size) and expression.weight > _HEAVIEST:
            expression = self.decide(expression)
        return self.made(expression)

    def compared(self, function: str, other: Scalar) -> Any:
        """The outcome of a comparison, by the name of its function."""
        condition = apply(function, self.expression, other)
        return self.decide(condition) if isinstance(condition, Size) else condition

    def number(self) -> Any:
        """The number, which later calls must have too."""
        return self.decide(self.expression) if isinstance(self.expression, Size) else self.expression

    def kind(self) -> type:
        """``int``, ``float`` or ``bool``: what it stands for."""
        return type(hint_of(self.expression))

    def shown(self) -> Any:
        """The number for a text."""
        return self.number()

    # ------------------------------------------------------------------------------ where Python needs the number
    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for, beside the type
        return type(hint_of(self.expression))

    def __int__(self) -> int:
        return int(self.number())

    @forwards
    def __index__(self) -> int:
        if self.kind() is float:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self.number())

    def __float__(self) -> float:
        return float(self.number())

    def __complex__(self) -> complex:
        return complex(self.number())

    def __bool__(self) -> bool:
        return bool(self.number() if self.kind() is bool else self.compared("ne", 0))

    def __hash__(self) -> int:
        return hash(self.number())

    def __repr__(self) -> str:
        return repr(self.shown())

    def __format__(self, spec: str) -> str:
        return format(self.shown(), spec)

    @forwards
    def __getattr__(self, name: str) -> Any:
        """What only the number has (``n.bit_length()``) is asked of the number."""
        if name.startswith("__") or not hasattr(self.__class__, name):
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
        return getattr(self.number(), name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled, it is the number, to which the recording is tied then."""
        return self.__class__, (self.number(),)

    # ------------------------------------------------------------------------------ arithmetic that is no plain row below
    def __pos__(self) -> Any:
        return self

    def is_integer(self) -> bool:
        """Whether a float is a whole number."""
        if self.kind() is not float:
            return True
        condition: Any = apply("eq", apply("floor", self.expression), self.expression)
        return bool(self.decide(condition))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return _round(self)
        return self if self.kind() is int and digits >= 0 else _round_to(self, digits)


def expression_of(item: Any) -> Any:
    """The expression behind a symbolic number; anything else as it is."""
    return item.expression if issubclass(type(item), SymbolicNumber) else item


def is_symbolic(item: Any) -> bool:
    """Whether this is a symbolic number of a recording."""
    return issubclass(type(item), SymbolicNumber)


def binary(function: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The operator of a function of two numbers; ``reflected``: the number is the second one."""
    compute = rule(function)

    def method(self: SymbolicNumber, other: Any) -> Any:
        operand = self.operand(other)
        if operand is None:
            return NotImplemented
        own = self.number() if type(operand) is complex else self.expression  # expressions are real
        return self.computed(compute(operand, own, self.decide) if reflected else compute(own, operand, self.decide))

    return method


def unary(function: str) -> Callable[[Any], Any]:
    """The operator of a function of one number."""
    compute = rule(function)
    return lambda self: self.computed(compute(self.expression, self.decide))


def _comparison(function: str) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: Any) -> Any:
        operand = self.operand(other)
        return NotImplemented if operand is None or type(operand) is complex else self.compared(function, operand)

    return method


_round, _round_to = unary("round"), binary("round_to")
_BINARY = {
    **{name: name for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift")},
    **{name: f"bitwise_{name}" for name in ("and", "or", "xor")},
}
for _name, _function in _BINARY.items():
    setattr(SymbolicNumber, f"__{_name}__", binary(_function))
    setattr(SymbolicNumber, f"__r{_name}__", binary(_function, reflected=True))
for _name in ("neg", "abs", "invert", "trunc", "floor", "ceil"):
    setattr(SymbolicNumber, f"__{_name}__", unary(_name))
for _name in COMPARISONS:
    setattr(SymbolicNumber, f"__{_name}__", _comparison(_name))
