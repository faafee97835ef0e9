"""Gradients that stay on weights after a call (``backward``, an optimiser's step): places of state, as attributes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ....tracing.world import MISSING, Held, Kind, World
from .parameters import Weights

_KEY = "grad"


def _pairs(tensor: torch.Tensor) -> dict[Any, Any]:
    held = tensor.grad if tensor.is_leaf else None
    return {} if held is None else {_KEY: held}


def _put(tensor: torch.Tensor, key: Any, value: Any) -> None:
    tensor.grad = None if value is MISSING else value


def _refill(tensor: torch.Tensor, before: dict[Any, Any]) -> None:
    _put(tensor, _KEY, before.get(_KEY, MISSING))


GRADIENT = Kind(_pairs, _put, _refill, dotted=True)


def gradients_in(world: World, weights: Weights) -> list[Held]:
    """The gradients of all weights, and of other tensors in the world that need one, as something that holds them.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> [held] = gradients_in(World([("kept", {"weight": weight})]), Weights(abs))
    >>> held.name_of("grad"), held.kind.pairs(weight)
    ("kept['weight'].grad", {})
    """
    found: dict[int, Held] = {}
    for held in world.held:
        for key, item in held.before.items():
            for tensor in _trained(item):
                name = weights.name_of(tensor) or held.name_of(key)
                found.setdefault(id(tensor), Held(name, tensor, GRADIENT, _pairs(tensor)))
    return list(found.values())


def _trained(item: Any) -> Iterator[torch.Tensor]:
    """A leaf that needs a gradient, also where it stands in a tuple, which is no container of its own."""
    if isinstance(item, tuple):
        for part in item:
            yield from _trained(part)
    elif isinstance(item, torch.Tensor) and item.requires_grad and item.is_leaf:
        yield item
