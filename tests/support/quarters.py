"""What programs call in a module that they name through its package."""

from __future__ import annotations

from typing import Any


def quarter(x: Any) -> Any:
    """The first quarter of the rows, one at least."""
    return x[: max(int(len(x) / 4), 1)]
