"""Gradients by rules of the user's own."""

from __future__ import annotations

from typing import Any

import torch

from ....errors import GradientRefused


def with_gradient(value: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    class Ruled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(value: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
            return value.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)  # zeros times a slope would be a path to it for second derivatives
            ctx.save_for_backward(*inputs[2::2])

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor | None) -> Any:
            return None, *(part for slope in ctx.saved_tensors for part in (None if gradient is None else gradient * slope, None))

    return Ruled.apply(value, *pairs)


def refuse_gradient(*arrays: torch.Tensor, message: str) -> torch.Tensor:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    class Refused(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*arrays: torch.Tensor) -> torch.Tensor:
            return arrays[0].clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor | None) -> Any:
            if gradient is not None:
                raise GradientRefused(message)
            return (None,) * len(arrays)

    return Refused.apply(*arrays)
