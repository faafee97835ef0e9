"""Storages of recorded values, contents of tensors before writes, and captured views of other tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ....assumptions import may_share_memory
from ....errors import TracingError
from ....forwarding import forward
from ....ir.graph import Graph
from ....ir.node import CallRecord, Value
from ....recording.environment_guards import EnvironmentGuard
from ....recording.state.contents import cached_results
from ....sizes import Size, Symbol
from ....trees import iterate_structure
from ...common import views as kept_views
from ...common.views import Reader
from ..basics.names import is_in_place, other_written_tensors, written_arguments
from ..basics.tensors import fills_memory, restore_elements, spec_of, storage, version, without_repeats
from ..compat import is_wrapped, no_torch_function, set_versions
from ..sizes import symbolic
from ..trace import ModelWeights, Trace
from .layouts import Layouts

if TYPE_CHECKING:
    from ....recording.state.places import StatePlace


# --------------------------------------------------------------------------------------------- saved contents
# The contents of a tensor before a write: its elements and its autograd history.


class SavedContents:
    """Contents of a tensor before calls write to it, which :meth:`restore` writes back.

    elements: copy of its elements, without the repeats of expanded axes (:func:`without_repeats`).
    owner: the base of a view, or the tensor itself.
    copy: clone of ``owner`` with its history, or None for a tensor without history that is not a view.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.elements = tensor, without_repeats(tensor.detach()).clone()
        base = tensor._base if tensor._is_view() else None
        self.owner = tensor if base is None else base
        self.grad_fn, self.version = self.owner.grad_fn, version(tensor)
        with torch.enable_grad():
            self.copy = None if self.grad_fn is None and base is None else self.owner.clone()

    def restore(self) -> None:
        self._put_back()
        if not self.tensor.is_inference():
            set_versions((self.tensor,), (self.version,))

    def _put_back(self) -> None:
        with torch.no_grad():
            restore_elements(self.tensor, self.elements)
        if self.owner.grad_fn is self.grad_fn:
            return
        # No call removes a write from the autograd history of the tensor or its base, so a clone that has the
        # old history is copied into it. If a base had no history, its clone becomes a leaf that nobody else
        # has, where gradients end.
        self.owner.detach_()
        if self.copy is not None:
            with torch.enable_grad():
                self.owner.copy_(self.copy if self.copy.requires_grad else self.copy.requires_grad_())


# ----------------------------------------------------------------------------------------------------- memory
# ``data`` has a version counter of its own, and embeddings rescale rows of their weight without incrementing
# its version.
_UNCOUNTED = frozenset({"data", "embedding", "embedding_bag"})


def watching(graph: Graph) -> Callable[[Sequence[torch.Tensor]], Callable[[], bool]] | None:
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
    """Table of recorded values by storage, to find aliases of a tensor."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[StorageWeakRef, dict[Any, Value]]] = {}
        self._outside: list[torch.Tensor] = []
        # True once a tensor subclass was met.
        self.has_subclasses = False

    def note(self, tensor: torch.Tensor, value: Value) -> None:
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
        for key, (weak, known) in self._values.items():
            if not values.isdisjoint(known.values()):
                self._values[key] = (
                    weak,
                    {place: value for place, value in known.items() if value not in values},
                )

    def values_in(self, tensor: torch.Tensor) -> dict[Any, Value]:
        entry = self._values.get(storage(tensor)) if has_memory(tensor) else None
        return entry[1] if entry is not None else {}

    def find_alias(self, tensor: torch.Tensor) -> Value | None:
        with no_torch_function():
            return self.values_in(tensor).get(_geometry(tensor))

    def comes_from_outside(self, tensor: torch.Tensor) -> None:
        self._outside.append(tensor)

    def shared_with(
        self, owners: Iterable[torch.Tensor], inputs: Iterable[torch.Tensor | None]
    ) -> list[torch.Tensor]:
        held = [*self._outside, *(tensor for tensor in inputs if tensor is not None)]
        owners = list(owners)
        return [
            item
            for item in held
            if has_memory(item) and any(item is not owner and shares(item, owner) for owner in owners)
        ]


def shares(tensor: torch.Tensor, owner: torch.Tensor) -> bool:
    return (storage(tensor) == storage(owner) or is_shared(tensor) and is_shared(owner)) and (
        not has_memory(owner) or may_share_memory(tensor, owner)
    )


def is_shared(tensor: torch.Tensor) -> bool:
    with no_torch_function():
        return has_memory(tensor) and not tensor.is_inference() and not tensor.untyped_storage().resizable()


def has_memory(tensor: torch.Tensor) -> bool:
    """Return True if the tensor is dense, on the CPU, and not quantized, nested or wrapped by a transform."""
    with no_torch_function():
        plain = (
            tensor.layout is torch.strided
            and tensor.is_cpu
            and not tensor.is_quantized
            and not tensor.is_nested
        )
        return plain and not is_wrapped(tensor)


def reach(tensor: torch.Tensor) -> int:
    """Return the number of elements from the first to the last one of a tensor in memory, gaps included.

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
    """Return candidates for tensors that a call writes to, in its first argument, ``out=`` or another one."""
    # Functions of torch hand ``inplace`` on by keyword.
    targets = [args[0]] if args and (is_in_place(key) or kwargs.get("inplace")) else []
    targets += [kwargs["out"]] if kwargs.get("out") is not None else []
    targets += other_written_tensors(key, args, kwargs)
    return (
        [item for item in iterate_structure(targets) if isinstance(item, torch.Tensor)]
        if targets
        else targets
    )


