"""How calls of torch find their rows, and what each that writes leaves in the tensors that it writes to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ....ops.dtypes import is_inexact
from ....sizes import Size
from ....trees import iterate_structure, map_structure
from ...element_conditions import expect_elements
from ...index_bounds import note_bounds
from ...lifter import Lifter
from ..basics.names import is_in_place, pure_key, row_key
from .agreement import assume_agreement
from .demands import assume_demands
from .element_conditions import CONDITIONS
from .numbers import has_floats, with_fixed_numbers
from .opening import open_call
from .statistics import WRITTEN
from .table import TorchBuilder, rows

# The name of a keyword -> what the rows call it that do not know it; "input" is the first argument, whatever its name.
_RENAMED = {
    "axis": "dim", "keepdims": "keepdim", "x1": "input", "x2": "other", "x": "input", "a": "input", "exponent": "other", "mat2": "mat_b",
    "element": "elements", "test_element": "test_elements", "input2": "tau", "input3": "other",
    **dict.fromkeys(("indices", "sections"), "indices_or_sections"),
}  # fmt: skip
# Where functions may have rows of their own, beside those for their bare names: x.where(condition, y) has another order than
# torch.where(condition, x, y).
_OWN_ROWS = {"torch.nn.functional.": "nn.functional", "torch.Tensor.": "Tensor", "torch.ops.aten.": "aten"}


def lift_graph(graph: Graph) -> Graph:
    """The canonical graph of a recorded one; ``UnsupportedOperation`` lists every call that has no row and cannot be opened."""
    return _TorchLifter(graph).run()


class _TorchLifter(Lifter):
    framework = "torch"

    def __init__(self, recorded: Graph) -> None:
        super().__init__(recorded)
        self.cut_off: set[Value] = set()  # made without gradients, of nothing but values that were cut off themselves

    def builder(self, graph: Graph) -> TorchBuilder:
        return TorchBuilder(graph, has_floats(self.recorded))

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def arguments(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = with_fixed_numbers(self.b, pure_key(row_key(node.op)), *super().arguments(node))
        if node.no_grad:
            args, kwargs = map_structure(self._without_gradient, (args, kwargs))
        return args, kwargs

    def _without_gradient(self, item: Any) -> Any:
        if not isinstance(item, Value) or not is_inexact(item.dtype) or item in self.cut_off:
            return item
        return self.b.stop_gradient(item)

    def row(self, node: Node) -> Callable[..., Any] | None:
        key = row_key(node.op)
        if (
            is_in_place(key) and rows.get(key) and not node.op.startswith("torch.nn.init.")
        ):  # normal_ and bernoulli_ have other arguments than normal and bernoulli
            return rows.get(key)
        if node.op.startswith("torch.nn.init."):
            return rows.get(f"nn.init.{key}") or rows.get(pure_key(key))
        key = pure_key(key)
        own = next((prefix for start, prefix in _OWN_ROWS.items() if node.op.startswith(start)), None)
        return own and rows.get(f"{own}.{key}") or rows.get(key)

    def call(self, node: Node) -> Any:
        if node.record is not None and node.record.strided:
            raise UnsupportedOperation(
                "it reads memory of a tensor that is a view or not contiguous, which only torch has; call contiguous() before it"
            )
        args, kwargs = self.arguments(node)
        self.b.recorded = self.specs_recorded(node)  # not before: views among the arguments may be calls that are lifted again
        row = self.row(node)
        self.b.generator = self._stream_of(args, kwargs) if self.b.streams else None
        key, before = pure_key(row_key(node.op)), len(self.result.nodes)
        result = open_call(self.b, node, args, kwargs) if row is None else self._by_row(key, row, args, kwargs)
        made = self.result.nodes[before:]
        if node.no_grad:
            self.cut_off.update(value for each in made for value in each.outputs)
        assume_demands(self.b, made)
        expect_elements(self.b, made, CONDITIONS)
        note_bounds(self.b, key, made)
        return result

    def _stream_of(self, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
        """The stream of random numbers among the arguments."""
        return next((item for item in iterate_structure((args, kwargs)) if isinstance(item, Value) and item in self.b.streams), None)

    def _by_row(self, key: str, row: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        kwargs = own_keywords(row, kwargs)
        assume_agreement(self.b, key, row, args, kwargs)
        nodes, guards = len(self.result.nodes), len(self.result.guards)
        try:
            return row(self.b, *args, **kwargs)
        except (TypeError, AttributeError):  # of Python, which has to know a number that the row was given a symbol for: an axis, say
            if self.b.reads_numbers or not any(isinstance(item, Size) for item in iterate_structure((args, kwargs))):
                raise
            del self.result.nodes[nodes:], self.result.guards[guards:]
            args, kwargs = map_structure(lambda item: self.b.fix_number(item) if isinstance(item, Size) else item, (args, kwargs))
            return row(self.b, *args, **kwargs)

    def new_elements(self, node: Node, result: Any) -> dict[Value, Any]:
        key = row_key(node.op)
        if key == "requires_grad_":  # elements and gradients of the memory stay
            return {}
        if key not in WRITTEN:
            return dict(zip(node.writes, _fresh(node, result)))
        new_values: dict[int | str, Any] = WRITTEN[key](self.b, *self.arguments(node))  # position or keyword of an argument
        return {node.inputs[where] if isinstance(where, int) else node.params[where]: new for where, new in new_values.items()}


def _fresh(node: Node, result: Any) -> list[Any]:
    flat = list(iterate_structure(result))
    return flat if not is_in_place(row_key(node.op)) else flat[:1]


def own_keywords(row: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Other spellings of keywords, numpy's (``axis`` for ``dim``) and those of one overload, as the row's."""
    if not kwargs:  # of most calls, and a signature takes 30 microseconds
        return kwargs
    known = inspect.signature(row).parameters
    kwargs.pop("inplace", None) if "inplace" not in known else None
    _builder, *first = known
    names = {**_RENAMED, **dict(zip(("input",), first))}

    def own(name: str) -> str:
        return name if name in known or name not in names else own(names[name])

    return {own(name): value for name, value in kwargs.items()}
