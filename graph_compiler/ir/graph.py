"""Graphs: programs as lists of nodes in program order.

In a *recorded* graph, most nodes are calls: their operation is the name of a framework function, and their
arguments are those of the call. A *canonical* graph has operations of :mod:`graph_compiler.ops` instead.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import networkx

from ..errors import GuardFailed, InvalidFile
from ..sizes import Size, Symbol, substitute
from ..trees import Branch, Leaf, Tree, iterate_structure, map_structure, unflatten
from .assumption import (
    Assumption,
    JsonReader,
    JsonWriter,
    MatcherNames,
    MismatchedCall,
    Substitution,
    first_difference,
    row,
    same_elements,
)
from .node import Block, CallRecord, Makers, Node, Origin, Value, distinct, every, values_in
from .quotation import MOST_COLUMNS, place_of, recorded, shortened, value_at
from .recorded_loop import RecordedLoop

if TYPE_CHECKING:
    import networkx

    from ..recording.state.container_updates import ContainerUpdate
    from ..recording.state.places import ExternalState
    from .node import Region


# Operation of a node that stands for a guard in a block; see :func:`check`.
GUARD = "guard"
# Units in the last place of 1.0.
_UNITS = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    **dict.fromkeys(["float32", "complex64"], 2**-23),
    **dict.fromkeys(["float64", "complex128"], 2**-52),
}


@dataclass(frozen=True, slots=True)
class Guard:
    """Condition on sizes or elements that must hold for the results of a graph to be valid.

    condition: a boolean `Size`, or a value whose elements must equal `expected`.
    expected: elements that were read while recording; True for conditions on sizes.
    origin: location of the code that read the elements or compared the sizes.
    rounding: relative tolerance for floats, because other frameworks round differently.

    >>> print(Guard(Value("mask", None), True, Origin("f.py", 3, call="bool")))
    bool at f.py:3 is True
    """

    kind: ClassVar[str] = "guard"
    condition: Size | Value
    expected: Any
    origin: Origin
    rounding: float = 0.0

    def __str__(self) -> str:
        if isinstance(self.condition, Value):
            return f"{value_at(self.origin, self.expected)} is {shortened(repr(self.expected))}"
        return f"{self.condition!r}, assumed by {place_of(self.origin)}"

    def recorded(self) -> str:
        if isinstance(self.condition, Value):
            return recorded(self.origin, self.expected)
        return f"{place_of(self.origin)} was recorded for {self.condition!r}"

    def difference(self, seen: Any) -> str:
        """Return a message that says how the elements ``seen`` of a call differ from the recorded ones."""
        where, before = value_at(self.origin, self.expected), self.expected
        if max(len(repr(before)), len(repr(seen))) > MOST_COLUMNS:
            index, before, seen = first_difference(before, seen, self.rounding)
            where = f"element {index} of {where}" if index else where
        then, now = shortened(repr(before)), shortened(repr(seen))
        return f"{where} was {then} when recorded and is {now} for this call"

    def require(self, seen: Any) -> None:
        if not same_elements(seen, self.expected, self.rounding):
            raise GuardFailed(self.difference(seen))

    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(self.condition.symbols()) if isinstance(self.condition, Size) else ()

    def with_rounding_of_compilers(self) -> Guard:
        # Compilers may round ``exp`` and sums in another way than the operations that ran while recording.
        unit = _UNITS.get(self.condition.dtype, 0.0) if isinstance(self.condition, Value) else 0.0
        return replace(self, rounding=max(self.rounding, 16 * unit))

    # ------------------------------------------------------------------------------ as an assumption
    def lines(self, names: MatcherNames) -> list[str]:
        if not isinstance(self.condition, Size) or not all(map(names.knows, self.symbols())):
            return []
        return names.require_of_sizes(self.condition.text(names.size), self.recorded)

    def why_broken(self, call: MismatchedCall) -> str | None:
        # The other inputs are not arguments, such as random numbers.
        given = call.inputs[: len(call.leaves)]
        symbols = self.symbols()
        is_of_call = all(symbol.source in given and symbol.kind in ("size", "item") for symbol in symbols)
        if not isinstance(self.condition, Size) or not is_of_call:
            return None
        if any(call.size(symbol) is None for symbol in symbols):
            return f"{self.recorded()}, which cannot be told of sizes that are unknown yet"
        try:
            holds = substitute(self.condition, call.size)
        except call.undecided_errors as problem:
            return (
                f"{self.recorded()}, which cannot be told of sizes that are unknown yet "
                f"({str(problem).partition(chr(10))[0]} Say it in their constraints)"
            )
        # Symbols of one array and axis may occur several times.
        sizes = dict.fromkeys(f"{symbol!r} is {call.size(symbol)!r}" for symbol in symbols)
        return None if holds else f"{self.recorded()}, and {' and '.join(sizes)} for this call"

    def mapped(self, replaced: Substitution) -> Guard | None:
        condition = replaced(self.condition)
        return None if condition is True else dataclasses.replace(self, condition=condition)

    def to_json(self, write: JsonWriter) -> Any:
        return [
            write.item(self.condition),
            write.item(self.expected),
            write.origin(self.origin),
            self.rounding,
        ]

    @classmethod
    def from_json(cls, data: Any, read: JsonReader) -> Guard:
        condition, expected, origin, rounding = row(data, 4)
        condition, expected = read.item(condition), read.item(expected)
        if not isinstance(condition, (Size, Value)):
            raise InvalidFile(f"{condition!r:.80} is no condition")
        if any(isinstance(part, (Size, Value)) for part in iterate_structure((expected,))):
            raise InvalidFile(f"{expected!r:.80} are no elements")
        if type(rounding) not in (int, float) or not 0 <= rounding < 1:
            raise InvalidFile(f"{rounding!r:.80} is no part of a number")
        return cls(condition, expected, read.origin(origin), float(rounding))


def check(guard: Guard, is_recorded: bool = False) -> Node:
    """Return a node without outputs that checks ``guard`` within a block."""
    details = (guard.expected, guard.rounding) if isinstance(guard.condition, Value) else ()
    return Node(
        GUARD, (guard.condition, *details), {}, guard.origin, (), CallRecord(GUARD) if is_recorded else None
    )


def guard_of(node: Node) -> Guard | None:
    if node.op != GUARD:
        return None
    condition, *details = node.inputs
    return (
        Guard(condition, True, node.origin)
        if not details
        else Guard(condition, details[0], node.origin, details[1])
    )


def reads_elements(guard: Guard) -> bool:
    return isinstance(guard.condition, Value) or guard.condition.reads_elements()


@dataclass(frozen=True, slots=True)
class TargetDemands:
    """Requirements of a graph on its target.

    matmul_precision: precision of float32 matrix products in the source framework: `"highest"`, `"high"` or
        `"default"`; None for any.
    source_only: reason why the recording can only run in its own framework; empty if none is known.
    wide: name and location of a call that produced int64 elements outside the range of int32; empty if none
        is known. JAX has int64 only with ``jax_enable_x64``.
    casts_are_written: True if the casts of torch's autocast are part of the program, so the target must not
        add its own.
    is_lifted: True if compilers cannot trace the calls as recorded, so the graph is lifted for its own
        framework, too.
    """

    matmul_precision: str | None = None
    source_only: str = ""
    wide: str = ""
    casts_are_written: bool = False
    is_lifted: bool = False


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Information that is used to compare a program with the original function.

    numbers: inputs that are Python numbers, with the number passed while recording.
    lifted: canonical values by recorded value.
    """

    numbers: Mapping[Value, Any] = field(default_factory=dict)
    lifted: Mapping[Value, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Randomness:
    """Random state of a graph.

    key: input from which a canonical graph derives its random numbers.
    recorded_from: state of the framework's generators before the recording, if every call is to draw the
        same numbers (`include_generators=False`).
    """

    key: Value | None = None
    recorded_from: Any = None


@dataclass(frozen=True, slots=True)
class GraphState:
    """State of the user's objects that a graph reads and writes.

    places: locations, such as attributes and globals, that a call reads or changes; None if there are none.
    updates: changes to containers; None if a call changes no container and no place. If it is a tuple,
        even an empty one, the output of the graph is `(result, new objects)`.
    same_outputs: for each output, the index of the first output that is the same object or value, which may
        be its own; empty if this was not recorded.
    scalar_outputs: indices of outputs that are NumPy scalars.
    returns_written: True if a changed array in a place is returned among the new objects, and False if it is
        written to in place.
    """

    places: ExternalState | None = None
    updates: tuple[ContainerUpdate, ...] | None = None
    same_outputs: tuple[int, ...] = ()
    scalar_outputs: tuple[int, ...] = ()
    returns_written: bool = False

    @property
    def is_empty(self) -> bool:
        return self.places is None and self.updates is None


def to_networkx(graph: Graph) -> networkx.MultiDiGraph:
    sources = [("input", value) for value in graph.inputs] + [
        ("parameter", value) for value in graph.parameters.values()
    ]
    drawn = networkx.MultiDiGraph(name=graph.name, dialect=graph.dialect)
    return _filled(
        drawn,
        sources + [("constant", value) for value, _ in graph.constants.values()],
        graph.nodes,
        graph.outputs,
    )


def _filled(
    drawn: networkx.MultiDiGraph, sources: Iterable[tuple[str, Value]], nodes: Iterable[Node], outputs: Any
) -> networkx.MultiDiGraph:
    # Number of the node and index of the output that produce a value.
    place: dict[Value, tuple[int, int]] = {}
    for kind, value in sources:
        place[value] = len(drawn), 0
        drawn.add_node(
            len(drawn),
            kind=kind,
            op=kind,
            name=value.name,
            params={},
            shapes=(value.spec.hints,),
            dtypes=(value.dtype,),
        )
    for node in nodes:
        number = len(drawn)
        drawn.add_node(number, **_attributes(node))
        _connect(drawn, number, (node.inputs, node.params), place)
        place.update((value, (number, output)) for output, value in enumerate(node.outputs))
    number = len(drawn)
    drawn.add_node(number, kind="output", op="output", name="output", params={}, shapes=(), dtypes=())
    _connect(drawn, number, outputs, place)
    return drawn


def _region(region: Region) -> networkx.MultiDiGraph:
    block = region.block
    return _filled(
        networkx.MultiDiGraph(name=region.name),
        [("input", value) for value in block.inputs],
        block.nodes,
        list(block.outputs),
    )


def _attributes(node: Node) -> dict[str, Any]:
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
        **({"regions": {region.name: _region(region) for region in node.regions}} if node.regions else {}),
    }


