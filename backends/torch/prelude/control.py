"""Scans, checkpoints and custom gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from ....errors import GradientRefused
from ...common.prefixes import prefixes, section


def associative_scan(
    combine: Callable[..., tuple[Any, ...]],
    arrays: tuple[torch.Tensor, ...],
    axis: int,
    reverse: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Compute the inclusive scan of ``arrays`` along ``axis`` with an associative function.

    ``combine(*left, *right)`` returns a tuple. With ``reverse``, the scan starts at the end of the
    non-negative ``axis``.
    """
    if arrays[0].shape[axis] < 2:
        return tuple(array.clone() for array in arrays)
    ordered = tuple(array.flip(axis) for array in arrays) if reverse else arrays
    made = prefixes(
        combine, ordered, axis, lambda first, rest, axis: torch.cat((first, rest), axis), interleaved
    )
    return tuple(array.flip(axis) for array in made) if reverse else made


def run_again(body: Callable[..., Any], *arrays: torch.Tensor) -> Any:
    """Call ``body(*arrays)``, where possible by ``torch.utils.checkpoint`` if gradients are enabled."""
    if torch.is_grad_enabled() and (
        torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is None
    ):
        return checkpoint(body, *arrays, use_reentrant=False)
    return body(*arrays)


def interleaved(even: torch.Tensor, odd: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the elements of ``even`` and ``odd`` in turn along the non-negative ``axis``.

    ``even`` may have one element more than ``odd``.
    """
    count = odd.shape[axis]
    pairs = torch.stack((section(even, axis, 0, count), odd), axis + 1).flatten(axis, axis + 1)
    return pairs if even.shape[axis] == count else torch.cat((pairs, section(even, axis, count, None)), axis)


def with_gradient(value: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
    """Return a copy of ``value`` with a custom gradient.

    ``pairs`` alternates sources and their slopes. The gradient of a source is the gradient of the result
    times the slope.
    """

    class Ruled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(value: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
            return value.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            # Materialized zeros times a slope would connect the slope to second derivatives.
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs[2::2])

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor | None) -> Any:
            return None, *(
                part
                for slope in ctx.saved_tensors
                for part in (None if gradient is None else gradient * slope, None)
            )

    return Ruled.apply(value, *pairs)


def refuse_gradient(*arrays: torch.Tensor, message: str) -> torch.Tensor:
    """Return a copy of the first of ``arrays``.

    The backward pass of the copy raises ``GradientRefused`` with ``message``.
    """

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


def strong_zero(function: Callable[..., torch.Tensor], *arrays: torch.Tensor) -> torch.Tensor:
    """Compute the element-wise ``function(*arrays)``, with gradients that are 0 where the cotangent is 0.

    They are 0 there even if the derivative is infinite or NaN.
    """

    class StrongZero(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*arrays: torch.Tensor) -> torch.Tensor:
            return function(*arrays)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            arrays, places = ctx.saved_tensors, enumerate(ctx.needs_input_grad)
            return tuple(
                strong_product(gradient, slope_of(function, place, arrays).conj()) if needed else None
                for place, needed in places
            )

        @staticmethod
        def jvp(ctx: Any, *tangents: torch.Tensor | None) -> Any:
            arrays, given = (
                ctx.saved_tensors,
                [(place, one) for place, one in enumerate(tangents) if one is not None],
            )
            return sum(strong_product(one, slope_of(function, place, arrays)) for place, one in given)

    return StrongZero.apply(*arrays)


def slope_of(
    function: Callable[..., torch.Tensor], place: int, arrays: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Compute the derivative of the element-wise ``function`` with respect to ``arrays[place]``."""

    def slope(*arrays: torch.Tensor) -> torch.Tensor:
        before, array, after = arrays[:place], arrays[place], arrays[place + 1 :]
        result, pull = torch.func.vjp(lambda array: function(*before, array, *after), array)
        return pull(torch.ones_like(result))[0].conj()

    return strong_zero(slope, *arrays)


def strong_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Compute ``x * y``, which is 0 where one of them is 0, even if the other is infinite or NaN."""

    class StrongProduct(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.where((x == 0) | (y == 0), 0, x * y)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return tuple(strong_product(gradient, other.conj()) for other in reversed(ctx.saved_tensors))

        @staticmethod
        def jvp(ctx: Any, *tangents: torch.Tensor | None) -> Any:
            pairs = zip(tangents, reversed(ctx.saved_tensors))
            return sum(strong_product(tangent, other) for tangent, other in pairs if tangent is not None)

    return StrongProduct.apply(x, y)
