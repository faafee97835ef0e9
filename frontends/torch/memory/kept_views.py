"""Tensors from outside that lie in the memory of another one, which the function writes to: outside of torch they are recorded as views of
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ....errors import TracingError
from ....ir.graph import Graph
from ....ir.node import Value
from ....ir.record import CallRecord
from ....tracing.conjunction import EnvironmentGuard
from ...taking import views_among
from ..basics.tensors import spec_of
from ..compat import no_torch_function
from ..trace import ModelWeights, Trace
from .memory import has_memory, reach
from .taking import calls_taking

if TYPE_CHECKING:
    from ....tracing.places import Place

_MOST_ATTEMPTS = 4  # a view that the function makes anew each time, where nobody sees it, is another tensor in each
Reader = Callable[[], Any]


class _Lies(NamedTuple):
    """Where a view lies in its owner: sizes and steps of both, and how many elements it begins after the owner's first."""

    owner: tuple[Any, ...]
    view: tuple[Any, ...]
    offset: int


class KeptViews:
    """The views that earlier attempts at one recording have shown (``view, owner``), and those that this one has met.

    A module that keeps ``self.row = self.table[0]`` has one memory under two names. Once it is known that both are used and one is written
    to, the row is recorded as what it is, a view of the table, and only the table is an array of the graph.

    >>> table, views = torch.zeros(3, 4), KeptViews()
    >>> row = table[1]
    >>> views.ask([row, table]), views.next_attempt(), views.next_attempt()
    (None, True, False)
    >>> views.owner_of(row) is table, views.owner_of(table)
    (True, None)
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._asked: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._attempts = 0
        self._met: list[tuple[torch.Tensor, torch.Tensor, Value]] = []

    def ask(self, tensors: Sequence[torch.Tensor], weights: ModelWeights | None = None) -> None:
        """Tells that these tensors share memory. If one of them contains all others, the next attempt records the others as views of it."""

        def rank(item: torch.Tensor) -> tuple[int, bool, bool]:
            return item.numel(), weights is not None and weights.name_of(item) is not None, item.requires_grad

        placed = [item for item in tensors if has_memory(item)]
        found = views_among(placed, _is_view, rank)
        self._asked = {**found, **self._asked}

    def next_attempt(self) -> bool:
        """From here on those asked for are views. Whether there are any that were not."""
        new = self._attempts < _MOST_ATTEMPTS and not self._asked.keys() <= self._owners.keys()
        self._attempts += new
        self._owners.update(self._asked)
        self._met.clear()
        return new

    def owner_of(self, tensor: Any) -> torch.Tensor | None:
        """The tensor from outside that this one is known to be a view of."""
        entry = self._owners.get(id(tensor))
        return entry[1] if entry is not None and entry[0] is tensor else None

    def without(self, places: Sequence[Place]) -> list[Place]:
        """The places but those that hold views: their elements are in their owners' places."""
        return [place for place in places if not self._owners or self.owner_of(place.read()) is None]

    def taken(self, capture: Trace, tensor: torch.Tensor, owner: torch.Tensor) -> Value:
        """The value of a view, by a call that takes it; where the owner needs a gradient and the view does not, as by ``detach``."""
        value = capture.value(owner)
        self._met.append((tensor, owner, value))
        for name, arguments, made in capture.quietly(calls_taking, tensor, owner):
            value = _call(capture, name, (value, *arguments), made)
        return capture.recorder.keep(tensor, value)

    def facts(self, graph: Graph, weights: ModelWeights, places: Sequence[Place]) -> Iterable[EnvironmentGuard]:
        """That each view still lies where it lay. ``TracingError`` where an owner is read anew at each call, and from inside of
        something."""
        for view, owner, value in self._met:
            read = _reader(owner, weights, places)
            if read is None and value in graph.inputs:
                raise TracingError(
                    f"{graph.name} writes to memory that {value.name}, which stands in a container that is read anew at each call, shares "
                    "with another array, which cannot "
                    "be recorded; take views of it inside the function"
                )
            arguments = (_reader(view, weights, ()) or partial(_itself, view), read or partial(_itself, owner), _lies(view, owner))
            yield EnvironmentGuard("{}()", (partial(_still, *arguments),), "a tensor that was a view of another one, which is written to,")


def _call(capture: Trace, name: str, inputs: tuple[Any, ...], tensor: torch.Tensor) -> Value:
    record = CallRecord(name, views={0: inputs[0]})
    return capture.recorder.add_value(f"torch.Tensor.{name}", inputs, capture.here(), ("view", tensor, spec_of(tensor)), record)


def _is_view(tensor: torch.Tensor, owner: torch.Tensor) -> bool:
    """Whether an array in row-major order has all elements of a tensor, which needs no gradient of its own."""
    if tensor.requires_grad or tensor.dtype != owner.dtype or not owner.is_contiguous():
        return False
    start = _lies(tensor, owner).offset
    return 0 <= start <= owner.numel() - reach(tensor) and not (tensor.is_conj() or tensor.is_neg() or owner.is_conj() or owner.is_neg())


def _lies(tensor: torch.Tensor, owner: torch.Tensor) -> _Lies:
    with no_torch_function():
        steps = (tensor.data_ptr() - owner.data_ptr()) // owner.itemsize
        return _Lies((tuple(owner.shape), owner.stride()), (tuple(tensor.shape), tensor.stride()), steps)


def _still(view: Reader, owner: Reader, lies: _Lies) -> bool:
    now, of = view(), owner()
    return isinstance(now, torch.Tensor) and isinstance(of, torch.Tensor) and _lies(now, of) == lies


def _itself(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _reader(tensor: torch.Tensor, weights: ModelWeights, places: Sequence[Place]) -> Reader | None:
    """What gives the tensor that is in the place of this one at the moment."""
    if name := weights.name_of(tensor):
        held, key = weights.holder_of(name)
        return partial(held.__getitem__, key)
    return next((place.read for place in places if place.read() is tensor), None)
