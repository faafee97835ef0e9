"""Attributes of modules that a function sets while it is recorded: put back afterwards."""

from __future__ import annotations

from typing import Any

import torch


class Attributes:
    """What every module's ``__dict__`` holds now; lists and dicts among the attributes with their items.

    A recording runs the function on symbolic sizes and on tensors of the moment. Left on a module (a cached window size, a hidden state), they would
    reach code that is not being recorded.
    """

    def __init__(self, modules: list[torch.nn.Module]) -> None:
        self._before = [(module, dict(vars(module)), _items(module)) for module in modules]

    def changed(self) -> list[tuple[torch.nn.Module, str, Any]]:
        """(module, attribute, what it held before) of every attribute that holds another object now."""
        return [
            (module, name, before.get(name))
            for module, before, _ in self._before
            for name in {**before, **vars(module)}
            if vars(module).get(name) is not before.get(name)
        ]

    def restore(self) -> None:
        """Puts everything back."""
        for module, before, items in self._before:
            now = vars(module)
            for name in [name for name in now if name not in before]:
                del now[name]
            now.update(before)
            for name, held in items.items():
                _refill(before[name], held)


def _items(module: torch.nn.Module) -> dict[str, Any]:
    """Shallow copies of the lists and dicts among the attributes."""
    return {name: type(held)(held) for name, held in vars(module).items() if type(held) in (list, dict)}


def _refill(container: Any, items: Any) -> None:
    if isinstance(container, dict) and (container.keys() != items.keys() or any(container[key] is not items[key] for key in items)):
        container.clear()
        container.update(items)
    elif isinstance(container, list) and (len(container) != len(items) or any(a is not b for a, b in zip(container, items))):
        container[:] = items
