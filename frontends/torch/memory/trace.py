"""Protocol of a running recording with the parts that this package uses."""

from __future__ import annotations

from typing import Protocol

from ..trace import Trace
from .layouts import Layouts
from .memory import StorageTable, StoredTensorViews, WrittenTensors


class MemoryTrace(Trace, Protocol):
    """A recording with its knowledge of storages."""

    memory: StorageTable
    written: WrittenTensors
    layouts: Layouts
    kept_views: StoredTensorViews
