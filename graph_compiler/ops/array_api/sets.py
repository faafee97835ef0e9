"""Set functions (array API standard, "Set Functions"), with ``axis``: without it, over the flattened array.

How many unique elements there are depends on the data: ``hint`` is their number while recording. NaN is not equal to itself.
"""

from __future__ import annotations

from ..registry import ArraySpec, Unknown, declare

_SECTION = "sets"


@declare(_SECTION)
def unique_all(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """The sorted unique elements (or slices along ``axis``), where each comes first, where it is in the result, and how often it comes."""
    values, inverse, counts = _unique(x, axis, hint)
    return values, counts, inverse, counts  # as many first places as counts


@declare(_SECTION)
def unique_values(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> ArraySpec:
    """The sorted unique elements (or slices along ``axis``)."""
    return _unique(x, axis, hint)[0]


@declare(_SECTION)
def unique_consecutive(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """The first element (or slice along ``axis``) of each run of equal ones, which run each element is in, and how long the runs are."""
    return _unique(x, axis, hint)


def _unique(x: ArraySpec, axis: int | None, hint: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    count = Unknown(hint)  # one object: as many values as counts
    if axis is None:
        shape, inverse = (count,), x.shape
    else:
        shape, inverse = (*x.shape[:axis], count, *x.shape[axis + 1 :]), (x.shape[axis],)
    return ArraySpec(shape, x.dtype), ArraySpec(inverse, "int64"), ArraySpec((count,), "int64")
