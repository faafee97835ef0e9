"""NumPy frontend: recording of calls, and lifting of them to canonical operations."""

from __future__ import annotations

from typing import Any

from ...contracts.modules import calls_at_first_use
from . import array_access as array_access
from . import files as files
from . import reference as reference
from .calls import NumpyCalls
from .patches import unrecorded as unrecorded
from .recording import record as record

name = "numpy"
raises_out_of_bounds = True
where_parameters_are = ""
dialect = NumpyCalls()
lift_graph = calls_at_first_use(__name__, "lifting.driver:lift_graph")


def example_inputs(function: Any) -> None: ...
