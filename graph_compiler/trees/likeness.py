"""Comparison of nested arguments by structure and by properties of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def likeness(
    items: Iterable[Any], kinds: Mapping[type, Callable[[Any], Any]], arrays: list[Any]
) -> list[Any]:
    """Return a description that is equal for items of equal structure with like arrays.

    The arrays are appended to `arrays`. Other objects than arrays, tuples, lists, dicts and None are
    described by an object that equals nothing.

    kinds: for each class of arrays, a function that returns the properties to compare.

    >>> found: list[float] = []
    >>> kinds = {float: type}
    >>> first = likeness([1.5, {"a": (2.5, None)}], kinds, found)
    >>> first == likeness([3.5, {"a": (4.5, None)}], kinds, [])
    True
    >>> found, likeness(["text"], kinds, found) == likeness(["text"], kinds, found)
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
