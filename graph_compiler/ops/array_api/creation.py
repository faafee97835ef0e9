"""Creation functions (array API standard, "Creation Functions")."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim, Scalar, Size, apply, hint_of
from ..registry import ArraySpec, Unknown, declare
from ..rules import Input

_SECTION = "creation"


@declare(_SECTION)
def arange(*, start: Scalar = 0, stop: Scalar, step: Scalar = 1, dtype: str) -> ArraySpec:
    """Return ``start``, ``start + step``, ... up to but not including ``stop``."""
    return ArraySpec((arange_length(start, stop, step),), dtype)


def arange_length(start: Any, stop: Any, step: Any) -> Any:
    """Return the length of an ``arange``: ``ceil((stop - start) / step)``, and at least 0 if it is an int.

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


@declare(_SECTION)
def asarray(*, data: Any, dtype: str) -> ArraySpec:
    """Convert nested tuples of numbers to an array; the tuples may contain sizes."""
    return ArraySpec(_nested_shape(data), dtype)


def _nested_shape(data: Any) -> tuple[int, ...]:
    if not isinstance(data, tuple):
        return ()
    inner = {_nested_shape(item) for item in data}
    if len(inner) > 1:
        raise InvalidGraph(f"nested tuples of unequal lengths make no array: {sorted(inner)}")
    return (len(data), *(inner.pop() if inner else ()))


@declare(_SECTION)
def copy(x: ArraySpec, /) -> ArraySpec:
    """Return a copy of ``x`` that shares no memory with it."""
    return x


@declare(_SECTION)
def eye(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return ones on diagonal ``k`` and zeros elsewhere."""
    return ArraySpec((n_rows, n_cols), dtype)


@declare(_SECTION)
def full(*, shape: tuple[Dim, ...], fill_value: Any, dtype: str) -> ArraySpec:
    """Return an array filled with ``fill_value``."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def linspace(start: Input, stop: Input, /, *, num: Dim, dtype: str) -> ArraySpec:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    ``start`` and ``stop`` are numbers or scalar arrays.
    """
    return ArraySpec((num,), dtype)


@declare(_SECTION)
def ones(*, shape: tuple[Dim, ...], dtype: str) -> ArraySpec:
    """Return an array of ones."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def tril(x: ArraySpec, /, *, k: Dim = 0) -> ArraySpec:
    """Return the lower triangles of matrices, with zeros above diagonal ``k``."""
    return _triangle(x)


@declare(_SECTION)
def triu(x: ArraySpec, /, *, k: Dim = 0) -> ArraySpec:
    """Return the upper triangles of matrices, with zeros below diagonal ``k``."""
    return _triangle(x)


def _triangle(x: ArraySpec) -> ArraySpec:
    if x.ndim < 2:
        raise InvalidGraph(f"a triangle of {x}: at least two axes are needed")
    return x


@declare(_SECTION)
def zeros(*, shape: tuple[Dim, ...], dtype: str) -> ArraySpec:
    """Return an array of zeros."""
    return ArraySpec(shape, dtype)


@declare(_SECTION)
def tril_indices(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return row and column indices, ``(2, n)``, of the lower triangle of a matrix, row by row.

    This is an extension of the standard.
    """
    return ArraySpec((2, _lower_count(n_rows, n_cols, k)), dtype)


@declare(_SECTION)
def triu_indices(*, n_rows: Dim, n_cols: Dim, k: int = 0, dtype: str) -> ArraySpec:
    """Return row and column indices, ``(2, n)``, of the upper triangle of a matrix, row by row.

    This is an extension of the standard.
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
    """Return the number of elements on and below diagonal ``k``."""
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

    Floats are truncated to integers, a cast to bool is ``x != 0``, and complex numbers become real by
    dropping the imaginary part.
    """
    return ArraySpec(x.shape, dtype)
