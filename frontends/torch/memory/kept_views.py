"""Tensors from outside that share storage with one that the function writes to.

For other frameworks they are recorded as views of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ....errors import TracingError
from ....ir.graph import Graph
from ....ir.node import CallRecord, Value
from ....recording.environment_guards.guards import EnvironmentGuard
from ...common import views as kept_views
from ...common.indexing import view_recipe
from ...common.views import Reader
from ..basics.tensors import spec_of
from ..compat import no_torch_function
from ..trace import ModelWeights, Trace
from .memory import has_memory, reach

if TYPE_CHECKING:
    from ....recording.state.places import StatePlace


# Name, arguments after the first one, and result of a call.
Call = tuple[str, tuple[Any, ...], torch.Tensor]


def calls_taking(tensor: torch.Tensor, owner: torch.Tensor) -> list[Call]:
    """Return the calls that make `tensor` from its `owner`.

    The owner must be contiguous and contain all elements of `tensor`. The calls are an index, a
    permutation and a reshape, as a person would write them, or ``as_strided`` if these do not suffice. If
    the owner requires a gradient, ``detach`` comes first.

    >>> table = torch.zeros(4, 6)
    >>> [(name, arguments) for name, arguments, _ in calls_taking(table[1:, 2], table)]
    [('__getitem__', ((slice(1, 4, 1), 2),))]
    >>> [name for name, _, _ in calls_taking(table.view(4, 2, 3).transpose(0, 1), table)]
    ['as_strided']
    """
    plain = owner.detach()
    calls: list[Call] = [("detach", (), plain)] if owner.requires_grad else []
    offset = (tensor.data_ptr() - owner.data_ptr()) // owner.itemsize
    found = view_recipe(tensor.shape, tensor.stride(), offset, owner.shape)
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
    """Position of a view in its owner.

    owner, view: shape and strides of each.
    offset: number of elements from the start of the owner to that of the view.
    """

    owner: tuple[Any, ...]
    view: tuple[Any, ...]
    offset: int


class StoredTensorViews(kept_views.StoredViews[torch.Tensor]):
    """Captured tensors that are views of others, and those of them that this attempt has used."""

    words = "a tensor"

    def __init__(self) -> None:
        super().__init__()
        self._met: list[tuple[torch.Tensor, torch.Tensor, Value]] = []
        self._weights: ModelWeights | None = None

    def ask(self, arrays: Sequence[torch.Tensor], weights: ModelWeights | None = None) -> None:
        self._weights = weights
        super().ask([array for array in arrays if has_memory(array)])

    def is_view(self, array: torch.Tensor, owner: torch.Tensor) -> bool:
        """Return True if `owner` is contiguous, has the dtype of `array` and contains all its elements.

        Return False if `array` requires a gradient, or if either is conjugated or negated lazily.
        """
        if array.requires_grad or array.dtype != owner.dtype or not owner.is_contiguous():
            return False
        start = self.lies(array, owner).offset
        return 0 <= start <= owner.numel() - reach(array) and not (
            array.is_conj() or array.is_neg() or owner.is_conj() or owner.is_neg()
        )

    def lies(self, array: torch.Tensor, owner: torch.Tensor) -> _ViewGeometry:
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
        """Return `places` without those that contain views, whose elements are in their owners' places."""
        return (
            [place for place in places if self.owner_of(place.read()) is None]
            if self._owners
            else list(places)
        )

    def taken(self, capture: Trace, tensor: torch.Tensor, owner: torch.Tensor) -> Value:
        """Record the calls that make the view `tensor` of its `owner`, and return its value.

        If the owner requires a gradient, ``detach`` comes first.
        """
        value = capture.value(owner)
        self._met.append((tensor, owner, value))
        for name, arguments, made in capture.quietly(calls_taking, tensor, owner):
            value = _call(capture, name, (value, *arguments), made)
        return capture.recorder.keep(tensor, value)

    def facts(
        self, graph: Graph, weights: ModelWeights, places: Sequence[StatePlace]
    ) -> Iterable[EnvironmentGuard]:
        """Yield guards that each view that was used has the same position in its owner.

        Raise ``TracingError`` if the owner is an input of the graph that is read from no place of its own.
        """
        for view, owner, value in self._met:
            read = _reader(owner, weights, places)
            if read is None and value in graph.inputs:
                raise TracingError(
                    f"{graph.name} writes to memory that {value.name}, which stands in a container that is "
                    "read anew at each call, shares with another array, which cannot be recorded; take views "
                    "of it inside the function"
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
    """Return a function that reads the object now in the place of `tensor`, or None if it has no place.

    A place is the name of a weight or one of `places`.
    """
    if name := weights.name_of(tensor):
        held, key = weights.holder_of(name)
        return partial(held.__getitem__, key)
    return next((place.read for place in places if place.read() is tensor), None)
