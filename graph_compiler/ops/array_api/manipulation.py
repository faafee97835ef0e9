"""Manipulation functions (array API standard, "Manipulation Functions")."""

from __future__ import annotations

from ...sizes import Dim
from ..registry import ArraySpec, declare

_SECTION = "manipulation"


@declare(_SECTION)
def permute_dims(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Axis ``i`` of the result is axis ``axes[i]`` of ``x``; all axes counted from the front."""
    return ArraySpec(tuple(x.shape[axis] for axis in axes), x.dtype)


@declare(_SECTION)
def reshape(x: ArraySpec, /, *, shape: tuple[Dim, ...]) -> ArraySpec:
    """The elements of ``x`` in row-major order under another shape of as many elements; no -1, raising resolves it."""
    return ArraySpec(shape, x.dtype)
