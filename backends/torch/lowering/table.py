"""The one table that the files beside this one fill."""

from ...rows import Rows

UNSUPPORTED: dict[str, str] = {}
"""Operation -> why torch cannot have it; strict, see docs/support.md."""

rows = Rows("torch", UNSUPPORTED)
