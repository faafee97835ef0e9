"""Collectives of ``torch.distributed`` with their derivatives, under ``torch.func`` too.

Those of a function that runs on each device of an axis (``total``, ``stacked``) have the sum of the devices' cotangents for their
derivative, as in JAX. Those at its border belong to a function of the whole batch, which every process computes the rest of alike:
``Shared``, ``part``, ``joined``, ``summed`` and ``same``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd import Function

from ...errors import CallMismatch, CollectiveFailed, GradientRefused

COMMUNICATION = ("gloo", "NCCL", "ProcessGroup", "Connection closed", "Timed out waiting")
"""What is in messages of errors of communication, of code that may fail in other ways, too."""


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


class Exchange(Function):
    """One of :data:`_EXCHANGES`, by name, of an array; element by element, so that it may be mapped over any axis."""

    @staticmethod
    def forward(array: Any, name: str, group: Any) -> Any:
        return _EXCHANGES[name].run(array, group)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.name, ctx.group = inputs

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return _EXCHANGES[ctx.name].transposed(cotangent, ctx.group), None, None

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, array: Any, name: str, group: Any) -> Any:
        return cls.apply(array, name, group), in_dims[0] + _EXCHANGES[name].new_axes


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
        return None, *together(lambda flat: exchanged(flat, "total", ctx.group), list(cotangents))


def exchanged(array: Any, name: str, group: Any) -> Any:
    """An array that devices exchange, as one of :data:`_EXCHANGES` says."""
    return Exchange.apply(array, name, group)


def _refused(cotangent: Any, group: Any) -> Any:
    raise GradientRefused("parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what they are given")


def _part(array: Any, group: Any) -> Any:
    return array.chunk(dist.get_world_size(group))[dist.get_rank(group)].clone()


def _joined(array: Any, group: Any) -> Any:
    return stacked(array, group).flatten(0, 1)


@dataclass(frozen=True)
class _Exchange:
    """What one does on each device, and what becomes of a cotangent; ``new_axes`` counts those that it puts in front."""

    run: Callable[[Any, Any], Any]
    transposed: Callable[[Any, Any], Any]
    new_axes: int = 0


_EXCHANGES = {
    "total": _Exchange(all_reduced, lambda cotangent, group: exchanged(cotangent, "total", group)),
    "pmax": _Exchange(lambda array, group: all_reduced(array, group, dist.ReduceOp.MAX), _refused),
    "pmin": _Exchange(lambda array, group: all_reduced(array, group, dist.ReduceOp.MIN), _refused),
    # the arrays of all devices along a new first axis
    "stacked": _Exchange(stacked, lambda cotangent, group: exchanged(cotangent, "total", group)[dist.get_rank(group)], 1),
    # this device's part along the first axis, and the parts of all devices
    "part": _Exchange(_part, lambda cotangent, group: exchanged(cotangent, "joined", group)),
    "joined": _Exchange(
        lambda array, group: stacked(array, group).flatten(0, 1), lambda cotangent, group: exchanged(cotangent, "part", group)
    ),
    # the sum, of which every process computes the rest alike; and what is equal on all devices, each of which has a share of the cotangent
    "summed": _Exchange(all_reduced, lambda cotangent, group: cotangent),
    "same": _Exchange(lambda array, group: array.view_as(array), lambda cotangent, group: cotangent / dist.get_world_size(group)),
}


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
    "Shared",
    "all_reduced",
    "broadcast",
    "exchanged",
    "failures",
    "require_one_size",
    "stacked",
    "together",
]
