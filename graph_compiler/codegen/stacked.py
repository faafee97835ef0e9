"""Weights of all layers as one array: ``stacked_weights(parameters, "encoder.layer.*.weight", range(12))``.

The helper returns the stacked array if the runtime has stored one, and stacks the layers' weights
otherwise. So the function accepts weights under their own names and returns gradients under these, without
stacking on each call.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..ir.graph import Graph
from ..ir.node import Node
from .numbered import common, quoted

HELPER = "stacked_weights"  # of the prelude of a target


class Stack(NamedTuple):
    """Weights that are stacked. `*` in the name stands for the layer number."""

    name: str
    numbers: tuple[int, ...]

    def names(self) -> list[str]:
        """Return the names of the layers' weights.

        >>> Stack("layer.*.weight", (0, 1)).names()
        ['layer.0.weight', 'layer.1.weight']
        """
        return [self.name.replace("*", str(number)) for number in self.numbers]

    def together(self) -> str:
        """Return the name of the stacked array.

        >>> Stack("layer.*.weight", (0, 1)).together()
        'layer.0,1.weight'
        """
        return self.name.replace("*", ",".join(map(str, self.numbers)))

    def text(self) -> str:
        """Return the call of the helper."""
        count = len(self.numbers)
        numbers = f"range({count})" if self.numbers == tuple(range(count)) else repr(self.numbers)
        return f"{HELPER}(parameters, {quoted(self.name)}, {numbers})"


def stacks_of(graph: Graph) -> dict[Node, Stack]:
    """Return the nodes that stack parameters whose names differ only in a number. Nothing else may read or
    replace these parameters.
    """
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
