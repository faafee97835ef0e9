"""Caches of arrays converted from the user's framework to the target's."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...contracts import Stamp
from ...errors import NotCompilable


def twin_of(array: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert an array that a function holds.

    Raises ``NotCompilable`` if ``convert`` returns None, because the array is of an unknown class.
    """
    twin = convert(array)
    if twin is None:
        raise NotCompilable(
            f"the function holds a {type(array).__name__}, a class of arrays of its own; let it hold "
            "np.asarray of it"
        )
    return twin


@dataclass(frozen=True)
class _Twin:
    array: weakref.ref[Any]
    stamp: Stamp
    native: Any


class Converted:
    """Cache of arrays converted to another framework, keyed by the identity of the source array.

    An entry is valid while the source array is alive and its stamp fits, that is, until the array is written
    to.

    >>> from graph_compiler.frontends.numpy.array_access import Stamp
    >>> import numpy as np
    >>> converted, array = Converted(lambda array: array.tolist(), Stamp), np.ones(2)
    >>> converted.of(array), converted.of(array) is converted.of(array)
    ([1.0, 1.0], True)
    >>> array[0] = 5
    >>> converted.of(array)
    [5.0, 1.0]
    """

    def __init__(self, convert: Callable[[Any], Any], stamp: Callable[[Any], Stamp]) -> None:
        self._convert, self._stamp = convert, stamp
        self._twins: dict[int, _Twin] = {}

    def known(self, array: Any) -> Any:
        twin = self._twins.get(id(array))
        return twin.native if twin is not None and twin.array() is array and twin.stamp.fits(array) else None

    def of(self, array: Any) -> Any:
        known = self.known(array)
        return self.note(array, twin_of(array, self._convert)) if known is None else known

    def note(self, array: Any, native: Any) -> Any:
        """Store ``native`` as the current conversion of ``array``."""
        number, twins = id(array), self._twins

        def forget(reference: weakref.ref[Any]) -> None:
            twin = twins.get(number)
            if twin is not None and twin.array is reference:
                del twins[number]

        if native is not None and native is not array:
            twins[number] = _Twin(weakref.ref(array, forget), self._stamp(array), native)
        return native


class Shared(Converted):
    """A :class:`Converted` that stores nothing, for conversions that share memory."""

    def known(self, array: Any) -> Any:
        return twin_of(array, self._convert)

    def note(self, array: Any, native: Any) -> Any:
        return native
