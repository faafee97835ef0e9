"""Protocol of a running recording with the attributes that this package uses."""

from __future__ import annotations

from typing import Protocol

from ..trace import Trace
from .layouts import Layouts
from .memory import StorageTable, StoredTensorViews, WrittenTensors


class MemoryTrace(Trace, Protocol):
    """Recording in progress that also tracks storages, written tensors, stride orders and captured views."""

    memory: StorageTable
    written: WrittenTensors
    layouts: Layouts
    kept_views: StoredTensorViews
