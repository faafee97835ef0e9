"""Turn weights into constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir.aliases import Aliases
from ...ir.graph import Graph


def freeze(graph: Graph, arrays: Mapping[str, Any]) -> tuple[Graph, bool]:
    """Return the graph with the parameters named in ``arrays`` as constants with these arrays.

    Parameters that share memory with an array that the graph writes to remain.
    """
    # The user's model has to see writes to its parameters, so written ones cannot become constants.
    touched = Aliases(graph).touched
    frozen = {
        name: value for name, value in graph.parameters.items() if value not in touched and name in arrays
    }
    if not frozen:
        return graph, False
    constants = {**graph.constants, **{name: (value, arrays[name]) for name, value in frozen.items()}}
    rest = {name: value for name, value in graph.parameters.items() if name not in frozen}
    return graph.derive(parameters=rest, constants=constants), True
