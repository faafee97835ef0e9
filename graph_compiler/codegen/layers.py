"""Weights of repeated layers, which generated code reads by layer index or stacked as one array.

Generated code has ``parameters[f"layer.{index}.weight"]``, or
``stacked_weights(parameters, "encoder.layer.*.weight", range(12))``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.graph import Graph
from ..ir.node import Node, Value, distinct
from ..passes.repeats.layers import difference


class HolderEntry(NamedTuple):
    """Entry of a dict that is an argument of the function: ``holder[name]``."""

    holder: str
    name: str


class IndexedWeight(NamedTuple):
    """Entry of a dict that the function of a region reads, usually under a name with the layer index.

    holder: name of the dict.
    before: text before the number; the complete name if ``after`` is None.
    after: text after the number; None if all calls read the same entry.
    offset: difference between the number in the name and the layer index.
    """

    holder: str
    before: str
    after: str | None = None
    offset: int = 0

    def text(self, index: str) -> str:
        """Return the expression for the entry; the variable ``index`` holds the layer index.

        >>> print(IndexedWeight("parameters", "layer.", ".weight").text("index"))
        parameters[f"layer.{index}.weight"]
        >>> print(IndexedWeight("parameters", "embed").text("index"))
        parameters["embed"]
        """
        if self.after is None:
            return f"{self.holder}[{quoted(self.before)}]"
        number = (
            f"{index} + {self.offset}"
            if self.offset > 0
            else f"{index} - {-self.offset}"
            if self.offset
            else index
        )
        # The name becomes an f-string, in which braces of the text are doubled.
        before, after = (part.replace("{", "{{").replace("}", "}}") for part in (self.before, self.after))
        return f"{self.holder}[f{quoted(f'{before}{{{number}}}{after}')}]"


@dataclass(frozen=True)
class LayerWeights:
    """Weights that the function of a region reads from dicts instead of receiving them as arguments.

    weights: entry for each position of an operand that is such a weight.
    layer_indices: layer index that each call passes; empty if no name contains one.
    """

    weights: Mapping[int, IndexedWeight]
    layer_indices: Mapping[Node, int]

    @property
    def holders(self) -> list[str]:
        # In the order of the arguments of the function: ``parameters``, then ``constants``.
        return sorted({weight.holder for weight in self.weights.values()}, reverse=True)


NO_WEIGHTS = LayerWeights({}, {})


def indexed_weights_by_block(graph: Graph) -> dict[int, LayerWeights]:
    """Return the weights that functions of repeated blocks can read from dicts, by ``id`` of the block."""
    calls: dict[int, list[Node]] = {}
    for node in distinct(graph.nodes):
        if node.op == "call" and not node.params["checkpoint"]:
            calls.setdefault(id(node.regions[0].block), []).append(node)
    if not calls:
        return {}
    held = {value: HolderEntry("parameters", name) for name, value in graph.parameters.items()}
    held.update((value, HolderEntry("constants", name)) for name, (value, _) in graph.constants.items())
    return {block: _indexed_weights(nodes, held) for block, nodes in calls.items() if len(nodes) > 1}


def _indexed_weights(nodes: Sequence[Node], held: Mapping[Value, HolderEntry]) -> LayerWeights:
    numbers: list[int] = []
    weights: dict[int, IndexedWeight] = {}
    for place, operands in enumerate(zip(*(node.inputs for node in nodes))):
        entries = [held.get(operand) if isinstance(operand, Value) else None for operand in operands]
        names, holders = (
            [entry.name for entry in entries if entry],
            {entry.holder if entry else "" for entry in entries},
        )
        if len(names) < len(nodes) or len(holders) > 1:
            continue
        (holder,) = holders
        if len(set(names)) == 1:
            weights[place] = IndexedWeight(holder, names[0])
        elif (found := common_number(names)) is not None:
            before, after, own = found
            numbers = numbers or own
            if len({one - other for one, other in zip(own, numbers)}) == 1:
                weights[place] = IndexedWeight(holder, before, after, own[0] - numbers[0])
    return LayerWeights(weights, dict(zip(nodes, numbers)))


def common_number(names: Sequence[str]) -> tuple[str, str, list[int]] | None:
    """Return the texts around the one number in which names differ, and the number in each name, or None.

    ``names`` must contain at least two different names.
    """
    another = next(name for name in names if name != names[0])
    pairs = [difference(names[0] if name != names[0] else another, name) for name in names]
    found = [pair for pair in pairs if pair is not None]
    if len(found) < len(names) or len({(pair.before, pair.after) for pair in found}) != 1:
        return None
    return found[0].before, found[0].after, [pair.other for pair in found]


def quoted(name: str) -> str:
    plain = repr(name)
    return f'"{name}"' if plain == f"'{name}'" and '"' not in name else plain


# Name of the helper in the preludes of targets.
HELPER = "stacked_weights"


class Stack(NamedTuple):
    """Weights of layers that the source reads as one array, stacked along a new first axis.

    name: their name, with ``*`` for the layer number.
    numbers: the layer numbers.
    """

    name: str
    numbers: tuple[int, ...]

    def names(self) -> list[str]:
        """Return the names of the layers' weights.

        >>> Stack("layer.*.weight", (0, 1)).names()
        ['layer.0.weight', 'layer.1.weight']
        """
        return [self.name.replace("*", str(number)) for number in self.numbers]

    def stacked_name(self) -> str:
        """Return the name of the stacked array.

        >>> Stack("layer.*.weight", (0, 1)).stacked_name()
        'layer.0,1.weight'
        """
        return self.name.replace("*", ",".join(map(str, self.numbers)))

    def text(self) -> str:
        count = len(self.numbers)
        numbers = f"range({count})" if self.numbers == tuple(range(count)) else repr(self.numbers)
        return f"{HELPER}(parameters, {quoted(self.name)}, {numbers})"


def stacks_of(graph: Graph) -> dict[Node, Stack]:
    """Return, by ``stack`` node, the weights of layers that can be read as one array."""
    uses = Counter(value for node in graph.nodes for value in node.uses)
    uses.update(graph.roots())
    written = {effect.target for effect in graph.effects if effect.kind == "buffer"}
    names = {
        value: name for name, value in graph.parameters.items() if uses[value] == 1 and name not in written
    }
    found = {}
    for node in graph.nodes:
        if node.op == "stack" and node.params["axis"] == 0 and all(item in names for item in node.inputs):
            told = (
                common_number([names[item] for item in node.inputs])
                if len(node.uses) == len(node.inputs) > 1
                else None
            )
            # A ``*`` in the name could not be told from the one that stands for the number.
            if told is not None and "*" not in f"{told[0]}{told[1]}":
                found[node] = Stack(f"{told[0]}*{told[1]}", tuple(told[2]))
    return found
