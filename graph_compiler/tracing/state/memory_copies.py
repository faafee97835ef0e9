"""Detects writes that no version counter sees, by comparing copies of pieces of memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

WHOLE = 16 * 1024  # bytes that are compared all
_COUNT, _LENGTH = 8, 512  # of larger memory: pieces at equal distances, the first and the last bytes among them


class Pieces:
    """Copies of pieces of memory: of up to 16 KiB all of it, of more 8 pieces, or all where ``whole`` asks for it.

    ``now`` is the memory itself, ``before`` what it held; a comparison of a piece takes a twentieth of a microsecond: neither side is
    copied. A piece keeps the memory's ``owner`` alive, so that nobody else is given its address.

    >>> import array
    >>> numbers = array.array("d", [1.0, 2.0])
    >>> pieces = Pieces(numbers, numbers.buffer_info()[0], 16)
    >>> pieces.same(), numbers.__setitem__(1, 3.0), pieces.same()
    (True, None, False)
    """

    __slots__ = ("before", "now")

    def __init__(self, owner: Any, address: int, size: int, whole: bool = False) -> None:
        memory: Any = (ctypes.c_char * size).from_address(address)
        memory.owner = owner
        view = memoryview(memory)
        self.now = [view[start : start + length] for start, length in _pieces(size, whole)]
        self.before: list[Any] = list(map(bytearray, self.now))

    def same(self) -> bool:
        """Whether the pieces hold what they held."""
        return self.before == self.now


def _pieces(size: int, whole: bool) -> Iterator[tuple[int, int]]:
    if whole or size <= WHOLE:
        yield from [(0, size)] if size else []
        return
    step = (size - _LENGTH) // (_COUNT - 1)
    yield from ((step * number, _LENGTH) for number in range(_COUNT - 1))
    yield size - _LENGTH, _LENGTH