def _connect(
    drawn: networkx.MultiDiGraph, number: int, arguments: Any, place: dict[Value, tuple[int, int]]
) -> None:
    for value in values_in(arguments):
        maker, output = place[value]
        drawn.add_edge(maker, number, value=value.name, output=output)


A = TypeVar("A")
_CONDITION, _VALUE = attrgetter("condition"), attrgetter("value")
# Parameters that become elements of an array, so no size depends on them.
_ELEMENTS = frozenset({"fill_value", "value"})


@dataclass(frozen=True, slots=True)
class Effect:
    """Change that a call makes to an array outside the graph.

    kind: ``"argument"``, ``"place"``, ``"buffer"`` or ``"constant"``.
    target: index of an input for an argument or place; otherwise a name.
    value: new elements of the target after the call.
    """

    kind: str
    target: Any
    value: Value


@dataclass
class Graph:
    """Recorded or canonical program.

    name: name of the function that is generated.
    dialect: framework of a recorded graph, or `"canonical"`.
    inputs: leaves of the arguments (arrays and numbers), in the order of `input_tree`, then inputs that
        are not arguments.
    input_tree: structure of `(args, kwargs)`.
    parameters: weights and other captured arrays that may change between calls, by name.
    constants: other captured values with their arrays, by name.
    nodes: operations in program order.
    outputs: leaves of the result (values, sizes or numbers), in the order of `output_tree`.
    output_tree: structure of the result.
    guards: conditions on sizes, and on elements of arrays.
    effects: changes outside the graph that a call makes.
    assumptions: other conditions under which the graph is valid.
    call_inputs: number of inputs that are arguments; None if all are, apart from a random key.
    number_outputs: indices of outputs that are Python numbers in the original and computed as arrays.
    shared_memory: captured values that alias another captured value which is written to.
    state: state of the user's objects that a call reads and changes.
    randomness: random key, and state of the generators.
    demands: requirements on the target.
    debug: information for verification.
    loops: recorded loops that may become nodes.
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
        return to_text(self)

    def derive(self, **changes: Any) -> Graph:
        """Return a copy with the given changes. Lists and dicts are copied; values and nodes are shared."""
        fields = {
            name: (
                list(value) if isinstance(value, list) else dict(value) if isinstance(value, dict) else value
            )
            for name, value in vars(self).items()
            # The copy gets an index of its own, because it may have other nodes.
            if name != "_makers"
        }
        return Graph(**{**fields, **changes})

    @property
    def block(self) -> Block:
        """Program as one block, whose outputs are the results, conditions of guards and values of effects."""
        outputs = (*self.outputs, *map(_CONDITION, self.guards), *map(_VALUE, self.effects))
        return Block(tuple(self.sources()), tuple(self.nodes), outputs)

    def with_block(self, block: Block) -> Graph:
        """Return a copy of the graph with the nodes and outputs of ``block``, the rewritten :attr:`block`."""
        # The order is that of :attr:`block`: results, conditions of guards, values of effects.
        made = list(block.outputs)
        outputs, made = made[: len(self.outputs)], made[len(self.outputs) :]
        conditions, values = made[: len(self.guards)], made[len(self.guards) :]
        guards = [
            replace(guard, condition=condition)
            for guard, condition in zip(self.guards, conditions)
            if condition is not True
        ]
        effects = [replace(effect, value=value) for effect, value in zip(self.effects, values, strict=True)]
        return self.derive(
            nodes=list(block.nodes), outputs=outputs, guards=_distinct(guards), effects=effects
        )

    def maker(self, value: Value) -> Node | None:
        return self._makers.of(value, self.nodes)

    @property
    def result_tree(self) -> Tree:
        if self.state.updates is None:
            return self.output_tree
        assert isinstance(self.output_tree, Branch)
        return self.output_tree.children[0]

    @property
    def inputs_of_call(self) -> list[Value]:
        return self.inputs[: self.call_inputs]

    @property
    def inputs_in_places(self) -> list[Value]:
        return [] if self.call_inputs is None else self.inputs[self.call_inputs :]

    def assume(self, assumption: Assumption) -> None:
        if assumption not in self.assumptions:
            self.assumptions = (*self.assumptions, assumption)

    def assumed(self, kind: type[A]) -> list[A]:
        return [assumption for assumption in self.assumptions if isinstance(assumption, kind)]

    def all_assumptions(self) -> tuple[Assumption, ...]:
        return (*self.guards, *self.assumptions)

    def demand(self, **demands: Any) -> None:
        self.demands = replace(self.demands, **demands)

    def roots(self) -> Iterator[Value]:
        yield from values_in(self.outputs)
        for guard in self.guards:
            yield from values_in((guard.condition,))
        for effect in self.effects:
            yield effect.value

    def entry_guards(self) -> list[Guard]:
        """Return the guards on sizes that are checked before any node runs."""
        # Most graphs have no guards, and need no search.
        if not self.guards:
            return []
        return [
            guard
            for guard in self.guards
            if isinstance(guard.condition, Size) and self._at_entry(guard.condition)
        ]

    def inner_guards(self) -> list[tuple[Guard, Size]]:
        if not self.guards:
            return []
        sized = ((guard, guard.condition) for guard in self.guards if isinstance(guard.condition, Size))
        return [(guard, condition) for guard, condition in sized if not self._at_entry(condition)]

    def _at_entry(self, condition: Size) -> bool:
        return all(
            self.maker(symbol.source) is None and symbol.kind in ("size", "item")
            for symbol in condition.symbols()
        )

    def sources(self) -> Iterator[Value]:
        yield from self.inputs
        yield from self.parameters.values()
        for value, _ in self.constants.values():
            yield value

    def numbers_of_sizes(self) -> set[Value]:
        """Return the numbers that occur in sizes among the parameters of nodes.

        Compilers need them as static arguments. Fill values do not count, because no shape depends on them.
        """
        return {
            symbol.source
            for size in _sizes_in_params(self.nodes)
            for symbol in size.symbols()
            if symbol.kind == "item"
        }

    def count_operations(self) -> dict[str, int]:
        """Return how often each operation occurs, most frequent first.

        Operations in the body of a loop count once, whatever its trip count.

        >>> import torch, graph_compiler
        >>> graph = graph_compiler.compile(lambda x: (x.sin() + 1).sin(), args=(torch.ones(2),))
        >>> graph.program.count_operations()
        {'torch.Tensor.sin': 2, 'torch.Tensor.add': 1}
        """
        return dict(Counter(node.op for node in every(self.nodes)).most_common())

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return the graph as a ``networkx.MultiDiGraph``.

        Nodes are numbered. Their attributes are ``kind`` (``"input"``, ``"parameter"``, ``"constant"``,
        ``"operation"`` or ``"output"``), ``op``, ``name``, ``params``, ``shapes`` and ``dtypes``. Operations
        also have ``module``, ``file``, ``line`` and, if they run blocks, ``regions`` (name -> graph). Edges
        go from producer to user, with the attributes ``value`` (name) and ``output`` (index).
        """
        return to_networkx(self)


