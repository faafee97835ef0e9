"""Guards on user-set attributes of tensors that a recording reads; setting one on an argument is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ....assumptions.input_attribute import InputAttribute, attribute_of
from ....errors import TracingError
from ....forwarding import forwards
from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.probes import Session
from ....tracing.probes.replaced import Place
from ....tracing.reach.attributes import is_plain
from ....tracing.reach.origin import owner_of
from ..basics.captured import is_captured
from ..trace import Trace

Read = Callable[[torch.Tensor, str], None]


class AttributeReads:
    """Notes which attributes of arguments and captured tensors are read: those that the arguments have in their ``__dict__``, and those
    that a tensor turns out not to have. What code of torch, numpy or the recording asks does not count.

    What an argument has, or has not, becomes an assumption of the graph; that a captured tensor has none, one of the ``facts``.
    ``TracingError`` where an attribute of an argument holds more than a number or a text, and where the function puts one on an argument.
    """

    def __init__(self, capture: Trace, session: Session, tensors: list[Any]) -> None:
        self.facts: list[EnvironmentGuard] = []
        self._capture, self._session = capture, session
        self._before = [(tensor, dict(vars(tensor))) for tensor in tensors if isinstance(tensor, torch.Tensor)]

    def places(self) -> list[Place]:
        """What stands in the class of tensors meanwhile. It refers to this object, so no object may keep it: arrays are to go with their
        last user, and wait for no collector."""
        places: list[Place] = [(torch.Tensor, "__getattr__", self._missed())]
        for _, held in self._before:
            places += [(torch.Tensor, name, _Attribute(name, self._read)) for name in held if not hasattr(torch.Tensor, name)]
        return places

    @contextmanager
    def kept(self) -> Iterator[None]:
        """After the block the arguments have the attributes of before. ``TracingError`` where the block has put some on one."""
        try:
            yield
            if any((vars(tensor) or held) and _identities(vars(tensor)) != _identities(held) for tensor, held in self._before):
                raise TracingError(
                    f"{self._capture.recorder.graph.name} puts attributes on a tensor that is an argument, which a graph cannot do; return "
                    "what they hold"
                )
        finally:
            for tensor, held in self._before:
                vars(tensor).clear()
                vars(tensor).update(held)
            self._before.clear()

    def _missed(self) -> Callable[[torch.Tensor, str], Any]:
        @forwards
        def missed(tensor: torch.Tensor, name: str) -> Any:
            if not name.startswith("__") and not _asks_for_itself():
                self._read(tensor, name)
            raise AttributeError(f"{type(tensor).__name__!r} object has no attribute {name!r}")

        return missed

    def _read(self, tensor: torch.Tensor, name: str) -> None:
        if not self._session.hears():
            return
        given = [index for index, one in enumerate(self._capture.input_tensors) if one is tensor]
        held = vars(tensor).get(name)
        if given and not is_plain(held):
            raise TracingError(
                f"{self._capture.here()}: .{name} of a tensor that is an argument is read, which holds a {type(held).__name__} and is no "
                "part of the call; pass it as an argument of its own"
            )
        if given:
            self._capture.recorder.graph.assume(InputAttribute(given[0], name, attribute_of(tensor, name)))
        elif name not in vars(tensor) and is_captured(self._capture, tensor):
            self.facts.append(EnvironmentGuard("{} not in {}.__dict__", (name, tensor), f"the attribute {name} of a captured tensor"))


def _identities(held: dict[str, Any]) -> dict[str, int]:
    """What stands under the names of the user's; marks for ``torch.compile`` (``_dynamo_static_input_type``) are no part of a graph."""
    return {name: id(item) for name, item in held.items() if not name.startswith("_dynamo_")}


def _asks_for_itself() -> bool:
    """Whether the code that asks for an attribute is that of a framework, or of the recording."""
    return owner_of(sys._getframe(2)) in ("framework", "own")


class _Attribute:
    """A data descriptor: it comes before the tensor's ``__dict__``, where the attribute still lives."""

    def __init__(self, name: str, read: Read) -> None:
        self._name, self._read = name, read

    @forwards
    def __get__(self, tensor: torch.Tensor | None, owner: type) -> Any:
        if tensor is not None and not _asks_for_itself():
            self._read(tensor, self._name)
        if tensor is None or self._name not in vars(tensor):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return vars(tensor)[self._name]

    def __set__(self, tensor: torch.Tensor, held: Any) -> None:
        vars(tensor)[self._name] = held

    def __delete__(self, tensor: torch.Tensor) -> None:
        del vars(tensor)[self._name]
