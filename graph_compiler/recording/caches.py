"""Caches of ``functools.lru_cache`` that the recorded function fills.

Each attempt to record begins with empty caches, except those that had results when they were first found. The
last attempt leaves them filled.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

from ..trees import iterate_structure


class Caches:
    """Record of the ``lru_cache`` functions that a recording reaches, to clear those empty at first.

    >>> import functools
    >>> cached, caches = functools.lru_cache(lambda n: n), Caches()
    >>> caches.begin([cached]), cached(2), caches.begin([cached]), cached.cache_info().currsize
    (None, 2, None, 0)
    """

    def __init__(self) -> None:
        self._empty: dict[int, Any] = {}
        self._known: dict[int, Any] = {}

    def begin(self, caches: Iterable[Any]) -> None:
        """Begin an attempt: register new ``caches``, then clear all that were empty when registered."""
        for cache in caches:
            # A cache that had results before the first attempt keeps them, because the user's code may rely
            # on these.
            if id(cache) not in self._known and not cache.cache_info().currsize:
                self._empty[id(cache)] = cache
            self._known[id(cache)] = cache
        for cache in self._empty.values():
            cache.cache_clear()


def cached_results(cache: Any) -> Iterator[Any]:
    """Yield the results that a ``functools.lru_cache`` function stores, and items of containers among them.

    Other referents of ``cache``, such as the wrapped function, are yielded, too.

    >>> import functools
    >>> cached = functools.lru_cache(lambda n: ("row", n * 1000))
    >>> cached(2) == ("row", 2000), 2000 in cached_results(cached)
    (True, True)
    """
    for item in gc.get_referents(cache):
        yield from iterate_structure(list(item.values()) if isinstance(item, dict) else item)
