"""torch as a source: how its calls are recorded, and how they are written in canonical operations."""

from .calls import TorchCalls
from .capture import Recording as Recording
from .capture import record as record

name = "torch"
dialect = TorchCalls()
