"""One step of a chain of views: how a call takes a view of an array, so that it can be taken again and
undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """``again(array)`` takes the same view of another array of the same shape; ``key``, ``args`` and
    ``kwargs`` are the call's bare name and its arguments after the array.
    """

    key: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    again: Callable[[Any], Any]

    def __call__(self, array: Any) -> Any:
        return self.again(array)
