"""The module that each operation of a graph is in, by its path in the user's model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..ir.graph import Graph
from ..ir.node import Value


def modules_of(graph: Graph) -> list[str]:
    """The paths in the order of the operations, empty for those in no module.

    Some frameworks do not tell which module runs. There an operation is of the module whose parameters it takes, and so is one that puts
    several results of that module together, such as the addition of a bias.
    """
    told = [node.origin.module for node in graph.nodes]
    if any(told) or not graph.parameters:
        return told
    weights: dict[Value, str] = {
        value: name.rpartition(".")[0] for name, value in graph.parameters.items()
    }  # and what is made of these alone
    of: dict[Value, str] = {}
    paths = []
    for node in graph.nodes:
        own = [weights[value] for value in node.uses if value in weights]
        others = {weights.get(value, of.get(value, "")) for value in node.uses}
        path = _shared(own) if own else others.pop() if len(others) == 1 and len(node.uses) > 1 else ""
        made = weights if own and len(own) == len(node.uses) else of
        made.update((value, path) for value in node.outputs)
        paths.append(path)
    return paths


def _shared(paths: Sequence[str]) -> str:
    """The innermost module that holds all of these.

    >>> _shared(["layers.0.query", "layers.0.key"]), _shared(["a", "b"])
    ('layers.0', '')
    """
    together = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*(path.split(".") for path in paths)))
    return ".".join(parts[0] for parts in together)
