"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

from ..rows import Operand
from .table import rows

_DEFAULTS = {"center": True, "pad_mode": "reflect", "normalized": False, "onesided": True, "length": None, "as_complex": False}


def _signal(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, window: Operand | None = None, **params: Any) -> str:
        inputs = [str(item) for item in (x, window) if item is not None]
        changed = [f"{key}={value!r}" for key, value in params.items() if key not in _DEFAULTS or value != _DEFAULTS[key]]
        return f"{name}({', '.join(inputs + changed)})"


_signal("stft")
_signal("istft")
