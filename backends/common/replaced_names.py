"""Names that each target replaces: ``xp`` (its array module), ``Array`` (its array class) and helpers.

Importing any name from here returns the name as a string. ``collect_helpers`` of
``backends/common/preludes.py`` copies the helpers with globals that hold the target's objects.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name
