"""JAX frontend: tracing of functions, and lifting of their programs to canonical operations."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...contracts.modules import calls_at_first_use
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .recording import record as record
from .source import JaxCalls

name = "jax"
raises_out_of_bounds = False
where_parameters_are = (
    "Its arrays came as arguments or stand in the code as constants. Say which argument holds them, "
    "transpile(function, args=(params, x), "
    "parameters='params'), or record the model itself: one of flax.nnx or equinox, a linen "
    "module.bind(variables), one of Keras"
)
dialect = JaxCalls()
lift_graph = calls_at_first_use(__name__, "lifting.driver:lift_graph")


def unrecorded() -> AbstractContextManager[None]:
    return nullcontext()


def example_inputs(function: Any) -> dict[str, Any]:
    return {}
