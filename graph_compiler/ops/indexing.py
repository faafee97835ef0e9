"""Searching, sorting, sets and indexing, in the array API standard and beyond it.

The parameter ``reduce`` of operations that write defines how several values for one element are combined.
With None a new value replaces the old one; among several new values it is unspecified which. ``"sum"``,
``"prod"``, ``"mean"``, ``"min"`` and ``"max"`` include the old element unless ``include_self`` is False.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, apply
from .registry import ArraySpec, Unknown, check_axis, declare, decomposition
from .rules import Input, broadcast, dtype_of, nonnegative, normalise_axis, reduced, shape_of
from .statistics import Axis

# -------------------------------------------------------------------------------- searching, sets and sorting
# The number of elements that some functions find depends on data. Their parameter ``hint`` is the number that
# was found while recording.

_SEARCHING = "searching"


@declare(_SEARCHING)
def argmax(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """Return the index of the first maximum over ``axis``, or of the first NaN if there is one.

    If ``axis`` is None, it is an index into the flattened array.
    """
    return reduced(x, axis, keepdims, "int64")


@declare(_SEARCHING)
def argmin(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """Return the index of the first minimum over ``axis``, or of the first NaN if there is one.

    If ``axis`` is None, it is an index into the flattened array.
    """
    return reduced(x, axis, keepdims, "int64")


@declare(_SEARCHING)
def count_nonzero(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Count the nonzero elements over ``axis``, or of the whole array if it is None."""
    return reduced(x, axis, keepdims, "int64")


