"""Data types in TensorFlow."""

from __future__ import annotations

from ....ops.dtypes import is_complex, is_floating
from ...rows import Operand
from .table import rows

_BY_WAY_OF = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64"}


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: tuple[object, ...] = ()) -> str:
    """Complex to real drops the imaginary part in so many words; floats reach narrow integers by way of wider ones, where they wrap."""
    target = out[0].dtype  # type: ignore[attr-defined]
    source = x.dtype or ""
    if is_complex(source) and target == "bool":
        return f"({x} != 0)"
    if is_complex(source) and not is_complex(target):
        return f"tf.cast(tf.math.real({x}), {dtype})"
    if is_floating(source) and target in _BY_WAY_OF:
        return f"tf.cast(tf.cast({x}, tf.{_BY_WAY_OF[target]}), {dtype})"
    return f"tf.cast({x}, {dtype})"
