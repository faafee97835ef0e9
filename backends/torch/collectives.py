"""Collectives of ``torch.distributed`` with their derivatives, under ``torch.func`` too.

Those of a function that runs on each device of an axis (``total``, ``stacked``) have the sum of the devices' cotangents for their
derivative, as in JAX. Those at its border belong to a function of the whole batch, which every process computes the rest of alike:
``Shared``, ``part``, ``joined``, ``summed`` and ``same``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, cast

import torch
import torch.distributed as dist
from torch.autograd import Function

from ...errors import GradientRefused
from .exchanges import Exchanges, failures, reduced


def broadcast(array: Any, group: Any) -> Any:
    """The array, with the elements that the first process has in it."""
    with failures(group):
        dist.broadcast(array, group=group, group_src=0)
    return array


class Exchange(Function):
    """An exchange by its name, a method of ``over``, of an array; element by element, so that it may be mapped over any axis."""

    @staticmethod
    def forward(array: Any, name: str, over: Exchanges) -> Any:
        return getattr(over, name)(array)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.kind, over = inputs
        ctx.group = over.group

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return _TRANSPOSED[ctx.kind](cotangent, Exchanges(ctx.group)), None, None

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, array: Any, name: str, over: Exchanges) -> Any:
        return cls.apply(array, name, over), in_dims[0] + (name == "stacked")


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
        return None, *together(lambda flat: total_of_new(flat, Exchanges(ctx.group)), list(cotangents))


def exchanged(array: Any, name: str, over: Exchanges) -> Any:
    """An array that devices exchange: ``name`` is a method of ``over``."""
    return applied(Exchange, array, name, over) if is_followed(array) else getattr(over, name)(array)


def total_of_new(array: Any, over: Exchanges) -> Any:
    """The sum over the devices of an array that nobody else has, and that has no gaps."""
    return applied(Exchange, array, "total", over) if is_followed(array) else reduced("sum", array, over.group)


def is_followed(*arrays: Any) -> bool:
    """Whether a derivative may be taken of one of them, or a transform maps them."""
    if torch._C._functorch.peek_interpreter_stack() is not None or torch.autograd.forward_ad._current_level >= 0:
        return True
    if torch.is_grad_enabled():
        for array in arrays:
            if array.requires_grad:
                return True
    return False


def has_transforms() -> bool:
    """Whether a transform of ``torch.func`` runs."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def applied(function: type[Function], *inputs: Any) -> Any:
    """``function.apply``, which outside of transforms reads the signature of ``forward`` at each call for nothing."""
    return function.apply(*inputs) if has_transforms() else _without_transforms(cast(Hashable, function)).apply(*inputs)


@functools.cache
def _without_transforms(function: Any) -> Any:
    """The same for autograd alone: torch knows it by the context in ``forward``."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = function.forward(*inputs)
        function.setup_context(ctx, inputs, output)
        return output

    return type(function.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(function.backward)})


NO_GRADIENT = "parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what they are given"


def _refused(cotangent: Any, over: Exchanges) -> Any:
    raise GradientRefused(NO_GRADIENT)


# What becomes of a cotangent of each exchange.
_TRANSPOSED: dict[str, Callable[[Any, Exchanges], Any]] = {
    "total": lambda cotangent, over: exchanged(cotangent, "total", over),
    "pmax": _refused,
    "pmin": _refused,
    "stacked": lambda cotangent, over: exchanged(cotangent, "total", over)[over.rank],
    # this device's part along the first axis, and the parts of all devices
    "part": lambda cotangent, over: exchanged(cotangent, "joined", over),
    "joined": lambda cotangent, over: exchanged(cotangent, "part", over),
    # the sum, of which every process computes the rest alike; and what is equal on all devices, each of which has a share of the cotangent
    "summed": lambda cotangent, over: cotangent,
    "same": lambda cotangent, over: cotangent / over.size,
}


def together(function: Callable[[Any], Any], arrays: list[Any]) -> list[Any]:
    """A function of the elements, over all arrays of one dtype at once: one exchange costs less than many."""
    found: list[Any] = [None] * len(arrays)
    for dtype in dict.fromkeys(array.dtype for array in arrays if array is not None):
        places = [place for place, array in enumerate(arrays) if array is not None and array.dtype == dtype]
        given = [arrays[place] for place in places]
        flat = function(torch.cat([array.reshape(-1) for array in given]))
        for place, array, part in zip(places, given, flat.split_with_sizes(list(map(torch.numel, given)))):
            found[place] = part.view(array.shape)
    return found
