"""Graphs.

A graph is a list of nodes in program order. A node is ``(op, inputs, params) -> outputs``; its inputs and
params may nest tuples, lists, dicts and slices that hold values and sizes. Two dialects share these classes: in a
*recorded* graph ``op`` is the name of a framework function and the arguments are as the user's code gave
them; in a *canonical* graph ``op`` is a word of the vocabulary, inputs are arrays or numbers, params are static.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from ..sizes import Size, Symbol
from ..trees import Leaf, Tree, iterate_structure
from .assumption import Assumption
from .block import Block
from .debug_info import DebugInfo
from .demands import TargetDemands
from .guard import Guard
from .makers import Makers
from .node import Node, Value, values_in
from .randomness import Randomness
from .recorded_loop import RecordedLoop
from .state import GraphState

if TYPE_CHECKING:
    import networkx

A = TypeVar("A")
_CONDITION, _VALUE = attrgetter("condition"), attrgetter("value")
_ELEMENTS = frozenset({"fill_value", "value"})  # parameters that are elements of an array


@dataclass(frozen=True, slots=True)
class Effect:
    """Something outside of the graph that a call changes: afterwards, ``target`` holds ``value``.

    ``kind`` is ``"argument"`` or ``"place"`` (target: index of an input leaf), ``"buffer"`` (name of a parameter) or ``"constant"`` (name
    of a constant).
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

    ``guards`` are the conditions on sizes and elements that the program itself computes; ``assumptions`` what it relies on of its arguments
    besides, in the kinds of ``graph_compiler.assumptions``: noted by frontends, lifting and the pipeline, kept by passes, checked when a
    call is matched.

    ``call_inputs`` is how many of the inputs are arguments, where the others stand in places outside of them (None: all are);
    ``number_outputs`` are the places of outputs that are numbers in the original, of which arrays are computed. Written by frontends and
    the lifter, read by the runtime. ``shared_memory`` are captured values of which another captured value, that is written to, has the
    memory: written by the torch frontend, read by
    :class:`~graph_compiler.ir.aliases.Aliases`. ``loops`` are those of the user's code whose number of steps may be open: written by
    frontends, in the order in which they began, folded into nodes before any other pass.
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
    assumptions: tuple[Assumption, ...] = ()
    call_inputs: int | None = None
    number_outputs: tuple[int, ...] = ()
    shared_memory: tuple[Value, ...] = ()
    state: GraphState = field(default_factory=GraphState)
    randomness: Randomness = field(default_factory=Randomness)
    demands: TargetDemands = field(default_factory=TargetDemands)
    debug: DebugInfo = field(default_factory=DebugInfo)
    loops: list[RecordedLoop] = field(default_factory=list)
    _makers: Makers = field(default_factory=Makers, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        from .printer import to_text

        return to_text(self)

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
        """The program as one block, whose inputs are all sources and whose outputs are all roots: outputs, conditions of guards,
        effects."""
        outputs = (*self.outputs, *map(_CONDITION, self.guards), *map(_VALUE, self.effects))
        return Block(tuple(self.sources()), tuple(self.nodes), outputs)

    def with_block(self, block: Block) -> Graph:
        """The graph with the nodes and outputs of a block that a pass has made of its own. Guards that hold always are left out, and
        repeated ones."""
        made = list(block.outputs)
        outputs, made = made[: len(self.outputs)], made[len(self.outputs) :]
        conditions, values = made[: len(self.guards)], made[len(self.guards) :]
        guards = [replace(guard, condition=condition) for guard, condition in zip(self.guards, conditions) if condition is not True]
        effects = [replace(effect, value=value) for effect, value in zip(self.effects, values, strict=True)]
        return self.derive(nodes=list(block.nodes), outputs=outputs, guards=_distinct(guards), effects=effects)

    def maker(self, value: Value) -> Node | None:
        """The node that makes a value; None for an input, a parameter, a constant, and what is not in this graph."""
        return self._makers.of(value, self.nodes)

    @property
    def inputs_of_call(self) -> list[Value]:
        """The inputs that are arguments."""
        return self.inputs[: self.call_inputs]

    @property
    def inputs_in_places(self) -> list[Value]:
        """The inputs that stand in places outside of the arguments, and the key of random numbers where there are some."""
        return [] if self.call_inputs is None else self.inputs[self.call_inputs :]

    def assume(self, assumption: Assumption) -> None:
        """From here on the graph is right only where this holds."""
        if assumption not in self.assumptions:
            self.assumptions = (*self.assumptions, assumption)

    def assumed(self, kind: type[A]) -> list[A]:
        """The assumptions of one kind."""
        return [assumption for assumption in self.assumptions if isinstance(assumption, kind)]

    def all_assumptions(self) -> tuple[Assumption, ...]:
        """The guards, and the assumptions on arguments."""
        return (*self.guards, *self.assumptions)

    def demand(self, **demands: Any) -> None:
        """Sets fields of :class:`TargetDemands`."""
        self.demands = replace(self.demands, **demands)

    def roots(self) -> Iterator[Value]:
        """The values that must be computed: outputs, guards and effects."""
        yield from values_in(self.outputs)
        for guard in self.guards:
            yield from values_in((guard.condition,))
        for effect in self.effects:
            yield effect.value

    def entry_guards(self) -> list[Guard]:
        """The guards that the sizes of the inputs decide, checked before a call."""
        if not self.guards:
            return []
        return [guard for guard in self.guards if isinstance(guard.condition, Size) and self._at_entry(guard.condition)]

    def inner_guards(self) -> list[tuple[Guard, Size]]:
        """The guards on sizes of intermediate arrays with their conditions, checked inside of the function as soon as they are known."""
        if not self.guards:
            return []
        sized = ((guard, guard.condition) for guard in self.guards if isinstance(guard.condition, Size))
        return [(guard, condition) for guard, condition in sized if not self._at_entry(condition)]

    def _at_entry(self, condition: Size) -> bool:
        return all(self.maker(symbol.source) is None and symbol.kind in ("size", "item") for symbol in condition.symbols())

    def sources(self) -> Iterator[Value]:
        """The values that no node makes."""
        yield from self.inputs
        yield from self.parameters.values()
        for value, _ in self.constants.values():
            yield value

    def symbols(self) -> Iterator[Symbol]:
        """The symbols of all sizes and numbers in nodes, outputs and guards; may repeat."""
        conditions = [guard.condition for guard in self.guards]
        shared = [size for node in self.nodes for region in node.regions for size in region.sizes.values()]
        for item in iterate_structure((conditions, self.outputs, shared, [(node.inputs, node.params) for node in self.nodes])):
            if isinstance(item, Size):
                yield from item.symbols()

    def numbers_of_sizes(self) -> set[Value]:
        """The inputs that are numbers and stand in parameters of nodes, which a compiler has to know (sizes, bounds of slices), elements
        left out."""
        return {symbol.source for size in _sizes_in_params(self.nodes) for symbol in size.symbols() if symbol.kind == "item"}

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The graph as a ``networkx.MultiDiGraph``.

        Nodes are numbered; attributes are ``kind`` (input, parameter, constant, operation, output), ``op``, ``name``,
        ``params``, ``shapes``, ``dtypes``, ``module``, ``file``, ``line``, and ``regions``: the blocks that a node runs, name -> graph. An
        edge goes from maker to user with the value's name and output index, once for each time that the value is used.
        """
        from .network import to_networkx

        return to_networkx(self)


def _sizes_in_params(nodes: Iterable[Node]) -> Iterator[Size]:
    """Sizes that operations are told, those inside of regions in terms of the outside; elements of arrays are none."""
    for node in nodes:
        params = (param for name, param in node.params.items() if name not in _ELEMENTS)
        yield from (item for param in params for item in iterate_structure(param) if isinstance(item, Size))
        for region in node.regions:
            told = map(region.outward, _sizes_in_params(region.block.nodes))
            yield from (size for size in told if isinstance(size, Size))


def _distinct(guards: list[Guard]) -> list[Guard]:
    is_hashable = all(not isinstance(guard.expected, list) for guard in guards)
    return list(dict.fromkeys(guards)) if is_hashable else guards


__all__ = ["Effect", "Graph", "Guard"]
