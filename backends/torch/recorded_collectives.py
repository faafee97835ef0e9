"""Collectives in a function that is recorded: operators, ``torch.ops.graph_compiler.psum(x, axis_name)`` and its like.

While a function is recorded there is one device, and others that hold the same; recorded calls of them exchange arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from ...contracts import Parallelism
from ...errors import InvalidOption, UnsupportedOperation
from ...ops.collectives import RECORDED_DEVICES, REDUCTIONS
from ...tracing import active
from .partition import constrained


class _Own(torch.autograd.Function):
    """The array in memory of its own, or stacked as often as there are devices. What the backward pass of a collective (``is_exchanged``)
    would exchange could not be recorded."""

    generate_vmap_rule = True

    @staticmethod
    def forward(array: Any, is_exchanged: bool, is_stacked: bool) -> Any:
        return torch.stack([array] * RECORDED_DEVICES) if is_stacked else array.clone()

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
        return cotangent, None, None


def _hinted(x: Any, layout: str) -> Any:
    if not isinstance(x, DTensor):
        return _Own.apply(x, False, False)
    axes = tuple(tuple(names.split("+")) if names else None for names in layout.split(","))
    return constrained(x, x.device_mesh, axes)


def define(engine: Parallelism) -> torch.library.Library:
    """Defines the operators, which exchange by the engine where there is the axis."""
    library = torch.library.Library("graph_compiler", "FRAGMENT")

    def operator(signature: str, exchanged: Callable[..., Any], recorded: Callable[..., Any]) -> None:
        name = signature.partition("(")[0]

        def run(*operands: Any) -> Any:
            try:
                return exchanged(*operands)
            except LookupError:
                if active.anywhere and active.recording:
                    return recorded(*operands)
                raise InvalidOption(
                    f"parallel.{name}: axis_name= is {operands[-1]!r}, and the code here runs over no such axis; call the graph by "
                    f"parallel.Parallel(graph, axis_name={operands[-1]!r})"
                ) from None

        library.define(f"{signature} -> Tensor")
        library.impl(name, run, "CompositeImplicitAutograd" if "Tensor" in signature else "CompositeExplicitAutograd")

    for reduction in REDUCTIONS:
        collective = functools.partial(engine.collective, reduction)
        operator(f"{reduction}(Tensor x, str axis_name)", collective, lambda x, axis_name: _Own.apply(x, True, False))
    operator("all_gather(Tensor x, str axis_name)", engine.all_gather, lambda x, axis_name: _Own.apply(x, True, True))
    operator("axis_index(str axis_name)", engine.axis_index, lambda axis_name: torch.tensor(0, dtype=torch.int32))
    indices = functools.partial(torch.arange, dtype=torch.int32)
    operator("axis_indices(str axis_name)", lambda name: indices(engine.axis_size(name)), lambda name: indices(RECORDED_DEVICES))
    library.define("sharding_hint(Tensor x, str layout) -> Tensor")
    library.impl("sharding_hint", _hinted, "CompositeImplicitAutograd")
    return library


__all__ = ["define"]
