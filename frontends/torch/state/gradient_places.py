"""What autograd keeps on weights after a call, as places of state, as attributes are: a gradient, and whether one is wanted
(``requires_grad_``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ....ops.dtypes import is_inexact
from ....tracing.reach.containers import MISSING, Kind
from ....tracing.reach.world import Held, World
from ..basics.dtypes import dtype_name
from .parameters import Weights

_KEY, _WANTED = "grad", "requires_grad"


def _pairs(tensor: torch.Tensor) -> dict[Any, Any]:
    """An array that a write has given a history is put back by others: of its own it wants no gradient."""
    held = tensor.grad if tensor.is_leaf else None
    wanted = {_WANTED: tensor.is_leaf and tensor.requires_grad}
    return wanted if held is None else {_KEY: held, **wanted}


def _put(tensor: torch.Tensor, key: Any, value: Any) -> None:
    if key == _KEY:
        tensor.grad = None if value is MISSING else value
    elif tensor.is_leaf:
        tensor.requires_grad_(value)


GRADIENT = Kind(_pairs, _put, dotted=True)


def gradients_in(world: World, weights: Weights) -> list[Held]:
    """The gradients of all weights, and of other tensors in the world that may need one, as something that holds them.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> [held] = gradients_in(World([("kept", {"weight": weight})]), Weights(abs))
    >>> held.name_of("grad"), held.kind.pairs(weight)
    ("kept['weight'].grad", {'requires_grad': True})
    """
    found: dict[int, Held] = {}
    for held, key, item in world.parts:
        for tensor in _trainable(item) if isinstance(item, (torch.Tensor, tuple)) else ():
            name = weights.name_of(tensor) or held.name_of(key)
            found.setdefault(id(tensor), Held(name, tensor, GRADIENT, _pairs(tensor)))
    return list(found.values())


def _trainable(item: Any) -> Iterator[torch.Tensor]:
    """A leaf of a type that has gradients, also where it stands in a tuple, which is no container of its own."""
    if isinstance(item, tuple):
        for part in item:
            yield from _trainable(part)
    elif isinstance(item, torch.Tensor) and item.is_leaf and is_inexact(dtype_name(item.dtype)):
        yield item
