"""Passes over constants: constant folding, literals, filled arrays, frozen weights and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, is_
from typing import Any

import numpy as np

from ...ir.graph import Aliases, Graph, Guard
from ...ir.node import Block, CallRecord, Node, Origin, Value, draws, every, values_in
from ...ir.rewrite import Rewriter
from ...ops.control import own_inputs
from ...ops.dtypes import is_complex, is_inexact, is_integer
from ...ops.registry import ArraySpec, find
from ...sizes import Size, apply, product
from ...trees import Branch, Leaf, iterate_structure, map_structure
from ..driver import Pass

# ------------------------------------------------------------------------------------------- constant folding
_USES, _OP = attrgetter("uses"), attrgetter("op")
Evaluate = Callable[[Graph], list[Any]]


def constant_folding(graph: Graph, evaluate: Evaluate) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with constants instead of nodes that depend on no input, if possible.

    Parameters count as inputs. ``evaluate`` runs a graph without inputs in the source framework and returns
    its outputs.
    """
    # A constant node reads constants or nothing. Without either, there is none.
    if not graph.constants and all(map(_USES, graph.nodes)):
        return graph, False
    varying = _varying_nodes(graph)
    constant = [node for node in graph.nodes if node not in varying]
    if not constant:
        return graph, False
    rest = [node for node in graph.nodes if node in varying]
    computed = {value for node in constant for value in node.outputs}
    wanted = _needed_results(graph, rest, computed)
    arrays = evaluate(
        graph.derive(
            inputs=[],
            parameters={},
            nodes=constant,
            outputs=wanted,
            output_tree=_flat_tree(len(wanted)),
            guards=[],
            effects=[],
        )
    )
    constants = dict(graph.constants)
    for value, array in zip(wanted, arrays):
        # Nothing writes to the results, and a NumPy scalar can become a literal.
        scalar: Any = array[()] if isinstance(array, np.ndarray) and array.ndim == 0 else array
        is_number = isinstance(scalar, (np.number, np.bool_))
        constants[_free_name(value.name, constants)] = (value, scalar if is_number else array)
    return graph.derive(nodes=rest, constants=constants), True


def _needed_results(graph: Graph, rest: list[Node], computed: set[Value]) -> list[Value]:
    used = [value for node in rest for value in node.uses if value in computed]
    return list(dict.fromkeys([*used, *(value for value in graph.roots() if value in computed)]))


def _flat_tree(count: int) -> Branch:
    return Branch(tuple, tuple(range(count)), (Leaf(),) * count)


def _free_name(name: str, taken: dict[str, Any]) -> str:
    count = sum(key == name or key.startswith(f"{name}_") for key in taken)
    while (candidate := f"{name}_{count}" if count else name) in taken:
        count += 1
    return candidate


def _varying_nodes(graph: Graph) -> set[Node]:
    aliases = Aliases(graph)
    # The caller may write to the arrays that it receives, so these cannot be shared between calls.
    given = (*values_in(graph.outputs), *(effect.value for effect in graph.effects))
    # A loop without iterations returns its inputs, so the caller may receive them too.
    given += tuple(
        value for node in graph.nodes if node.op in ("scan", "while_loop") for value in values_in(node.inputs)
    )
    tainted: set[Value] = {*graph.inputs, *graph.parameters.values(), *map(aliases.base_of, given)}
    tainted.update(aliases.touched & {value for value, _ in graph.constants.values()})
    varying: set[Node] = set()
    # A write taints memory that an earlier node may read, so the search is repeated until nothing is added.
    before = -1
    while before != len(varying):
        before = len(varying)
        for node in graph.nodes:
            if node not in varying and _varies(node, tainted, aliases):
                varying.add(node)
                tainted.update(node.outputs)
                tainted.update(map(aliases.base_of, (*node.outputs, *node.writes)))
    return varying


def _varies(node: Node, tainted: set[Value], aliases: Aliases) -> bool:
    touched = (*node.uses, *node.outputs)
    return bool(
        node.is_random
        or node.depends_on_devices
        or not tainted.isdisjoint((*touched, *map(aliases.base_of, touched)))
        or any(isinstance(item, Size) for item in iterate_structure((node.inputs, node.params)))
    )


