"""What this room asks of a running recording beyond :class:`..trace.Trace`: its own parts."""

from __future__ import annotations

from typing import Protocol

from ..trace import Trace
from .kept_views import KeptViews
from .layouts import Layouts
from .memory import Memory, Written


class MemoryTrace(Trace, Protocol):
    """A recording with what it knows of memory."""

    memory: Memory
    written: Written
    layouts: Layouts
    kept_views: KeptViews
