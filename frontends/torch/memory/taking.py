"""Which calls take a tensor that is there as a view of another one."""

from __future__ import annotations

from typing import Any

import torch

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
    plain = owner.detach().view(owner.shape)  # an axis of one element may have any step
    first = [("detach", (), plain)] if owner.requires_grad else []
    for taken in (_by_index, _by_shape):
        if (calls := taken(tensor, plain)) is not None:
            return [*first, *calls] or [("detach", (), plain)]
    offset = (tensor.data_ptr() - owner.data_ptr()) // owner.itemsize
    return [*first, ("as_strided", (tuple(tensor.shape), tensor.stride(), offset), tensor)]


def _by_index(tensor: torch.Tensor, plain: torch.Tensor) -> list[Call] | None:
    """By an index, the order of the axes that it leaves, and axes of one element put between them."""
    axes = [axis for axis, size in enumerate(tensor.shape) if size != 1]
    start = _start(tensor, plain)
    found = {axis: of for axis in axes if (of := _axis_of(tensor, axis, plain, start)) is not None}
    if len(set(found.values())) != len(axes):
        return None
    key: list[Any] = list(start)
    for axis, of in found.items():
        step = tensor.stride(axis) // plain.stride(of)
        key[of] = slice(start[of], start[of] + (tensor.shape[axis] - 1) * step + 1, step)
    kept = sorted(found.values())
    order = tuple(kept.index(found[axis]) for axis in axes)
    part = plain[tuple(key)]
    turned = part.permute(order)
    calls: list[Call] = [("__getitem__", (tuple(key),), part)] if part.shape != plain.shape else []
    calls += [("permute", (order,), turned)] if order != tuple(range(len(order))) else []
    calls += [("view", (tuple(tensor.shape),), turned.view(tensor.shape))] if turned.shape != tensor.shape else []
    made = calls[-1][2] if calls else plain
    return calls if _same(made, tensor) else None


def _by_shape(tensor: torch.Tensor, plain: torch.Tensor) -> list[Call] | None:
    """All elements in another shape."""
    return [("view", (tuple(tensor.shape),), tensor)] if tensor.is_contiguous() and tensor.numel() == plain.numel() else None


def _start(tensor: torch.Tensor, plain: torch.Tensor) -> list[int]:
    """The place of the first element along each axis of the owner."""
    rest, start = (tensor.data_ptr() - plain.data_ptr()) // plain.itemsize, []
    for step in plain.stride():
        start.append(rest // step)
        rest %= step
    return start


def _axis_of(tensor: torch.Tensor, axis: int, plain: torch.Tensor, start: list[int]) -> int | None:
    """The axis of the owner along which this one goes."""
    step, size = tensor.stride(axis), tensor.shape[axis]
    fitting = (of for of, whole in enumerate(plain.stride()) if step and step % whole == 0 and plain.shape[of] != 1)
    return next((of for of in fitting if start[of] + (size - 1) * (step // plain.stride(of)) < plain.shape[of]), None)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same elements of one memory at the same places."""
    steps = ((a, b) for a, b, size in zip(one.stride(), other.stride(), one.shape) if size != 1)
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape and all(a == b for a, b in steps)
