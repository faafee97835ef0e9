"""Dispatch of recorded NumPy calls to their rows, and lifting of in-place writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir.graph import Graph
from ....ir.node import Node, Origin, Value
from ....ops.collectives import COLLECTIVES
from ....ops.dtypes import is_inexact
from ....trees import iterate_structure
from ...common.indexing import check_bounds
from ...common.input_checks import expect_elements
from ...common.lifter import Lifter, lift_collective
from ..calls import METHOD, row_key
from .elementwise import CONDITIONS, expect_no_error
from .indexing import WRITTEN
from .table import NumpyBuilder, rows


def _row(name: str) -> None:
    @rows.row(name)
    def row(b: NumpyBuilder, *operands: Any) -> Any:
        return lift_collective(b, name, *map(b.array, operands[:-1]), axis_name=operands[-1])


for _name in COLLECTIVES:
    _row(_name)


def lift_graph(graph: Graph) -> Graph:
    return _NumpyLifter(graph).run()


class _NumpyLifter(Lifter):
    framework = "numpy"

    def __init__(self, recorded: Graph) -> None:
        super().__init__(recorded)
        self.weak = _weak(recorded.nodes, set())

    def builder(self, graph: Graph) -> NumpyBuilder:
        return NumpyBuilder(graph)

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def row(self, node: Node) -> Callable[..., Any] | None:
        key = row_key(node.op)
        return (rows.get(f"ndarray.{key}") if node.op.startswith(METHOD) else None) or rows.get(key)

    def run(self) -> Graph:
        graph = super().run()
        records = ((node.record, value) for node in self.recorded.nodes for value in node.outputs)
        read = {value for record, value in records if record is not None and record.is_host_number}
        places = [
            place
            for place, leaf in enumerate(self.recorded.outputs)
            if isinstance(leaf, Value) and leaf in read
        ]
        # The user gets these outputs as Python numbers.
        graph.number_outputs = tuple(sorted({*places, *graph.number_outputs}))
        return graph

    def _finish(self) -> None:
        super()._finish()
        read = [
            (guard, self.recorded.maker(guard.condition))
            for guard in self.recorded.guards
            if isinstance(guard.condition, Value)
        ]
        constants = [
            (guard, node)
            for guard, node in read
            if node is not None and node.record is not None and _are_constants(node)
        ]
        for guard, node in constants:
            self._refuse_derivative(self.read(node.outputs[0]), guard.origin)

    def _refuse_derivative(self, elements: Value, origin: Origin) -> None:
        """Make float and complex results raise if they are differentiated with respect to ``elements``."""
        # Python has read the elements as constants, so a derivative would be wrong.
        self.b.origin = origin
        message = (
            f"{origin}: elements of an array are read here as numbers of Python, which become constants, so "
            "the result has no derivative "
            "with respect to them. Compute with functions of numpy or of Python's math"
        )
        refused = self.b.sum(self.b.refuse_gradient(elements, message=message))
        for place, output in enumerate(self.result.outputs):
            if isinstance(output, Value) and is_inexact(output.dtype):
                # The gradient with respect to the elements is 0, and adding -0.0 changes no number.
                nothing, slope = (self.b.array(number, output.dtype) for number in (-0.0, 0.0))
                nothing = self.b.with_gradient(nothing, self.b.cast(refused, output.dtype), slope)
                self.result.outputs[place] = self.b.add(output, nothing)

    def call(self, node: Node) -> Any:
        before = len(self.result.nodes)
        result = self._by_row(node)
        made = self.result.nodes[before:]
        expect_elements(self.b, made, CONDITIONS)
        check_bounds(self.b, row_key(node.op), made)
        expect_no_error(self.b, made, dict(node.record.errstate if node.record is not None else ()))
        return result

    def _by_row(self, node: Node) -> Any:
        self.b.recorded = self.specs_recorded(node)
        # A call that only writes is lifted by `new_elements`.
        if row_key(node.op) in WRITTEN and not node.outputs:
            return ()
        row = self.row(node)
        if row is None:
            raise UnsupportedOperation("no row says what it is in other frameworks")
        args, kwargs = self.arguments(node)
        # The first parameter of a row, the builder, is named ``b``.
        kwargs = {"b_" if key == "b" else key: item for key, item in kwargs.items()}
        self.b.weak = frozenset(self.read(value) for value in node.uses if value in self.weak)
        where = kwargs.get("where", True) if getattr(row, "elementwise", False) else True
        self.b.chosen = where
        if where is not True:
            return self._where(
                node,
                row(self.b, *args, **{key: item for key, item in kwargs.items() if key != "where"}),
                where,
            )
        return row(self.b, *args, **kwargs)

    def _where(self, node: Node, result: Any, where: Any) -> Any:
        out = node.params.get("out")
        if not isinstance(result, Value):
            raise UnsupportedOperation(
                "where= has no translation for a function of several outputs; call it without where= and "
                "select the elements with np.where"
            )
        if not isinstance(out, Value):
            raise UnsupportedOperation(
                "with where= and without out=, elements are whatever the memory holds; pass out="
            )
        held = self.read(out)
        # ``out`` keeps its elements where the mask is false.
        return self.b.where(self.b.array(where, "bool"), self.b.cast(result, held.dtype), held)

    def new_elements(self, node: Node, result: Any) -> dict[Value, Any]:
        key = row_key(node.op)
        if key in WRITTEN and (not node.outputs or key == "__setitem__") and "out" not in node.params:
            before, (args, kwargs) = len(self.result.nodes), self._of_writer(node)
            written = WRITTEN[key](self.b, *args, **kwargs)
            check_bounds(self.b, key, self.result.nodes[before:])
            return {node.inputs[0]: written}
        return dict(zip(node.writes, iterate_structure((result,))))

    def _of_writer(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        return self.arguments(node)


def _are_constants(node: Node) -> bool:
    return node.op == "numpy.copy" and node.record is not None and node.record.is_host_number


def _weak(nodes: Iterable[Node], known: set[Value]) -> set[Value]:
    """Add the values that are Python numbers in the user's code to ``known``, and return ``known``."""
    for node in nodes:
        if node.record is not None and node.record.weak:
            known.update(node.outputs)
        for region in node.regions:
            operands = node.inputs[1:] if node.op == "branch" else node.inputs
            known.update(value for value, operand in zip(region.block.inputs, operands) if operand in known)
            _weak(region.block.nodes, known)
        if node.regions:
            known.update(
                value for value, made in zip(node.outputs, node.regions[-1].block.outputs) if made in known
            )
    return known
