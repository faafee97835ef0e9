"""Whose memory a tensor uses: aliases that no call was seen to make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ....assumptions.overlap import lie_together
from ....ir.node import Value
from ..basics.tensors import storage
from ..compat import is_wrapped, no_torch_function


# Kernels come here with the mode above them still on, to which reads of a tensor would be the user's.
class Memory:
    """The memory of recorded values, and of tensors that come from outside."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[StorageWeakRef, dict[Any, Value]]] = {}
        self._outside: list[torch.Tensor] = []
        self.has_subclasses = False  # whether tensors of other classes were met

    def note(self, tensor: torch.Tensor, value: Value) -> None:
        """``value`` stands for ``tensor``."""
        if not has_memory(tensor):
            return
        with no_torch_function():
            memory, geometry = tensor.untyped_storage(), _geometry(tensor)
        known = self._values.get(identity := memory._cdata)
        if known is None:  # no other memory takes its identity while the weak reference lives
            known = self._values[identity] = StorageWeakRef(memory), {}
        known[1].setdefault(geometry, value)

    def forget(self, values: set[Value]) -> None:
        """These were made in a block of the graph, and stand for no array outside of it."""
        for key, (weak, known) in self._values.items():
            if not values.isdisjoint(known.values()):
                self._values[key] = (weak, {place: value for place, value in known.items() if value not in values})

    def values_in(self, tensor: torch.Tensor) -> dict[Any, Value]:
        """The values that were made in this tensor's memory."""
        entry = self._values.get(storage(tensor)) if has_memory(tensor) else None
        return entry[1] if entry is not None else {}

    def same(self, tensor: torch.Tensor) -> Value | None:
        """The value that looks at the same memory in the same way."""
        with no_torch_function():
            return self.values_in(tensor).get(_geometry(tensor))

    def comes_from_outside(self, tensor: torch.Tensor) -> None:
        """A parameter, a buffer or a constant was met."""
        self._outside.append(tensor)

    def shared_with(self, owners: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor | None]) -> list[torch.Tensor]:
        """The arrays from outside, ``inputs`` among them, in whose memory another one of the ``owners`` lies."""
        held = [*self._outside, *(tensor for tensor in inputs if tensor is not None)]
        owners = list(owners)
        return [item for item in held if has_memory(item) and any(item is not owner and shares(item, owner) for owner in owners)]


def shares(tensor: torch.Tensor, owner: torch.Tensor) -> bool:
    """Whether two tensors have elements in one place; of numpy's memory each call that takes it for a tensor makes a storage of its own."""
    return (storage(tensor) == storage(owner) or is_shared(tensor) and is_shared(owner)) and (
        not has_memory(owner) or lie_together(tensor, owner)
    )


def is_shared(tensor: torch.Tensor) -> bool:
    """Whether other code may write to the tensor's memory: it came from numpy, or was handed to it."""
    with no_torch_function():
        return has_memory(tensor) and not tensor.is_inference() and not tensor.untyped_storage().resizable()


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether the tensor has one piece of memory on this machine."""
    with no_torch_function():
        plain = tensor.layout is torch.strided and tensor.is_cpu and not tensor.is_quantized and not tensor.is_nested
        return plain and not is_wrapped(tensor)


def reach(tensor: torch.Tensor) -> int:
    """How many elements lie from a tensor's first to its last, those of others in between included.

    >>> reach(torch.zeros(3, 4)[:, 0])
    9
    """
    if tensor.is_contiguous():
        return tensor.numel()
    if tensor.numel() == 0:
        return 0
    return sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) + 1


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
