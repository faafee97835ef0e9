"""Gradients as state, and weights on the device ``meta``, which are replaced by zeros while recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ....ops.dtypes import is_inexact
from ....recording.reachability.containers import MISSING, ContainerKind
from ....recording.reachability.snapshot import ObjectSnapshot, TrackedContainer
from ....trees import map_structure
from ..basics.tensors import dtype_name
from .parameters import TorchWeights

_KEY, _WANTED = "grad", "requires_grad"


def _pairs(tensor: torch.Tensor) -> dict[Any, Any]:
    held = tensor.grad if tensor.is_leaf else None
    wanted = {_WANTED: tensor.is_leaf and tensor.requires_grad}
    return wanted if held is None else {_KEY: held, **wanted}


def _put(tensor: torch.Tensor, key: Any, value: Any) -> None:
    if key == _KEY:
        tensor.grad = None if value is MISSING else value
    elif tensor.is_leaf:
        tensor.requires_grad_(value)


GRADIENT = ContainerKind(_pairs, _put, dotted=True)


def gradients_in(world: ObjectSnapshot, weights: TorchWeights) -> list[TrackedContainer]:
    """Return a container for the gradient of each leaf tensor in `world` that may have one, weights included.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> [held] = gradients_in(ObjectSnapshot([("kept", {"weight": weight})]), TorchWeights(abs))
    >>> held.name_of("grad"), held.kind.pairs(weight)
    ("kept['weight'].grad", {'requires_grad': True})
    """
    found: dict[int, TrackedContainer] = {}
    for held, key, item in world.parts:
        for tensor in _trainable(item) if isinstance(item, (torch.Tensor, tuple)) else ():
            name = weights.name_of(tensor) or held.name_of(key)
            found.setdefault(id(tensor), TrackedContainer(name, tensor, GRADIENT, _pairs(tensor)))
    return list(found.values())


def _trainable(item: Any) -> Iterator[torch.Tensor]:
    """Yield `item`, or the tensors in a tuple, if they are leaves of a dtype that has gradients.

    Tuples are not containers of the snapshot themselves.
    """
    if isinstance(item, tuple):
        for part in item:
            yield from _trainable(part)
    elif isinstance(item, torch.Tensor) and item.is_leaf and is_inexact(dtype_name(item.dtype)):
        yield item


@contextmanager
def substitute_zeros(weights: TorchWeights) -> Iterator[None]:
    """Replace weights on ``meta`` by zeros inside of the ``with`` block, and restore them afterwards.

    Non-persistent buffers count as persistent meanwhile, because their zeros would become constants.
    """
    names = weights.awaited()
    places = [place for name in names for place in weights.places_of(name)]
    before = [holder[key] for holder, key in places]
    # A list, because the sets change inside of the block.
    fleeting = list(_fleeting(weights))
    try:
        for name in names:
            weights.put(name, zeros_like(weights.held(name)))
        for keys, key in fleeting:
            keys.discard(key)
        yield
    finally:
        for (holder, key), tensor in zip(places, before):
            holder[key] = tensor
        for keys, key in fleeting:
            keys.add(key)


def _fleeting(weights: TorchWeights) -> Iterator[tuple[set[str], str]]:
    for module in weights.modules():
        keys: set[str] = getattr(module, "_non_persistent_buffers_set", set())
        yield from (
            (keys, key)
            for key in list(keys)
            if (held := module._buffers.get(key)) is not None and held.is_meta
        )


def zeros_like(tensor: torch.Tensor) -> torch.Tensor:
    """Return zeros on the CPU with the shape, strides and dtype of `tensor`.

    The operating system allocates such memory only when it is written to.

    >>> zeros_like(torch.empty(2, dtype=torch.bfloat16, device="meta"))
    tensor([0., 0.], dtype=torch.bfloat16)
    """
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    plain = torch.from_numpy(np.zeros(count * tensor.itemsize, np.uint8)).view(tensor.dtype)
    return plain.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def with_elements(structure: Any) -> Any:
    return map_structure(
        lambda item: _example(item) if isinstance(item, torch.Tensor) and item.is_meta else item, structure
    )


def _example(tensor: torch.Tensor) -> torch.Tensor:
    return zeros_like(tensor.detach()).requires_grad_(tensor.requires_grad)
