"""Two operators of torch that recorded graphs call where a rule of the user's own takes the place of a gradient.

``torch.ops.graph_compiler.with_gradient(value, sources, slopes)`` and ``torch.ops.graph_compiler.refuse_gradient(value, sources, message)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....errors import GradientRefused

WITH_GRADIENT, REFUSE_GRADIENT = "torch.ops.graph_compiler.with_gradient", "torch.ops.graph_compiler.refuse_gradient"


class _Ruled(torch.autograd.Function):
    """The first array; the gradient of each source is that of the array times the slope that follows it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(value: Any, *pairs: Any) -> Any:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)  # zeros times a slope would be a path to it for second derivatives
        ctx.save_for_backward(*inputs[2::2])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None, *(part for slope in ctx.saved_tensors for part in (None if gradient is None else gradient * slope, None))


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


def _with_gradient(value: Any, sources: Sequence[Any], slopes: Sequence[Any]) -> Any:
    if not (torch.is_grad_enabled() and any(source.requires_grad for source in sources)):
        return value.detach()
    return _Ruled.apply(value.detach(), *(item for pair in zip(sources, slopes) for item in pair))


def _refuse_gradient(value: Any, sources: Sequence[Any], message: str) -> Any:
    if not (torch.is_grad_enabled() and any(source.requires_grad for source in (value, *sources))):
        return value.detach()
    return _Refused.apply(value, message, *sources)


_library = torch.library.Library("graph_compiler", "DEF")  # as long as it lives, so do its operators
_library.define("with_gradient(Tensor value, Tensor[] sources, Tensor[] slopes) -> Tensor")
_library.define("refuse_gradient(Tensor value, Tensor[] sources, str message) -> Tensor")
_library.impl("with_gradient", _with_gradient, "CompositeImplicitAutograd")
_library.impl("refuse_gradient", _refuse_gradient, "CompositeImplicitAutograd")
