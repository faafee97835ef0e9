"""TensorFlow as a source: how its functions become graphs of operations, and how these are written in canonical ones."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...ir.graph import Graph
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .recording import record as record
from .source import TensorFlowCalls

name = "tensorflow"
refuses_outside = False
where_parameters_are = ""
dialect = TensorFlowCalls()


def lift_graph(graph: Graph) -> Graph:
    """See :func:`graph_compiler.frontends.tensorflow.lifting.driver.lift_graph`; the tables are loaded at the first use."""
    from .lifting.driver import lift_graph

    return lift_graph(graph)


def unrecorded() -> AbstractContextManager[None]:
    """TensorFlow's own tracing is not disturbed by calls of graphs."""
    return nullcontext()


def example_inputs(function: Any) -> dict[str, Any]:
    """Functions of TensorFlow do not tell what they take."""
    return {}
