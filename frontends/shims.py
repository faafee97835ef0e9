"""Shims: names in modules that are replaced while recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Shim = tuple[dict[str, Any], str, Any]  # a namespace, a name in it, and what stands there for a while
_NOTHING = object()


@contextmanager
def shimmed(places: Iterable[Shim]) -> Iterator[None]:
    """Inside of the block these names hold the shims, afterwards what they held before, or nothing.

    >>> space = {"len": len}
    >>> with shimmed([(space, "len", 1), (space, "abs", 2)]):
    ...     space
    {'len': 1, 'abs': 2}
    >>> space
    {'len': <built-in function len>}
    """
    swapped = [(space, name, space.get(name, _NOTHING), shim) for space, name, shim in places]
    for space, name, _, shim in swapped:
        space[name] = shim
    try:
        yield
    finally:
        for space, name, before, _ in reversed(swapped):
            if before is _NOTHING:
                space.pop(name, None)
            else:
                space[name] = before


def under_any_name(spaces: Iterable[dict[str, Any]], pairs: Iterable[tuple[Any, Any]]) -> list[Shim]:
    """Where namespaces hold the first of a pair, by identity, for its second to stand there.

    >>> [name for _, name, _ in under_any_name([{"length": len, "abs": abs}], [(len, 1)])]
    ['length']
    """
    known = {id(original): (original, shim) for original, shim in pairs}
    return [(space, name, known[id(item)][1]) for space in spaces for name, item in list(space.items()) if id(item) in known]
