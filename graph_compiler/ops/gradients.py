"""Arrays whose gradients follow rules of the user's own."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .registry import ArraySpec, declare, decomposition

_SECTION = "gradients"


@declare(_SECTION)
def with_gradient(*arrays: ArraySpec) -> ArraySpec:
    """The first array; the others are pairs of a source and a slope, and the gradient of each source is the
    array's times the slope.

    No gradient flows to the first array itself, nor through the rule to the slopes; the slopes are
    differentiated for derivatives of derivatives.
    """
    if len(arrays) % 2 == 0:
        raise InvalidGraph(f"an array and pairs of a source and a slope are needed, got {len(arrays)} arrays")
    return arrays[0]


@declare(_SECTION)
def refuse_gradient(*arrays: ArraySpec, message: str) -> ArraySpec:
    """The first array; an error where a gradient is taken of it with respect to any of the arrays."""
    return arrays[0]


@declare(_SECTION)
def followed_where(condition: ArraySpec, x: ArraySpec, /, *, harmless: float) -> ArraySpec:
    """``x``, with derivative 0 where the condition of its shape is False: nothing reads what stands there,
    which may be ``harmless``.
    """
    if condition.hints != x.hints:
        raise InvalidGraph(f"a condition of the shape of the array is needed, got {condition} for {x}")
    return x


@declare(_SECTION)
def strong_product(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """``x1 * x2`` of one shape and type, and 0 where one of them is 0, whatever the other is; so are its
    derivatives.
    """
    return x1


@decomposition("followed_where")
def _followed_where(b: Any, condition: Any, x: Any, *, harmless: float) -> Any:
    return b.where(condition, x, harmless)