def _sizes_in_params(nodes: Iterable[Node]) -> Iterator[Size]:
    for node in nodes:
        params = (param for name, param in node.params.items() if name not in _ELEMENTS)
        yield from (item for param in params for item in iterate_structure(param) if isinstance(item, Size))
        for region in node.regions:
            told = map(region.outward, _sizes_in_params(region.block.nodes))
            yield from (size for size in told if isinstance(size, Size))


def _distinct(guards: list[Guard]) -> list[Guard]:
    # Lists of elements cannot be hashed. With one among the guards, all duplicates stay.
    is_hashable = all(not isinstance(guard.expected, list) for guard in guards)
    return list(dict.fromkeys(guards)) if is_hashable else guards


__all__ = ["Effect", "Graph", "Guard"]


def to_text(graph: Graph, around: Node | None = None, lines: int = 10) -> str:
    """Return the graph as text; with ``around``, leave out lines that are far from that node."""
    names = _Names()
    head = f"graph {graph.name} ({graph.dialect}): {', '.join(map(names.declared, graph.inputs))}"
    body = [
        ("->" if around is not None and node is around else "  ", depth, text)
        for node, depth, text in _lines(names, graph.nodes, 0)
    ]
    if around is not None:
        middle = next((place for place, line in enumerate(body) if line[0] == "->"), 0)
        body = body[max(0, middle - lines) : middle + lines + 1]
    written = [f"{mark} {'    ' * depth}{text}" for mark, depth, text in body]
    return "\n".join([head, *written, f"   return {names.text(tuple(graph.outputs))}"])


