"""Writes of elements to tensors, and stamps of tensors, for graphs in other frameworks that write to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..memory import watching

Stamp = watching.TensorStamp
_NOT_IN_NUMPY = torch.bfloat16


def is_own(item: Any) -> bool:
    return isinstance(item, torch.Tensor)


def own(elements: np.ndarray[Any, Any], dtype: str) -> torch.Tensor:
    """Copy ``elements`` to a new tensor whose memory torch allocated.

    If the tensor used NumPy's memory, NumPy could write to it without incrementing the tensor's version.

    >>> own(np.ones(2), "float32")
    tensor([1., 1.])
    """
    made = torch.empty(elements.shape, dtype=getattr(torch, dtype))
    write(made, elements)
    return made


def write(tensor: torch.Tensor, elements: np.ndarray[Any, Any]) -> None:
    if isinstance(tensor, np.ndarray):
        np.copyto(tensor, elements, casting="unsafe")
        return
    plain = tensor.detach()
    # NumPy has no bfloat16, and does not see conjugation and negation that torch has not carried out yet.
    if plain.dtype == _NOT_IN_NUMPY or plain.is_conj() or plain.is_neg() or plain.device.type != "cpu":
        plain.copy_(torch.from_numpy(np.array(elements)))
        return
    np.copyto(plain.numpy(), elements, casting="unsafe")
    # Inference tensors have no version.
    if not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)
