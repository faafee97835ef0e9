"""Graphs.

A graph is a list of nodes in program order. A node is ``(op, inputs, params) -> outputs``; its inputs and
params may nest tuples, lists, dicts and slices that hold values and sizes. Two dialects share these classes: in a
*recorded* graph ``op`` is the name of a framework function and the arguments are as the user's code gave
them; in a *canonical* graph ``op`` is a word of the vocabulary, inputs are arrays or numbers, params are static.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import GuardFailed
from ..sizes import Size, Symbol
from ..trees import Leaf, Tree, iterate_structure
from .block import Block
from .elements import same_elements
from .makers import Makers
from .node import Node, Origin, Value, values_in

if TYPE_CHECKING:
    import networkx

_ELEMENTS = frozenset({"fill_value", "value"})  # parameters that are elements of an array


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that must hold for the graph to be right.

    ``condition`` is a truth value over sizes, or a value whose elements must be ``expected``, floats but for ``rounding`` times themselves:
    another framework rounds otherwise.
    """

    condition: Size | Value
    expected: Any
    origin: Origin
    rounding: float = 0.0

    def require(self, seen: Any) -> None:
        """``GuardFailed`` where the elements ``seen`` are not those of the recording."""
        if not same_elements(seen, self.expected, self.rounding):
            raise GuardFailed(
                f"elements handed to Python were {self.expected!r} while recording and are {seen!r} now, read by {self.origin}"
            )


@dataclass(frozen=True, slots=True)
class Effect:
    """Something outside of the graph that a call changes: afterwards, ``target`` holds ``value``.

    ``kind`` is ``"argument"`` or ``"place"`` (target: index of an input leaf), ``"buffer"`` (name of a parameter) or ``"constant"`` (name of a
    constant).
    """

    kind: str
    target: Any
    value: Value


