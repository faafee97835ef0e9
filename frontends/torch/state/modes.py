"""Modes of modules, which ``train()`` sets: what it makes of a model is found out once for each state of it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

Modules = Sequence[torch.nn.Module]


class Modes:
    """Modes of outermost modules and of their parts. ``deciding`` are modules whose classes say themselves, by a ``train()`` of their own,
    what a mode is for their parts."""

    def __init__(self, outermost: Modules, deciding: Modules) -> None:
        self._outermost, self._deciding = outermost, deciding
        self._known: dict[bool, tuple[_State, list[bool]]] = {}

    @contextmanager
    def inside(self, mode: bool) -> Iterator[None]:
        """Inside of the block the outermost modules are in this mode: one that is leaves its parts in theirs, as a frozen backbone in a
        model that is trained, but for parts with a ``train()`` of their own. Afterwards each is in its own.

        ``train()`` is called where the modules are not as they were at its last call.
        """
        others = [*(module for module in self._outermost if module.training != mode), *self._deciding]
        before, after = self._known.get(mode, (None, None))
        if before is None or not before.holds(others):
            before, after = _State(others), None
        try:
            if after is None:
                for module in others:
                    module.train(mode)
                self._known[mode] = before, [part.training for part in before.parts]
            else:
                _set(before.parts, after)
            yield
        finally:
            _set(before.parts, before.modes)


class _State:
    """What ``train()`` of modules goes by, as it is now: their parts, the modes of these, and the attributes of the modules."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.parts = list(dict.fromkeys(part for module in modules for part in module.modules()))
        self.modes = [part.training for part in self.parts]
        self._items = self._read()

    def holds(self, modules: Modules) -> bool:
        """Whether these are the modules, and all is as it was."""
        if not _are_same(modules, self.modules) or [part.training for part in self.parts] != self.modes:
            return False
        return _are_same(self._read(), self._items)

    def _read(self) -> list[Any]:
        inner = [module for part in self.parts for module in part._modules.values()]
        return [*inner, *(value for module in self.modules for value in vars(module).values())]


def _are_same(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(items) == len(others) and all(map(operator.is_, items, others))


def _set(parts: Modules, modes: Sequence[bool]) -> None:
    for part, mode in zip(parts, modes):
        if part.training != mode:
            part.training = mode
