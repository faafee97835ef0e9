"""Parts of containers that a graph reads at each call, so that no guard compares them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

_ALL = (None,)


@dataclass(frozen=True)
class FreeParts:
    """Predicate ``free(item, key)``: True if a part of a container is free.

    keys_of: returns the keys of an object's free parts; the key None stands for all of them.

    >>> free = FreeParts(lambda item: ["step"])
    >>> free({}, "step"), free({}, "rate"), free({}, None), free.without({}, frozenset({"step", "rate"}))
    (True, False, False, frozenset({'rate'}))
    """

    keys_of: Callable[[Any], Collection[Any]] = lambda item: ()

    def __call__(self, item: Any, key: Any) -> bool:
        keys = self.keys_of(item)
        return None in keys or key in keys

    def without(self, item: Any, keys: frozenset[Any]) -> frozenset[Any]:
        """Return those of ``keys`` that are not free in ``item``; ``keys`` itself if none is free."""
        free = self.keys_of(item)
        if None in free:
            return frozenset()
        return keys if keys.isdisjoint(free) else keys.difference(free)


def free_parts(
    parts: Iterable[tuple[int, Any]],
    is_whole: Callable[[Any], bool],
    container_of: Callable[[Any], Any] = lambda item: item,
) -> FreeParts:
    """Return the :class:`FreeParts` of ``parts``, pairs of a container's id and a key.

    All parts of containers for which ``is_whole`` is True are free, too. ``container_of`` returns the
    container of an object's attributes.
    """
    keys: dict[int, set[Any]] = {}
    for container, key in parts:
        keys.setdefault(container, set()).add(key)

    def keys_of(item: Any) -> Collection[Any]:
        container = container_of(item)
        return _ALL if is_whole(container) else keys.get(id(container), ())

    return FreeParts(keys_of)


NO_FREE_PARTS = FreeParts()
