"""Notes the modules whose ``training`` flag a recording reads; only these become guards."""

from __future__ import annotations

import threading
from typing import Any

import torch

from ....tracing.listening import Listener, of_this_thread

_lock = threading.Lock()
_open: list[TrainingReads] = []


class TrainingReads(Listener):
    """Inside of the block, notes every module whose ``training`` is read in this thread.

    A model has a flag in each of its modules, most of which nobody looks at; all the same, checking them all would be the larger part
    of what a call of a small graph costs.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    >>> with TrainingReads() as reads:
    ...     _ = model(torch.ones(1, 2))
    >>> reads.modules()
    [Dropout(p=0.5, inplace=False)]
    """

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[int, torch.nn.Module] = {}

    def __enter__(self) -> TrainingReads:
        with _lock:
            _open.append(self)
            torch.nn.Module.training = _Flag()
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                del torch.nn.Module.training

    def note(self, module: torch.nn.Module) -> None:
        """This module's flag was read."""
        self._read[id(module)] = module

    def modules(self) -> list[torch.nn.Module]:
        """The modules whose flags were read, in the order of the first reads."""
        return list(self._read.values())


class _Flag:
    """A data descriptor: it comes before the module's ``__dict__``, where the flag still lives."""

    def __get__(self, module: torch.nn.Module | None, owner: type) -> Any:
        if module is None or "training" not in vars(module):
            raise AttributeError(f"{owner.__name__} has no attribute 'training'")
        for reads in of_this_thread(_open):
            reads.note(module)
        return vars(module)["training"]

    def __set__(self, module: torch.nn.Module, value: Any) -> None:
        vars(module)["training"] = value

    def __delete__(self, module: torch.nn.Module) -> None:
        del vars(module)["training"]


def reads_unseen(module: torch.nn.Module) -> bool:
    """Whether the module's class has a ``training`` of its own, which hides the reads."""
    return any("training" in vars(cls) for cls in type(module).__mro__ if cls is not torch.nn.Module)
