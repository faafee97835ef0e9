"""Creation, casts, manipulation and basic indexing, in the array API standard and beyond it.

``expand_dims`` and ``squeeze`` of the standard are written as ``reshape``, ``moveaxis`` as ``permute_dims``,
and ``broadcast_arrays`` as several ``broadcast_to``.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, Scalar, Size, apply, hint_of, product
from .dtypes import ITEMSIZE
from .registry import ArraySpec, Unknown, check_axis, declare
from .rules import Input, broadcast, dtype_of, length, normalise_axes, normalise_axis, position

# --------------------------------------------------------------------------------------------------- creation

_CREATION = "creation"


@declare(_CREATION)
def arange(*, start: Scalar = 0, stop: Scalar, step: Scalar = 1, dtype: str) -> ArraySpec:
    """Return ``start + i * step`` for ``i`` from 0 up to ``ceil((stop - start) / step)``, not included."""
    return ArraySpec((arange_length(start, stop, step),), dtype)


def arange_length(start: Any, stop: Any, step: Any) -> Any:
    """Return the length of an ``arange``: ``ceil((stop - start) / step)``, or 0 if that is a negative int.

    A symbolic length is not clamped, so it may be negative in other calls.

    >>> arange_length(2, 9, 2), arange_length(0, 1, 0.3), arange_length(5, 0, -2)
    (4, 4, 3)
    """
    # Integer arithmetic stays exact and symbolic, so floats are the exception.
    if any(type(hint_of(number)) is float for number in (start, stop, step)):
        length = apply("ceil", (stop - start) / step)
    elif isinstance(step, int) and step > 0:
        length = (stop - start + step - 1) // step
    else:
        # Floor division of the negated distance rounds up, whatever the sign of ``step`` is.
        length = -((start - stop) // step)
    return max(length, 0) if isinstance(length, int) else length


@declare(_CREATION)
def asarray(*, data: Any, dtype: str) -> ArraySpec:
    """Convert a number or nested tuples of numbers to an array; sizes count as numbers."""
    return ArraySpec(_nested_shape(data), dtype)


def _nested_shape(data: Any) -> tuple[int, ...]:
    if not isinstance(data, tuple):
        return ()
    inner = {_nested_shape(item) for item in data}
    if len(inner) > 1:
        raise InvalidGraph(f"nested tuples of unequal lengths make no array: {sorted(inner)}")
    return (len(data), *(inner.pop() if inner else ()))


@declare(_CREATION)
def copy(x: ArraySpec, /) -> ArraySpec:
    """Return a copy of ``x``: writes to one do not change the other."""
    return x


@declare(_CREATION)
def eye(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return a matrix with ones on diagonal ``k`` and zeros elsewhere.

    Diagonal 0 is the main one; positive ones are above it.
    """
    return ArraySpec((n_rows, n_cols), dtype)


@declare(_CREATION)
def full(*, shape: tuple[Dim, ...], fill_value: Any, dtype: str) -> ArraySpec:
    """Return an array filled with ``fill_value``."""
    return ArraySpec(shape, dtype)


@declare(_CREATION)
def linspace(start: Input, stop: Input, /, *, num: Dim, dtype: str) -> ArraySpec:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    ``start`` and ``stop`` are numbers or scalar arrays. If ``num`` is 1, the result is ``start`` alone.
    """
    return ArraySpec((num,), dtype)


@declare(_CREATION)
def ones(*, shape: tuple[Dim, ...], dtype: str) -> ArraySpec:
    """Return an array of ones."""
    return ArraySpec(shape, dtype)


@declare(_CREATION)
def tril(x: ArraySpec, /, *, k: Dim = 0) -> ArraySpec:
    """Return the lower triangles of matrices, with zeros above diagonal ``k``.

    Diagonal 0 is the main one; positive ones are above it.
    """
    return _triangle(x)


@declare(_CREATION)
def triu(x: ArraySpec, /, *, k: Dim = 0) -> ArraySpec:
    """Return the upper triangles of matrices, with zeros below diagonal ``k``.

    Diagonal 0 is the main one; positive ones are above it.
    """
    return _triangle(x)


def _triangle(x: ArraySpec) -> ArraySpec:
    if x.ndim < 2:
        raise InvalidGraph(f"a triangle of {x}: at least two axes are needed")
    return x


@declare(_CREATION)
def zeros(*, shape: tuple[Dim, ...], dtype: str) -> ArraySpec:
    """Return an array of zeros."""
    return ArraySpec(shape, dtype)


@declare(_CREATION)
def tril_indices(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return row and column indices, ``(2, n)``, of the lower triangle of a matrix, row by row.

    The triangle includes diagonal ``k``.
    """
    return ArraySpec((2, _lower_count(n_rows, n_cols, k)), dtype)


