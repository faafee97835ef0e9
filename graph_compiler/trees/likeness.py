"""What nested containers of arrays have in common that differ in the elements alone, told by one walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def likeness(items: Iterable[Any], kinds: Mapping[type, Callable[[Any], Any]], arrays: list[Any]) -> list[Any]:
    """Equal for items of the same structure whose arrays are equal in what ``kinds`` tells of them, by their classes. The arrays are added
    to ``arrays``, in the order of :func:`flatten`. Of what is neither an array, a tuple, a list, a dict nor None stands an object that
    equals nothing.

    >>> found: list[float] = []
    >>> likeness([1.5, {"a": (2.5, None)}], {float: type}, found) == likeness([3.5, {"a": (4.5, None)}], {float: type}, [])
    True
    >>> found, likeness(["text"], {float: type}, found) == likeness(["text"], {float: type}, found)
    ([1.5, 2.5], False)
    """
    found: list[Any] = []
    for item in items:
        cls = type(item)
        if cls in kinds:
            arrays.append(item)
            found.append(kinds[cls](item))
        elif cls is dict:
            found.append((tuple(item), item and likeness(item.values(), kinds, arrays)))
        elif cls is list or cls is tuple:
            found.append((cls, likeness(item, kinds, arrays)))
        else:
            found.append(item if item is None else object())
    return found
