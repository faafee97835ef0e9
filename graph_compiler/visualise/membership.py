"""Assignment of operations to modules of the user's model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..ir.graph import Graph
from ..ir.node import Value


def modules_of(graph: Graph) -> list[str]:
    """Return the path of the module for each operation; empty for operations outside of modules.

    Some frameworks do not report the running module. Then an operation belongs to the module whose
    parameters it reads, and an operation that only combines results of one module, such as the addition of
    a bias, belongs to that module.
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
    """Return the innermost module that contains all of these.

    >>> _shared(["layers.0.query", "layers.0.key"]), _shared(["a", "b"])
    ('layers.0', '')
    """
    together = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*(path.split(".") for path in paths)))
    return ".".join(parts[0] for parts in together)
