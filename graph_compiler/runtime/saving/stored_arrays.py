"""Reading of safetensors files array by array, without a buffer for the whole file."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from ...errors import GraphCompilerError, InvalidFile
from .decode import read_json
from .pieces import ENCODED

# JAX and TensorFlow adopt memory that is aligned to this many bytes, and copy other memory.
_ALIGNED = 64
_PIECE = 1 << 22
# Maximum length of a header in the safetensors library.
_MAX_HEADER = 100_000_000
_WIDTHS = {
    code: 1 if code == "BOOL" else int("".join(filter(str.isdigit, code))) // 8 for code in ENCODED.values()
}
# Exceptions that damaged files raise. RuntimeError is also that of torch for text that it cannot parse.
DAMAGE = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    GraphCompilerError, zipfile.BadZipFile, EOFError, OSError, SyntaxError, StopIteration,
)  # fmt: skip


class HashedFile:
    """Reader of a file from beginning to end, with the SHA-256 digest of what was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def bytes(self, count: int) -> bytes:
        return self.memory(count).tobytes()

    def memory(self, count: int) -> np.ndarray[Any, Any]:
        """Read ``count`` bytes into new, aligned memory."""
        held = np.empty(count + _ALIGNED, np.uint8)
        begin = -held.ctypes.data % _ALIGNED
        filled = held[begin : begin + count]
        for place in range(0, count, _PIECE):
            self._fill(filled[place : place + _PIECE].data)
        return filled

    def require(self, digest: Any, name: str) -> None:
        if self._file.read(1) or self._digest.hexdigest() != digest:
            raise InvalidFile(f"{name} was altered or damaged since it was saved")

    def _fill(self, piece: memoryview) -> None:
        place = 0
        while place < len(piece):
            # A file without a buffer may return less than it was asked for.
            count = self._file.readinto(piece[place:])  # type: ignore[attr-defined]
            if not count:
                raise InvalidFile("the file ends too early")
            place += count
        self._digest.update(piece)


class StoredArray(NamedTuple):
    """Array of a safetensors file, in aligned memory of its own.

    encoded: code of the dtype in the file.
    memory: the bytes, as a one-dimensional array of uint8.
    """

    encoded: str
    shape: tuple[int, ...]
    memory: np.ndarray[Any, Any]


def stored_arrays(file: HashedFile) -> Iterator[tuple[str, str, np.ndarray[Any, Any]]]:
    return ((name, stored.encoded, stored.memory) for name, stored in shaped_arrays(file))


def shaped_arrays(file: HashedFile) -> Iterator[tuple[str, StoredArray]]:
    """Yield the name and contents of each array of a safetensors file, in the order of the data."""
    length = int.from_bytes(file.bytes(8), "little")
    if length > _MAX_HEADER:
        raise InvalidFile(f"a header of {length} bytes is no header")
    header = read_json(file.bytes(length))
    header.pop("__metadata__", None)
    place = 0
    # The header may list the arrays in any order, and the file is read from beginning to end.
    for name, entry in sorted(header.items(), key=lambda item: list(map(int, item[1]["data_offsets"]))):
        begin, end = entry["data_offsets"]
        # Arrays follow each other without gaps, as the format requires.
        is_sized = all(size >= 0 for size in entry["shape"])
        if (
            begin != place
            or not is_sized
            or end - begin != math.prod(entry["shape"]) * _WIDTHS[entry["dtype"]]
        ):
            raise InvalidFile(
                f"{name} does not lie where the array before it ends, or its size is not that of its shape"
            )
        place = end
        yield name, StoredArray(entry["dtype"], tuple(entry["shape"]), file.memory(end - begin))
