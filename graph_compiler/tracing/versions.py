"""What tells that dicts and the classes of objects have not changed: versions that Python keeps, many of them read at once.

A model's attributes are hundreds of objects that lie apart in memory. CPython up to 3.11 stores with each dict a number that every
change replaces (PEP 509), and each object begins with a pointer to its class. One gather of numpy reads all of these words: the
processor fetches them side by side, where code that visits one object after the other waits for each.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

Dicts = Sequence[dict[Any, Any]]
Versions = Callable[[], Any]  # gives something else (``!=``) after each change
VersionsOf = Callable[[Dicts, Sequence[Any]], Versions]  # of these dicts' entries, and of these objects' classes

_WORD = 8  # bytes
_CLASS, _VERSION = 1 * _WORD, 3 * _WORD  # where they stand in an object and a dict (CPython's PyObject and PyDictObject)


class _Memory:
    """All memory of the process as words, from the second word on (numpy takes the address 0 for none)."""

    __array_interface__ = {"data": (_WORD, True), "shape": (1 << 44,), "typestr": "<u8", "version": 3}  # noqa: RUF012


def gathered(dicts: Dicts, objects: Sequence[Any]) -> Versions:
    """Versions that are words of memory; only where ``is_readable``.

    >>> held = {"step": 1}
    >>> versions = gathered([held], []) if is_readable else lambda: list(held.items())
    >>> before = versions()
    >>> versions() == before, held.update(step=2), versions() == before
    (True, None, False)
    """
    alive = (*dicts, *objects)  # as long as their memory is looked at
    addresses = [id(one) + _VERSION for one in dicts] + [id(one) + _CLASS for one in objects]
    places = np.array(addresses, np.int64) // _WORD - 1
    take = np.asarray(_Memory()).take

    def versions(alive: Any = alive) -> bytes:
        read: bytes = take(places).tobytes()
        return read

    return versions


def counted(version: Callable[[dict[Any, Any]], int]) -> VersionsOf:
    """Versions by a function that tells the version of one dict."""

    def versions_of(dicts: Dicts, objects: Sequence[Any]) -> Versions:
        return lambda: ([version(one) for one in dicts], [type(one) for one in objects])

    return versions_of


def dicts_of_attribute(cls: type, name: str) -> list[dict[str, Any]]:
    """The dicts that an attribute of a class depends on: those of the classes where Python looks for it; empty where they cannot be had.

    >>> class Layer:
    ...     def forward(self): ...
    >>> [["forward" in held for held in dicts_of_attribute(cls, "forward")] for cls in (Layer, type("Own", (Layer,), {}))]
    [[True], [False, True]]
    """
    above = next((place for place, one in enumerate(cls.__mro__) if name in vars(one)), len(cls.__mro__) - 1)
    found = [gc.get_referents(vars(one)) for one in cls.__mro__[: above + 1]]  # what a class gives is a proxy of its dict
    is_known = all(len(held) == 1 and type(held[0]) is dict for held in found)
    return [held for (held,) in found] if is_known else []


# ------------------------------------------------------------------------------------- whether they tell of every change
class _Object:
    step = 0


class _Other(_Object):
    pass


def _stores(item: Any) -> Iterator[None]:
    """Changes of what an object holds, each done once the loop runs as fast as the interpreter makes it."""
    for step in range(64):
        item.step = step
        yield
    setattr(item, "other", 1)  # noqa: B010
    yield
    del item.other
    yield


def _items(held: dict[str, Any]) -> Iterator[None]:
    for step in range(64):
        held["a"] = step
        yield
    for change in (lambda: held.update(b=3), lambda: held.pop("a"), held.clear, lambda: held.update(c=1)):
        change()
        yield


def _attributes(cls: Any) -> Iterator[None]:
    for base in cls.__mro__[-2::-1]:
        base.forward = len
        yield
        base.forward = repr
        yield


def _classes(item: Any) -> Iterator[None]:
    for cls in (_Other, _Object):
        item.__class__ = cls
        yield


def tell(versions_of: VersionsOf) -> bool:
    """Whether what ``versions_of`` gives tells of every kind of change, and of nothing else.

    Python 3.13 tells watchers of a dict nothing of attributes that are stored in an object.
    """
    item, held = _Object(), dict[str, Any]()
    return (
        tells(versions_of([vars(item)], []), _stores(item))
        and tells(versions_of([held], []), _items(held))
        and tells(versions_of(dicts_of_attribute(_Other, "step"), []), _attributes(_Other))
        and tells(versions_of([], [item]), _classes(item), repeats=True)
    )


def tells(versions: Versions, changes: Iterable[None], repeats: bool = False) -> bool:
    """Whether versions differ after each of the ``changes`` from all before (from the last, where it ``repeats``), and are the same in between.

    >>> held = {}
    >>> tells(lambda: len(held), (held.update({number: 0}) for number in range(3)))
    True
    """
    seen = [versions()]
    for _ in changes:
        now = versions()
        if now != versions() or now in (seen[-1:] if repeats else seen):
            return False
        seen.append(now)
    return True


is_readable = sys.implementation.name == "cpython" and (3, 10) <= sys.version_info[:2] <= (3, 11) and sys.maxsize > 2**32 and tell(gathered)