def _lines(names: _Names, nodes: Iterable[Node], depth: int) -> Iterator[tuple[Node | None, int, str]]:
    for node in nodes:
        line = (
            f"  # {node.origin.file.replace(chr(92), '/').rpartition('/')[2]}:{node.origin.line}"
            if node.origin.file
            else ""
        )
        yield node, depth, f"{names.node(node)}{line}"
        for region in node.regions:
            inner = _Names()
            yield None, depth + 1, f"{region.name}({', '.join(map(inner.declared, region.block.inputs))}):"
            yield from _lines(inner, region.block.nodes, depth + 2)
            yield None, depth + 2, f"return {inner.text(tuple(region.block.outputs))}"


@dataclass(slots=True)
class _Names:
    """Unique names for the values of one block."""

    of: dict[Value, str] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    def name(self, value: Value) -> str:
        if value not in self.of:
            name = value.name
            while name in self.taken:
                self.taken[value.name] += 1
                name = f"{value.name}_{self.taken[value.name]}"
            self.of[value] = name
            self.taken[name] = 0
        return self.of[value]

    def declared(self, value: Value) -> str:
        # The sizes of a value may be symbols of itself, so it is named first.
        name = self.name(value)
        return f"%{name}: {value.dtype}[{', '.join(str(self._part(dim)) for dim in value.shape)}]"

    def node(self, node: Node) -> str:
        arguments = [self.text(item) for item in node.inputs] + [
            f"{key}={self.text(item)}" for key, item in node.params.items()
        ]
        outputs = ", ".join(map(self.declared, node.outputs)) or "-"
        return f"{outputs} = {node.op}({', '.join(arguments)})"

    def text(self, item: Any) -> str:
        return repr(map_structure(self._part, item))

    def _part(self, part: Any) -> Any:
        if isinstance(part, Value):
            return _Bare(f"%{self.name(part)}")
        return _Bare(part.text(self._symbol)) if isinstance(part, Size) else part

    def _symbol(self, symbol: Symbol) -> str:
        source = self.name(symbol.source) if isinstance(symbol.source, Value) else symbol.source
        return repr(symbol.of(source))


