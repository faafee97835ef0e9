"""Passes that remove dead nodes, repeated computations, and needless reshapes, branches and copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import GUARD, Aliases, Graph
from ...ir.node import Block, Node, Region, Value, values_in
from ...ir.rewrite import Rewriter
from ...ir.sameness import comparable, region_description
from ...ops.axes import FULL_SLICE
from ...registration import trait
from ..driver import Pass, only_with

# -------------------------------------------------------------------------------------- dead code elimination


def dce(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, without dead nodes, parameters and constants.

    Writes to arrays from outside of the graph are live, and so are random calls of a recorded graph, because
    they advance the generator for later draws.
    """
    aliases = Aliases(graph)
    pruned, changed = Pass("dce", lambda block: _prune(block, aliases), "deep")(graph)
    if not (pruned.parameters or pruned.constants):
        return pruned, changed
    used = {value for node in pruned.nodes for value in node.uses}.union(pruned.roots())
    # A view needs the parameter or constant whose memory it reads.
    used.update(list(map(aliases.base_of, used)))
    found, has_unused = _without_unused_sources(pruned, used)
    return found, changed or has_unused


def _prune(block: Block, aliases: Aliases) -> Block:
    needed: set[Value] = set()

    def need(values: Sequence[Value]) -> None:
        needed.update(values)
        # A write is found by the owner of its memory, so the owners of needed values are needed as well.
        needed.update(map(aliases.base_of, values))

    need(tuple(values_in(block.outputs)))
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if _contributes(block, node, needed, aliases):
            kept.append(node)
            need(node.uses)
    return block if len(kept) == len(block.nodes) else Block(block.inputs, tuple(kept[::-1]), block.outputs)


def _contributes(block: Block, node: Node, needed: set[Value], aliases: Aliases) -> bool:
    written = map(aliases.base_of, node.writes)
    return bool(
        not needed.isdisjoint(node.outputs)
        or any(base in needed or block.maker(base) is None for base in written)
        # A recorded draw advances the generator for later draws.
        or node.is_random
        or node.op == GUARD
    )


def _without_unused_sources(graph: Graph, needed: set[Value]) -> tuple[Graph, bool]:
    parameters = {name: value for name, value in graph.parameters.items() if value in needed}
    constants = {name: pair for name, pair in graph.constants.items() if pair[0] in needed}
    changed = len(parameters) + len(constants) != len(graph.parameters) + len(graph.constants)
    return (graph.derive(parameters=parameters, constants=constants) if changed else graph), changed


# -------------------------------------------------------------------------------------- common subexpressions

_OP = attrgetter("op")


