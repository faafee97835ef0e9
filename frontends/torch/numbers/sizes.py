"""Sizes of tensors as ``torch.SymInt``, so that arithmetic on them is seen while recording.

``torch.SymInt(node)`` accepts any object that speaks the SymNode protocol (torch/fx/experimental/sym_node.py); ours
computes with :class:`~graph_compiler.sizes.Size`. torch's argument parser takes the result wherever an int may stand; ``int()``,
``range()`` and ``if`` reach ``int_`` and ``bool_``, where the recording turns the size into a guard.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Union

import numpy as np
import torch
import torch.fx.experimental.sym_node  # installs the operators of SymInt

from ....sizes import Scalar, Size, apply, hint_of, negate
from ...python_arithmetic import computed, power, quotient

Decide = Callable[..., Any]  # of a size, where Python needs the number itself: records a guard, gives the number; as a key, or for a text
Symbolic = Union[torch.SymInt, torch.SymFloat, torch.SymBool]


class SizeNode:
    """What a ``SymInt``, ``SymFloat`` or ``SymBool`` of a recording holds: an expression and how to decide it."""

    __slots__ = ("decide", "expression")

    def __init__(self, expression: Scalar, decide: Decide) -> None:
        self.expression, self.decide = expression, decide

    def _new(self, expression: Any) -> SizeNode:
        return SizeNode(expression, self.decide)

    # ------------------------------------------------------------------------------ what it is
    def is_int(self) -> bool:
        return type(hint_of(self.expression)) is int

    def is_float(self) -> bool:
        return type(hint_of(self.expression)) is float

    def is_bool(self) -> bool:
        return type(hint_of(self.expression)) is bool

    def is_constant(self) -> bool:
        return not isinstance(self.expression, (Size, float))

    def is_symbolic(self) -> bool:
        return True

    def is_nested_int(self) -> bool:
        """Of a size of a nested tensor torch thinks that it is never 1."""
        return False

    def as_key(self) -> Any:
        """The number, for good: a key outlives the recording, and must not drag its symbols into the next. The size where the key is
        forgotten."""
        if self.is_int() and isinstance(self.expression, Size):
            key = self.decide(self.expression, key=True)
            if isinstance(key, Size):
                return key
            self.expression = int(key)
        return self._number()

    def has_hint(self) -> bool:
        return True

    @property
    def hint(self) -> Any:
        return hint_of(self.expression)

    @property
    def constant(self) -> None:
        return None

    @property
    def pytype(self) -> type:
        return type(hint_of(self.expression))

    def maybe_as_int(self) -> int | None:
        return self.expression if type(self.expression) is int else None

    def maybe_as_float(self) -> float | None:
        return self.expression if type(self.expression) is float else None

    def maybe_as_bool(self) -> bool | None:
        return self.expression if type(self.expression) is bool else None

    def clone(self) -> SizeNode:
        return self

    def __repr__(self) -> str:
        return repr(self.expression)

    def _decided_text(self) -> str:
        return repr(self.shown())

    def shown(self) -> Any:
        """The number for a text."""
        return self.decide(self.expression, text=True) if isinstance(self.expression, Size) else self.expression

    _graph_repr = _decided_text

    def wrap_int(self, number: int) -> SizeNode:
        return self._new(int(number))

    wrap_float = wrap_bool = _new

    # ------------------------------------------------------------------------------ where Python needs the number
    def _number(self) -> Any:
        return self.decide(self.expression) if isinstance(self.expression, Size) else self.expression

    def int_(self) -> int:
        return int(self._number())

    def bool_(self) -> bool:
        return bool(self._number())

    def guard_int(self, file: str = "", line: int = 0) -> int:
        return int(self._number())

    def guard_float(self, file: str = "", line: int = 0) -> float:
        return float(self._number())

    def guard_bool(self, file: str = "", line: int = 0) -> bool:
        return bool(self._number())

    expect_true = expect_size = guard_or_false = guard_or_true = guard_size_oblivious = guard_bool

    def statically_known_true(self, file: str = "", line: int = 0) -> bool:
        return self.expression is True

    # ------------------------------------------------------------------------------ arithmetic that is no plain row below
    def sym_ite(self, yes: SizeNode, no: SizeNode) -> SizeNode:
        return self._new(apply("ite", self.expression, yes.expression, no.expression))

    def sym_sum(self, nodes: list[SizeNode]) -> SizeNode:
        total: Any = 0
        for node in nodes:
            total = total + node.expression
        return self._new(total)

    def sym_not(self) -> SizeNode:
        return self._new(negate(self.expression))

    def sym_int(self) -> SizeNode:
        return self._new(apply("trunc", self.expression))

    def round(self, digits: int | None = None) -> SizeNode:
        return self._new(apply("round", self.expression) if digits is None else apply("round_to", self.expression, digits))

    def is_integer(self) -> SizeNode:
        return self._new(apply("eq", apply("floor", self.expression), self.expression))

    def pos(self) -> SizeNode:
        return self


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[SizeNode, SizeNode], SizeNode]:
    return lambda self, other: self._new(computed(compute, (self.expression, other.expression), self.decide))


def _named(function: str) -> Callable[..., SizeNode]:
    def named(self: SizeNode, *others: SizeNode) -> SizeNode:
        operands = (self.expression, *(other.expression for other in others))
        return self._new(computed(functools.partial(apply, function), operands, self.decide))

    return named


def _comparison(function: str) -> Callable[[SizeNode, SizeNode], SizeNode]:
    """Comparisons are decided at once: a ``SymBool`` is refused where torch wants a bool. Those of numbers that a loop carries stay open,
    for its condition."""

    def compare(self: SizeNode, other: SizeNode) -> SizeNode:
        answer = apply(function, self.expression, other.expression)
        return self._new(self.decide(answer, compared=True) if isinstance(answer, Size) else answer)

    return compare


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
    "int_floordiv": lambda a, b: a // b,
    "truediv": lambda a, b: a / b,
    "int_truediv": lambda a, b: a / b,
    "float_truediv": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "pow_by_natural": lambda a, b: a**b,
    "float_pow": lambda a, b: a**b,
}
_FUNCTIONS = {
    **{name: name for name in ("abs", "floor", "ceil", "trunc", "neg", "and", "or", "lshift", "rshift")},
    **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{f"sym_{name}": name for name in ("max", "min", "sqrt", "sin", "cos", "log2", "and", "or", "float")},
    "and_": "and",
    "or_": "or",
}
for _name, _compute in _ARITHMETIC.items():
    setattr(SizeNode, _name, _binary(_compute))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SizeNode, _name, _comparison(_name))
for _name, _function in _FUNCTIONS.items():
    setattr(SizeNode, _name, _named(_function))

setattr(SizeNode, "str", SizeNode._decided_text)  # noqa: B010  (as a method it would hide the type in the annotations above)


# ------------------------------------------------------------------------------------- what the user's code holds
class _Number:
    """Passes for the number that it stands for: ``isinstance(x.shape[0], int)``, ``f"{n:03d}"``, ``divmod(n, 2)``, numpy's functions."""

    __slots__ = ()
    node: SizeNode
    made_of: type = float

    def __new__(cls, node: Any) -> Any:
        """``type(number)(1.5)`` is a plain number."""
        return super().__new__(cls) if isinstance(node, SizeNode) else cls.made_of(node)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for, beside the type
        return self.node.pytype

    def __format__(self, spec: str) -> str:
        return format(self.node.shown(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.node._number(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """``np.sqrt(d)`` gives what ``math.sqrt`` gives; numpy's other functions get the number."""
        if ufunc is np.sqrt and method == "__call__" and not options and self.node.hint >= 0:
            return symbolic(apply("sqrt", self.node.expression), self.node.decide)
        return getattr(ufunc, method)(*(item.node._number() if is_symbolic(item) else item for item in operands), **options)

    def __hash__(self) -> int:
        return hash(self.node.as_key())

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled, it is the number, to which the recording is tied then."""
        return self.made_of, (self.node._number(),)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __floordiv__(self, other: Any) -> Any:
        return _computed(quotient, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _computed(quotient, other, self)

    def __pow__(self, other: Any) -> Any:
        return _computed(power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _computed(power, other, self)

    def __getattr__(self, name: str) -> Any:
        """What only the number has (``n.real``, ``n.bit_length()``) is asked of the number."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.node._number(), name)


def _computed(compute: Callable[..., Any], *operands: Any) -> Any:
    """What torch's own operators compute otherwise than Python."""
    if not all(isinstance(item, (int, float)) for item in operands):
        return NotImplemented
    decide = next(item.node.decide for item in operands if is_symbolic(item))
    return symbolic(compute(*map(expression_of, operands), decide), decide)


class SizeInt(_Number, torch.SymInt):
    """A whole number of a recording."""

    made_of = int


class SizeFloat(_Number, torch.SymFloat):
    """A float computed from sizes."""


class SizeBool(_Number, torch.SymBool):
    """A truth value computed from sizes."""

    made_of = bool


_WRAPPERS: dict[type, Callable[[Any], Any]] = {int: SizeInt, float: SizeFloat, bool: SizeBool}
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_BASES: dict[type, type] = {SizeInt: torch.SymInt, SizeFloat: torch.SymFloat, SizeBool: torch.SymBool}
_NO_OPERATORS = frozenset({"__init__", "__new__"})


def plain(item: Any) -> Any:
    """A symbolic number in torch's own class, whose operators would take ours for a constant; anything else as it is."""
    base = _BASES.get(type(item))
    return item if base is None else base(item.node)


def _operator(cls: type, name: str) -> None:
    """torch's operator, with a result of ours."""
    computed = getattr(cls, name)

    @functools.wraps(computed)
    def operator(self: Any, *others: Any) -> Any:
        return own(computed(plain(self), *map(plain, others)))

    setattr(cls, name, operator)


for _cls, _base in _BASES.items():
    for _name, _member in list(vars(_base).items()):
        if callable(_member) and _name not in _NO_OPERATORS and _name not in vars(_Number):
            _operator(_cls, _name)


def own(item: Any) -> Any:
    """A symbolic number of a recording in the class that passes for a number; anything else as it is."""
    return symbolic(item.node.expression, item.node.decide) if is_symbolic(item) else item


def symbolic(expression: Scalar, decide: Decide) -> Any:
    """The expression as the user's code may hold it: a ``SymInt`` and the like, or a plain number."""
    return _WRAPPERS[expression.type](SizeNode(expression, decide)) if isinstance(expression, Size) else expression


def is_symbolic(item: Any) -> bool:
    """Whether this is a symbolic number of a recording."""
    return isinstance(item, _SYMBOLIC) and isinstance(item.node, SizeNode)


def expression_of(item: Any) -> Any:
    """The size expression behind a symbolic number; other objects are returned unchanged."""
    return item.node.expression if is_symbolic(item) else item
