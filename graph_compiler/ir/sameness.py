"""Whether two graphs are the same program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..sizes import Size, Symbol
from ..trees import map_structure
from .block import Block
from .graph import Graph
from .node import Node, Value


def same_program(left: Graph, right: Graph) -> bool:
    """Whether two recordings compute the same of the same inputs, call by call, under the same conditions, and leave the same behind.

    >>> one = Graph("f", "torch")
    >>> same_program(one, Graph("g", "torch")), same_program(one, Graph("f", "torch", outputs=[2]))
    (True, False)
    """
    captured = [{name: array for name, (_, array) in graph.constants.items()} for graph in (left, right)]
    if captured[0].keys() != captured[1].keys() or any(array is not captured[1][name] for name, array in captured[0].items()):
        return False
    try:
        return bool(_description(left) == _description(right))
    except Exception:  # arguments with an equality of their own, such as arrays
        return False


def _description(graph: Graph) -> tuple[Any, ...]:
    """What a graph does, with numbers in the place of values."""
    numbers = {value: number for number, value in enumerate(graph.sources())}

    def symbol(item: Symbol) -> str:
        return f"{item.kind} {item.axis} of {numbers[item.source]}"

    def plain(item: Any) -> Any:
        if isinstance(item, Value):
            return ("value", numbers[item], item.spec)
        return ("size", item.text(symbol)) if isinstance(item, Size) else (type(item), item)

    def described(node: Node) -> Any:
        regions = [
            (region.name, *block(region.block), {plain(Size.of(key)): size for key, size in region.sizes.items()})
            for region in node.regions
        ]
        return node.op, map_structure(plain, (node.inputs, node.params)), node.no_grad, map_structure(plain, regions)

    def block(inside: Block) -> Any:
        numbers.update((value, len(numbers) + i) for i, value in enumerate(inside.inputs))
        return inside.inputs, made(inside.nodes), inside.outputs

    def made(nodes: Sequence[Node]) -> Any:
        for node in nodes:
            numbers.update((value, len(numbers) + i) for i, value in enumerate(node.outputs))
        return [described(node) for node in nodes]

    nodes = made(graph.nodes)
    guards = [(plain(guard.condition), guard.expected) for guard in graph.guards]
    effects = [(effect.kind, effect.target, plain(effect.value)) for effect in graph.effects]
    return (
        nodes,
        guards,
        effects,
        list(graph.parameters),
        map_structure(plain, graph.outputs),
        graph.input_tree,
        graph.output_tree,
        [assumption.mapped(plain) for assumption in graph.assumptions],
        graph.call_inputs,
        graph.number_outputs,
        graph.state,
        graph.randomness.recorded_from,
        graph.demands,
        map_structure(plain, graph.shared_memory),
        {numbers[value]: number for value, number in graph.debug.numbers.items()},
    )
