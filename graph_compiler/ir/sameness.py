"""Structural comparison of graphs and regions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..sizes import Size, Symbol
from ..trees import map_structure
from .graph import Graph
from .node import Node, Region, Value


def same_program(left: Graph, right: Graph, same_array: Callable[[Any, Any], bool] = operator.is_) -> bool:
    """Return True if two graphs are structurally equal. ``same_array`` compares constants of the same name.

    >>> one = Graph("f", "torch")
    >>> same_program(one, Graph("g", "torch")), same_program(one, Graph("f", "torch", outputs=[2]))
    (True, False)
    """
    captured = [{name: array for name, (_, array) in graph.constants.items()} for graph in (left, right)]
    if captured[0].keys() != captured[1].keys() or not all(
        same_array(array, captured[1][name]) for name, array in captured[0].items()
    ):
        return False
    descriptions = _description(left), _description(right)
    try:
        return bool(descriptions[0] == descriptions[1])
    # Objects with an equality of their own, such as arrays, may raise anything.
    except Exception:
        return False


def _description(graph: Graph) -> tuple[Any, ...]:
    plain = _numbered(graph.sources(), graph.nodes, with_specs=True)
    nodes = [_node(node, plain) for node in graph.nodes]
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
        {plain(value): number for value, number in graph.debug.numbers.items()},
    )


def region_description(region: Region, outside: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return a description of a region for comparisons, in which the names of its values do not matter.

    ``outside`` describes the sizes of the enclosing scope.
    """
    block = region.block
    plain = _numbered(block.inputs, block.nodes)
    inputs = [(value.dtype, map_structure(plain, value.shape)) for value in block.inputs]
    sizes = [(plain(Size.of(symbol)), outside(size)) for symbol, size in region.sizes.items()]
    nodes = [_node(node, plain) for node in block.nodes]
    found = comparable((region.name, inputs, sizes, nodes, map_structure(plain, block.outputs)))
    assert isinstance(found, tuple)
    return found


def comparable(item: Any) -> Any:
    """Return nested containers in a form that distinguishes 1, 1.0 and True, and 0.0 and -0.0.

    >>> comparable({"exponent": 0.0}) == comparable({"exponent": -0.0})
    False
    >>> comparable(frozenset({1})) == comparable(frozenset({True}))
    False
    """
    if isinstance(item, (tuple, list)):
        return (type(item), *map(comparable, item))
    if isinstance(item, frozenset):
        return (type(item), frozenset(map(comparable, item)))
    if isinstance(item, dict):
        return (type(item), *((comparable(key), comparable(value)) for key, value in item.items()))
    if isinstance(item, slice):
        return ("slice", comparable(item.start), comparable(item.stop), comparable(item.step))
    if isinstance(item, (Value, Size)):
        return item
    # The text of a float distinguishes 0.0 from -0.0, and makes NaN equal to itself.
    return (type(item), str(item) if isinstance(item, (float, complex, np.generic)) else item)


def _node(node: Node, plain: Callable[[Any], Any]) -> tuple[Any, ...]:
    regions = [region_description(region, plain) for region in node.regions]
    return (node.op, map_structure(plain, (node.inputs, params_without_hint(node))), node.no_grad, regions)


def params_without_hint(node: Node) -> dict[str, Any]:
    """Return the parameters of ``node``, without ``hint`` if it is a canonical operation."""
    if node.record is not None or "hint" not in node.params:
        return node.params
    return {name: item for name, item in node.params.items() if name != "hint"}


def _numbered(
    sources: Iterable[Value], nodes: Iterable[Node], with_specs: bool = False
) -> Callable[[Any], Any]:
    """Return a function that describes values by numbers, so that their names do not affect comparisons."""
    numbers = {value: number for number, value in enumerate(sources)}
    for value in (value for node in nodes for value in node.outputs):
        numbers[value] = len(numbers)

    def symbol(item: Symbol) -> str:
        return f"{item.kind} {item.axis} of {numbers[item.source]}"

    def plain(item: Any) -> Any:
        if isinstance(item, Value):
            return ("value", numbers[item], item.spec) if with_specs else ("value", numbers[item])
        return ("size", item.text(symbol)) if isinstance(item, Size) else comparable(item)

    return plain
