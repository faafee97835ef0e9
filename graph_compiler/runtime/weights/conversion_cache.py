"""Caches of arrays converted from the user's framework to the target's."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...contracts import Stamp
from ...errors import NotCompilable


def convert_array(array: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert an array that a function holds.

    Raise ``NotCompilable`` if ``convert`` returns None, because the array is of an unknown class.
    """
    conversion = convert(array)
    if conversion is None:
        raise NotCompilable(
            f"the function holds a {type(array).__name__}, a class of arrays of its own; let it hold "
            "np.asarray of it"
        )
    return conversion


@dataclass(frozen=True)
class _CachedConversion:
    array: weakref.ref[Any]
    stamp: Stamp
    native: Any


class ConversionCache:
    """Cache of arrays converted to another framework, keyed by the identity of the source array.

    An entry is valid while the source array is alive and its stamp fits, that is, until the array is written
    to.

    >>> from graph_compiler.frontends.numpy.array_access import Stamp
    >>> import numpy as np
    >>> converted, array = ConversionCache(lambda array: array.tolist(), Stamp), np.ones(2)
    >>> converted.get_or_convert(array), converted.get_or_convert(array) is converted.get_or_convert(array)
    ([1.0, 1.0], True)
    >>> array[0] = 5
    >>> converted.get_or_convert(array)
    [5.0, 1.0]
    """

    def __init__(self, convert: Callable[[Any], Any], stamp: Callable[[Any], Stamp]) -> None:
        self._convert, self._stamp = convert, stamp
        self._conversions: dict[int, _CachedConversion] = {}

    def lookup(self, array: Any) -> Any:
        conversion = self._conversions.get(id(array))
        return (
            conversion.native
            if conversion is not None and conversion.array() is array and conversion.stamp.fits(array)
            else None
        )

    def get_or_convert(self, array: Any) -> Any:
        known = self.lookup(array)
        return self.store(array, convert_array(array, self._convert)) if known is None else known

    def store(self, array: Any, native: Any) -> Any:
        """Store ``native`` as the current conversion of ``array`` and return it.

        Nothing is stored if ``native`` is None or the array itself.
        """
        number, conversions = id(array), self._conversions

        def forget(reference: weakref.ref[Any]) -> None:
            conversion = conversions.get(number)
            if conversion is not None and conversion.array is reference:
                del conversions[number]

        if native is not None and native is not array:
            conversions[number] = _CachedConversion(weakref.ref(array, forget), self._stamp(array), native)
        return native


class UncachedConversion(ConversionCache):
    """A :class:`ConversionCache` that stores nothing, for conversions that share memory."""

    def lookup(self, array: Any) -> Any:
        # Converting again costs less than checking a stamp.
        return convert_array(array, self._convert)

    def store(self, array: Any, native: Any) -> Any:
        return native
