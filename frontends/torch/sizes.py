"""Sizes of tensors as ``torch.SymInt``, so that arithmetic on them is recorded.

``torch.SymInt(node)`` accepts objects with the SymNode protocol (torch/fx/experimental/sym_node.py), which
:class:`SizeNode` implements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

import numpy as np
import torch

# The import installs the operators of SymInt.
import torch.fx.experimental.sym_node

from ...errors import Signal
from ...ir.node import Node, Value
from ...sizes import Scalar, Size, SymbolicNumber, apply, hint_of, negate
from ...sizes.number import COMPARISONS, rule
from ...trees import iterate_structure, leaf, map_structure
from .compat import disabled_torch_function
from .trace import Trace

# Called with a size whose number Python needs. It adds a guard if needed, and returns the number. Keywords
# say what the number is for; with some, it may return the size.
Decide = Callable[..., Any]
Symbolic = Union[torch.SymInt, torch.SymFloat, torch.SymBool]


class SizeNode:
    """Object behind a ``SymInt``, ``SymFloat`` or ``SymBool``, which computes with a symbolic expression."""

    __slots__ = ("decide", "expression")

    def __init__(self, expression: Scalar, decide: Decide) -> None:
        self.expression, self.decide = expression, decide

    def _new(self, expression: Any) -> SizeNode:
        return SizeNode(expression, self.decide)

    # ------------------------------------------------------------------------------ type queries
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
        return False

    def as_key(self) -> Any:
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
        return (
            self.decide(self.expression, text=True) if isinstance(self.expression, Size) else self.expression
        )

    _graph_repr = _decided_text

    def wrap_int(self, number: int) -> SizeNode:
        return self._new(int(number))

    wrap_float = wrap_bool = _new

    # -------------------------------------------------------------------------- plain numbers
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

    # -------------------------------------------------------------------------- arithmetic
    def sym_sum(self, nodes: list[SizeNode]) -> SizeNode:
        total = self._new(0)
        for node in nodes:
            total = total.add(node)  # type: ignore[attr-defined]
        return total

    def sym_not(self) -> SizeNode:
        return self._new(negate(self.expression))

    def round(self, digits: int | None = None) -> SizeNode:
        if digits is None:
            return self.round_one()  # type: ignore[attr-defined]
        return self._new(apply("round_to", self.expression, digits))

    def is_integer(self) -> SizeNode:
        return self._new(apply("eq", apply("floor", self.expression), self.expression))

    def pos(self) -> SizeNode:
        return self


def _computes(function: str) -> Callable[..., SizeNode]:
    compute, compares = rule(function), function in COMPARISONS

    def method(self: SizeNode, *others: SizeNode) -> SizeNode:
        found = compute(self.expression, *(other.expression for other in others), self.decide)
        # Comparisons are decided at once, because torch refuses a ``SymBool`` for a bool. Those of numbers
        # that a loop carries stay symbolic, so that they can become the condition of the loop.
        return self._new(self.decide(found, compared=True) if compares and isinstance(found, Size) else found)

    return method


_FUNCTIONS = {
    **{
        name: name
        for name in (
            "add",
            "sub",
            "mul",
            "mod",
            "floordiv",
            "truediv",
            "pow",
            "neg",
            "abs",
            "floor",
            "ceil",
            "trunc",
        )
    },
    **{
        name: name
        for name in (
            "lshift",
            "rshift",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "and",
            "or",
            *COMPARISONS,
        )
    },
    **{
        f"sym_{name}": name
        for name in ("max", "min", "sqrt", "sin", "cos", "log2", "and", "or", "float", "ite")
    },
    "int_floordiv": "floordiv",
    "int_truediv": "truediv",
    "float_truediv": "truediv",
    "pow_by_natural": "pow",
    "float_pow": "pow",
    "and_": "and",
    "or_": "or",
    "sym_int": "trunc",
    "round_one": "round",
}
for _name, _function in _FUNCTIONS.items():
    setattr(SizeNode, _name, _computes(_function))

# In the class body, a method with this name would hide the builtin ``str`` from annotations.
setattr(SizeNode, "str", SizeNode._decided_text)  # noqa: B010


# --------------------------------------------------------------------------------- symbolic numbers
class _TorchNumber(SymbolicNumber):
    """Symbolic number with the protocols of NumPy and torch.

    made_of: Python class that the constructor calls instead if its argument is no ``SizeNode``.
    """

    __slots__ = ()
    # torch reads this of each argument, and ignores the class with this value.
    __torch_function__ = disabled_torch_function
    node: SizeNode
    made_of: type = float

    def __new__(cls, node: Any) -> Any:
        # The user's code may call the class of a number, as in ``type(size)(2)``.
        return super().__new__(cls) if isinstance(node, SizeNode) else cls.made_of(node)

    @property
    def expression(self) -> Any:
        return self.node.expression

    def decide(self, size: Size) -> Any:
        return self.node.decide(size)

    def symbolic(self, expression: Any) -> Any:
        return symbolic(expression, self.node.decide)

    def operand(self, item: Any) -> Any:
        return item.node.expression if is_symbolic(item) else super().operand(item)

    def compared(self, function: str, other: Any) -> Any:
        condition = apply(function, self.node.expression, other)
        return (
            self.symbolic(self.node.decide(condition, compared=True))
            if isinstance(condition, Size)
            else condition
        )

    def shown(self) -> Any:
        return self.node.shown()

    def __hash__(self) -> int:
        return hash(self.node.as_key())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.number(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if ufunc is np.sqrt and method == "__call__" and not options and self.node.hint >= 0:
            return self.symbolic(apply("sqrt", self.expression))
        return getattr(ufunc, method)(
            *(item.node._number() if is_symbolic(item) else item for item in operands), **options
        )


@leaf
class SizeInt(_TorchNumber, torch.SymInt):
    """Symbolic int of a recording."""

    made_of = int


@leaf
class SizeFloat(_TorchNumber, torch.SymFloat):
    """Symbolic float of a recording."""


@leaf
class SizeBool(_TorchNumber, torch.SymBool):
    """Symbolic truth value of a recording."""

    made_of = bool


_WRAPPERS: dict[type, Callable[[Any], Any]] = {int: SizeInt, float: SizeFloat, bool: SizeBool}
_BASES: dict[type, type] = {SizeInt: torch.SymInt, SizeFloat: torch.SymFloat, SizeBool: torch.SymBool}
NUMBERS = frozenset(_BASES)
"""Classes of symbolic numbers of a recording."""
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def plain(item: Any) -> Any:
    return _BASES[type(item)](item.node) if type(item) in _BASES else item


def own(item: Any) -> Any:
    return symbolic(item.node.expression, item.node.decide) if is_symbolic(item) else item


def symbolic(expression: Scalar, decide: Decide) -> Any:
    return (
        _WRAPPERS[expression.type](SizeNode(expression, decide))
        if isinstance(expression, Size)
        else expression
    )


def is_symbolic(item: Any) -> bool:
    return isinstance(item, _SYMBOLIC) and isinstance(item.node, SizeNode)


def expression_of(item: Any) -> Any:
    return item.node.expression if is_symbolic(item) else item


class _NotFromSizes(Signal):
    """Signal that an array is not known to be computed from sizes."""


def numbers_of_sizes(capture: Trace, value: Value) -> Any:
    """Return the elements of ``value`` as symbols and numbers if they are known to depend on sizes, or None.

    Guard what the result assumes.
    """
    reader = _SizeEvaluator(capture.recorder.maker)
    try:
        found = reader.of(value) if capture.reading.symbolic else None
    except _NotFromSizes:
        return None
    if not any(isinstance(item, Size) for item in iterate_structure(found)) or _is_written(
        capture, reader.visited
    ):
        return None
    capture.reading.any = True
    for condition in reader.assumed:
        capture.decide(condition)
    return map_structure(lambda item: symbolic(item, capture.decide), found)


def _is_written(capture: Trace, values: set[Value]) -> bool:
    base_of = capture.recorder.base_of
    written = {base_of(one) for node in capture.recorder.all_nodes() for one in node.writes}
    return any(base_of(one) in written for one in values)


class _SizeEvaluator:
    """Evaluator of the recorded calls that computed an array of integers from sizes.

    assumed: conditions on sizes under which the result holds.
    """

    def __init__(self, maker: Callable[[Value], Node | None]) -> None:
        self.maker = maker
        self.visited: set[Value] = set()
        self.assumed: list[Size] = []

    def of(self, item: Any) -> Any:
        if type(item) is int or isinstance(item, Size) and item.type is int:
            return item
        node = self.maker(item) if isinstance(item, Value) else None
        if node is None or item.spec.dtype != "int64" or len(node.outputs) != 1:
            raise _NotFromSizes
        self.visited.add(item)
        return _COMPUTED.get(node.key, _unknown)(node, self)

    def one(self, item: Any) -> Any:
        if isinstance(found := self.of(item), list):
            raise _NotFromSizes
        return found


_Rule = Callable[[Node, _SizeEvaluator], Any]


def _unknown(node: Node, reader: _SizeEvaluator) -> Any:
    raise _NotFromSizes


def _made(node: Node, reader: _SizeEvaluator) -> Any:
    (given,) = node.inputs
    return [reader.one(item) for item in given] if isinstance(given, (list, tuple)) else reader.one(given)


def _same(node: Node, reader: _SizeEvaluator) -> Any:
    return reader.of(node.inputs[0])


def _element(node: Node, reader: _SizeEvaluator) -> Any:
    given, index = node.inputs
    elements = reader.of(given)
    if type(index) is not int or not isinstance(elements, list):
        raise _NotFromSizes
    return elements[index]


def _by(compute: Callable[..., Any]) -> _Rule:
    def computed(node: Node, reader: _SizeEvaluator) -> Any:
        if node.params:
            raise _NotFromSizes
        return compute(*map(reader.one, node.inputs))

    return computed


def _divided(node: Node, reader: _SizeEvaluator) -> Any:
    left, right = map(reader.one, node.inputs)
    # Under these conditions, rounding down and rounding towards 0 agree.
    conditions = (apply("ge", left, 0), apply("gt", right, 0))
    if node.params not in ({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}) or not all(
        map(hint_of, conditions)
    ):
        raise _NotFromSizes
    reader.assumed += [condition for condition in conditions if isinstance(condition, Size)]
    return apply("floordiv", left, right)


_COMPUTED: dict[str, _Rule] = {
    **dict.fromkeys(("tensor", "as_tensor", "scalar_tensor"), _made),
    **dict.fromkeys(("clone", "detach", "long"), _same),
    **dict.fromkeys(("add", "__add__", "__radd__"), _by(lambda left, right: left + right)),
    **dict.fromkeys(("sub", "subtract", "__sub__"), _by(lambda left, right: left - right)),
    **dict.fromkeys(("rsub", "__rsub__"), _by(lambda left, right: right - left)),
    **dict.fromkeys(("mul", "multiply", "__mul__", "__rmul__"), _by(lambda left, right: left * right)),
    **dict.fromkeys(("neg", "negative", "__neg__"), _by(lambda operand: -operand)),
    **dict.fromkeys(
        ("floor_divide", "__floordiv__"), _by(lambda left, right: apply("floordiv", left, right))
    ),
    **dict.fromkeys(("remainder", "__mod__"), _by(lambda left, right: apply("mod", left, right))),
    "maximum": _by(lambda left, right: apply("max", left, right)),
    "minimum": _by(lambda left, right: apply("min", left, right)),
    **dict.fromkeys(("div", "divide"), _divided),
    "__getitem__": _element,
}
