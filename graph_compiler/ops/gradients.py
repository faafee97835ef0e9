"""Operations with gradients that the user defines."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from .registry import ArraySpec, declare, decomposition

_SECTION = "gradients"


@declare(_SECTION)
def with_gradient(*arrays: ArraySpec) -> ArraySpec:
    """Return the first array, with gradients defined by pairs of a source and a derivative.

    The gradient of each source is the gradient of the result times its derivative. No gradient flows to
    the first array. The derivatives are themselves differentiated only for higher derivatives.
    """
    if len(arrays) % 2 == 0:
        raise InvalidGraph(f"an array and pairs of a source and a slope are needed, got {len(arrays)} arrays")
    return arrays[0]


@declare(_SECTION)
def refuse_gradient(*arrays: ArraySpec, message: str) -> ArraySpec:
    """Return the first array. Differentiating it with respect to any of the arrays raises an error.

    The error has the text ``message``.
    """
    return arrays[0]


@declare(_SECTION)
def followed_where(condition: ArraySpec, x: ArraySpec, /, *, harmless: float) -> ArraySpec:
    """Return ``x``, with derivative 0 where ``condition`` is False.

    The condition has the shape of ``x``. Nothing may read the elements where it is False: a target may
    replace them by ``harmless``.
    """
    if condition.hints != x.hints:
        raise InvalidGraph(f"a condition of the shape of the array is needed, got {condition} for {x}")
    return x


@declare(_SECTION)
def strong_product(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Compute ``x1 * x2`` of equal shapes and dtypes, with 0 wherever either is 0, also in derivatives."""
    return x1


@decomposition("followed_where")
def _followed_where(b: Any, condition: Any, x: Any, *, harmless: float) -> Any:
    # A target that can mask the gradient alone saves this pass over the array.
    return b.where(condition, x, harmless)
