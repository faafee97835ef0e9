"""Writing of results into the user's NumPy arrays, and detection of writes to them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording.state.contents import Pieces


class ElementStamp:
    """Copy of the elements of an array, to detect later writes, which NumPy does not count.

    elements: the bytes of an array that is not contiguous or has no elements; None for any other.
    pieces: copy of the memory of any other array; else None.

    >>> array = np.zeros(2)
    >>> stamp = ElementStamp(array)
    >>> array[0] = 1
    >>> stamp.fits(array)
    False
    """

    __slots__ = ("elements", "pieces")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        # The memory of an array with gaps has elements of other arrays in between.
        fills = array.size and (array.flags.c_contiguous or array.flags.f_contiguous)
        # A write to single elements is usual in NumPy, so all of them are compared.
        self.pieces = Pieces(array, array.ctypes.data, array.nbytes, whole=True) if fills else None
        self.elements = None if fills else array.tobytes()

    def fits(self, array: np.ndarray[Any, Any]) -> bool:
        return array.tobytes() == self.elements if self.pieces is None else self.pieces.same()


class ElementWatch:
    """Stamps of several arrays, to detect a write to any of them."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._stamps = [(ElementStamp(array), array) for array in arrays]

    def of_copies(self, addresses: Sequence[int | None]) -> ElementWatch:
        made = copy.copy(self)
        made._stamps = [
            (stamp, array)
            for (stamp, array), address in zip(self._stamps, addresses)
            if stamp.pieces is None or stamp.pieces.address != address
        ]
        return made

    def changed(self) -> bool:
        return not all(stamp.fits(array) for stamp, array in self._stamps)


Stamp = ElementStamp


def is_own(item: Any) -> bool:
    return isinstance(item, np.ndarray)


def own(elements: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    return np.array(elements, dtype)


def write(array: np.ndarray[Any, Any], elements: np.ndarray[Any, Any]) -> None:
    np.copyto(array, elements, casting="unsafe")
