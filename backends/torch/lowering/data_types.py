"""Data types in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_complex
from ...rows import Operand
from .table import rows


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: Any) -> str:
    """Complex to real drops the imaginary part in so many words, for torch warns otherwise."""
    if is_complex(x.dtype or "") and not is_complex(out[0].dtype) and out[0].dtype != "bool":
        return f"{x}.real.to({dtype})"
    return f"{x}.to({dtype})"
