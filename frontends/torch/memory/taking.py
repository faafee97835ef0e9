"""Which calls take a tensor that is there as a view of another one."""

from __future__ import annotations

from typing import Any

import torch

from ...taking import taking

Call = tuple[str, tuple[Any, ...], torch.Tensor]  # the name, the arguments after the first one, and what it gives


def calls_taking(tensor: torch.Tensor, owner: torch.Tensor) -> list[Call]:
    """The calls that make ``tensor`` of its ``owner``, one after the other. The owner lies in row-major order and has all elements.

    They are those that a person would write, an index and the order of the axes; by the steps in memory where these do not say it.

    >>> table = torch.zeros(4, 6)
    >>> [(name, arguments) for name, arguments, _ in calls_taking(table[1:, 2], table)]
    [('__getitem__', ((slice(1, 4, 1), 2),))]
    >>> [name for name, _, _ in calls_taking(table.view(4, 2, 3).transpose(0, 1), table)]
    ['as_strided']
    """
    plain = owner.detach()
    calls: list[Call] = [("detach", (), plain)] if owner.requires_grad else []
    offset = (tensor.data_ptr() - owner.data_ptr()) // owner.itemsize
    found = taking(tensor.shape, tensor.stride(), offset, owner.shape)
    if found is None and tensor.is_contiguous() and tensor.numel() == owner.numel():
        return [*calls, ("view", (tuple(tensor.shape),), tensor)]
    if found is None:
        return [*calls, ("as_strided", (tuple(tensor.shape), tensor.stride(), offset), tensor)]
    for name, argument in zip(("__getitem__", "permute", "view"), found):
        if argument is not None:
            plain = getattr(plain, name)(argument)
            calls.append((name, (argument,), plain))
    return calls or [("detach", (), plain)]