# -------------------------------------------------------------------------------------------- scalar literals
_CAPTURING = frozenset({"branch", "scan", "while_loop"})
# Operations that take symbolic numbers as literals.
_ARITHMETIC = frozenset({"add", "divide", "multiply", "subtract"})


def scalar_literals(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with literals for constant scalars where operations can take them."""
    # Other constants can be written to.
    scalars = {
        value: array.item()
        for value, array in graph.constants.values()
        if isinstance(array, (np.number, np.bool_))
    }
    if not scalars and "full" not in map(_OP, every(graph.nodes)):
        return graph, False
    numbers = {value: number for value, number in scalars.items() if _is_literal(number)}

    def run(block: Block) -> Block:
        nodes = _nodes_with_literals(block.nodes, dict(numbers))
        return block if all(map(is_, nodes, block.nodes)) else replace(block, nodes=tuple(nodes))

    made, changed = Pass("scalar_literals", run, "deep")(graph)
    if not scalars:
        return made, changed
    read = {*made.roots(), *(value for node in made.nodes for value in node.uses)}
    created = [_full(value, number) for value, number in scalars.items() if value in read]
    constants = {name: pair for name, pair in graph.constants.items() if pair[0] not in scalars}
    return made.derive(nodes=[*created, *made.nodes], constants=constants), True


def _full(value: Value, number: Any) -> Node:
    params = {"shape": (), "fill_value": number, "dtype": value.dtype}
    return Node("full", (), params, Origin(), (value,))


def _is_literal(number: Any) -> bool:
    # JAX may pass Python integers as int32. Elementwise operations have no rows for operands that are bools.
    is_integer = isinstance(number, int) and not isinstance(number, bool)
    return isinstance(number, (float, complex, Size)) or is_integer and -(2**31) <= number < 2**31


def _nodes_with_literals(nodes: Iterable[Node], numbers: dict[Value, Any]) -> list[Node]:
    """Return ``nodes`` with literals for the values in ``numbers``, where operations take them.

    Add to ``numbers`` the literals that :func:`_number_made_by` finds.
    """
    found = []
    for node in nodes:
        number = _number_made_by(node, numbers)
        if _is_literal(number):
            numbers[node.outputs[0]] = number
        found.append(node if numbers.keys().isdisjoint(node.uses) else _with_literals(node, numbers))
    return found


def _number_made_by(node: Node, numbers: Mapping[Value, Any]) -> Any:
    """Return the Python number or symbolic size that ``node`` computes, or None if it is not known."""
    is_created = node.op == "full" and node.params["shape"] == ()
    if not is_created and node.op != "astype":
        return None
    number = node.params["fill_value"] if is_created else numbers.get(node.inputs[0])
    dtype: str = node.params["dtype"]
    if isinstance(number, Size):
        # Narrower integers would wrap around, and a cast from float32 does not undo its rounding.
        is_exact = is_created or is_integer(node.inputs[0].dtype)
        is_kept = is_exact and dtype in ("float32", "float64") or is_created and dtype in ("int32", "int64")
        if not is_kept or number.type is not int:
            return None
        # JAX may refuse Python integers beyond int32, such as products of sizes.
        is_product = any(len(monomial) > 1 for monomial, _ in number.terms())
        return apply("float", number) if is_product and is_inexact(dtype) else number
    if is_created and is_integer(dtype):
        return number if type(number) is int else None
    # NumPy, which rounds the number, has no bfloat16.
    if not isinstance(number, (int, float, complex)) or not is_inexact(dtype) or dtype == "bfloat16":
        return None
    if isinstance(number, complex) and not is_complex(dtype):
        return None
    with np.errstate(all="ignore"):
        return np.dtype(dtype).type(number).item()


def _with_literals(node: Node, numbers: Mapping[Value, Any]) -> Node:
    if node.op in _CAPTURING:
        return _with_literals_inside(node, numbers)
    declared = find(node.op)
    if declared is None or declared.section != "elementwise" and node.op != "where":
        return node
    # A number takes the dtype of the arrays of its operation, so one of them has to have the dtype of the
    # scalar.
    kept = {item.dtype for item in node.inputs if isinstance(item, Value) and item not in numbers}
    if node.op not in _ARITHMETIC:
        numbers = _without_sizes(numbers)
    literals = tuple(
        numbers[item] if isinstance(item, Value) and item in numbers and item.dtype in kept else item
        for item in node.inputs
    )
    # NumPy makes an array of the first operand of ``clip``, which would not take the dtype of the bounds.
    if node.op == "clip":
        literals = (*node.inputs[:1], *literals[1:])
    # Some frameworks refuse a negative number as the exponent of integers, but compute with a negative array.
    elif node.op == "pow" and isinstance(literals[1], int) and literals[1] < 0:
        literals = (literals[0], node.inputs[1])
    return replace(node, inputs=literals)


def _without_sizes(numbers: Mapping[Value, Any]) -> dict[Value, Any]:
    return {value: number for value, number in numbers.items() if not isinstance(number, Size)}


def _with_literals_inside(node: Node, numbers: Mapping[Value, Any]) -> Node:
    """Return ``node`` with literals for captured ``numbers``, and without those that no region then reads."""
    # A region has its own symbols for sizes of the enclosing block.
    numbers = _without_sizes(numbers)
    count = len(node.regions[0].block.inputs) - own_inputs(node.op, node.params)
    places = [place for place in range(-count, 0) if node.inputs[place] in numbers]
    if not places:
        return node
    blocks = []
    for block in (region.block for region in node.regions):
        known = {block.inputs[place]: numbers[node.inputs[place]] for place in places}
        blocks.append(replace(block, nodes=tuple(_nodes_with_literals(block.nodes, known))))
    unread = [place for place in places if not any(_reads(block, block.inputs[place]) for block in blocks)]

    def kept(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(item for place, item in enumerate(items, -len(items)) if place not in unread)

    regions = tuple(
        replace(region, block=replace(block, inputs=kept(block.inputs)))
        for region, block in zip(node.regions, blocks)
    )
    return replace(node, inputs=kept(node.inputs), regions=regions)


def _reads(block: Block, value: Value) -> bool:
    return value in values_in(block.outputs) or any(value in node.uses for node in block.nodes)


# ---------------------------------------------------------------------------------------------- filled arrays
FILLS = frozenset({"full", "ones", "zeros"})
# Operations whose results have only elements of their one operand.
_REARRANGING = frozenset({"broadcast_to", "permute_dims", "reshape", "unstack"})


def _fill_parts(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        maker = rewriter.maker(node.inputs[0]) if node.op in _REARRANGING else None
        if maker is None or maker.op not in FILLS or not _always_fits(node):
            rewriter.append(node)
            continue
        parts = tuple(Value(maker.outputs[0].name, value.spec) for value in node.outputs)
        for part in parts:
            rewriter.append(Node(maker.op, (), {**maker.params, "shape": part.shape}, maker.origin, (part,)))
        rewriter.replace(node.outputs, parts)
    return rewriter.finish()


def _always_fits(node: Node) -> bool:
    have, shape = node.inputs[0].shape, node.outputs[0].shape
    if node.op == "reshape":
        return bool(product(have) == product(shape))
    if node.op == "unstack":
        return bool(have[node.params["axis"]] == node.params["count"])
    pairs = zip(have, shape[len(shape) - len(have) :]) if node.op == "broadcast_to" else ()
    return all(one in (1, other) for one, other in pairs)


fill_parts = Pass("fill_parts", _fill_parts, "deep", _REARRANGING)
"""Pass that computes reshaped, broadcast, transposed and split filled arrays as filled arrays."""


# --------------------------------------------------------------------------------------------- frozen weights
def freeze(graph: Graph, arrays: Mapping[str, Any]) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with constants for parameters in ``arrays`` to which nothing writes."""
    # The user's model has to see writes to its parameters, so written ones cannot become constants.
    touched = Aliases(graph).touched
    frozen = {
        name: value for name, value in graph.parameters.items() if value not in touched and name in arrays
    }
    if not frozen:
        return graph, False
    constants = dict(graph.constants)
    for name, value in frozen.items():
        constants[_free_name(name, constants)] = (value, arrays[name])
    rest = {name: value for name, value in graph.parameters.items() if name not in frozen}
    return graph.derive(parameters=rest, constants=constants), True


# ----------------------------------------------------------------------------------------------- random draws
def bake_generators(graph: Graph, copy: str) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with random calls on numbers and constants marked as deterministic.

    ``copy`` is the name of the function that copies their results where the graph returns them, because the
    caller may write to these.
    """
    aliases = Aliases(graph)
    outside = {*graph.inputs, *graph.parameters.values()}
    guards, nodes = list(graph.guards), []
    baked: set[Value] = set()
    for node in graph.nodes:
        if node.is_random and not any(
            aliases.base_of(value) in outside or value in outside for value in _arrays(node)
        ):
            guards += _size_guards(node)
            node = _without_draw(node)
            baked.update(aliases.base_of(value) for value in (*node.outputs, *node.writes))
        # An array that is computed from nothing, such as zeros, is the same at every call.
        elif node.uses:
            outside.update((*node.outputs, *map(aliases.base_of, node.writes)))
        nodes.append(node)
    if not baked:
        return graph, False
    copies = {
        leaf: _copy(graph, leaf, copy)
        for leaf in graph.outputs
        if isinstance(leaf, Value) and aliases.base_of(leaf) in baked
    }
    outputs = [
        copies[leaf].outputs[0] if isinstance(leaf, Value) and leaf in copies else leaf
        for leaf in graph.outputs
    ]
    return graph.derive(nodes=[*nodes, *copies.values()], guards=guards, outputs=outputs), True


def repeat_draws(graph: Graph, state: Any, calls: tuple[str, str]) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with calls that set the generator to ``state`` first and restore it last.

    A graph without draws is unchanged. ``calls`` are the names of the functions that read and that set the
    state of the generator.
    """
    # `bake_generators` has marked draws without array operands as deterministic.
    if not draws(graph.nodes):
        return graph, False
    constant, kept = Value("random_state", state.spec), Value("random_state_before", state.spec)
    read, put = calls
    keep, start, end = _draw(read, (), kept), _draw(put, (constant,)), _draw(put, (kept,))
    constants = {**graph.constants, _free_name(constant.name, graph.constants): (constant, state.array)}
    return graph.derive(nodes=[keep, start, *graph.nodes, end], constants=constants), True


@dataclass(frozen=True)
class GeneratorState:
    """State of a random generator, as an array of the framework."""

    spec: ArraySpec
    array: Any


def _copy(graph: Graph, value: Value, call: str) -> Node:
    maker = graph.maker(value)
    made = Value(value.name, value.spec)
    record = CallRecord(call.rpartition(".")[2], result=made)
    return Node(call, (value,), {}, maker.origin if maker is not None else Origin(), (made,), record)


def _draw(call: str, inputs: tuple[Value, ...], made: Value | None = None) -> Node:
    record = CallRecord(call.rpartition(".")[2], result=made, random=True)
    return Node(call, inputs, {}, Origin(), () if made is None else (made,), record)


def _arrays(node: Node) -> list[Value]:
    return [item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Value)]


def _size_guards(node: Node) -> list[Guard]:
    shared = [dict(region.sizes) for region in node.regions]
    sizes = (item for item in iterate_structure((node.inputs, node.params, shared)) if isinstance(item, Size))
    conditions = [apply("eq", size, size.hint) for size in dict.fromkeys(sizes)]
    return [Guard(condition, True, node.origin) for condition in conditions if isinstance(condition, Size)]


def _without_draw(node: Node) -> Node:
    def hint(item: object) -> object:
        return item.hint if isinstance(item, Size) else item

    node = _unmarked(node)
    regions = tuple(replace(region, sizes=map_structure(hint, dict(region.sizes))) for region in node.regions)
    inputs, params = map_structure(hint, node.inputs), map_structure(hint, node.params)
    return replace(node, inputs=inputs, params=params, regions=regions)


def _unmarked(node: Node) -> Node:
    if not node.is_random:
        return node
    regions = tuple(
        replace(region, block=replace(region.block, nodes=tuple(map(_unmarked, region.block.nodes))))
        for region in node.regions
    )
    record = None if node.record is None else replace(node.record, random=False)
    return replace(node, record=record, regions=regions)
