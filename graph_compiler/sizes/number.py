"""Symbolic numbers (``SymbolicNumber``) that the user's code computes with while it is recorded.

They represent sizes, and numbers that are inputs or are read from arrays.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from ..forwarding import forwards
from .algebra import Scalar, Size, apply, hint_of

# Function that returns the number that a size has now, and guards it in the recording if needed.
Decide = Callable[[Size], Any]
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
# A function of operands and a ``Decide``.
Rule = Callable[..., Scalar]


def compute_guarded(compute: Callable[..., Any], operands: tuple[Any, ...], decide: Decide) -> Any:
    """Return ``compute(*operands)``.

    If that raises ``ArithmeticError`` or ``ValueError``, call ``decide`` on each symbolic operand and raise
    the error again, because the user's code may catch it.
    """
    try:
        return compute(*operands)
    except (ArithmeticError, ValueError) as problem:
        _decided(operands, decide)
        refuse_as_python(problem)


@forwards
def refuse_as_python(problem: Exception) -> NoReturn:
    raise problem.with_traceback(None)


def rule(function: str) -> Rule:
    """Return the rule that applies ``function`` to sizes and numbers.

    The rule is called with the operands and a ``Decide``. ``function`` is ``"invert"`` or a name in
    :data:`~graph_compiler.sizes.FUNCTIONS`.

    >>> from graph_compiler.sizes import Symbol
    >>> n = Size.of(Symbol("x", 0, hint=6))
    >>> rule("add")(n, 1, None), rule("max")(n, 4, None)
    (x.shape[0] + 1, max(x.shape[0], 4))
    """
    known = _RULES.get(function)
    compute = _OPERATORS.get(function) or functools.partial(apply, function)
    return known or (lambda *given: compute_guarded(compute, given[:-1], given[-1]))


def _quotient(dividend: Scalar, divisor: Scalar, decide: Decide) -> Scalar:
    compute = (
        operator.floordiv if _whole(dividend) and _whole(divisor) else functools.partial(apply, "floordiv")
    )
    result: Scalar = compute_guarded(compute, (dividend, divisor), decide)
    return result


def _power(base: Scalar, exponent: Scalar, decide: Decide) -> Any:
    # The exponent may be complex, for which `binary` has decided the base.
    if not isinstance(base, Size) and not isinstance(exponent, Size):
        return compute_guarded(operator.pow, (base, exponent), decide)
    # The type of the result depends on the signs of both numbers, so conditions on these are decided.
    if _whole(base) and _whole(exponent) and _holds(apply("ge", exponent, 0), decide):
        return compute_guarded(operator.pow, (base, exponent), decide)
    if isinstance(exponent, Size) or not float(exponent).is_integer():
        is_open = _holds(apply("gt", base, 0), decide)
    else:
        is_open = exponent >= 0 or _holds(apply("ne", base, 0), decide)
    if not is_open:
        return compute_guarded(operator.pow, tuple(_decided((base, exponent), decide)), decide)
    return compute_guarded(functools.partial(apply, "pow"), (base, exponent), decide)


def _inverted(number: Scalar, decide: Decide) -> Any:
    # For a float, Python itself raises the error here.
    return -1 - number if _whole(number) else operator.invert(hint_of(number))


def _rounded(function: str) -> Rule:
    return lambda number, decide: (
        number
        if type(hint_of(number)) is int
        else compute_guarded(functools.partial(apply, function), (number,), decide)
    )


def _holds(condition: Scalar, decide: Decide) -> bool:
    return bool(decide(condition) if isinstance(condition, Size) else condition)


def _decided(operands: tuple[Any, ...], decide: Decide) -> list[Any]:
    return [decide(item) if isinstance(item, Size) else item for item in operands]


def _whole(number: Scalar) -> bool:
    return isinstance(hint_of(number), int)


# The operators of ``Size`` simplify their result, which ``apply`` does not.
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod, "neg": operator.neg,
    "truediv": operator.truediv,
}  # fmt: skip
_RULES: dict[str, Rule] = {
    "floordiv": _quotient,
    "pow": _power,
    "invert": _inverted,
    **{name: _rounded(name) for name in ("trunc", "floor", "ceil", "round")},
}


_NUMBERS = (int, float, bool, complex)
# Largest number of symbols and functions in an expression.
_HEAVIEST = 256


class SymbolicNumber:
    """Stand-in for the Python number with the value of ``expression``.

    A subclass for a framework implements :meth:`decide`, which returns the current number of a size and
    guards it if needed, and :meth:`symbolic`, which returns the symbolic number of an expression.

    >>> from graph_compiler.sizes import Symbol
    >>> class Number(SymbolicNumber):
    ...     def __init__(self, expression):
    ...         self.expression = expression
    ...     def decide(self, size):
    ...         print("assumed:", size, "is", size.hint)
    ...         return size.hint
    ...     def symbolic(self, expression):
    ...         return Number(expression) if isinstance(expression, Size) else expression
    >>> n = Number(Size.of(Symbol("x", 0, hint=6)))
    >>> (2 * n + 1).expression, n - n, isinstance(n, int)
    (x.shape[0] * 2 + 1, 0, True)
    >>> n > 4
    assumed: x.shape[0] > 4 is True
    True
    """

    __slots__ = ()
    # A size, or a plain number once it has been decided for good.
    expression: Any

    # ------------------------------------------------------------------------------ members of subclasses
    def decide(self, size: Size) -> Any:
        raise NotImplementedError

    def symbolic(self, expression: Scalar) -> Any:
        raise NotImplementedError

    def operand(self, item: Any) -> Any:
        cls = type(item)
        if cls in _NUMBERS:
            return item
        if issubclass(cls, SymbolicNumber):
            return item.expression
        # Members of an ``IntEnum``, and the like, compute as plain integers.
        return int(item) if issubclass(cls, int) else None

    def wrap_result(self, expression: Scalar) -> Any:
        # Iterations such as Newton's method would triple the length of an expression each time.
        if isinstance(expression, Size) and expression.weight > _HEAVIEST:
            expression = self.decide(expression)
        return self.symbolic(expression)

    def compared(self, function: str, other: Scalar) -> Any:
        condition = apply(function, self.expression, other)
        return self.decide(condition) if isinstance(condition, Size) else condition

    def number(self) -> Any:
        return self.decide(self.expression) if isinstance(self.expression, Size) else self.expression

    def kind(self) -> type:
        return type(hint_of(self.expression))

    def shown(self) -> Any:
        return self.number()

    # ``isinstance`` also looks at ``__class__``, so that a symbolic number passes for an int or a float.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
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
        if name.startswith("__") or not hasattr(self.__class__, name):
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
        return getattr(self.number(), name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__class__, (self.number(),)

    # ------------------------------------------------------------------------------ irregular arithmetic
    def __pos__(self) -> Any:
        # Python makes an int of a bool.
        return _round(self) if self.kind() is bool else self

    def is_integer(self) -> bool:
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
    return item.expression if issubclass(type(item), SymbolicNumber) else item


def is_symbolic(item: Any) -> bool:
    return issubclass(type(item), SymbolicNumber)


def binary(function: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return the method of ``SymbolicNumber`` for the binary operator ``function``.

    If ``reflected``, the symbolic number is the right operand.
    """
    compute = rule(function)

    def method(self: SymbolicNumber, other: Any) -> Any:
        operand = self.operand(other)
        if operand is None:
            return NotImplemented
        # Expressions are real, so a complex operand needs the number.
        own = self.number() if type(operand) is complex else self.expression
        return self.wrap_result(
            compute(operand, own, self.decide) if reflected else compute(own, operand, self.decide)
        )

    return method


def unary(function: str) -> Callable[[Any], Any]:
    compute = rule(function)
    return lambda self: self.wrap_result(compute(self.expression, self.decide))


def _comparison(function: str) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: Any) -> Any:
        operand = self.operand(other)
        return (
            NotImplemented
            if operand is None or type(operand) is complex
            else self.compared(function, operand)
        )

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