@declare(_SEARCHING)
def nonzero(x: ArraySpec, /, *, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the indices of the nonzero elements in row-major order, as one array per axis.

    ``hint`` is the number of nonzero elements while recording.
    """
    # All arrays share one object, because they have equal lengths.
    count = Unknown(hint)
    return (ArraySpec((count,), "int64"),) * x.ndim


@declare(_SEARCHING)
def argwhere(x: ArraySpec, /, *, hint: int = 0, size: Dim | None = None, fill_value: int = -1) -> ArraySpec:
    """Return the indices of the nonzero elements in row-major order, one row for each element.

    With ``size`` there are that many rows, truncated or filled with ``fill_value``. ``hint`` is the number of
    nonzero elements while recording.
    """
    return ArraySpec((Unknown(hint) if size is None else size, x.ndim), "int64")


@declare(_SEARCHING)
def searchsorted(
    x1: ArraySpec, x2: ArraySpec, sorter: ArraySpec | None = None, /, *, side: str = "left"
) -> ArraySpec:
    """Return the indices at which to insert the elements of ``x2`` into ``x1`` so that it stays sorted.

    ``x1`` is sorted along its last axis, unless ``sorter`` holds indices that sort it. An index precedes
    elements equal to the inserted one with ``side="left"``, and follows them with "right". ``x1`` is a
    vector, or has the leading axes of ``x2`` and is searched row by row.
    """
    return ArraySpec(x2.shape, "int64")


@declare(_SEARCHING)
def where(condition: ArraySpec, x1: Input, x2: Input, /) -> ArraySpec:
    """Return ``x1`` where ``condition`` is true and ``x2`` elsewhere; all three broadcast."""
    return ArraySpec(broadcast(condition.shape, shape_of(x1), shape_of(x2)), dtype_of(x1, x2))


@declare(_SEARCHING)
def isin(x1: ArraySpec, x2: ArraySpec, /, *, invert: bool = False) -> ArraySpec:
    """Return True where an element of ``x1`` is in ``x2``; with ``invert``, where it is not."""
    return ArraySpec(x1.shape, "bool")


_SETS = "sets"


@declare(_SETS)
def unique_all(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the sorted unique elements, with their first indices, inverse indices and counts.

    The array is flattened if ``axis`` is None; otherwise slices along it are compared. Inverse indices have
    the shape of ``x``, or with ``axis`` the length of that axis. NaN equals no element. ``hint`` is the
    number of unique elements while recording.
    """
    values, inverse, counts = _unique(x, axis, hint)
    # There are as many first indices as counts.
    return values, counts, inverse, counts


@declare(_SETS)
def unique_values(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> ArraySpec:
    """Return the sorted unique elements, or with ``axis`` the unique slices along it.

    NaN equals no element. ``hint`` is the number of unique elements while recording.
    """
    return _unique(x, axis, hint)[0]


@declare(_SETS)
def unique_consecutive(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the first element of each run of equal elements, with inverse indices and run lengths.

    The array is flattened if ``axis`` is None; otherwise slices along it are compared. An inverse index is
    the index of an element's run. NaN equals no element. ``hint`` is the number of runs while recording.
    """
    return _unique(x, axis, hint)


def _unique(x: ArraySpec, axis: int | None, hint: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    # Both shapes share one object, because there are as many values as counts.
    count = Unknown(hint)
    if axis is None:
        shape, inverse = (count,), x.shape
    else:
        check_axis(axis, x.ndim)
        shape, inverse = (*x.shape[:axis], count, *x.shape[axis + 1 :]), (x.shape[axis],)
    return ArraySpec(shape, x.dtype), ArraySpec(inverse, "int64"), ArraySpec((count,), "int64")


_SORTING = "sorting"


@declare(_SORTING)
def sort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """Sort the elements along ``axis``, in ascending order unless ``descending``.

    NaN is larger than all numbers. Targets may ignore ``stable``.
    """
    return x


@declare(_SORTING)
def argsort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """Return the indices that sort the elements along ``axis``, in ascending order unless ``descending``.

    With ``stable``, equal elements keep their order, also if ``descending``. NaN is larger than all numbers.
    """
    return ArraySpec(x.shape, "int64")


@declare(_SORTING)
def sort_with_indices(
    x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> tuple[ArraySpec, ArraySpec]:
    """Return the sorted elements, as ``sort``, and the indices that sort them, as ``argsort``."""
    return x, ArraySpec(x.shape, "int64")


@decomposition("sort_with_indices")
def _sort_with_indices(b: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    indices = b.argsort(x, axis=axis, descending=descending, stable=stable)
    return b.take_along_axis(x, indices, axis=axis), indices


@declare(_SORTING)
def top_k(x: ArraySpec, /, *, k: Dim, axis: int = -1, largest: bool = True) -> tuple[ArraySpec, ArraySpec]:
    """Return the ``k`` largest elements along ``axis`` in descending order, and their indices.

    If ``largest`` is False, these are the smallest in ascending order. NaN is larger than all numbers.
    """
    if not x.ndim:
        raise InvalidGraph(f"an array with an axis is needed, got {x}")
    axis = normalise_axis(axis, x.ndim)
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ArraySpec(shape, x.dtype), ArraySpec(shape, "int64")


@declare(_SORTING)
def kth_value(
    x: ArraySpec, /, *, k: Dim, axis: int = -1, keepdims: bool = False
) -> tuple[ArraySpec, ArraySpec]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its index.

    NaN is larger than all numbers.
    """
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")


# --------------------------------------------------------------------------------------------------- indexing
_INDEXING = "indexing"
REDUCTIONS = (None, "sum", "prod", "mean", "min", "max")


def _check_reduce(reduce: str | None) -> None:
    if reduce not in REDUCTIONS:
        raise InvalidGraph(f"reduce is one of {REDUCTIONS}, not {reduce!r}")


@declare(_INDEXING)
def gather_nd(x: ArraySpec, /, *indices: ArraySpec, axes: tuple[int, ...]) -> ArraySpec:
    """Index ``x`` by integer arrays at the ascending ``axes``: ``x[.., indices[0], .., indices[1], ..]``.

    The index arrays broadcast against each other. The axes of the broadcast indices replace the indexed axes
    if these are adjacent, and come first otherwise.
    """
    return ArraySpec(gathered_shape(x, indices, axes), x.dtype)


def gathered_shape(x: ArraySpec, indices: tuple[ArraySpec, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the shape of ``gather_nd(x, *indices, axes=axes)``."""
    if len(indices) != len(axes) or list(axes) != sorted(set(axes)):
        raise InvalidGraph(f"{len(indices)} index arrays for the axes {axes}")
    for axis in axes:
        check_axis(axis, x.ndim)
    common = broadcast(*(index.shape for index in indices))
    rest = [dim for axis, dim in enumerate(x.shape) if axis not in axes]
    # NumPy moves the axes of index arrays to the front if the indexed axes are not adjacent.
    place = axes[0] if axes[-1] - axes[0] + 1 == len(axes) else 0
    return (*rest[:place], *common, *rest[place:])


@declare(_INDEXING)
def scatter_nd(
    x: ArraySpec,
    values: Input,
    /,
    *indices: ArraySpec,
    axes: tuple[int, ...],
    reduce: str | None = None,
    include_self: bool = True,
) -> ArraySpec:
    """Return a copy of ``x`` with ``values``, broadcast, at the elements that ``gather_nd`` would read.

    ``reduce`` combines the new values for one element, and with ``include_self`` also the old one. If it is
    None, a new value replaces the old one; among several new values it is unspecified which.
    """
    _check_reduce(reduce)
    shape = gathered_shape(x, indices, axes)
    if isinstance(values, ArraySpec) and values.ndim > len(shape):
        raise InvalidGraph(f"values {values} have more axes than the {shape} that they go to")
    return ArraySpec(x.shape, dtype_of(x, values))


@declare(_INDEXING)
def dynamic_slice(
    x: ArraySpec, /, *starts: Input, axes: tuple[int, ...], sizes: tuple[Dim, ...]
) -> ArraySpec:
    """Slice ``x[.., starts[0]:starts[0] + sizes[0], ..]`` at computed starts along the ascending ``axes``.

    ``starts`` are numbers or scalar arrays, and the slice must lie inside of ``x``.
    """
    _check_windows(x, starts, axes, sizes)
    size_at = dict(zip(axes, sizes, strict=True))
    return ArraySpec(tuple(size_at.get(axis, dim) for axis, dim in enumerate(x.shape)), x.dtype)


@declare(_INDEXING)
def dynamic_update_slice(
    x: ArraySpec, update: ArraySpec, /, *starts: Input, axes: tuple[int, ...]
) -> ArraySpec:
    """Return a copy of ``x`` with ``update`` at the slice that ``dynamic_slice`` would read.

    ``update`` has as many axes as ``x``, and the size of ``x`` on those that are not in ``axes``.
    """
    if update.ndim != x.ndim:
        raise InvalidGraph(f"the update {update} must have the axes of {x}")
    _check_windows(x, starts, axes, tuple(update.shape[axis] for axis in axes))
    return x


def _check_windows(
    x: ArraySpec, starts: tuple[Input, ...], axes: tuple[int, ...], sizes: tuple[Dim, ...]
) -> None:
    if not len(starts) == len(axes) == len(sizes) or list(axes) != sorted(set(axes)) or axes[-1] >= x.ndim:
        raise InvalidGraph(
            f"{len(starts)} starts and the sizes {sizes} for windows along the axes {axes} of {x}"
        )


@decomposition("dynamic_slice")
def _dynamic_slice(b: Any, x: Any, *starts: Any, axes: tuple[int, ...], sizes: tuple[Dim, ...]) -> Any:
    for axis, start, size in zip(axes, starts, sizes):
        # Only some targets have slices at computed starts. The others gather the elements by index.
        x = b.take(x, _window_indices(b, start, size), axis=axis)
    return x


@decomposition("dynamic_update_slice")
def _dynamic_update_slice(b: Any, x: Any, update: Any, *starts: Any, axes: tuple[int, ...]) -> Any:
    # Index arrays for all axes from the first to the last one: axes of adjacent index arrays stay in place.
    start_at, span = dict(zip(axes, starts)), range(axes[0], axes[-1] + 1)
    shapes = [tuple(update.shape[axis] if other == axis else 1 for other in span) for axis in span]
    places = [
        b.reshape(_window_indices(b, start_at.get(axis, 0), update.shape[axis]), shape=shape)
        for axis, shape in zip(span, shapes)
    ]
    return b.scatter_nd(x, update, *places, axes=tuple(span))


def _window_indices(b: Any, start: Any, size: Dim) -> Any:
    return b.add(b.arange(stop=size, dtype=getattr(start, "dtype", "int64")), start)


@declare(_INDEXING)
def scatter(
    x: ArraySpec,
    indices: ArraySpec,
    values: Input,
    /,
    *,
    axis: int,
    reduce: str | None = None,
    include_self: bool = True,
) -> ArraySpec:
    """Return a copy of ``x`` with ``values`` at ``indices`` along ``axis`` (torch.Tensor.scatter).

    For ``axis`` 1, ``values[i, j, ..]`` goes to ``[i, indices[i, j, ..], ..]``. ``indices`` has as many axes
    as ``x`` and may be smaller; ``values`` has the shape of ``indices``, or is a number. ``reduce`` and
    ``include_self`` are as in :func:`scatter_nd`.
    """
    _check_reduce(reduce)
    if indices.ndim != x.ndim:
        raise InvalidGraph(f"indices {indices} must have the axes of {x}")
    return ArraySpec(x.shape, dtype_of(x, values))


@declare(_INDEXING)
def boolean_mask(x: ArraySpec, mask: ArraySpec, /, *, axis: int = 0, hint: int = 0) -> ArraySpec:
    """Select the elements where ``mask`` is true, in row-major order, as one axis.

    ``mask`` has the shape of consecutive axes of ``x``, from ``axis`` on, which the new axis replaces.
    ``hint`` is its length while recording.
    """
    check_axis(axis, x.ndim - mask.ndim + 1)
    return ArraySpec((*x.shape[:axis], Unknown(hint), *x.shape[axis + mask.ndim :]), x.dtype)


@declare(_INDEXING)
def masked_scatter(x: ArraySpec, mask: ArraySpec, source: ArraySpec, /) -> ArraySpec:
    """Return a copy of ``x`` with the first elements of ``source``, in order, where ``mask`` is true.

    The order is row-major in all three arrays. The mask has the shape of ``x``.
    """
    if mask.ndim != x.ndim:
        raise InvalidGraph(f"mask {mask} must have the axes of {x}")
    return ArraySpec(x.shape, dtype_of(x, source))


@declare(_INDEXING)
def diagonal(x: ArraySpec, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> ArraySpec:
    """Return the elements whose index along ``axis2`` is ``offset`` more than along ``axis1``.

    These elements become the last axis.
    """
    axis1, axis2 = axis1 % x.ndim, axis2 % x.ndim
    rest = tuple(dim for axis, dim in enumerate(x.shape) if axis not in (axis1, axis2))
    return ArraySpec((*rest, _diagonal_size(x.shape[axis1], x.shape[axis2], offset)), x.dtype)


def _diagonal_size(rows: Dim, columns: Dim, offset: int) -> Any:
    # For a square matrix no minimum is needed, which keeps the expression short.
    shorter = (
        rows - abs(offset)
        if rows == columns
        else apply("min", rows + min(offset, 0), columns - max(offset, 0))
    )
    # A diagonal outside of the matrix is empty.
    return shorter if nonnegative(shorter) else apply("max", shorter, 0)


@declare(_INDEXING)
def diag_embed(x: ArraySpec, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> ArraySpec:
    """Return zeros with the last axis of ``x`` on a diagonal of the two new axes ``axis1`` and ``axis2``.

    The index of an element along ``axis2`` is ``offset`` more than its index along ``axis1``.
    """
    axis1, axis2 = axis1 % (x.ndim + 1), axis2 % (x.ndim + 1)
    shape = list(x.shape[:-1])
    for axis in sorted((axis1, axis2)):
        shape.insert(axis, x.shape[-1] + abs(offset))
    return ArraySpec(tuple(shape), x.dtype)
