"""numpy as a source: how its calls are recorded, and how they are written in canonical operations."""

from __future__ import annotations

from typing import Any

from ...ir.graph import Graph
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .calls import NumpyCalls
from .patches import unrecorded as unrecorded
from .recording import record as record

name = "numpy"
refuses_outside = True
where_parameters_are = ""
dialect = NumpyCalls()


def example_inputs(function: Any) -> None:
    """Functions of numpy tell nothing of their arguments."""


def lift_graph(graph: Graph) -> Graph:
    """See :func:`graph_compiler.frontends.numpy.lifting.driver.lift_graph`; the tables are loaded at the first use."""
    from .lifting.driver import lift_graph

    return lift_graph(graph)
