"""Stored arrays that share memory with another array which the function writes to are recorded as views of it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...tracing.conjunction import EnvironmentGuard
from ..taking import Taking, taking, views_among


class Where(Protocol):
    """The place of an array."""

    def read(self) -> Any:
        """What is there now."""


class _Lies(NamedTuple):
    """The shape of the owner, and where in it the elements of a view are."""

    shape: tuple[int, ...]
    taken: Taking | None


class KeptViews:
    """The views that earlier attempts at one recording have shown, with their owners, and where this attempt has found both.

    >>> table, views = np.zeros((3, 4)), KeptViews()
    >>> row = table[1]
    >>> views.ask([row, table]), views.next_attempt(), views.next_attempt(), views.has(row), views.has(table)
    (None, True, False, True, False)
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[Any, Any]] = {}
        self._asked: dict[int, tuple[Any, Any]] = {}
        self._known: set[int] = set()
        self._placed: dict[int, tuple[Any, Where]] = {}
        self._taken: list[tuple[Any, Where, Any]] = []

    @property
    def any(self) -> bool:
        """Whether there are views."""
        return bool(self._owners)

    @property
    def places(self) -> list[Any]:
        """Where the views are."""
        return [place for _, place, _ in self._taken]

    def ask(self, arrays: Sequence[Any]) -> None:
        """Tells that these arrays may share memory. If one of them contains others, the next attempt records these as views of it."""
        self._asked = {**views_among(arrays, _is_view, lambda item: item.size), **self._asked}

    def next_attempt(self) -> bool:
        """From here on those asked for are views. Whether there are any that were not."""
        new = self._asked.keys() - self._known
        self._known |= new
        self._owners.update(self._asked)
        return bool(new)

    def begin(self, given: Container[int]) -> None:
        """A new attempt finds all of them anew, but for those of arrays that are ``given`` as arguments (by identity), which other calls
        are not given."""
        self._owners = {name: pair for name, pair in self._owners.items() if id(pair[1]) not in given}
        self._placed.clear()
        self._taken.clear()

    def has(self, array: Any) -> bool:
        """Whether this array is known to be a view."""
        return id(array) in self._owners

    def note(self, array: Any, place: Where) -> None:
        """Where an array is that is no view."""
        self._placed[id(array)] = (array, place)

    def taken(self, capture: Any, place: Where, array: Any, known: dict[int, Any]) -> Any:
        """What stands for a view: calls that take it of what stands for its owner; the array itself where that was not met so far."""
        owner = self._owners[id(array)][1]
        found = _lies(array, owner).taken
        if id(owner) not in known or found is None:
            return array
        made = known[id(owner)]
        with capture.isolated():
            made = made if found.key is None else made[found.key]
            made = made if found.order is None else made.transpose(found.order)
            made = made if found.shape is None else made.reshape(found.shape)
        self._taken.append((array, place, owner))
        return known.setdefault(id(array), made)

    def facts(self) -> Iterator[EnvironmentGuard]:
        """That each view still lies where it lay."""
        for array, place, owner in self._taken:
            still = partial(_still, place, self._placed[id(owner)][1], _lies(array, owner))
            yield EnvironmentGuard("{}()", (still,), "an array that was a view of another one, which is written to,")


def _is_view(array: Any, owner: Any) -> bool:
    """Whether an array in row-major order has the elements of another one at an index."""
    plain = array.dtype == owner.dtype and owner.flags.c_contiguous and array.flags.writeable
    return bool(plain) and _lies(array, owner).taken is not None


def _lies(array: Any, owner: Any) -> _Lies:
    size, start, first = owner.itemsize, array.__array_interface__["data"][0], owner.__array_interface__["data"][0]
    steps = tuple(step // size for step in array.strides)
    inside = 0 <= start - first < owner.nbytes and (start - first) % size == 0
    return _Lies(owner.shape, taking(array.shape, steps, (start - first) // size, owner.shape) if inside else None)


def _still(view: Where, owner: Where, lies: _Lies) -> bool:
    now, of = view.read(), owner.read()
    return isinstance(now, np.ndarray) and isinstance(of, np.ndarray) and _is_view(now, of) and _lies(now, of) == lies
