"""Data type functions (array API standard, "Data Type Functions")."""

from __future__ import annotations

from ..registry import ArraySpec, declare

_SECTION = "data types"


@declare(_SECTION)
def astype(x: ArraySpec, /, *, dtype: str) -> ArraySpec:
    """The elements of ``x`` as another type: floats to integers by truncation, to bool by ``!= 0``, complex to real by its real part."""
    return ArraySpec(x.shape, dtype)
