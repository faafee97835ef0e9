"""Whole numbers in tensors that were computed from sizes alone (``torch.tensor(x.shape[1]) // 2``,
``torch.div(n, 8, rounding_mode="trunc")``): expressions of sizes.

Read by Python or given where torch wants an int, they are what the sizes themselves would be there: open, and known before the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import Signal
from ....ir.node import Node, Value
from ....sizes import Size, apply, hint_of
from ....trees import iterate_structure, map_structure
from ..trace import Trace
from .sizes import symbolic


class _Unknown(Signal):
    """It may depend on more than sizes."""


def numbers_of_sizes(capture: Trace, value: Value) -> Any:
    """The number, or the list of numbers, that an array of int64 holds, as the user's code may hold them; None where more than sizes
    decides."""
    reader = _Reader(capture.recorder.maker)
    try:
        found = reader.of(value) if capture.reading.symbolic else None
    except _Unknown:
        return None
    if not any(isinstance(item, Size) for item in iterate_structure(found)) or _is_written(capture, reader.visited):
        return None
    capture.reading.any = True
    for condition in reader.assumed:
        capture.decide(condition)
    return map_structure(lambda item: symbolic(item, capture.decide), found)


def _is_written(capture: Trace, values: set[Value]) -> bool:
    """Whether a call has written to one of them: the elements are no longer those that were computed."""
    written = {one for node in capture.recorder.all_nodes() for one in node.writes}
    return any(one in written or capture.recorder.base_of(one) in written for one in values)


class _Reader:
    """Goes through the calls that a number was computed by; ``assumed`` is what has to hold of sizes for it."""

    def __init__(self, maker: Callable[[Value], Node | None]) -> None:
        self.maker = maker
        self.visited: set[Value] = set()
        self.assumed: list[Size] = []

    def of(self, item: Any) -> Any:
        """A number, an expression, or a list of them."""
        if type(item) is int or isinstance(item, Size) and item.type is int:
            return item
        node = self.maker(item) if isinstance(item, Value) else None
        if node is None or item.spec.dtype != "int64" or len(node.outputs) != 1:
            raise _Unknown
        self.visited.add(item)
        return _COMPUTED.get(node.key, _unknown)(node, self)

    def one(self, item: Any) -> Any:
        """A number or an expression."""
        if isinstance(found := self.of(item), list):
            raise _Unknown
        return found


_Rule = Callable[[Node, _Reader], Any]


def _unknown(node: Node, reader: _Reader) -> Any:
    raise _Unknown


def _made(node: Node, reader: _Reader) -> Any:
    """``torch.tensor(n)``, ``torch.tensor([h, w])``."""
    (given,) = node.inputs
    return [reader.one(item) for item in given] if isinstance(given, (list, tuple)) else reader.one(given)


def _same(node: Node, reader: _Reader) -> Any:
    return reader.of(node.inputs[0])


def _element(node: Node, reader: _Reader) -> Any:
    given, index = node.inputs
    elements = reader.of(given)
    if type(index) is not int or not isinstance(elements, list):
        raise _Unknown
    return elements[index]


def _by(compute: Callable[..., Any]) -> _Rule:
    """Arithmetic on single numbers, without options."""

    def computed(node: Node, reader: _Reader) -> Any:
        if node.params:
            raise _Unknown
        return compute(*map(reader.one, node.inputs))

    return computed


def _divided(node: Node, reader: _Reader) -> Any:
    """Rounded down, which is towards 0 as well where neither is negative."""
    left, right = map(reader.one, node.inputs)
    conditions = (apply("ge", left, 0), apply("gt", right, 0))
    if node.params not in ({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}) or not all(map(hint_of, conditions)):
        raise _Unknown
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
    **dict.fromkeys(("floor_divide", "__floordiv__"), _by(lambda left, right: apply("floordiv", left, right))),
    **dict.fromkeys(("remainder", "__mod__"), _by(lambda left, right: apply("mod", left, right))),
    "maximum": _by(lambda left, right: apply("max", left, right)),
    "minimum": _by(lambda left, right: apply("min", left, right)),
    **dict.fromkeys(("div", "divide"), _divided),
    "__getitem__": _element,
}
