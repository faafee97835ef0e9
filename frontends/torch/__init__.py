"""The torch frontend: records torch calls and lifts them to canonical operations."""

from __future__ import annotations

from typing import Any

from ...contracts.modules import calls_at_first_use
from . import files as files
from . import reference as reference
from .calls import TorchCalls
from .capture.capture import unrecorded as unrecorded
from .recording import record as record
from .reference import example_inputs as example_inputs
from .state import array_access as array_access

name = "torch"
raises_out_of_bounds = True
where_parameters_are = ""
dialect = TorchCalls()
lift_graph = calls_at_first_use(__name__, "lifting.driver:lift_graph")


def pretrained(source: str) -> Any:
    from .reference import pretrained as load

    return load(source)