@declare(_CREATION)
def triu_indices(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return row and column indices, ``(2, n)``, of the upper triangle of a matrix, row by row.

    The triangle includes diagonal ``k``.
    """
    # The upper triangle of a square matrix is the lower one, transposed.
    if n_rows == n_cols:
        return ArraySpec((2, _lower_count(n_rows, n_cols, -k)), dtype)
    all_below = _lower_count(n_rows, n_cols, k - 1)
    above = (
        Unknown(hint_of(n_rows) * hint_of(n_cols) - all_below.hint)
        if isinstance(all_below, Unknown)
        else n_rows * n_cols - all_below
    )
    return ArraySpec((2, above), dtype)


def _lower_count(n_rows: Any, n_cols: Any, k: Any) -> Any:
    if not any(isinstance(number, Size) for number in (n_rows, n_cols, k)):
        return sum(min(max(row + k + 1, 0), n_cols) for row in range(n_rows))
    # For other diagonals, no single formula fits all sizes.
    if n_rows == n_cols and k in (0, -1):
        return n_rows * (n_rows + 2 * k + 1) // 2
    return Unknown(_lower_count(hint_of(n_rows), hint_of(n_cols), hint_of(k)))


_DATA_TYPES = "data types"


@declare(_DATA_TYPES)
def astype(x: ArraySpec, /, *, dtype: str) -> ArraySpec:
    """Cast ``x`` to ``dtype``.

    A cast to bool is ``x != 0``. A cast of complex numbers to real ones drops the imaginary part.
    """
    return ArraySpec(x.shape, dtype)


# ----------------------------------------------------------------------------------------------- manipulation
_MANIPULATION = "manipulation"


@declare(_MANIPULATION)
def permute_dims(x: ArraySpec, /, *, axes: tuple[int, ...]) -> ArraySpec:
    """Permute the axes: axis ``i`` of the result is axis ``axes[i]`` of ``x``, counted from the front."""
    if sorted(axes) != list(range(x.ndim)):
        raise InvalidGraph(f"{axes} are not the axes of {x}, each once and counted from the front")
    return ArraySpec(tuple(x.shape[axis] for axis in axes), x.dtype)


@declare(_MANIPULATION)
def reshape(x: ArraySpec, /, *, shape: tuple[Dim, ...]) -> ArraySpec:
    """Return the elements of ``x`` in row-major order with another ``shape``, in which no size is -1."""
    # Equal products of sizes may be different expressions, so their hints are compared.
    if hint_of(product(x.shape)) != hint_of(product(shape)):
        raise InvalidGraph(
            f"{x} has {hint_of(product(x.shape))} elements, the shape {shape} {hint_of(product(shape))}"
        )
    return ArraySpec(shape, x.dtype)


@declare(_MANIPULATION)
def broadcast_to(x: ArraySpec, /, *, shape: tuple[Dim, ...]) -> ArraySpec:
    """Repeat ``x`` along new leading axes, and along axes of size 1, so that it has ``shape``."""
    if x.ndim > len(shape):
        raise InvalidGraph(f"{x} has more axes than the shape {shape}")
    for have, want in zip(x.shape, shape[len(shape) - x.ndim :], strict=False):
        # A symbolic size may have the wanted value, so only ints are checked.
        if isinstance(have, int) and have != 1 and have != hint_of(want):
            raise InvalidGraph(f"{x} cannot be broadcast to {shape}")
    return ArraySpec(shape, x.dtype)


@declare(_MANIPULATION)
def concat(*arrays: ArraySpec, axis: int = 0) -> ArraySpec:
    """Concatenate arrays along ``axis``, counted from the front; other sizes must be equal."""
    first = arrays[0]
    if any(array.ndim != first.ndim for array in arrays):
        raise InvalidGraph(f"arrays of as many axes are to be joined, got {', '.join(map(str, arrays))}")
    check_axis(axis, first.ndim)
    shape = tuple(
        sum(dims) if i == axis else _agreed(dims)
        for i, dims in enumerate(zip(*(array.shape for array in arrays), strict=False))
    )
    return ArraySpec(shape, dtype_of(*arrays))


def _agreed(dims: tuple[Any, ...]) -> Any:
    known = {dim for dim in dims if isinstance(dim, int)}
    if len(known) > 1:
        raise InvalidGraph(f"sizes {sorted(known)} should be equal")
    # An int says more than an expression that has to equal it.
    return known.pop() if known else dims[0]


@declare(_MANIPULATION)
def stack(*arrays: ArraySpec, axis: int = 0) -> ArraySpec:
    """Stack arrays of one shape along a new axis at position ``axis`` of the result."""
    if len({array.ndim for array in arrays}) != 1:
        raise InvalidGraph(f"arrays of one shape are to be stacked, got {', '.join(map(str, arrays))}")
    check_axis(axis, arrays[0].ndim + 1)
    shape = tuple(map(_agreed, zip(*(array.shape for array in arrays), strict=False)))
    return ArraySpec((*shape[:axis], len(arrays), *shape[axis:]), dtype_of(*arrays))


@declare(_MANIPULATION)
def unstack(x: ArraySpec, /, *, axis: int = 0, count: int) -> tuple[ArraySpec, ...]:
    """Return the ``count`` slices of ``x`` along ``axis``, without that axis; ``count`` is its size."""
    check_axis(axis, x.ndim)
    return (ArraySpec((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype),) * count


@declare(_MANIPULATION)
def split(x: ArraySpec, /, *, sizes: tuple[Dim, ...], axis: int = 0) -> tuple[ArraySpec, ...]:
    """Split ``x`` along ``axis`` into parts of ``sizes``, which add up to its size."""
    check_axis(axis, x.ndim)
    if hint_of(sum(sizes)) != hint_of(x.shape[axis]):
        raise InvalidGraph(f"the parts {sizes} do not add up to axis {axis} of {x}")
    return tuple(ArraySpec((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype) for size in sizes)


@declare(_MANIPULATION)
def flip(x: ArraySpec, /, *, axis: int | tuple[int, ...]) -> ArraySpec:
    """Reverse the order of the elements along ``axis``, an axis or a tuple of axes."""
    normalise_axes(axis, x.ndim)
    return x


@declare(_MANIPULATION)
def roll(x: ArraySpec, /, *, shift: Dim | tuple[Dim, ...], axis: int | tuple[int, ...]) -> ArraySpec:
    """Shift the elements by ``shift`` along ``axis``, to higher indices if it is positive.

    Elements that leave at one end enter at the other. For several axes, both are tuples of one length.
    """
    return x


@declare(_MANIPULATION)
def repeat(
    x: ArraySpec, repeats: Input, /, *, axis: int = 0, total: Dim | None = None, hint: int = 0
) -> ArraySpec:
    """Repeat each slice along ``axis``: ``repeats`` is one number, or an array with a number for each slice.

    For an array, the result has ``total`` slices; without ``total`` their number depends on data and is
    ``hint`` while recording.
    """
    check_axis(axis, x.ndim)
    if isinstance(repeats, ArraySpec):
        size: Any = Unknown(hint) if total is None else total
    else:
        size = x.shape[axis] * repeats
    return ArraySpec((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)


@declare(_MANIPULATION)
def tile(x: ArraySpec, /, *, repetitions: tuple[Dim, ...]) -> ArraySpec:
    """Repeat the whole array along each axis as often as ``repetitions`` says.

    The shorter of the array's shape and ``repetitions`` gets leading ones.
    """
    rank = max(x.ndim, len(repetitions))
    shape = (1,) * (rank - x.ndim) + x.shape
    counts = (1,) * (rank - len(repetitions)) + repetitions
    return ArraySpec(tuple(dim * count for dim, count in zip(shape, counts, strict=False)), x.dtype)


@declare(_MANIPULATION)
def pad(
    x: ArraySpec, /, *, padding: tuple[tuple[Dim, Dim], ...], mode: str = "constant", value: float = 0
) -> ArraySpec:
    """Pad each axis by (before, after) elements; negative numbers remove elements.

    ``mode`` defines the new elements: ``"constant"`` the ``value``, ``"reflect"`` the array mirrored at its
    first or last element, ``"edge"`` that element, ``"wrap"`` elements from the other end. With ``"wrap"``,
    elements are removed first.
    """
    return ArraySpec(
        tuple(size + before + after for size, (before, after) in zip(x.shape, padding, strict=False)), x.dtype
    )


@declare(_MANIPULATION)
def sliding_window(x: ArraySpec, /, *, axis: int, size: Dim, step: Dim = 1) -> ArraySpec:
    """Extract all windows of ``size`` elements along ``axis``, at every ``step``-th element.

    ``axis`` of the result is the index of the window, and the elements of a window are a new last axis. A
    scalar has one window, and the result for it only the last axis.
    """
    # As in ``torch.Tensor.unfold``, a scalar counts as a vector of one element.
    if x.ndim == 0:
        return ArraySpec((size,), x.dtype)
    check_axis(axis, x.ndim)
    windows = length(0, x.shape[axis] - size + 1, step, None)
    return ArraySpec((*x.shape[:axis], windows, *x.shape[axis + 1 :], size), x.dtype)


@declare(_MANIPULATION)
def as_strided(
    x: ArraySpec, /, *, shape: tuple[Dim, ...], strides: tuple[Dim, ...], offset: Dim = 0
) -> ArraySpec:
    """Read the flattened ``x`` with any shape and strides.

    Element ``i, j, ..`` of the result is element ``offset + i * strides[0] + j * strides[1] + ..`` of the
    flattened ``x``.
    """
    return ArraySpec(shape, x.dtype)


@declare(_MANIPULATION)
def bitcast(x: ArraySpec, /, *, dtype: str) -> ArraySpec:
    """Reinterpret the bytes of ``x`` as another dtype.

    If the dtypes differ in item size, the last axis is longer or shorter by their ratio.
    """
    have, want = ITEMSIZE[x.dtype], ITEMSIZE[dtype]
    if have == want:
        return ArraySpec(x.shape, dtype)
    last = x.shape[-1] * (have // want) if have > want else x.shape[-1] // (want // have)
    return ArraySpec((*x.shape[:-1], last), dtype)


_INDEXING = "indexing"

Key = tuple[Any, ...]
"""One item per axis; trailing axes may be omitted.

An int or size takes one element and removes the axis. ``(start, stop, step)`` takes a slice, in which a stop
of None means the end of the axis, and negative ints count from the end. None inserts an axis of size 1. All
bounds lie inside the axis, and ``start <= stop``: lifting has clamped them if the source framework does.
"""


def keyed_shape(shape: tuple[Any, ...], key: Key) -> tuple[Any, ...]:
    """Return the shape of ``x[key]`` for an array ``x`` of this ``shape``; see :data:`Key`.

    >>> keyed_shape((5, 6, 7), (0, (1, -1, 1), None))
    (4, 1, 7)
    """
    selected: list[Any] = []
    axis = 0
    for item in key:
        if item is None:
            selected.append(1)
            continue
        if axis == len(shape):
            raise InvalidGraph(f"{key} has more items than the shape {shape} has axes")
        size, axis = shape[axis], axis + 1
        if isinstance(item, tuple):
            selected.append(length(item[0], item[1], item[2], size))
            inside = _inside(position(item[0], size, 0), size, selected[-1])
        else:
            inside = _inside(
                item if not isinstance(item, int) or item >= 0 else position(item, size, 0), size, 1
            )
        if not inside:
            raise InvalidGraph(f"{item} lies outside of axis {axis - 1} of the shape {shape}")
    return (*selected, *shape[axis:])


def _inside(first: Any, size: Any, count: Any) -> bool:
    if not (isinstance(first, int) and isinstance(size, int) and isinstance(count, int)):
        return True
    return first >= 0 and count >= 0 and (count == 0 or first < size)


@declare(_INDEXING)
def getitem(x: ArraySpec, /, *, key: Key) -> ArraySpec:
    """Index ``x[key]`` with integers, slices and new axes; see :data:`Key`."""
    return ArraySpec(keyed_shape(x.shape, key), x.dtype)


@declare(_INDEXING)
def setitem(x: ArraySpec, value: Input, /, *, key: Key) -> ArraySpec:
    """Return a copy of ``x`` with ``value``, broadcast, at ``x[key]``; see :data:`Key`."""
    selected = keyed_shape(x.shape, key)
    if isinstance(value, ArraySpec) and value.ndim > len(selected):
        raise InvalidGraph(f"{value} has more axes than the {selected} that {key} selects")
    return ArraySpec(x.shape, dtype_of(x, value))


@declare(_INDEXING)
def take(x: ArraySpec, indices: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Take the slices of ``x`` at ``indices`` along ``axis``.

    ``indices`` may have any number of axes; in the result, they replace ``axis``.
    """
    check_axis(axis, x.ndim)
    return ArraySpec((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@declare(_INDEXING)
def take_along_axis(x: ArraySpec, indices: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """Take the elements of ``x`` at ``indices`` along ``axis``, as ``numpy.take_along_axis``.

    ``indices`` has as many axes as ``x``. Axes other than ``axis`` broadcast.
    """
    if not x.ndim or x.ndim != indices.ndim:
        raise InvalidGraph(f"indices {indices} must have the axes of {x}, which are at least one")
    axis = normalise_axis(axis, x.ndim)
    others = broadcast(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*indices.shape[:axis], 1, *indices.shape[axis + 1 :])
    )
    return ArraySpec((*others[:axis], indices.shape[axis], *others[axis + 1 :]), x.dtype)
