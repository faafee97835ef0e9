"""Raw operations without a row, with the reason that a user reads."""

from __future__ import annotations

import re


def reason(operation: str) -> str:
    """Why an operation has no row."""
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, operation)), "no row in the raising table of tensorflow")


LEFT_OUT: dict[str, str] = {}
