"""Collectives as operators (``torch.ops.graph_compiler.psum(x, axis_name)``), which recordings contain.

While a function is recorded, there is one device, and all others are taken to hold the same arrays.
Recorded calls of these operators exchange arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import Function
from torch.distributed.tensor import DTensor

from ...contracts import Parallelism
from ...errors import GradientRefused, InvalidOption, UnsupportedOperation
from ...ops.collectives import RECORDED_DEVICES, REDUCTIONS
from ...recording import active
from .collectives import NO_GRADIENT
from .partition import constrained

_kernels = torch.ops.graph_compiler


class _CollectiveFunction(Function):
    """Collective on the one device of a recording, while all others are taken to have the same array.

    The derivatives are collectives, too. All are kernels, because a recording of a derivative contains
    only kernels.
    """

    @staticmethod
    def forward(ctx: Any, name: str, array: Any, axis_name: str) -> Any:
        ctx.kind, ctx.axis_name = name, axis_name
        # Enclosing transforms need gradients to be enabled, which they are not inside of forward().
        with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd():
            return getattr(_kernels, f"{name}_kernel")(array, axis_name)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        if ctx.kind in ("pmax", "pmin"):
            raise GradientRefused(NO_GRADIENT)
        if ctx.kind == "all_gather":
            raise UnsupportedOperation(
                "a gradient through parallel.all_gather, taken inside of a function of torch, cannot be "
                "recorded: its kernels have the "
                "number of devices that there were. Record the function without its gradient, and take that "
                "of the graph "
                "(transforms.grad), or call the function itself by parallel.Parallel"
            )
        return (
            None,
            (_kernels.pmean_kernel if ctx.kind == "pmean" else _kernels.psum_kernel)(
                cotangent, ctx.axis_name
            ),
            None,
        )


def _differentiable_kernel(*operands: Any) -> Any:
    with enable_single_level_autograd_function():
        return super(Function, _CollectiveFunction).apply(*operands)


def _clone(x: Any, axis_name: str) -> Any:
    return x.clone()


def _stack(x: Any, axis_name: str) -> Any:
    return torch.stack([x] * RECORDED_DEVICES)


def _apply_hint(x: Any, layout: str) -> Any:
    if not isinstance(x, DTensor):
        return x.clone()
    axes = tuple(tuple(names.split("+")) if names else None for names in layout.split(","))
    return constrained(x, x.device_mesh, axes)


def define(engine: Parallelism) -> torch.library.Library:
    """Define the operators, which call ``engine`` if the axis exists.

    Otherwise they return the result of one device while a function is recorded, or raise
    ``InvalidOption``. Return the library; the operators exist as long as it does.
    """
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
                    f"parallel.{name}: axis_name= is {operands[-1]!r}, and the code here runs over no such "
                    "axis; call the graph by "
                    f"parallel.Parallel(graph, axis_name={operands[-1]!r})"
                ) from None

        library.define(f"{signature} -> Tensor")
        library.impl(
            name, run, "CompositeImplicitAutograd" if "Tensor" in signature else "CompositeExplicitAutograd"
        )

    collectives = {name: functools.partial(engine.collective, name) for name in REDUCTIONS} | {
        "all_gather": engine.all_gather
    }
    for name, collective in collectives.items():
        library.define(f"{name}_kernel(Tensor x, str axis_name) -> Tensor")
        library.impl(
            f"{name}_kernel", _stack if name == "all_gather" else _clone, "CompositeExplicitAutograd"
        )
        library.impl(f"{name}_kernel", functools.partial(_differentiable_kernel, name), "Autograd")
        operator(f"{name}(Tensor x, str axis_name)", collective, getattr(_kernels, f"{name}_kernel"))
    operator(
        "axis_index(str axis_name)", engine.axis_index, lambda axis_name: torch.tensor(0, dtype=torch.int32)
    )
    indices = functools.partial(torch.arange, dtype=torch.int32)
    operator(
        "axis_indices(str axis_name)",
        lambda name: indices(engine.axis_size(name)),
        lambda name: indices(RECORDED_DEVICES),
    )
    library.define("sharding_hint(Tensor x, str layout) -> Tensor")
    library.impl("sharding_hint", _apply_hint, "CompositeImplicitAutograd")
    return library
