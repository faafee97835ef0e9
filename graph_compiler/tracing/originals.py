"""What a compiled callable was made of: a function that calls one is recorded together with the original."""

from __future__ import annotations

from typing import Any

_OWN = f"{__name__.partition('.')[0]}.runtime."


def original_of(item: Any) -> Any:
    """The callable behind one that was compiled; anything else, and a graph that was loaded from a file, is what it is.

    >>> original_of(len) is len
    True
    """
    while type(item).__module__.startswith(_OWN) and (pipeline := vars(item).get("pipeline")) is not None and pipeline.has_original:
        item = pipeline.function
    return item
