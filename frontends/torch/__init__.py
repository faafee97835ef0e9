"""torch as a source: how its calls are recorded, and how they are written in canonical operations."""

from __future__ import annotations

from typing import Any

from ...ir.graph import Graph
from . import files as files
from . import reference as reference
from .calls import TorchCalls
from .capture.capture import unrecorded as unrecorded
from .examples import example_inputs as example_inputs
from .recording import record as record
from .state import array_access as array_access

name = "torch"
refuses_outside = True
where_parameters_are = ""
dialect = TorchCalls()


def lift_graph(graph: Graph) -> Graph:
    """See :func:`graph_compiler.frontends.torch.lifting.driver.lift_graph`; the tables are loaded at the first use."""
    from .lifting.driver import lift_graph

    return lift_graph(graph)


def pretrained(source: str) -> Any:
    """See :func:`graph_compiler.frontends.torch.model_loading.pretrained`."""
    from .model_loading import pretrained as load

    return load(source)
