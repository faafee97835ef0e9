"""What a call of a graph in another framework leaves in the user's objects: tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..memory import watching

Stamp = watching.Stamp
_NOT_IN_NUMPY = torch.bfloat16


def is_own(item: Any) -> bool:
    return isinstance(item, torch.Tensor)


def own(elements: np.ndarray[Any, Any], dtype: str) -> torch.Tensor:
    """A tensor of these elements, in memory that belongs to torch: tensors of numpy's memory can be written
    to unseen.

    >>> own(np.ones(2), "float32")
    tensor([1., 1.])
    """
    made = torch.empty(elements.shape, dtype=getattr(torch, dtype))
    write(made, elements)
    return made


def write(tensor: torch.Tensor, elements: np.ndarray[Any, Any]) -> None:
    """Puts elements into a tensor, which counts the write; into an array of numpy that stands in a tensor's
    place as well.
    """
    if isinstance(tensor, np.ndarray):
        np.copyto(tensor, elements, casting="unsafe")
        return
    plain = tensor.detach()
    if plain.dtype == _NOT_IN_NUMPY or plain.is_conj() or plain.is_neg() or plain.device.type != "cpu":
        plain.copy_(torch.from_numpy(np.array(elements)))
        return
    np.copyto(plain.numpy(), elements, casting="unsafe")
    if not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)
