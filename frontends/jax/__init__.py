"""JAX as a source: how its functions are traced, and how their programs are written in canonical operations."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...ir.graph import Graph
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .recording import record as record
from .source import JaxCalls

name = "jax"
refuses_outside = False
where_parameters_are = (
    "Its arrays came as arguments or stand in the code as constants. Say which argument holds them, transpile(function, args=(params, x), "
    "parameters='params'), or record the model itself: one of flax.nnx or equinox, a linen module.bind(variables), one of Keras"
)
dialect = JaxCalls()


def lift_graph(graph: Graph) -> Graph:
    """See :func:`graph_compiler.frontends.jax.lifting.driver.lift_graph`; the tables are loaded at the first use."""
    from .lifting.driver import lift_graph

    return lift_graph(graph)


def unrecorded() -> AbstractContextManager[None]:
    """JAX's own tracing is not disturbed by calls of graphs."""
    return nullcontext()


def example_inputs(function: Any) -> dict[str, Any]:
    """Functions of JAX do not tell what they take."""
    return {}
