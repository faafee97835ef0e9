"""Protocol of a running recording with the parts that this package uses."""

from __future__ import annotations

from typing import Protocol

from ..trace import Trace
from .kept_views import KeptViews
from .layouts import Layouts
from .memory import Memory, Written


class MemoryTrace(Trace, Protocol):
    """A recording with its knowledge of storages."""

    memory: Memory
    written: Written
    layouts: Layouts
    kept_views: KeptViews
