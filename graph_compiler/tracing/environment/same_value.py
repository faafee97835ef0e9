"""Facts that something is what it is now: the same object, or of numbers and texts the same value."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...trees import same_static
from .conjunction import EnvironmentGuard

ATOMS = frozenset({bool, int, float, complex, str, bytes})


def same_fact(access: str, objects: tuple[Any, ...], item: Any, what: str, of: dict[Any, Any] | None = None) -> EnvironmentGuard:
    """What is read by ``access`` is what it is now: of numbers and text, the value. ``of`` is the dict whose entry it is."""
    if _is_atomic(item):
        return EnvironmentGuard(f"{{}}({access}, {{}})", (is_same, *objects, item), what, of)
    return EnvironmentGuard(f"{access} is {{}}", (*objects, item), what, of)


def is_same(item: Any, before: Any) -> bool:
    """Whether an object is the one of before, or a number, a text or a tuple of these of its value.

    >>> is_same(2.0, 1.0 + 1.0), is_same(2, 2.0), is_same([], []), is_same((1, "a"), tuple([1, "a"]))
    (True, False, False, True)
    """
    return item is before or _is_atomic(before) and same_static(item, before)


def _is_atomic(item: Any) -> bool:
    return type(item) in ATOMS or type(item) is tuple and all(type(part) in ATOMS for part in item)


def same_items(items: Collection[Any], before: Collection[Any]) -> bool:
    """Whether these are the items of before, in their order.

    >>> same_items([2.0, print], (2.0, print)), same_items([2.0], [])
    (True, False)
    """
    return len(items) == len(before) and all(map(is_same, items, before))
