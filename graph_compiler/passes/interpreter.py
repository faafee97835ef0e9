"""Interpreter of graphs over any representation of arrays: specs, costs, intervals or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.graph import Graph
from ..ir.node import Block, Node, Region, Value
from ..sizes import Size, Symbol, substitute
from ..trees import map_structure


class Interpreter:
    """Interpreter of a program over any representation of arrays but tuples and lists.

    A subclass defines the operations. The class runs ``scan``, ``while_loop``, ``branch``, ``call`` and
    ``associative_scan`` itself. Any other node is passed to ``operation(node, operands, params)`` of the
    subclass, which returns the representation of the output, or a tuple or list of those of the outputs.
    ``operands`` are representations or numbers, and symbolic sizes in ``operands`` and ``params`` are
    replaced by the results of ``size``. The guards of the graph are not checked.

    Methods to override, with their defaults for arrays that can be indexed:

    * ``size(item, symbol)``: the number of a symbol; by default ``item.shape[symbol.axis]`` for a size, and
      ``item`` itself for other symbols.
    * ``truth(item)``: the condition of a branch or loop as a bool; by default ``bool(item)``.
    * ``row(item, place)``: a row of a sequence of a ``scan``; by default ``item[place]``.
    * ``stack(items, output, shape)``: the stacked output of a ``scan``; required if there is one.
    * ``section(item, axis, place)`` and ``joined(items, output, axis, shape)``: a slice of length 1 along
      ``axis``, and the concatenation of such slices, for ``associative_scan``. ``joined`` is required.

    A required method that is missing raises ``NotImplementedError``.

    >>> from graph_compiler.ir import Builder, Graph
    >>> from graph_compiler.ops import ArraySpec, get
    >>> class Specs(Interpreter):
    ...     def operation(self, node, operands, params):
    ...         return get(node.op).infer(*operands, **params)
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((2, 3), "float32"))
    >>> build.graph.outputs = [build.sum(build.reshape(x, shape=(x.shape[1], x.shape[0])), axis=0)]
    >>> Specs(build.graph).run(ArraySpec((4, 5), "float32"))
    [float32[4]]
    """

    def __init__(self, program: Graph) -> None:
        self.program = program

    def run(self, *inputs: Any, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the representations of the outputs of the program.

        ``inputs`` and ``parameters`` are the representations of ``program.inputs`` and
        ``program.parameters``, in this order. Those of constants come from ``constant(value, array)``, by
        default the array itself. Raise ``ValueError`` if the number of inputs or of parameters is wrong.
        """
        program = self.program
        for what, given, wanted in (
            ("inputs", inputs, program.inputs),
            ("parameters", parameters, program.parameters),
        ):
            if len(given) != len(wanted):
                raise ValueError(f"{program.name} has {len(wanted)} {what}, and {len(given)} are given")
        constants = [self.constant(value, array) for value, array in program.constants.values()]
        return self.block(
            Block(tuple(program.sources()), tuple(program.nodes), tuple(program.outputs)),
            [*inputs, *parameters, *constants],
        )

    # ------------------------------------------------------------------------------ methods to override
    def operation(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what {node.op} gives")

    def constant(self, value: Value, array: Any) -> Any:
        return array

    def size(self, item: Any, symbol: Symbol) -> Any:
        return item.shape[symbol.axis] if symbol.kind == "size" else item

    def truth(self, item: Any) -> bool:
        return bool(item)

    def row(self, item: Any, place: int) -> Any:
        return item[place]

    def stack(self, items: list[Any], output: Value, shape: tuple[Any, ...]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how {output.name} is stacked")

    def section(self, item: Any, axis: int, place: int) -> Any:
        return item[(slice(None),) * axis + (slice(place, place + 1),)]

    def joined(self, items: list[Any], output: Value, axis: int, shape: tuple[Any, ...]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say how {output.name} is joined")

    # ------------------------------------------------------------------------------ blocks and regions
    def block(self, block: Block, inputs: Sequence[Any]) -> list[Any]:
        held: dict[Value, Any] = dict(zip(block.inputs, inputs, strict=True))
        for node in block.nodes:
            operands, params = self._given(held, node.inputs), self._given(held, node.params)
            run = _RUN.get(node.op) if node.regions else None
            found = (
                self.operation(node, operands, params) if run is None else run(self, node, operands, params)
            )
            held.update(
                zip(
                    node.outputs,
                    # ``operation`` may return the result of a single output without a tuple.
                    found if len(node.outputs) > 1 or isinstance(found, (tuple, list)) else (found,),
                )
            )
        return [self._given(held, item) for item in block.outputs]

    def _given(self, held: dict[Value, Any], structure: Any) -> Any:
        def given(item: Any) -> Any:
            if isinstance(item, Value):
                return held[item]
            return (
                substitute(item, lambda symbol: self.size(held[symbol.source], symbol))
                if isinstance(item, Size)
                else item
            )

        return map_structure(given, structure)

    def region(self, region: Region, inputs: Sequence[Any]) -> list[Any]:
        return self.block(region.block, inputs)

    def _call(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        return self.region(node.regions[0], operands)

    def _branch(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        index, *captured = operands
        is_truth = node.inputs[0].dtype == "bool"
        # Region 0 is taken for False, region 1 for True.
        return self.region(node.regions[self.truth(index) if is_truth else int(index)], captured)

    def _while(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        condition, body = node.regions
        state, captured = list(operands[: params["carried"]]), operands[params["carried"] :]
        while self.truth(self.region(condition, [*state, *captured])[0]):
            state = self.region(body, [*state, *captured])
        return state

    def _scan(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        carried, length = params["carried"], int(params["length"])
        own = carried + params["sequences"]
        state, sequences, captured = list(operands[:carried]), operands[carried:own], operands[own:]
        # In reverse, rows are visited backwards but stacked in their own order, so outputs are stored by
        # index.
        rows: list[list[Any]] = [[]] * length
        for place in reversed(range(length)) if params["reverse"] else range(length):
            found = self.region(
                node.regions[0], [*state, *(self.row(item, place) for item in sequences), *captured]
            )
            state, rows[place] = found[:carried], found[carried:]
        outputs = node.outputs[carried:]
        shapes = [(length, *value.spec.hints[1:]) for value in outputs]
        return [
            *state,
            *(self.stack([row[k] for row in rows], value, shapes[k]) for k, value in enumerate(outputs)),
        ]

    def _associative_scan(self, node: Node, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        # The operation is associative, so combining the elements one after the other is as good as any order.
        count, axis = params["sequences"], params["axis"]
        sequences, captured = operands[:count], operands[count:]
        first = Symbol(node.inputs[0], axis, 0)
        length = int(self.size(sequences[0], first))
        places = list(range(length))[:: -1 if params["reverse"] else 1]
        made: list[list[Any]] = [[]] * length
        for before, place in zip((None, *places), places):
            given = [self.section(item, axis, place) for item in sequences]
            made[place] = (
                given if before is None else self.region(node.regions[0], [*made[before], *given, *captured])
            )
        shapes = [(*value.spec.hints[:axis], length, *value.spec.hints[axis + 1 :]) for value in node.outputs]
        return [
            self.joined([row[k] for row in made], value, axis, shapes[k])
            for k, value in enumerate(node.outputs)
        ]


_RUN = {
    "associative_scan": Interpreter._associative_scan,
    "branch": Interpreter._branch,
    "call": Interpreter._call,
    "scan": Interpreter._scan,
    "while_loop": Interpreter._while,
}