def cse(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with nodes that repeat an earlier one of their block merged, if possible.

    In recorded graphs, random calls, nodes that touch written memory, and nodes whose results are returned
    are not merged.
    """
    aliases = Aliases(graph)
    escaping = set(map(aliases.base_of, values_in(graph.outputs)))
    return Pass("cse", lambda block: _merge_equal(block, aliases, escaping), "deep")(graph)


def _merge_equal(block: Block, aliases: Aliases, escaping: set[Value]) -> Block:
    # If each operation occurs once, no two nodes can be equal.
    if len(set(map(_OP, block.nodes))) == len(block.nodes):
        return block
    # Outputs of a region must not be merged either: its node may return them as separate arrays.
    escaping = escaping.union(map(aliases.base_of, values_in(block.outputs)))
    rewriter = Rewriter(block)
    seen: dict[Any, list[Node]] = {}
    for node in block.nodes:
        node = rewriter.rewritten(node)
        key = None if _stays(node, aliases, escaping) else _key(node)
        same = seen.setdefault(key, []) if key is not None else []
        first = next((other for other in same if _runs_the_same(other, node)), None)
        if first is None:
            same.append(node)
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, first.outputs)
    return rewriter.finish()


def _without_restoring_reshapes(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        before = _before_reshapes(node, rewriter.maker) if node.op == "reshape" else None
        if before is None:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, (before,))
    return rewriter.finish()


drop_restoring_reshapes = Pass("drop_restoring_reshapes", _without_restoring_reshapes, "deep", ("reshape",))
"""Pass that removes reshapes whose result has the shape of the array before them."""


def _before_reshapes(node: Node, maker: Callable[[Value], Node | None]) -> Value | None:
    shape, made = node.outputs[0].shape, maker(node.inputs[0])
    while made is not None and _only_reshapes(made):
        before: Value = made.inputs[0]
        if before.shape == shape:
            return before
        made = maker(before)
    return None


def _only_reshapes(node: Node) -> bool:
    inserts_axes = node.op == "getitem" and all(item in (None, FULL_SLICE) for item in node.params["key"])
    return inserts_axes or node.op in ("reshape", "expand_dims")


def _stays(node: Node, aliases: Aliases, escaping: set[Value]) -> bool:
    if node.is_random or node.writes or not node.outputs:
        return True
    if node.record is not None and not escaping.isdisjoint(map(aliases.base_of, node.outputs)):
        return True
    return any(map(aliases.is_written, (*node.outputs, *node.uses)))


def _key(node: Node) -> Any:
    try:
        # NumPy checks the results as ``np.errstate`` says at the call.
        errstate = () if node.record is None else node.record.errstate
        key = (node.op, node.no_grad, errstate, comparable(node.inputs), comparable(node.params))
        hash(key)
    except TypeError:
        return None
    return key


def _runs_the_same(one: Node, other: Node) -> bool:
    # Arguments of recorded calls may be objects that raise an error if they are compared. The comparison of
    # two arrays of NumPy is an array, whose truth value is a ValueError.
    if len(one.regions) != len(other.regions):
        return False
    try:
        return all(
            first is second or region_description(first, comparable) == region_description(second, comparable)
            for first, second in zip(one.regions, other.regions)
        )
    except (TypeError, ValueError):
        return False


# --------------------------------------------------------------------------------------------------- branches


def _simplify_branches(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if node.op != "branch" or node.record is not None or node.inputs[0].dtype != "bool":
            rewriter.append(node)
            continue
        build = Builder.into(rewriter, node.origin)
        found = [_selected(build, node, index) for index in range(len(node.outputs))]
        left = [index for index, value in enumerate(found) if value is None]
        # If each result is replaced, the branch stays as it is, because ``dce`` removes it.
        rewriter.append(node if len(left) in (0, len(found)) else _with_results(node, left))
        pairs = [(output, value) for output, value in zip(node.outputs, found) if value is not None]
        rewriter.replace(tuple(output for output, _ in pairs), tuple(value for _, value in pairs))
    return rewriter.finish()


def _with_results(node: Node, kept: Sequence[int]) -> Node:
    def chosen(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(items[index] for index in kept)

    regions = tuple(
        replace(region, block=replace(region.block, outputs=chosen(region.block.outputs)))
        for region in node.regions
    )
    return replace(node, outputs=chosen(node.outputs), regions=regions)


simplify_branches = Pass("simplify_branches", _simplify_branches, "deep", ("branch",))
"""Pass that replaces results of branches on a bool: one value on both sides, or a bool that a side sets.

The logical operations that replace a bool cost less than a branch. Other results that both sides only select
stay, because ``where`` would let NaN of the other side into gradients.
"""


def _selected(build: Builder, node: Node, index: int) -> Value | None:
    """Return a value that equals result ``index`` of a branch without running the branch, or None."""
    condition, output = node.inputs[0], node.outputs[index]
    otherwise, then = (_passed(node, region, index, build.maker) for region in node.regions)
    if then is None or otherwise is None:
        return None
    if isinstance(then, Value) and then is otherwise:
        return then
    if output.dtype != "bool" or output.shape:
        return None
    if isinstance(then, Value) and isinstance(otherwise, Value):
        return None
    found: Value
    if then is True:
        found = condition if otherwise is False else build.logical_or(otherwise, condition)
    elif then is False:
        opposite = build.logical_not(condition)
        found = opposite if otherwise is True else build.logical_and(otherwise, opposite)
    elif otherwise is True:
        found = build.logical_or(then, build.logical_not(condition))
    else:
        found = build.logical_and(then, condition)
    return found


def _passed(node: Node, region: Region, index: int, maker: Callable[[Value], Node | None]) -> Any:
    """Return the captured value or the bool that ``region`` passes on as its result ``index``, or None."""
    block, found = region.block, region.block.outputs[index]
    made = block.maker(found)
    # A copied array is another one for the caller, who may write to it, but a truth value is not.
    while made is not None and made.op == "copy" and (found.dtype, found.shape) == ("bool", ()):
        found = made.inputs[0]
        made = block.maker(found)
    captured = node.inputs[1 + block.inputs.index(found)] if found in block.inputs else None
    made = made if captured is None else maker(captured)
    value = made.params["fill_value"] if made is not None and made.op == "full" else None
    return value if isinstance(value, bool) else captured


# -------------------------------------------------------------------------------------------------- snapshots


@only_with(guards=True)
def drop_snapshots(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with guards that read originals instead of copies, if possible.

    The source framework lists its copying calls in the trait ``copies``.
    """
    guarded = {guard.condition for guard in graph.guards if isinstance(guard.condition, Value)}
    if not guarded:
        return graph, False
    aliases = Aliases(graph)
    read = {value for node in graph.nodes for value in node.uses}
    # An output is the copy itself, not an alias of its original, and so is the value of an effect.
    read.update(values_in(graph.outputs), (effect.value for effect in graph.effects))
    block, copies, stops = graph.block, trait("copies"), trait("gradient_stops")
    rewriter = Rewriter(block)
    for node in graph.nodes:
        made = rewriter.rewritten(node)
        snapshot = (
            made.key in copies and made.outputs and made.outputs[0] in guarded and made.outputs[0] not in read
        )
        # A frontend marks copies of elements that became constants, which its lifter looks for.
        is_marked = made.record is not None and made.record.is_host_number
        if snapshot and not is_marked and not aliases.is_written(made.inputs[0]):
            source = rewriter.maker(made.inputs[0])
            # A guard needs no gradient, so it reads the array that was detached before the copy.
            original = source.inputs[0] if source is not None and source.key in stops else made.inputs[0]
            rewriter.replace(made.outputs, (original,))
        else:
            rewriter.append(made)
    made_block = rewriter.finish()
    return (graph, False) if made_block is block else (graph.with_block(made_block), True)
