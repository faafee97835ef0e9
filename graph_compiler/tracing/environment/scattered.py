"""Words that lie apart in memory, as one array of which nothing is copied."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

WORD = 8  # bytes


class _Buffer(ctypes.Structure):
    """CPython's ``Py_buffer``."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


class Scattered:
    """The words at these addresses: ``view`` is an array of pointers, each followed to its word (``suboffsets`` of PEP 3118).

    Whoever makes one keeps the memory alive, and this object, for as long as ``view`` is read.

    >>> numbers = (ctypes.c_uint64 * 3)(5, 6, 7)
    >>> words = Scattered([ctypes.addressof(numbers) + 16, ctypes.addressof(numbers)])
    >>> before = words.copy()
    >>> words.view.tolist(), words.view == before, numbers.__setitem__(2, 8), words.view == before
    ([7, 5], True, None, False)
    """

    __slots__ = ("_pointers", "view")

    def __init__(self, addresses: Sequence[int]) -> None:
        number = len(addresses)
        self._pointers = (ctypes.c_void_p * number)(*addresses)
        shape, strides, suboffsets = (ctypes.pointer(ctypes.c_ssize_t(item)) for item in (number, WORD, 0))
        start, whole = ctypes.addressof(self._pointers), number * WORD
        self.view: memoryview = _view_of(ctypes.byref(_Buffer(start, None, whole, WORD, 1, 1, b"Q", shape, strides, suboffsets, None)))

    def copy(self) -> memoryview:
        """The words of the moment."""
        return memoryview(self.view.tobytes()).cast("Q")


_view_of = ctypes.pythonapi.PyMemoryView_FromBuffer
_view_of.argtypes, _view_of.restype = [ctypes.POINTER(_Buffer)], ctypes.py_object
