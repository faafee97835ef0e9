"""Weights of all layers as one array: ``stacked_weights(parameters, "encoder.layer.*.weight", range(12))``.

The helper takes them as they are stacked already, where they are, and stacks those of the layers otherwise. So a function runs on the
weights by their own names, with gradients by these, and without stacking where the runtime has done that once.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..ir.graph import Graph
from ..ir.node import Node
from .numbered import common, quoted

HELPER = "stacked_weights"  # of the prelude of a target


class Stack(NamedTuple):
    """Weights that are stacked: ``*`` stands in the name for the number of a layer."""

    name: str
    numbers: tuple[int, ...]

    def names(self) -> list[str]:
        """Of the weights of the layers.

        >>> Stack("layer.*.weight", (0, 1)).names()
        ['layer.0.weight', 'layer.1.weight']
        """
        return [self.name.replace("*", str(number)) for number in self.numbers]

    def together(self) -> str:
        """Of the array that has all of them.

        >>> Stack("layer.*.weight", (0, 1)).together()
        'layer.0,1.weight'
        """
        return self.name.replace("*", ",".join(map(str, self.numbers)))

    def text(self) -> str:
        """The call of the helper."""
        count = len(self.numbers)
        numbers = f"range({count})" if self.numbers == tuple(range(count)) else repr(self.numbers)
        return f"{HELPER}(parameters, {quoted(self.name)}, {numbers})"


def stacks_of(graph: Graph) -> dict[Node, Stack]:
    """The nodes that stack parameters whose names differ by a number alone. Nothing else may read these, and no call replaces them."""
    uses = Counter(value for node in graph.nodes for value in node.uses)
    uses.update(graph.roots())
    written = {effect.target for effect in graph.effects if effect.kind == "buffer"}
    names = {value: name for name, value in graph.parameters.items() if uses[value] == 1 and name not in written}
    found = {}
    for node in graph.nodes:
        if node.op == "stack" and node.params["axis"] == 0 and all(item in names for item in node.inputs):
            told = common([names[item] for item in node.inputs]) if len(node.uses) == len(node.inputs) > 1 else None
            if told is not None and "*" not in f"{told[0]}{told[1]}":
                found[node] = Stack(f"{told[0]}*{told[1]}", tuple(told[2]))
    return found
