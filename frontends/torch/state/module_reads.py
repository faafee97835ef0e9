"""What a recording asks of modules: the ``training`` flag, and all weights or buffers (``parameters()``); only these become guards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ....forwarding import forwards
from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.probes import NOTE, Probe, Probes, Session

TRAINING, MEMBERS = "training flags", "members"


class _Flag:
    """A data descriptor: it comes before the module's ``__dict__``, where the flag still lives."""

    def __init__(self, probe: Probe, probes: Probes, original: Any) -> None:
        self._probe, self._probes = probe, probes

    @forwards
    def __get__(self, module: torch.nn.Module | None, owner: type) -> Any:
        if module is None or "training" not in vars(module):
            raise AttributeError(f"{owner.__name__} has no attribute 'training'")
        for session in self._probes.here():
            self._probe.on_read(session, module)
        return vars(module)["training"]

    def __set__(self, module: torch.nn.Module, value: Any) -> None:
        vars(module)["training"] = value

    def __delete__(self, module: torch.nn.Module) -> None:
        del vars(module)["training"]


def _flag_read(session: Session, module: torch.nn.Module) -> None:
    session.note(TRAINING, module)


def _members_asked(session: Session, module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
    session.note(MEMBERS, module)


# A model has a flag in each of its modules, most of which nobody looks at; checking them all would be most of a call of a small graph. A
# weight that is added later, and that no layer computes with, is seen by nothing but the second row.
MODULE_READS = (Probe(torch.nn.Module, "training", _Flag, _flag_read), Probe(torch.nn.Module, "_named_members", NOTE, _members_asked))


def member_facts(session: Session) -> list[EnvironmentGuard]:
    """Each module whose ``parameters()``, ``named_buffers()`` and the like were asked for has the weights and buffers that it had.

    >>> from ....tracing.probes import probing
    >>> model = torch.nn.Linear(2, 2)
    >>> with probing(Probes(*MODULE_READS), Session()) as session:
    ...     total = sum(weight.numel() for weight in model.parameters())
    >>> [fact.what for fact in member_facts(session)]
    ['which weights a Linear has', 'which buffers a Linear has']
    """
    modules = {id(module): module for root in session.noted(MEMBERS) for module in root.modules()}
    return [fact for module in modules.values() for fact in _names(module)]


def _names(module: torch.nn.Module) -> Iterator[EnvironmentGuard]:
    for kind, held in (("weights", module._parameters), ("buffers", module._buffers)):
        if isinstance(held, dict):  # not those of scripted modules
            yield EnvironmentGuard("[*{}] == {}", (held, [*held]), f"which {kind} a {type(module).__name__} has", held)


def reads_unseen(module: torch.nn.Module) -> bool:
    """Whether the module's class has a ``training`` of its own, which hides the reads."""
    return any("training" in vars(cls) for cls in type(module).__mro__ if cls is not torch.nn.Module)
