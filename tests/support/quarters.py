"""A function in a module that programs access through its package."""

from __future__ import annotations

from typing import Any


def quarter(x: Any) -> Any:
    return x[: max(int(len(x) / 4), 1)]
