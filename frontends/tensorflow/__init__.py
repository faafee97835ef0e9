"""The TensorFlow frontend: records functions as graphs of raw operations, and lifts these graphs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...contracts.modules import calls_at_first_use
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .recording import record as record
from .source import TensorFlowCalls

name = "tensorflow"
raises_out_of_bounds = False
where_parameters_are = ""
dialect = TensorFlowCalls()
lift_graph = calls_at_first_use(__name__, "lifting.driver:lift_graph")


def unrecorded() -> AbstractContextManager[None]:
    return nullcontext()


def example_inputs(function: Any) -> dict[str, Any]:
    return {}
