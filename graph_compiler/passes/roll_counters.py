"""Numbers that grow evenly from step to step, in canonical nodes: which of them a loop can give its steps, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..ir.node import Node, Value
from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol
from ..trees import iterate_structure, map_structure
from .roll_steps import Counted, Earlier, Pattern, Same, Steps

_KEYED = frozenset({"getitem", "setitem"})
_PLACES = "int32"
_WHOLE = (None, None, 1)  # a slice in a key
_ARITHMETIC = frozenset({"add", "subtract", "multiply", "divide", "maximum", "minimum"})
_EXACT = {"float32": 2**24, "float64": 2**53, "int32": 2**31, "int64": 2**53}
"""The dtypes whose whole numbers below this one are exact, and so are products and sums of them."""
_MOST_LISTED = 10_000  # numbers that are written one by one


class Counters:
    """The sequences of one loop that count. ``has_slices``: a place that they give may be an end of a slice."""

    def __init__(self, steps: Steps, has_slices: bool) -> None:
        self.has_slices = has_slices
        self.steps, self.count, self.origin = steps, steps.count, steps.node(0, 0).origin
        self.made: dict[Any, tuple[Node, Value]] = {}

    def given(self, node: Node, row: Sequence[Pattern], place: int) -> list[Node] | None:
        """The node at a ``place`` of the last step with what stands for its changing numbers, behind nodes that it needs; None where
        nothing can. ``row`` are the patterns of its leaves."""
        changing = {at: pattern for at, pattern in enumerate(row) if not isinstance(pattern, (Earlier, Same))}
        if node.record is not None or not changing:
            return None if changing else [node]
        operands = sum(1 for _ in iterate_structure(node.inputs))  # canonical inputs are values and numbers, each of them a leaf
        if any(isinstance(item, Size) for item in iterate_structure(node.inputs)):
            return None
        instead: dict[int, Any] = {}
        for at, pattern in changing.items():
            numbers = [self.steps.leaves(step, place)[at] for step in range(self.count)]
            instead[at] = self._operand(node, numbers) if at < operands else self._index(node, pattern)
        if any(item is None for item in instead.values()):
            return None
        placed = _Placed(instead)
        made = replace(node, inputs=map_structure(placed, node.inputs), params=map_structure(placed, node.params))
        return self._windows(made) if node.op in _KEYED and not self.has_slices else [made]

    def _windows(self, node: Node) -> list[Node] | None:
        """A slice whose ends move as one is an array of places: some compilers have to know both ends. None of any other such slice."""
        key = node.params["key"]
        moving = [place for place, item in enumerate(key) if isinstance(item, tuple) and any(map(self._moves, item))]
        if not moving:
            return [node]
        place = moving[0]
        (start, stop, step), axis = key[place], sum(item is not None for item in key[:place])
        length = stop - start if self._moves(start) and self._moves(stop) else None
        if node.op != "getitem" or len(moving) > 1 or type(length) is not int or self._moves(step) or step != 1 or length <= 0:
            return None
        array, numbers = node.inputs[0], ArraySpec((length,), _PLACES)
        params = {"start": 0, "stop": length, "step": 1, "dtype": _PLACES}
        steps = Node("arange", (), params, node.origin, (Value("places", numbers),))
        first = self._sequence(_PLACES, *self._line(start))
        places = Node("add", (steps.outputs[0], first), {}, node.origin, (Value("places", numbers),))
        spec = ArraySpec((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype)
        taken = Node("take", (array, places.outputs[0]), {"axis": axis}, node.origin, (Value(node.outputs[0].name, spec),))
        left = tuple(_WHOLE if at == place else item for at, item in enumerate(key))
        if all(item == _WHOLE for item in left):
            return [steps, places, replace(taken, outputs=node.outputs)]
        return [steps, places, taken, replace(node, inputs=taken.outputs, params={"key": left})]

    def _moves(self, item: Any) -> bool:
        """Whether a bound of a slice is another one in each step."""
        steps = {value for _, value in self.made.values()}
        return isinstance(item, Size) and any(symbol.source in steps for symbol in item.symbols())

    @staticmethod
    def _line(size: Size) -> tuple[int, int]:
        """``first`` and ``by`` of ``first + by * place``."""
        parts = {bool(monomial): factor for monomial, factor in size.terms()}
        return parts.get(False, 0), parts[True]

    def _operand(self, node: Node, numbers: list[Any]) -> Value | None:
        """A number that an array is combined with, as an element of the array's type."""
        dtypes = {item.dtype for item in node.inputs if isinstance(item, Value)}
        dtype = dtypes.pop() if len(dtypes) == 1 else ""
        if node.op not in _ARITHMETIC or (type(numbers[0]) is float) != dtype.startswith("float"):
            return None
        most, by = _EXACT.get(dtype, 0), numbers[1] - numbers[0]
        # -0.0 is no element of a sequence of whole numbers: what is divided by it has another sign.
        is_whole = all(float(number).is_integer() and abs(number) < most and repr(number) != "-0.0" for number in numbers)
        if is_whole and all(number == numbers[0] + by * step for step, number in enumerate(numbers)):
            return self._sequence(dtype, int(numbers[0]), int(by))
        return self._list(dtype, tuple(numbers)) if dtype in _EXACT and len(numbers) <= _MOST_LISTED else None

    def _index(self, node: Node, number: Pattern) -> Size | None:
        """A place along an axis, all of them counted from the same end."""
        if node.op not in _KEYED or not isinstance(number, Counted) or (number.at(0) < 0) != (number.at(self.count - 1) < 0):
            return None
        place = Symbol(self._sequence(_PLACES, 0, 1), 0, self.count - 1, "item")
        found = number.first + number.by * Size.of(place)
        return found if isinstance(found, Size) else None

    def _sequence(self, dtype: str, first: int, by: int) -> Value:
        """What a step reads of ``first, first + by, ...``."""
        stop = first + by * self.count
        return self._read("arange", dtype, {"start": first, "stop": stop, "step": by, "dtype": dtype}, (dtype, first, by))

    def _list(self, dtype: str, numbers: tuple[float, ...]) -> Value:
        """What a step reads of these numbers."""
        return self._read("asarray", dtype, {"data": numbers, "dtype": dtype}, (dtype, repr(numbers)))

    def _read(self, op: str, dtype: str, params: dict[str, Any], key: Any) -> Value:
        if key not in self.made:
            numbers = Value("steps", ArraySpec((self.count,), dtype))
            self.made[key] = (Node(op, (), params, self.origin, (numbers,)), Value("step", ArraySpec((), dtype)))
        return self.made[key][1]


class _Placed:
    """Puts things in the place of some leaves, which are counted as they are met."""

    def __init__(self, instead: Mapping[int, Any]) -> None:
        self.instead, self.at = instead, -1

    def __call__(self, item: Any) -> Any:
        if isinstance(item, Size):
            self.at += sum(1 for _ in item.symbols())
        elif isinstance(item, Value) or type(item) in (int, float):
            self.at += 1
            return self.instead.get(self.at, item)
        return item
