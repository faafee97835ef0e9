"""Arrays put together and taken apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import Size, apply, hint_of, product
from ...slicing import cut
from .manipulation import _raised_to
from .table import NumpyBuilder, axis_of, dtype_name, rows


def _arrays(b: NumpyBuilder, arrays: Any, dtype: Any = None) -> list[Value]:
    """The arrays in one dtype; an array in the place of a list is the list of its slices."""
    if isinstance(arrays, Value):
        arrays = b.unstack(arrays, axis=0, count=b.fix(arrays.shape[0]))
    made = [b.array(item) for item in arrays]
    kind = b.result_type(*made) if dtype is None else dtype_name(dtype)
    return [b.cast(item, kind) for item in made]


@rows.row("concatenate", "concat")
def concatenate(b: NumpyBuilder, arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = _arrays(b, arrays, dtype)
    if axis is None:
        parts, axis = [b.reshape(part, shape=(product(part.shape),)) for part in parts], 0
    return b.concat(*parts, axis=axis_of(axis, parts[0].ndim))


@rows.row("stack")
def stack(b: NumpyBuilder, arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = _arrays(b, arrays, dtype)
    return b.stack(*parts, axis=axis_of(axis, parts[0].ndim + 1))


def _joined(rank: int, axis: Callable[[int], int]) -> Callable[..., Any]:
    def row(b: NumpyBuilder, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        parts = [_raised_to(b, part, rank) for part in _arrays(b, tup, dtype)]
        return b.concat(*parts, axis=axis(parts[0].ndim))

    return row


rows.row("vstack", "row_stack")(_joined(2, lambda rank: 0))
rows.row("hstack")(_joined(1, lambda rank: 0 if rank == 1 else 1))
rows.row("dstack")(_joined(3, lambda rank: 2))


@rows.row("column_stack")
def column_stack(b: NumpyBuilder, tup: Any) -> Any:
    parts = [b.reshape(part, shape=(*part.shape, *(1,) * (2 - part.ndim))) if part.ndim < 2 else part for part in _arrays(b, tup)]
    return b.concat(*parts, axis=1)


@rows.row("block")
def block(b: NumpyBuilder, arrays: Any) -> Any:
    """numpy.block, of nested lists."""
    depth = _depth(arrays)
    leaves = [b.array(item) for item in _leaves(arrays)]
    kind, rank = b.result_type(*leaves), max(depth, *(leaf.ndim for leaf in leaves))

    def joined(item: Any, level: int) -> Value:
        if not isinstance(item, list):
            made = b.cast(b.array(item), kind)
            return b.reshape(made, shape=(*(1,) * (rank - made.ndim), *made.shape))
        return b.concat(*(joined(part, level + 1) for part in item), axis=rank - depth + level)

    return joined(arrays, 0)


def _depth(item: Any) -> int:
    return 1 + _depth(item[0]) if isinstance(item, list) else 0


def _leaves(item: Any) -> list[Any]:
    return [leaf for part in item for leaf in _leaves(part)] if isinstance(item, list) else [item]


# ---------------------------------------------------------------------------------------------- apart
def _split(b: NumpyBuilder, x: Value, sections: Any, axis: int) -> list[Value]:
    if isinstance(sections, Value):
        raise UnsupportedOperation("split at computed places has no row")
    if isinstance(sections, (list, tuple, np.ndarray)):
        bounds = [None, *sections, None]
        return [cut(b, x, axis, first, last) for first, last in itertools.pairwise(bounds)]
    count = b.fix(sections) if isinstance(sections, Size) else int(sections)
    size = x.shape[axis]
    rest = hint_of(size) % count
    b.guard(apply("eq", size % count, rest))
    if rest:
        size = b.fix(size)
    each = size // count
    sizes = [each + (number < rest) for number in range(count)]
    starts: list[Any] = [0]
    for part in sizes:
        starts.append(starts[-1] + part)
    return [cut(b, x, axis, first, last) for first, last in zip(starts[:-1], [*starts[1:-1], None])]


rows.table({
    ("split", "array_split"): lambda b, ary, indices_or_sections, axis=0: _split(b, ary, indices_or_sections, axis_of(axis, ary.ndim)),
    "hsplit": lambda b, ary, indices_or_sections: _split(b, ary, indices_or_sections, 0 if ary.ndim == 1 else 1),
    "vsplit": lambda b, ary, indices_or_sections: _split(b, ary, indices_or_sections, 0),
    "dsplit": lambda b, ary, indices_or_sections: _split(b, ary, indices_or_sections, 2),
})  # fmt: skip


@rows.row("unstack")
def unstack(b: NumpyBuilder, x: Any, /, *, axis: int = 0) -> Any:
    place = axis_of(axis, x.ndim)
    return b.unstack(x, axis=place, count=b.fix(x.shape[place]))
