"""Facts that something is what it is now: the same object, or of numbers and texts the same value."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..trees import same_static
from .conjunction import Fact

ATOMS = frozenset({bool, int, float, complex, str, bytes})


def same_fact(access: str, objects: tuple[Any, ...], item: Any, what: str, of: dict[Any, Any] | None = None) -> Fact:
    """What is read by ``access`` is what it is now: of numbers and text, the value. ``of`` is the dict whose entry it is."""
    if type(item) in ATOMS:
        return Fact(f"{{}}({access}, {{}})", (is_same, *objects, item), what, of)
    return Fact(f"{access} is {{}}", (*objects, item), what, of)


def is_same(item: Any, before: Any) -> bool:
    """Whether an object is the one of before, or a number or text of its value.

    >>> is_same(2.0, 1.0 + 1.0), is_same(2, 2.0), is_same([], [])
    (True, False, False)
    """
    return item is before or type(before) in ATOMS and same_static(item, before)


def same_items(items: Collection[Any], before: Collection[Any]) -> bool:
    """Whether these are the items of before, in their order.

    >>> same_items([2.0, print], (2.0, print)), same_items([2.0], [])
    (True, False)
    """
    return len(items) == len(before) and all(map(is_same, items, before))
