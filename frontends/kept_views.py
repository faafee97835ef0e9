"""Arrays from outside that lie in the memory of another one, which the function writes to: they are recorded as views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from ..tracing.environment.conjunction import EnvironmentGuard
from .taking import views_among

Array = TypeVar("Array")
Reader = Callable[[], Any]  # gives what is in a place at the moment

_MOST_ATTEMPTS = 4  # a view that the function makes anew each time, where nobody sees it, is another array in each


class KeptViews(Generic[Array]):
    """The views that earlier attempts at one recording have shown, with their owners.

    A module that keeps ``self.row = self.table[0]`` has one memory under two names. Once it is known that both are used and one is written
    to, the row is recorded as what it is, a view of the table, and only the table is an array of the graph. A framework's subclass says
    what is a view, and takes it.

    >>> import numpy as np
    >>> class Views(KeptViews):
    ...     is_view = lambda self, array, owner: array.base is owner
    ...     rank = lambda self, array: array.size
    >>> table, views = np.zeros((3, 4)), Views()
    >>> row = table[1]
    >>> views.ask([row, table]), views.next_attempt(), views.next_attempt()
    (None, True, False)
    >>> views.owner_of(row) is table, views.owner_of(table)
    (True, None)
    """

    words = "an array"

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Array, Array]] = {}
        self._asked: dict[int, tuple[Array, Array]] = {}
        self._known: set[int] = set()
        self._attempts = 0

    # ------------------------------------------------------------------------------ what a framework gives
    def is_view(self, array: Array, owner: Array) -> bool:
        """Whether calls can take an array of its owner, which has all of its elements."""
        raise NotImplementedError

    def lies(self, array: Array, owner: Array) -> Any:
        """Where an array lies in its owner, of the shape that this has; equal for what is taken by the same calls."""
        raise NotImplementedError

    def rank(self, array: Array) -> Any:
        """The array of the highest rank is the owner of those that are equal."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------ between attempts
    def ask(self, arrays: Sequence[Array]) -> None:
        """Tells that these arrays share memory. If one of them contains all others, the next attempt records the others as views of it."""
        self._asked = {**views_among(arrays, self.is_view, self.rank), **self._asked}

    def next_attempt(self) -> bool:
        """From here on those asked for are views. Whether there are any that were not."""
        new = self._attempts < _MOST_ATTEMPTS and not self._asked.keys() <= self._known
        self._attempts += new
        self._known |= self._asked.keys()
        self._owners.update(self._asked)
        return new

    # ------------------------------------------------------------------------------ in an attempt
    @property
    def any(self) -> bool:
        """Whether there are views."""
        return bool(self._owners)

    def owner_of(self, array: Any) -> Array | None:
        """The array from outside that this one is known to be a view of."""
        entry = self._owners.get(id(array))
        return entry[1] if entry is not None and entry[0] is array else None

    def lies_still(self, array: Array, owner: Array, view_now: Reader, owner_now: Reader) -> EnvironmentGuard:
        """That what is in the place of a view lies in what is in the place of its owner as now."""
        still = partial(self._still, type(owner), view_now, owner_now, self.lies(array, owner))
        return EnvironmentGuard("{}()", (still,), f"{self.words} that was a view of another one, which is written to,")

    def _still(self, cls: Any, view: Reader, owner: Reader, lies: Any) -> bool:
        now, of = view(), owner()
        return isinstance(now, cls) and isinstance(of, cls) and self.is_view(now, of) and bool(self.lies(now, of) == lies)
