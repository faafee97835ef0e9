"""Data types in numpy."""

from __future__ import annotations

from ....ops.dtypes import is_complex, is_floating
from ...rows import Operand
from .table import rows

_NARROW = ("int8", "int16", "uint8", "uint16")


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: tuple[object, ...] = ()) -> str:
    """Complex to real drops the imaginary part in so many words; floats reach narrow integers by way of int32, where they wrap."""
    target = out[0].dtype  # type: ignore[attr-defined]
    if is_complex(x.dtype or "") and not is_complex(target) and target != "bool":
        return f"{x}.real.astype({dtype})"
    if is_floating(x.dtype or "") and target in _NARROW:
        return f"{x}.astype(np.int32).astype({dtype})"
    return f"{x}.astype({dtype})"
