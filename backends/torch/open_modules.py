"""Modules as functions of their parameters, called with less around it than ``torch.func.functional_call`` has."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...tracing.environment.versions import gathered, is_readable, told


class OpenModule:
    """A module as a function of a dict of its parameters, each once, or of others, and of the arguments. What is in the module is found
    once, and again where it has changed."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._find()

    def _find(self) -> None:
        """All modules in it, one level after the other, and where their parameters are: the dict, the key, and the name of the first."""
        found, modules = dict[int, tuple[str, Any]](), [("", self._module)]
        self._places: list[tuple[dict[str, Any], str, str]] = []
        for prefix, inner in modules:
            for key, tensor in inner._parameters.items():
                if tensor is not None:
                    self._places.append((inner._parameters, key, found.setdefault(id(tensor), (prefix + key, tensor))[0]))
            modules += [(f"{prefix}{key}.", child) for key, child in inner._modules.items() if child is not None]
        self._modules = [inner for _, inner in modules]
        dicts = [held for inner in self._modules for held in (vars(inner), inner._parameters, inner._modules)]
        self._versions = gathered(dicts, []) if is_readable else told(self._signature_now)
        self._noted = self._versions.copy()
        self._parameters, self._signature = dict(found.values()), self._signature_now()

    def _signature_now(self) -> list[Any]:
        """Equal as long as all modules hold the same, by the same names: numbers of objects that are kept here stand for them."""
        return [
            part
            for inner in self._modules
            for held in (inner._parameters, inner._modules)
            if held
            for part in (*held, *map(id, held.values()))
        ]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the moment, by name."""
        return self._now()

    def live(self) -> Sequence[Callable[[], Any]]:
        """All at once."""
        return [self._now]

    def _now(self) -> Mapping[str, Any]:
        """Those of the moment: the same object as long as they are the same."""
        if self._versions.now != self._noted:
            self._noted = self._versions.copy()
            if self._signature_now() != self._signature:
                self._find()
        return self._parameters

    def __call__(self, held: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        """With the tensors of ``held`` in the place of the parameters, which they are where no derivatives are taken."""
        own = self._parameters
        if all(map(operator.is_, held.values(), own.values())):
            return self._module(*args, **kwargs)
        try:
            for where, key, name in self._places:
                where[key] = held[name]
            return self._module(*args, **kwargs)
        finally:
            for where, key, name in self._places:
                where[key] = own[name]
