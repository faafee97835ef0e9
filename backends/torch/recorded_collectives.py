"""Collectives in a function that is recorded: operators, ``torch.ops.graph_compiler.psum(x, axis_name)`` and its like.

While a function is recorded there is one device, and they give what they are given; recorded calls of them exchange arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from ...errors import InvalidOption, UnsupportedOperation
from ...tracing import active
from .partition import constrained

NAMES = ("pmax", "pmean", "pmin", "psum")


class _Own(torch.autograd.Function):
    """The array in memory of its own. What the backward pass of a collective (``is_exchanged``) would exchange could not be recorded."""

    generate_vmap_rule = True

    @staticmethod
    def forward(array: Any, is_exchanged: bool) -> Any:
        return array.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.is_exchanged = inputs[1]

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        if ctx.is_exchanged:
            raise UnsupportedOperation(
                "a gradient through parallel.psum and its like, taken inside of a function of torch, cannot be recorded: record the "
                "function without its gradient, and take that of the graph (transforms.grad), or call the function itself by "
                "parallel.Parallel"
            )
        return cotangent, None


def _hinted(x: Any, layout: str) -> Any:
    if not isinstance(x, DTensor):
        return _Own.apply(x, False)
    axes = tuple(tuple(names.split("+")) if names else None for names in layout.split(","))
    return constrained(x, x.device_mesh, axes)


def define(exchanged: Callable[[str, Any, str], Any]) -> torch.library.Library:
    """Defines the operators; ``exchanged`` is a collective, ``LookupError`` where there is no such axis."""
    library = torch.library.Library("graph_compiler", "FRAGMENT")
    for name in NAMES:

        def run(x: Any, axis_name: str, name: str = name) -> Any:
            try:
                return exchanged(name, x, axis_name)
            except LookupError:
                if active.anywhere and active.recording:
                    return _Own.apply(x, True)
                raise InvalidOption(
                    f"parallel.{name}: axis_name= is {axis_name!r}, and the code here runs over no such axis; call the graph by "
                    f"parallel.Parallel(graph, axis_name={axis_name!r})"
                ) from None

        library.define(f"{name}(Tensor x, str axis_name) -> Tensor")
        library.impl(name, run, "CompositeImplicitAutograd")
    library.define("sharding_hint(Tensor x, str layout) -> Tensor")
    library.impl("sharding_hint", _hinted, "CompositeImplicitAutograd")
    return library


__all__ = ["NAMES", "define"]
