"""Modules as functions of their parameters, called with less around it than ``torch.func.functional_call`` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .collectives import is_followed

_Place = tuple[str, dict[str, Any], str, Any]
"""The full name of a parameter, the dict of the module that it is in, its key there, and the tensor."""


def opened(module: torch.nn.Module) -> tuple[Mapping[str, Any], Callable[..., Any]]:
    """The parameters, each once, and the module as a function of a dict of others, or of the same, and of the arguments."""
    found: dict[int, tuple[str, Any]] = {}
    for name, _, _, tensor in _places(module):
        found.setdefault(id(tensor), (name, tensor))
    return dict(found.values()), lambda held, *args, **kwargs: _called(module, held, args, kwargs)


def _places(module: torch.nn.Module) -> list[_Place]:
    """Of all modules in it, one level after the other: each call asks for them."""
    found, waiting = list[_Place](), [("", module)]
    for prefix, inner in waiting:
        held = inner._parameters
        if held:
            found += [(prefix + key, held, key, tensor) for key, tensor in held.items() if tensor is not None]
        if inner._modules:
            waiting += [(f"{prefix}{key}.", child) for key, child in inner._modules.items() if child is not None]
    return found


def _called(module: torch.nn.Module, held: Mapping[str, Any], args: Any, kwargs: Any) -> Any:
    """With the tensors of ``held`` in the place of the parameters, where a derivative is taken of them: else they are the parameters."""
    if not is_followed(*held.values()):
        return module(*args, **kwargs)
    places, new = _places(module), dict[int, Any]()
    for name, _, _, tensor in places:
        new.setdefault(id(tensor), held.get(name))
    try:
        for _, where, key, tensor in places:
            where[key] = new[id(tensor)]
        return module(*args, **kwargs)
    finally:
        for _, where, key, tensor in places:
            where[key] = tensor


__all__ = ["opened"]
