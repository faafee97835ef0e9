"""Storages of recorded values, to find aliases that no recorded call made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ....assumptions.disjoint_memory import lie_together
from ....errors import TracingError
from ....ir.graph import Graph
from ....ir.node import Value
from ....recording.caches import cached_results
from ....trees import iterate_structure
from ..basics.names import is_in_place
from ..basics.tensors import storage, version
from ..basics.writing import other_written_tensors, written_arguments
from ..compat import is_wrapped, no_torch_function
from ..trace import Trace
from .saved_contents import SavedContents

# ``data`` has a version counter of its own, and embeddings rescale rows of their weight without incrementing
# its version.
_UNCOUNTED = frozenset({"data", "embedding", "embedding_bag"})


def watching(graph: Graph) -> Callable[[Sequence[torch.Tensor]], Callable[[], bool]] | None:
    """Return a function that starts to watch tensors for writes.

    Called with tensors, it returns a function that returns True while no version of them has changed;
    always False if one has no version counter. Return None if calls of the graph may write without
    incrementing a version.
    """
    keys = {node.key for node in graph.nodes}
    return None if any(key in _UNCOUNTED or written_arguments(key) for key in keys) else _begun


def _begun(tensors: Sequence[torch.Tensor]) -> Callable[[], bool]:
    before = [version(tensor) for tensor in tensors]
    return lambda: (
        -1 not in before and all(version(tensor) == count for tensor, count in zip(tensors, before))
    )


# These methods also run below the active function mode, to which reads of a tensor would look like the
# user's, so they disable it.
class StorageTable:
    """Storages of recorded values, and tensors from outside that the recording has met."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[StorageWeakRef, dict[Any, Value]]] = {}
        self._outside: list[torch.Tensor] = []
        # True once a tensor subclass was met.
        self.has_subclasses = False

    def note(self, tensor: torch.Tensor, value: Value) -> None:
        """Register that `value` represents `tensor`.

        Do nothing if another value has the same geometry in that storage, or if the tensor is not dense on
        the CPU.
        """
        if not has_memory(tensor):
            return
        with no_torch_function():
            memory, geometry = tensor.untyped_storage(), _geometry(tensor)
        known = self._values.get(identity := memory._cdata)
        # No other storage gets the same identity while the weak reference exists.
        if known is None:
            known = self._values[identity] = StorageWeakRef(memory), {}
        known[1].setdefault(geometry, value)

    def forget(self, values: set[Value]) -> None:
        """Drop `values`, which were made in a region and represent no array outside of it."""
        for key, (weak, known) in self._values.items():
            if not values.isdisjoint(known.values()):
                self._values[key] = (
                    weak,
                    {place: value for place, value in known.items() if value not in values},
                )

    def values_in(self, tensor: torch.Tensor) -> dict[Any, Value]:
        entry = self._values.get(storage(tensor)) if has_memory(tensor) else None
        return entry[1] if entry is not None else {}

    def same(self, tensor: torch.Tensor) -> Value | None:
        with no_torch_function():
            return self.values_in(tensor).get(_geometry(tensor))

    def comes_from_outside(self, tensor: torch.Tensor) -> None:
        self._outside.append(tensor)

    def shared_with(
        self, owners: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor | None]
    ) -> list[torch.Tensor]:
        """Return the tensors from outside and `inputs` that share memory with another one in `owners`."""
        held = [*self._outside, *(tensor for tensor in inputs if tensor is not None)]
        owners = list(owners)
        return [
            item
            for item in held
            if has_memory(item) and any(item is not owner and shares(item, owner) for owner in owners)
        ]


def shares(tensor: torch.Tensor, owner: torch.Tensor) -> bool:
    return (storage(tensor) == storage(owner) or is_shared(tensor) and is_shared(owner)) and (
        not has_memory(owner) or lie_together(tensor, owner)
    )


def is_shared(tensor: torch.Tensor) -> bool:
    with no_torch_function():
        return has_memory(tensor) and not tensor.is_inference() and not tensor.untyped_storage().resizable()


def has_memory(tensor: torch.Tensor) -> bool:
    """Return True if the tensor is dense, on the CPU, and neither quantized, nested nor wrapped.

    Transforms such as ``torch.vmap`` wrap tensors.
    """
    with no_torch_function():
        plain = (
            tensor.layout is torch.strided
            and tensor.is_cpu
            and not tensor.is_quantized
            and not tensor.is_nested
        )
        return plain and not is_wrapped(tensor)


def reach(tensor: torch.Tensor) -> int:
    """Return the number of elements from the first to the last of a tensor, including those in between.

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


_TENSOR = attrgetter("tensor")


def may_be_written(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the tensors that a call may write to.

    These are the first argument of an in-place call, ``out``, and :func:`other_written_tensors`. A call
    counts as in place by its name, by ``inplace``, or by True as its last positional argument.
    """
    targets = (
        [args[0]]
        if args and (is_in_place(key) or kwargs.get("inplace") or (len(args) > 1 and args[-1] is True))
        else []
    )
    targets += [kwargs["out"]] if kwargs.get("out") is not None else []
    targets += other_written_tensors(key, args, kwargs)
    return (
        [item for item in iterate_structure(targets) if isinstance(item, torch.Tensor)]
        if targets
        else targets
    )


class WrittenTensors:
    """Captured tensors and inputs that calls of the function write to, with their contents before.

    ``id(tensor) in written`` is True for these.

    caches: the ``functools.lru_cache`` functions that the function can reach.
    """

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self._saved: dict[int, SavedContents] = {}
        # The ``functools.lru_cache`` functions that the recorded function can reach.
        self.caches: list[Any] = []

    def __contains__(self, identity: object) -> bool:
        return identity in self._saved

    def owners(self) -> list[torch.Tensor]:
        return list(map(_TENSOR, self._saved.values()))

    def save(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for tensor in may_be_written(key, args, kwargs):
            self._save(tensor)

    def _save(self, tensor: torch.Tensor) -> None:
        recorder = self.capture.recorder
        owner = recorder.kept(recorder.base_of(self.capture.value(tensor)))
        if owner is None and self.caches:
            self._refuse_cached(tensor)
        if owner is not None and id(owner) not in self._saved:
            self._saved[id(owner)] = self.capture.run(lambda: SavedContents(owner), (), {})

    def _refuse_cached(self, tensor: torch.Tensor) -> None:
        for item in (item for cache in self.caches for item in cached_results(cache)):
            if isinstance(item, torch.Tensor) and storage(item) == storage(tensor):
                raise TracingError(
                    f"{self.capture.here()}: the function writes to a tensor that functools.lru_cache keeps "
                    "and gives again at the next call, which cannot be recorded. Write to a copy (clone)"
                )

    def restore(self) -> None:
        # Two arguments may share memory, so the first saved contents are restored last.
        for past in reversed(self._saved.values()):
            past.restore()

    def forget(self) -> None:
        self._saved.clear()
