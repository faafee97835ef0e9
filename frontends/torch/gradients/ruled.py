"""The operator of torch that recorded graphs call where a rule of the user's own could not be recorded.

``torch.ops.graph_compiler.refuse_gradient(value, sources, message)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....errors import GradientRefused

REFUSE_GRADIENT = "torch.ops.graph_compiler.refuse_gradient"


class _Refused(torch.autograd.Function):
    """The first array; ``GradientRefused`` in a backward pass."""

    generate_vmap_rule = True

    @staticmethod
    def forward(value: Any, message: str, *sources: Any) -> Any:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)
        ctx.message, ctx.count = inputs[1], len(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        if gradient is not None:
            raise GradientRefused(ctx.message)
        return (None,) * ctx.count


def _refuse_gradient(value: Any, sources: Sequence[Any], message: str) -> Any:
    if not (torch.is_grad_enabled() and any(source.requires_grad for source in (value, *sources))):
        return value.detach()
    return _Refused.apply(value, message, *sources)


_library = torch.library.Library("graph_compiler", "DEF")  # as long as it lives, so does its operator
_library.define("refuse_gradient(Tensor value, Tensor[] sources, str message) -> Tensor")
_library.impl("refuse_gradient", _refuse_gradient, "CompositeImplicitAutograd")
