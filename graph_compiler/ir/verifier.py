"""Verifier of graphs. It runs after passes if GRAPH_COMPILER_VERIFY was set at import, as in the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import InvalidGraph
from ..ops.control import has_derivative, has_regions, own_inputs, own_operands, without_axis
from ..ops.registry import complete_params, find, get
from ..sizes import Size, Symbol, hint_of
from ..trees import iterate_structure
from .graph import Graph, guard_of, reads_elements, to_text
from .node import DEEPEST, Node, Region, Value, values_in


def faults(node: Node, depth: int = 1) -> Iterator[str]:
    """Yield descriptions of rules that the regions of ``node`` break; ``depth`` is their nesting depth."""
    if not node.regions:
        return
    if depth > DEEPEST:
        yield f"its regions are more than {DEEPEST} deep"
        return
    first = 1 if node.op == "branch" else 0
    operands = node.inputs[first:]
    for region in node.regions:
        yield from _outer_reads(region)
        yield from _operand_faults(node, region, operands)
        yield from _unseen_checks(region)
        if node.op in ("scan", "while_loop"):
            yield from _repeated_draws(region, own_inputs(node.op, node.params))
    yield from _carry_faults(node, operands)
    if node.op == "associative_scan":
        yield from _lengths_of_pairs(node)


def _outer_reads(region: Region) -> Iterator[str]:
    """Yield faults for values and sizes that ``region`` neither has as inputs nor computes."""
    made = set(region.block.inputs)
    for inner in region.block.nodes:
        yield from (
            f"{region.name} uses %{value.name} of the outside" for value in inner.uses if value not in made
        )
        made.update(inner.outputs)
    yield from (
        f"{region.name} gives %{value.name}, which it does not make"
        for value in values_in(region.block.outputs)
        if value not in made
    )
    for symbol in region.sizes:
        if symbol.source not in region.block.inputs:
            yield (
                f"{region.name} takes the size {symbol!r} for one of the outside, "
                "and it is read from no input"
            )
    read = (value.shape for inner in region.block.nodes for value in inner.outputs)
    for size in iterate_structure(list(read)):
        if isinstance(size, Size) and any(symbol.source not in made for symbol in size.symbols()):
            yield f"{region.name} has an array of the size {size}, which nothing in it has"


def _operand_faults(node: Node, region: Region, operands: tuple[Any, ...]) -> Iterator[str]:
    """Yield faults for inputs of ``region`` that do not fit their operands."""
    inputs, carried = region.block.inputs, node.params.get("carried", 0)
    # The rule has further inputs before the operands.
    if node.op == "custom_derivative" and region is node.regions[-1]:
        inputs = inputs[rule_inputs(node) :]
    # The body takes pairs of elements, whose number is a symbol of the region.
    if node.op == "associative_scan":
        operands = (*operands[: own_operands(node.params)], *operands)
    if len(inputs) != len(operands):
        yield f"{region.name} takes {len(inputs)} inputs and there are {len(operands)} operands"
        return
    rows = range(carried, carried + node.params.get("sequences", 0)) if node.op == "scan" else range(0)
    pairs = range(own_inputs(node.op, node.params)) if node.op == "associative_scan" else range(0)
    for place, (value, operand) in enumerate(zip(inputs, operands)):
        if isinstance(operand, Value):
            given, wanted = value.spec, without_axis(operand.spec, 0) if place in rows else operand.spec
            if place in pairs:
                given, wanted = (without_axis(spec, node.params["axis"]) for spec in (given, wanted))
            if (given.dtype, given.hints) != (wanted.dtype, wanted.hints):
                yield (
                    f"%{value.name} of {region.name} is {value.spec} "
                    f"and its operand %{operand.name} is {operand.spec}"
                )


def _lengths_of_pairs(node: Node) -> Iterator[str]:
    """Yield faults in the lengths of pairs along the axis of an ``associative_scan``."""
    (region,), axis = node.regions, node.params["axis"]
    pairs = region.block.inputs[: own_inputs(node.op, node.params)]
    if any(axis >= value.ndim for value in (*pairs, *values_in(region.block.outputs))):
        # The shape rule of the operation reports it.
        return
    length = Size.of(own := Symbol(pairs[0], axis, 0))
    if own in region.sizes or pairs[0].shape[axis] != length:
        yield (
            f"axis {axis} of %{pairs[0].name} of {region.name} has a length that the outside knows, "
            "and pairs are combined by any number"
        )
        return
    # Arrays of a recorded call have concrete sizes.
    hint = None if node.record is None else pairs[0].spec.hints[axis]
    for value in (*pairs[1:], *values_in(region.block.outputs)):
        if value.shape[axis] not in (length, hint):
            yield (
                f"axis {axis} of %{value.name} of {region.name} is {value.shape[axis]} long, "
                "and not as long as there are pairs"
            )


def rule_inputs(node: Node) -> int:
    """Return the number of inputs that the rule of a ``custom_derivative`` has before the operands."""
    if node.params["kind"] == "jvp":
        return len(node.params["differentiated"])
    results = node.regions[0].specs_outside()
    return len(results) + int(node.params["residuals"]) + sum(map(has_derivative, results))


def _carry_faults(node: Node, operands: tuple[Any, ...]) -> Iterator[str]:
    """Yield faults for a carry that changes sizes, and for output sizes unknown outside the region."""
    carried = node.params.get("carried", 0)
    for region in node.regions:
        if region.name == "condition":
            continue
        made = {value for inner in region.block.nodes for value in inner.outputs}
        for place, spec in enumerate(region.specs_outside()):
            if any(
                isinstance(dim, Size) and any(symbol.source in made for symbol in dim.symbols())
                for dim in spec.shape
            ):
                yield (
                    f"output {place} of {region.name} is {spec}, "
                    "and a size of it is known in the region alone"
                )
            wanted = operands[place].shape if place < carried else spec.shape
            for dim, other in zip(spec.shape, wanted):
                if hint_of(dim) != hint_of(other):
                    yield f"%{operands[place].name} is carried as {operands[place].spec} and becomes {spec}"


def _repeated_draws(region: Region, own: int) -> Iterator[str]:
    """Yield faults for draws in a loop whose key is the same in every iteration.

    ``own`` is the number of leading inputs of ``region`` that may change between iterations.
    """
    changing: set[Value] = set(region.block.inputs[:own])
    for inner in region.block.nodes:
        if any(value in changing for value in inner.uses):
            changing.update(inner.outputs)
        elif _draws(inner) and inner.uses:
            yield (
                f"{inner.op} in {region.name} draws the same numbers in every step: "
                "its key depends on nothing that changes"
            )


def _unseen_checks(region: Region) -> Iterator[str]:
    for inner in region.block.nodes:
        if (guard := guard_of(inner)) is not None and reads_elements(guard):
            names = ", ".join(value.name for value in values_in((guard.condition,)))
            yield f"{region.name} checks elements of {names} ({guard}), which is to be told outside"


def _draws(node: Node) -> bool:
    # The key of ``random_fold_in`` may repeat.
    declared = find(node.op)
    return declared is not None and declared.section == "random" and node.op != "random_fold_in"


def verify(graph: Graph) -> Graph:
    """Return ``graph`` if it is valid; otherwise raise ``InvalidGraph`` or another error."""
    made: set[Value] = set(graph.sources())
    _verify_nodes(graph, graph.nodes, made, 1)
    for value in graph.roots():
        if value not in made:
            raise InvalidGraph(f"the result %{value.name} is made by nothing in\n{to_text(graph)}")
    return graph


def _verify_nodes(graph: Graph, nodes: Iterable[Node], made: set[Value], depth: int) -> None:
    for node in nodes:
        for value in node.uses:
            if value not in made:
                raise _fault(graph, node, f"uses %{value.name} before anything makes it")
        for value in node.outputs:
            if value in made:
                raise _fault(graph, node, f"%{value.name} is made twice")
            made.add(value)
        # ``params`` is a dict, which a pass may have changed in place by mistake.
        if tuple(dict.fromkeys(node.reads())) != node.uses:
            raise _fault(graph, node, "its list of used values is out of date")
        if fault := next(faults(node, depth), None):
            raise _fault(graph, node, fault)
        for region in node.regions:
            _verify_nodes(graph, region.block.nodes, set(region.block.inputs), depth + 1)
        if graph.dialect == "canonical" or has_regions(node.op):
            _check_canonical(graph, node)


def _check_canonical(graph: Graph, node: Node) -> None:
    op = get(node.op)
    if complete_params(op, node.params).keys() != node.params.keys():
        raise _fault(graph, node, "lacks parameters")
    given = (item.spec if isinstance(item, Value) else item for item in node.inputs)
    inferred: Any = op.infer(*given, **op.named_regions(node.regions), **node.params)
    specs = inferred if isinstance(inferred, tuple) else (inferred,)
    if len(specs) != len(node.outputs):
        raise _fault(graph, node, f"makes {len(node.outputs)} values, and its rule gives {len(specs)}")
    for value, spec in zip(node.outputs, specs):
        if value.dtype != spec.dtype or tuple(map(hint_of, value.shape)) != spec.hints:
            raise _fault(graph, node, f"%{value.name} is {value.spec} but its rule infers {spec}")


def _fault(graph: Graph, node: Node, what: str) -> InvalidGraph:
    return InvalidGraph(f"{node.op}: {what} ({node.origin})\n{to_text(graph, around=node)}")
