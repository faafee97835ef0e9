"""Writing of results into the user's NumPy arrays, and detection of writes to them."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording.state.contents import Pieces


def _fills_memory(array: np.ndarray[Any, Any]) -> bool:
    return bool(array.size) and (array.flags.c_contiguous or array.flags.f_contiguous)


def _memory(array: np.ndarray[Any, Any]) -> Any:
    """Return the bytes of ``array``: a copy, or a view that is valid only while ``array`` lives."""
    if not _fills_memory(array):
        return array.tobytes()
    # NumPy gives no buffers of some dtypes, such as dates.
    return memoryview((ctypes.c_char * array.nbytes).from_address(array.ctypes.data))


class ElementStamp:
    """Copy of the elements of an array, to detect later writes.

    >>> array = np.zeros(2)
    >>> stamp = ElementStamp(array)
    >>> array[0] = 1
    >>> stamp.fits(array)
    False
    """

    __slots__ = ("elements",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        # Unlike ``bytes``, a ``bytearray`` compares the bytes of any buffer.
        self.elements = bytearray(_memory(array))

    def fits(self, array: np.ndarray[Any, Any]) -> bool:
        # A cache of conversions holds stamps as long as arrays live, so a stamp must not refer to its array.
        return self.elements == _memory(array)


class ElementWatch:
    """Copies of the elements of several arrays, to detect a write to any of them."""

    compares_all = True

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._pieces = [
            Pieces(array, array.ctypes.data, array.nbytes, whole=True)
            for array in arrays
            if _fills_memory(array)
        ]
        self._others = [(ElementStamp(array), array) for array in arrays if not _fills_memory(array)]

    def of_copies(self, addresses: Sequence[int | None]) -> ElementWatch:
        made = copy.copy(self)
        made._pieces = [one for one in self._pieces if one.address not in addresses]
        return made

    def changed(self) -> bool:
        return not (
            all(one.same() for one in self._pieces)
            and all(stamp.fits(array) for stamp, array in self._others)
        )


Stamp = ElementStamp


def is_own(item: Any) -> bool:
    return isinstance(item, np.ndarray)


def own(elements: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    return np.array(elements, dtype)


def write(array: np.ndarray[Any, Any], elements: np.ndarray[Any, Any]) -> None:
    np.copyto(array, elements, casting="unsafe")
