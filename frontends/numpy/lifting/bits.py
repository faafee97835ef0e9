"""Truth values as the bits of bytes."""

from __future__ import annotations

from typing import Any

from ....ir import Value
from ....sizes import apply, hint_of
from ...slicing import cut
from .manipulation import ravel
from .table import NumpyBuilder, axis_of, rows


@rows.row("packbits")
def packbits(b: NumpyBuilder, a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    x, along = _line(b, a, axis)
    return b.packbits(x, axis=along, bitorder=bitorder)


@rows.row("unpackbits")
def unpackbits(b: NumpyBuilder, a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """numpy.unpackbits: ``count`` bits of them, with zeros after the last; a negative one leaves out so many."""
    x, along = _line(b, a, axis)
    bits = b.unpackbits(x, axis=along, bitorder=bitorder)
    if count is None or hint_of(count) <= hint_of(bits.shape[along]):
        return bits if count is None else cut(b, bits, along, None, count)
    b.guard(apply("gt", count, bits.shape[along]))
    after = [(0, count - bits.shape[along] if place == along else 0) for place in range(bits.ndim)]
    return b.pad(bits, padding=tuple(after), value=0)


def _line(b: NumpyBuilder, a: Any, axis: Any) -> tuple[Value, int]:
    """The array with the axis counted from the front; flattened where there is none."""
    x = b.array(a)
    return (ravel(b, x), 0) if axis is None else (x, axis_of(axis, x.ndim))
