"""Whether a recording goes through all weights or buffers of a module (``parameters()``): then it depends on which there are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import torch

from ....tracing.conjunction import EnvironmentGuard
from ....tracing.listening import Listener, of_this_thread

_lock = threading.Lock()
_open: list[MemberReads] = []
_members = torch.nn.Module._named_members


class MemberReads(Listener):
    """Inside of the block, notes every module whose ``parameters()``, ``named_buffers()`` and the like are asked for in this thread.

    A weight that is added later, and that no layer computes with, is seen by nothing else.

    >>> model = torch.nn.Linear(2, 2)
    >>> with MemberReads() as reads:
    ...     total = sum(weight.numel() for weight in model.parameters())
    >>> [fact.what for fact in reads.facts()]
    ['which weights a Linear has', 'which buffers a Linear has']
    """

    def __init__(self) -> None:
        super().__init__()
        self._roots: dict[int, torch.nn.Module] = {}

    def __enter__(self) -> MemberReads:
        with _lock:
            _open.append(self)
            torch.nn.Module._named_members = _noted
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                torch.nn.Module._named_members = _members

    def note(self, module: torch.nn.Module) -> None:
        """The weights or buffers of this module and its parts were asked for."""
        self._roots[id(module)] = module

    def facts(self) -> list[EnvironmentGuard]:
        """Each module has the weights and buffers that it had."""
        modules = {id(module): module for root in self._roots.values() for module in root.modules()}
        return [fact for module in modules.values() for fact in _names(module)]


def _noted(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    for reads in of_this_thread(_open):
        reads.note(self)
    return _members(self, *args, **kwargs)


def _names(module: torch.nn.Module) -> Iterator[EnvironmentGuard]:
    for kind, held in (("weights", module._parameters), ("buffers", module._buffers)):
        if isinstance(held, dict):  # not those of scripted modules
            yield EnvironmentGuard("[*{}] == {}", (held, [*held]), f"which {kind} a {type(module).__name__} has", held)
