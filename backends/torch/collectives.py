"""Collectives of ``torch.distributed`` with their derivatives, under ``torch.func`` too.

Those of a function that runs on each device of an axis (``Total``, ``Gathered``) have the sum of the devices' cotangents for their
derivative, as in JAX. Those at its border belong to a function of the whole batch, which every process computes the rest of alike:
``Shared``, ``Part``, ``Joined``, ``Summed`` and ``Same``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd import Function

from ...errors import CallMismatch, CollectiveFailed, GradientRefused

COMMUNICATION = ("gloo", "NCCL", "ProcessGroup", "Connection closed", "Timed out waiting")
"""What is in messages of errors of communication, of code that may fail in other ways, too."""
_EXTREMES = {"pmax": dist.ReduceOp.MAX, "pmin": dist.ReduceOp.MIN}


@contextmanager
def failures(group: Any, words: tuple[str, ...] = ("",)) -> Iterator[None]:
    """Errors of communication as this package's: those of torch whose message has one of these words."""
    try:
        yield
    except RuntimeError as problem:
        if not isinstance(problem, dist.DistError) and not any(word in str(problem) for word in words):
            raise
        raise CollectiveFailed(
            f"process {dist.get_rank(group)} of {dist.get_world_size(group)} could not exchange arrays with the others: one has ended, did "
            "not come to the same collective within the timeout of torch.distributed.init_process_group(timeout=), or came with an array "
            f"of another shape. Look for its own error first, then start all processes again. torch says: {problem}"
        ) from problem


def all_reduced(array: Any, group: Any, operation: Any = dist.ReduceOp.SUM) -> Any:
    """A new array with the elements of all processes, reduced."""
    found = array.detach().clone(memory_format=torch.contiguous_format)
    with failures(group):
        dist.all_reduce(found, operation, group)
    return found


def stacked(array: Any, group: Any) -> Any:
    """The arrays of all processes along a new first axis."""
    array, size = array.detach().contiguous(), dist.get_world_size(group)
    found = [torch.empty_like(array) for _ in range(size)]
    with failures(group):
        dist.all_gather(found, array, group)
    return torch.stack(found)


def broadcast(array: Any, group: Any) -> Any:
    """The array, with the elements that the first process has in it."""
    with failures(group):
        dist.broadcast(array, group=group, group_src=0)
    return array


def require_one_size(arrays: list[Any], group: Any) -> None:
    """``CallMismatch`` where processes give batches of different sizes: they would wait for each other, or exchange the wrong rows."""
    if arrays:
        sizes = stacked(torch.tensor(arrays[0].shape[0], device=arrays[0].device), group).tolist()
        if len(set(sizes)) > 1:
            raise CallMismatch(
                f"the processes give batches of {', '.join(map(str, sizes))} rows, in the order of their ranks; all have to give one size: "
                "leave the rest of the last batch out (drop_last=True)"
            )


class _Collective(Function):
    """A function of one array and the group, element by element: it may be mapped over any axis."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.group, ctx.shape = inputs[-1], inputs[0].shape

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, *inputs: Any) -> Any:
        return cls.apply(*inputs), in_dims[0]


class Total(_Collective):
    """The sum over the axis."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return all_reduced(array, group)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return Total.apply(cotangent, ctx.group), None


class Extreme(_Collective):
    """The largest or smallest over the axis."""

    @staticmethod
    def forward(array: Any, name: str, group: Any) -> Any:
        return all_reduced(array, group, _EXTREMES[name])

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        raise GradientRefused("parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what they are given")


class Gathered(_Collective):
    """The arrays of all devices along a new first axis."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return stacked(array, group)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return Total.apply(cotangent, ctx.group)[dist.get_rank(ctx.group)], None

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, *inputs: Any) -> Any:
        return cls.apply(*inputs), in_dims[0] + 1


class Shared(Function):
    """Arrays that are whole on each device; their cotangents are added up in one exchange."""

    generate_vmap_rule = True

    @staticmethod
    def forward(group: Any, *arrays: Any) -> Any:
        return tuple(array.view_as(array) for array in arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.group = inputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return None, *together(lambda flat: Total.apply(flat, ctx.group), list(cotangents))


class Part(_Collective):
    """This device's part of an array along its first axis."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return array.chunk(dist.get_world_size(group))[dist.get_rank(group)].clone()

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return Joined.apply(cotangent, ctx.group), None


class Joined(_Collective):
    """The parts of all devices along their first axis."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return stacked(array, group).flatten(0, 1)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return Part.apply(cotangent, ctx.group), None


class Summed(_Collective):
    """The sum over the devices, of which every process computes the rest alike."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return all_reduced(array, group)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return cotangent, None


class Same(_Collective):
    """An array that is equal on all devices; each has its share of the cotangent."""

    @staticmethod
    def forward(array: Any, group: Any) -> Any:
        return array.view_as(array)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return cotangent / dist.get_world_size(ctx.group), None


def together(function: Callable[[Any], Any], arrays: list[Any]) -> list[Any]:
    """A function of the elements, over all arrays of one dtype at once: one exchange costs less than many."""
    found: list[Any] = [None] * len(arrays)
    for dtype in dict.fromkeys(array.dtype for array in arrays if array is not None):
        places = [place for place, array in enumerate(arrays) if array is not None and array.dtype == dtype]
        flat = function(torch.cat([arrays[place].reshape(-1) for place in places]))
        for place, part in zip(places, flat.split([arrays[place].numel() for place in places])):
            found[place] = part.view(arrays[place].shape)
    return found


__all__ = [
    "COMMUNICATION",
    "Extreme",
    "Gathered",
    "Joined",
    "Part",
    "Same",
    "Shared",
    "Summed",
    "Total",
    "all_reduced",
    "broadcast",
    "failures",
    "require_one_size",
    "stacked",
    "together",
]
