"""Placeholders for names that each target replaces: ``xp`` (its array module), ``Array``, and helpers.

Importing a name from here returns the name as a string, unless it begins with two underscores.
``collect_helpers`` of ``backends/common/preludes.py`` copies the helpers with globals that have the
target's objects.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name