@dataclass
class Graph:
    """A recorded or canonical program.

    ``inputs`` are the array leaves of the arguments, in order of ``input_tree``; ``parameters`` are arrays by name
    that belong to the user's model; ``constants`` pairs other captured values with their arrays. ``outputs`` are the
    leaves of the result, values or sizes, in order of ``output_tree``.
    """

    name: str
    dialect: str
    inputs: list[Value] = field(default_factory=list)
    input_tree: Tree = Leaf()
    parameters: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, tuple[Value, Any]] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    output_tree: Tree = Leaf()
    guards: list[Guard] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    _makers: Makers = field(default_factory=Makers, init=False, repr=False, compare=False)

    def derive(self, **changes: Any) -> Graph:
        """A copy with its own lists and dicts and the given changes; values and nodes are shared."""
        fields = {
            name: (list(value) if isinstance(value, list) else dict(value) if isinstance(value, dict) else value)
            for name, value in vars(self).items()
            if name != "_makers"
        }
        return Graph(**{**fields, **changes})

    @property
    def block(self) -> Block:
        """The program as one block, whose inputs are all sources and whose outputs are all roots: outputs, conditions of guards, effects."""
        conditions = (guard.condition for guard in self.guards)
        outputs = (*self.outputs, *conditions, *(effect.value for effect in self.effects))
        return Block(tuple(self.sources()), tuple(self.nodes), outputs)

    def with_block(self, block: Block) -> Graph:
        """The graph with the nodes and outputs of a block that a pass has made of its own. Guards that hold always are left out, and repeated ones."""
        made = list(block.outputs)
        outputs, made = made[: len(self.outputs)], made[len(self.outputs) :]
        conditions, values = made[: len(self.guards)], made[len(self.guards) :]
        guards = [replace(guard, condition=condition) for guard, condition in zip(self.guards, conditions) if condition is not True]
        effects = [replace(effect, value=value) for effect, value in zip(self.effects, values, strict=True)]
        return self.derive(nodes=list(block.nodes), outputs=outputs, guards=_distinct(guards), effects=effects)

    def maker(self, value: Value) -> Node | None:
        """The node that makes a value; None for an input, a parameter, a constant, and what is not in this graph."""
        return self._makers.of(value, self.nodes)

    def roots(self) -> Iterator[Value]:
        """The values that must be computed: outputs, guards and effects."""
        yield from values_in(self.outputs)
        for guard in self.guards:
            yield from values_in((guard.condition,))
        for effect in self.effects:
            yield effect.value

    def entry_guards(self) -> list[Guard]:
        """The guards that the sizes of the inputs decide, checked before a call."""
        return [guard for guard in self.guards if isinstance(guard.condition, Size) and self._at_entry(guard.condition)]

    def inner_guards(self) -> list[tuple[Guard, Size]]:
        """The guards on sizes of intermediate arrays with their conditions, checked inside of the function as soon as they are known."""
        sized = ((guard, guard.condition) for guard in self.guards if isinstance(guard.condition, Size))
        return [(guard, condition) for guard, condition in sized if not self._at_entry(condition)]

    def _at_entry(self, condition: Size) -> bool:
        return all(self.maker(symbol.source) is None and symbol.kind in ("size", "item") for symbol in condition.symbols())

    def sources(self) -> Iterator[Value]:
        """The values that no node makes."""
        yield from self.inputs
        yield from self.parameters.values()
        yield from (value for value, _ in self.constants.values())

    def symbols(self) -> Iterator[Symbol]:
        """The symbols of all sizes and numbers in nodes, outputs and guards; may repeat."""
        conditions = [guard.condition for guard in self.guards]
        for item in iterate_structure((conditions, self.outputs, [(node.inputs, node.params) for node in self.nodes])):
            if isinstance(item, Size):
                yield from item.symbols()

    def numbers_of_sizes(self) -> set[Value]:
        """The inputs that are numbers and stand in parameters of nodes, which a compiler has to know (sizes, bounds of slices), elements left out."""
        sizes = (
            item
            for node in self.nodes
            for name, param in node.params.items()
            if name not in _ELEMENTS
            for item in iterate_structure(param)
            if isinstance(item, Size)
        )
        return {symbol.source for size in sizes for symbol in size.symbols() if symbol.kind == "item"}

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The graph as a ``networkx.MultiDiGraph``.

        Nodes are numbered; attributes are ``kind`` (input, parameter, constant, operation, output), ``op``, ``name``,
        ``params``, ``shapes``, ``dtypes``, ``module``, ``file``, ``line``. An edge goes from maker to user with the value's
        name and output index, once for each time that the value is used.
        """
        import networkx  # here: it takes longer to import than all the rest of the core

        drawn = networkx.MultiDiGraph(name=self.name, dialect=self.dialect)
        place: dict[Value, tuple[int, int]] = {}  # value -> number of the node, index of the output
        kinds = [("input", v) for v in self.inputs] + [("parameter", v) for v in self.parameters.values()]
        for kind, value in kinds + [("constant", value) for value, _ in self.constants.values()]:
            place[value] = len(drawn), 0
            drawn.add_node(len(drawn), kind=kind, op=kind, name=value.name, params={}, shapes=(value.spec.hints,), dtypes=(value.dtype,))
        for node in self.nodes:
            number = len(drawn)
            drawn.add_node(number, **_node_attributes(node))
            _connect(drawn, number, (node.inputs, node.params), place)
            place.update((value, (number, index)) for index, value in enumerate(node.outputs))
        number = len(drawn)
        drawn.add_node(number, kind="output", op="output", name="output", params={}, shapes=(), dtypes=())
        _connect(drawn, number, self.outputs, place)
        return drawn


def _distinct(guards: list[Guard]) -> list[Guard]:
    is_hashable = all(not isinstance(guard.expected, list) for guard in guards)
    return list(dict.fromkeys(guards)) if is_hashable else guards


def _node_attributes(node: Node) -> dict[str, Any]:
    origin = node.origin
    return {
        "kind": "operation",
        "op": node.op,
        "name": node.outputs[0].name if node.outputs else node.op,
        "params": node.params,
        "shapes": tuple(value.spec.hints for value in node.outputs),
        "dtypes": tuple(value.dtype for value in node.outputs),
        "module": origin.module,
        "file": origin.file,
        "line": origin.line,
    }


def _connect(drawn: networkx.MultiDiGraph, number: int, arguments: Any, place: dict[Value, tuple[int, int]]) -> None:
    for value in values_in(arguments):
        maker, output = place[value]
        drawn.add_edge(maker, number, value=value.name, output=output)
