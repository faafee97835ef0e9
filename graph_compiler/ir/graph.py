"""Graphs: programs as lists of nodes in program order.

A node is ``(op, inputs, params) -> outputs``. Two dialects share the classes. In a *recorded* graph ``op``
is the name of a framework function, and the arguments are those of the user's call: nested containers of
values, sizes and numbers. In a *canonical* graph ``op`` is an operation of the vocabulary, inputs are
arrays or numbers, and params are static.
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
    """Change that a call makes outside of the graph: after the call, `target` holds `value`.

    kind: `"argument"` or `"place"` (target: index of an input), `"buffer"` (target: name of a parameter)
        or `"constant"` (target: name of a constant).
    """

    kind: str
    target: Any
    value: Value


@dataclass
class Graph:
    """Recorded or canonical program.

    dialect: framework of a recorded graph, or `"canonical"`.
    inputs: array leaves of the arguments, in the order of `input_tree`, then inputs that are not
        arguments.
    parameters: arrays of the user's model, by name.
    constants: other captured values with their arrays, by name.
    outputs: leaves of the result (values, sizes or numbers), in the order of `output_tree`.
    guards: conditions on sizes and elements that the program itself computes.
    assumptions: conditions on the arguments, of the kinds in `graph_compiler.assumptions`.
    call_inputs: number of inputs that are arguments; None if all are.
    number_outputs: indices of outputs that are Python numbers in the original and computed as arrays.
    shared_memory: captured values that alias another captured value which is written to.
    loops: loops whose trip count may be symbolic, in the order in which they began; converted to nodes
        before other passes run.
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
        """Return a copy with the given changes. Lists and dicts are copied; values and nodes are shared."""
        fields = {
            name: (list(value) if isinstance(value, list) else dict(value) if isinstance(value, dict) else value)
            for name, value in vars(self).items()
            if name != "_makers"
        }
        return Graph(**{**fields, **changes})

    @property
    def block(self) -> Block:
        """The program as one block: its inputs are all sources, its outputs the results, conditions of guards
        and values of effects.
        """
        outputs = (*self.outputs, *map(_CONDITION, self.guards), *map(_VALUE, self.effects))
        return Block(tuple(self.sources()), tuple(self.nodes), outputs)

    def with_block(self, block: Block) -> Graph:
        """Return the graph with nodes and outputs of `block`, which a pass derived from :attr:`block`.

        Guards whose condition became True and duplicate guards are dropped.
        """
        made = list(block.outputs)
        outputs, made = made[: len(self.outputs)], made[len(self.outputs) :]
        conditions, values = made[: len(self.guards)], made[len(self.guards) :]
        guards = [replace(guard, condition=condition) for guard, condition in zip(self.guards, conditions) if condition is not True]
        effects = [replace(effect, value=value) for effect, value in zip(self.effects, values, strict=True)]
        return self.derive(nodes=list(block.nodes), outputs=outputs, guards=_distinct(guards), effects=effects)

    def maker(self, value: Value) -> Node | None:
        """Return the node that produces `value`, or None for inputs, parameters, constants and values of
        other graphs.
        """
        return self._makers.of(value, self.nodes)

    @property
    def inputs_of_call(self) -> list[Value]:
        """Inputs that are arguments of the call."""
        return self.inputs[: self.call_inputs]

    @property
    def inputs_in_places(self) -> list[Value]:
        """Inputs read from attributes, closures and globals, then the random key, if there is one."""
        return [] if self.call_inputs is None else self.inputs[self.call_inputs :]

    def assume(self, assumption: Assumption) -> None:
        """Add an assumption, unless it is present."""
        if assumption not in self.assumptions:
            self.assumptions = (*self.assumptions, assumption)

    def assumed(self, kind: type[A]) -> list[A]:
        """Return the assumptions of one kind."""
        return [assumption for assumption in self.assumptions if isinstance(assumption, kind)]

    def all_assumptions(self) -> tuple[Assumption, ...]:
        """Return guards and assumptions on arguments."""
        return (*self.guards, *self.assumptions)

    def demand(self, **demands: Any) -> None:
        """Set fields of :class:`TargetDemands`."""
        self.demands = replace(self.demands, **demands)

    def roots(self) -> Iterator[Value]:
        """Yield the values that must be computed: outputs, conditions of guards, and values of effects."""
        yield from values_in(self.outputs)
        for guard in self.guards:
            yield from values_in((guard.condition,))
        for effect in self.effects:
            yield effect.value

    def entry_guards(self) -> list[Guard]:
        """Return the guards that depend only on sizes and numbers of the inputs. They are checked before the
        function runs.
        """
        if not self.guards:
            return []
        return [guard for guard in self.guards if isinstance(guard.condition, Size) and self._at_entry(guard.condition)]

    def inner_guards(self) -> list[tuple[Guard, Size]]:
        """Return the guards on sizes of intermediate arrays, with their conditions. The function checks them
        when the sizes are known.
        """
        if not self.guards:
            return []
        sized = ((guard, guard.condition) for guard in self.guards if isinstance(guard.condition, Size))
        return [(guard, condition) for guard, condition in sized if not self._at_entry(condition)]

    def _at_entry(self, condition: Size) -> bool:
        return all(self.maker(symbol.source) is None and symbol.kind in ("size", "item") for symbol in condition.symbols())

    def sources(self) -> Iterator[Value]:
        """Yield the values that no node produces: inputs, parameters and constants."""
        yield from self.inputs
        yield from self.parameters.values()
        for value, _ in self.constants.values():
            yield value

    def symbols(self) -> Iterator[Symbol]:
        """Yield the symbols of all sizes in nodes, outputs and guards; symbols may repeat."""
        conditions = [guard.condition for guard in self.guards]
        shared = [size for node in self.nodes for region in node.regions for size in region.sizes.values()]
        for item in iterate_structure((conditions, self.outputs, shared, [(node.inputs, node.params) for node in self.nodes])):
            if isinstance(item, Size):
                yield from item.symbols()

    def numbers_of_sizes(self) -> set[Value]:
        """Return the inputs that are Python numbers on which sizes or bounds of slices depend, so a compiler
        must treat them as static.
        """
        return {symbol.source for size in _sizes_in_params(self.nodes) for symbol in size.symbols() if symbol.kind == "item"}

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return the graph as a ``networkx.MultiDiGraph``.

        Nodes are numbered. Their attributes are ``kind`` (``"input"``, ``"parameter"``, ``"constant"``,
        ``"operation"`` or ``"output"``), ``op``, ``name``, ``params``, ``shapes``, ``dtypes``, ``module``,
        ``file``, ``line`` and, for operations that run blocks, ``regions`` (name -> graph). Edges go from
        producer to user, one per use, with the attributes ``value`` (name) and ``output`` (index).
        """
        from .network import to_networkx

        return to_networkx(self)


def _sizes_in_params(nodes: Iterable[Node]) -> Iterator[Size]:
    """Yield the sizes among the parameters of nodes, with those inside of regions expressed in the enclosing
    scope. Fill values are skipped.
    """
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
