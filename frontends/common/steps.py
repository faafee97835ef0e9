"""One view in a chain of views, stored so that it can be taken again and inverted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ViewStep:
    """Recorded call that takes a view. Calling the step takes the same view of another array.

    key: name of the call in the lifting table.
    args, kwargs: arguments after the viewed array.
    again: function that takes the same view of another array of the same shape.
    """

    key: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    again: Callable[[Any], Any]

    def __call__(self, array: Any) -> Any:
        return self.again(array)