class WrittenTensors:
    """Captured tensors and inputs that recorded calls may write to, with copies of their original contents.

    caches: the ``functools.lru_cache`` functions that the recorded function can reach.
    """

    def __init__(self, capture: Trace) -> None:
        self.capture = capture
        self._saved: dict[int, SavedContents] = {}
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


# --------------------------------------------------------------------------------------------- captured views
# Tensors from outside that overlap in memory with one that the function writes to.
#
# For other frameworks they are recorded as views of it.

# Name, arguments after the first one, and result of a call.
Call = tuple[str, tuple[Any, ...], torch.Tensor]


def calls_taking(tensor: torch.Tensor, owner: torch.Tensor) -> list[Call]:
    """Return the calls that make ``tensor`` from its ``owner``: name, further arguments, and result of each.

    The owner must be contiguous and contain all elements of ``tensor``.

    >>> table = torch.zeros(4, 6)
    >>> [(name, arguments) for name, arguments, _ in calls_taking(table[1:, 2], table)]
    [('__getitem__', ((slice(1, 4, 1), 2),))]
    >>> [name for name, _, _ in calls_taking(table.view(4, 2, 3).transpose(0, 1), table)]
    ['as_strided']
    """
    plain = owner.detach()
    calls: list[Call] = [("detach", (), plain)] if owner.requires_grad else []
    offset = (tensor.data_ptr() - owner.data_ptr()) // owner.itemsize
    found = kept_views.view_recipe(tensor.shape, tensor.stride(), offset, owner.shape)
    if found is None and tensor.is_contiguous() and tensor.numel() == owner.numel():
        return [*calls, ("view", (tuple(tensor.shape),), tensor)]
    if found is None:
        return [*calls, ("as_strided", (tuple(tensor.shape), tensor.stride(), offset), tensor)]
    for name, argument in zip(("__getitem__", "permute", "view"), found):
        if argument is not None:
            plain = getattr(plain, name)(argument)
            calls.append((name, (argument,), plain))
    return calls or [("detach", (), plain)]


class _ViewGeometry(NamedTuple):
    """Shape, strides and position of a view and its owner, which must stay the same.

    owner, view: shape and strides of each.
    offset: number of elements from the start of the owner to that of the view.
    """

    owner: tuple[Any, ...]
    view: tuple[Any, ...]
    offset: int


class StoredTensorViews(kept_views.StoredViews[torch.Tensor]):
    """Captured tensors that are recorded as views of others, with those that this attempt has met."""

    words = "a tensor"

    def __init__(self) -> None:
        super().__init__()
        self._met: list[tuple[torch.Tensor, torch.Tensor, Value]] = []
        self._weights: ModelWeights | None = None

    def ask(self, arrays: Sequence[torch.Tensor], weights: ModelWeights | None = None) -> None:
        self._weights = weights
        super().ask([array for array in arrays if has_memory(array)])

    def is_view(self, array: torch.Tensor, owner: torch.Tensor) -> bool:
        if array.requires_grad or array.dtype != owner.dtype or not owner.is_contiguous():
            return False
        start = self.geometry_of(array, owner).offset
        return 0 <= start <= owner.numel() - reach(array) and not (
            array.is_conj() or array.is_neg() or owner.is_conj() or owner.is_neg()
        )

    def geometry_of(self, array: torch.Tensor, owner: torch.Tensor) -> _ViewGeometry:
        with no_torch_function():
            steps = (array.data_ptr() - owner.data_ptr()) // owner.itemsize
            return _ViewGeometry(
                (tuple(owner.shape), owner.stride()), (tuple(array.shape), array.stride()), steps
            )

    def rank(self, array: torch.Tensor) -> tuple[int, bool, bool]:
        is_weight = self._weights is not None and self._weights.name_of(array) is not None
        return array.numel(), is_weight, array.requires_grad

    def next_attempt(self) -> bool:
        self._met.clear()
        return super().next_attempt()

    def without(self, places: Sequence[StatePlace]) -> list[StatePlace]:
        return (
            [place for place in places if self.owner_of(place.read()) is None]
            if self._owners
            else list(places)
        )

    def record_view(self, capture: Trace, tensor: torch.Tensor, owner: torch.Tensor) -> Value:
        value = capture.value(owner)
        self._met.append((tensor, owner, value))
        for name, arguments, made in capture.quietly(calls_taking, tensor, owner):
            value = _call(capture, name, (value, *arguments), made)
        return capture.recorder.keep(tensor, value)

    def guards(
        self, graph: Graph, weights: ModelWeights, places: Sequence[StatePlace]
    ) -> Iterable[EnvironmentGuard]:
        for view, owner, value in self._met:
            read = _reader(owner, weights, places)
            if read is None and value in graph.inputs:
                raise TracingError(
                    f"{graph.name} uses an array that shares memory with {value.name}, which is an argument "
                    "or stands in a container that is read anew at each call, and this cannot be recorded. "
                    f"Take views of {value.name} inside the function, or keep a copy (clone)"
                )
            view_now, owner_now = (
                _reader(view, weights, ()) or partial(_itself, view),
                read or partial(_itself, owner),
            )
            yield self.lies_still(view, owner, view_now, owner_now)