class _Bare(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# ---------------------------------------------------------------------------------------------------- aliases
# Alias analysis of recorded graphs: which values share storage, and which storage is written to.


class Aliases:
    """Alias analysis of a graph: which values share storage, and which storage is written to.

    The base of a value is the value whose storage it is a view of, or the value itself.

    written: bases that some node writes to, in regions, too.
    touched: `written`, and the graph's `shared_memory`.
    """

    def __init__(self, graph: Graph) -> None:
        self._base: dict[Value, Value] = {}
        self.written: set[Value] = set()
        for node in distinct(graph.nodes) if graph.dialect != "canonical" else ():
            # Most calls neither alias nor write.
            if (record := node.record) is None or not (record.views or record.writes):
                continue
            for index, viewed in record.views.items():
                self._base[node.outputs[index]] = self.base_of(viewed)
            self.written.update(map(self.base_of, record.writes))
        self.touched = self.written.union(graph.shared_memory)

    def base_of(self, value: Value) -> Value:
        return self._base.get(value, value)

    def is_written(self, value: Value) -> bool:
        return self.base_of(value) in self.touched


# --------------------------------------------------------------------------------------------- call signature
# Signature of a recorded call.


def call_signature(graph: Graph) -> inspect.Signature:
    """Return a signature with names for the arguments that ``graph`` was recorded with."""
    args, kwargs = unflatten(graph.input_tree, graph.inputs)
    names: list[str] = []
    for place, item in enumerate(args):
        is_named = isinstance(item, Value) and item.name not in (*names, *kwargs)
        name = item.name if is_named else f"argument_{place}"
        while name in (*names, *kwargs):
            name += "_"
        names.append(name)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in (*names, *kwargs)])
