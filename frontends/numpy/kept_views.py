"""Stored arrays that share memory with another array which the function writes to are recorded as views of it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...tracing.environment.conjunction import EnvironmentGuard
from .. import kept_views
from ..taking import Taking, taking

Array = np.ndarray[Any, Any]


class Where(Protocol):
    """The place of an array."""

    def read(self) -> Any:
        """What is there now."""


class _Lies(NamedTuple):
    """The shape of the owner, and where in it the elements of a view are."""

    shape: tuple[int, ...]
    taken: Taking | None


class KeptViews(kept_views.KeptViews[Array]):
    """The views of numpy, and where this attempt has found them and their owners."""

    def __init__(self) -> None:
        super().__init__()
        self._placed: dict[int, tuple[Array, Where]] = {}
        self._taken: list[tuple[Array, Where, Array]] = []

    def is_view(self, array: Array, owner: Array) -> bool:
        """An array in row-major order has the elements of another one at an index."""
        plain = array.dtype == owner.dtype and owner.flags.c_contiguous and array.flags.writeable
        return bool(plain) and self.lies(array, owner).taken is not None

    def lies(self, array: Array, owner: Array) -> _Lies:
        size, start, first = owner.itemsize, array.__array_interface__["data"][0], owner.__array_interface__["data"][0]
        steps = tuple(step // size for step in array.strides)
        inside = 0 <= start - first < owner.nbytes and (start - first) % size == 0
        return _Lies(owner.shape, taking(array.shape, steps, (start - first) // size, owner.shape) if inside else None)

    def rank(self, array: Array) -> int:
        return array.size

    @property
    def places(self) -> list[Any]:
        """Where the views are."""
        return [place for _, place, _ in self._taken]

    def begin(self, given: Container[int]) -> None:
        """A new attempt finds all of them anew, but for those of arrays that are ``given`` as arguments (by identity), which other calls
        are not given."""
        self._owners = {name: pair for name, pair in self._owners.items() if id(pair[1]) not in given}
        self._placed.clear()
        self._taken.clear()

    def note(self, array: Any, place: Where) -> None:
        """Where an array is that is no view."""
        self._placed[id(array)] = (array, place)

    def taken(self, capture: Any, place: Where, array: Any, known: dict[int, Any]) -> Any:
        """What stands for a view: calls that take it of what stands for its owner; the array itself where that was not met so far."""
        owner = self._owners[id(array)][1]
        found = self.lies(array, owner).taken
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
            yield self.lies_still(array, owner, place.read, self._placed[id(owner)][1].read)
