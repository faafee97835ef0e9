"""``Tensor.__getitem__``, ``Tensor.__setitem__``, and what else takes an index as Python writes it."""

from __future__ import annotations

from typing import Any

from ...indexing import read_index, select, write_arrays, write_index
from .table import TorchBuilder, rows


@rows.row("__getitem__")
def getitem(b: TorchBuilder, self: Any, index: Any) -> Any:
    return read_index(b, self, index)


@rows.row("index", "_unsafe_index")
def index(b: TorchBuilder, self: Any, indices: Any) -> Any:
    """aten.index.Tensor: None stands for a whole axis."""
    return getitem(b, self, tuple(slice(None) if item is None else item for item in indices))


@rows.row("__setitem__")
def setitem(b: TorchBuilder, self: Any, index: Any, value: Any) -> Any:
    """torch.Tensor.__setitem__: the whole new array."""
    return write_index(b, self, index, value)


@rows.row("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(b: TorchBuilder, self: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    """torch.index_put; None stands for a whole axis."""
    selection = select(b, self, tuple(slice(None) if item is None else item for item in indices))
    return write_arrays(b, self, selection.arrays, b.operand(values, self.dtype), "sum" if accumulate else None)
