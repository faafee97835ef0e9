"""Functions in ``functools.lru_cache`` that a recording fills: every attempt finds them as the first one did, and the last one leaves them filled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Caches:
    """The caches that were empty before the first attempt.

    >>> import functools
    >>> cached, caches = functools.lru_cache(lambda n: n), Caches()
    >>> caches.begin([cached]), cached(2), caches.begin([cached]), cached.cache_info().currsize
    (None, 2, None, 0)
    """

    def __init__(self) -> None:
        self._empty: dict[int, Any] = {}
        self._known: dict[int, Any] = {}

    def begin(self, caches: Iterable[Any]) -> None:
        """An attempt begins."""
        for cache in caches:
            if id(cache) not in self._known and not cache.cache_info().currsize:
                self._empty[id(cache)] = cache
            self._known[id(cache)] = cache
        for cache in self._empty.values():
            cache.cache_clear()