def _call(capture: Trace, name: str, inputs: tuple[Any, ...], tensor: torch.Tensor) -> Value:
    record = CallRecord(name, views={0: inputs[0]})
    return capture.recorder.add_value(
        f"torch.Tensor.{name}", inputs, capture.here(), ("view", tensor, spec_of(tensor)), record
    )


def _itself(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _reader(tensor: torch.Tensor, weights: ModelWeights, places: Sequence[StatePlace]) -> Reader | None:
    if name := weights.name_of(tensor):
        held, key = weights.holder_of(name)
        return partial(held.__getitem__, key)
    return next((place.read for place in places if place.read() is tensor), None)


# --------------------------------------------------------------------------------------------------- protocol
# Protocol of a running recording with the attributes that this package uses.


class MemoryTrace(Trace, Protocol):
    """Protocol of a recording that also tracks storages, writes, stride orders and captured views."""

    memory: StorageTable
    written: WrittenTensors
    layouts: Layouts
    kept_views: StoredTensorViews


# ---------------------------------------------------------------------------------------------------- strides
def stride(capture: MemoryTrace, function: Any, args: Any, kwargs: Any) -> Any:
    """Return the result of ``Tensor.stride``, as symbols if it may vary between calls."""
    value, steps = capture.value(args[0]), args[0].stride()
    capture.guard_fact_if_varying("layout", args[0])
    if not capture.recorder.varies(value) or capture.is_weight(value):
        return forward(function, *args, **kwargs)
    if not capture.for_torch and capture.recorder.maker(value) is not None and not args[0].is_contiguous():
        capture.fix_all_sizes()
        return forward(function, *args, **kwargs)
    all_steps = tuple(
        symbolic(Size.of(Symbol(value, axis, step, "stride")), capture.decide)
        for axis, step in enumerate(steps)
    )
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return all_steps if dim is None else all_steps[dim]


def on_owner(
    capture: MemoryTrace, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments of ``as_strided`` on a recorded tensor that fills the storage, or those given."""
    tensor, size, step, *rest = (
        args if len(args) > 2 else (*args, *(kwargs[name] for name in ("size", "stride")[len(args) - 1 :]))
    )
    offset = rest[0] if rest else kwargs.get("storage_offset")
    # Other frameworks can compute ``as_strided`` of a tensor that fills its storage.
    owner = tensor if fills_memory(tensor) else _owner(capture, tensor)
    if owner is None:
        return args, kwargs
    capture.guard_fact_if_varying("layout", owner)
    if offset is not None:
        capture.guard_fact_if_varying("storage_offset", owner)
    if owner is tensor:
        return args, kwargs
    # The offset of a view depends on sizes.
    capture.fix_all_sizes()
    return (owner, size, step, tensor.storage_offset() if offset is None else offset), {}


def _owner(capture: MemoryTrace, tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a tensor whose elements fill the storage of ``tensor`` in row-major order, or None."""
    if tensor.is_conj() or tensor.is_neg():
        return None
    for (dtype, shape, steps, offset), value in capture.memory.values_in(tensor).items():
        if dtype == tensor.dtype and offset == 0:
            owner = tensor.as_strided(shape, steps, 0)
            if fills_memory(owner):
                capture.recorder.track(owner, value)
                return owner
    return None
