"""Memory layout of traced arrays: their flags, and whether two of them share memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import TracingError
from .traced import Traced, owner_of, seen_of

_LAYOUT = {"C": "c_contiguous", "F": "f_contiguous", "CONTIGUOUS": "c_contiguous", "FORTRAN": "f_contiguous"}
# Flags that follow from strides and sizes.
_NAMES = frozenset({"c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc"})
_OF_MEMORY = {"W": "writeable", "O": "owndata", "A": "aligned"}


class Flags:
    """Flags of a traced array, as ``array.flags``.

    Flags of contiguity are those of the recorded array, which other calls must then share. ``writeable``
    and ``owndata`` raise :class:`TracingError` for memory that the caller passed in or that the function
    stores, because they may differ in other calls, unless the function itself made a read-only view of it.
    Setting a flag raises, too.
    """

    def __init__(self, array: Traced) -> None:
        self._array = array

    def __getattr__(self, name: str) -> bool:
        capture, seen = self._array._capture, self._array._seen
        if name in _NAMES:
            capture.reads_layout = True
            return bool(getattr(seen.flags, name))
        if name not in _OF_MEMORY.values():
            raise AttributeError(f"an array has no flag {name!r}")
        given = {id(owner_of(array)): array for array in capture._sources.values()}.get(id(owner_of(seen)))
        # A read-only view of a writeable array was made read-only by the function.
        is_known = given is None or name == "aligned" or given.flags.writeable and not seen.flags.writeable
        if not is_known:
            raise TracingError(
                f"{capture.here()}: flags.{name} of an array that the function is given or keeps cannot be "
                "recorded: another call may give "
                "one that differs. Copy the array first"
            )
        return bool(getattr(seen.flags, name))

    def __getitem__(self, name: str) -> bool:
        short = name.upper()
        return bool(getattr(self, _LAYOUT.get(short) or _OF_MEMORY.get(short) or short.lower()))

    def __setattr__(self, name: str, item: Any) -> None:
        if name != "_array":
            raise TracingError(f"{self._array._capture.here()}: setting flags of an array cannot be recorded")
        object.__setattr__(self, name, item)


def share_memory(capture: Any, a: Any, b: Any, max_work: Any = None) -> bool:
    """Return True if two arrays share memory. ``max_work`` is ignored.

    Raise :class:`TracingError` if the answer may depend on sizes: both are parts of one array, or one is
    empty.
    """
    one, other = seen_of(a), seen_of(b)
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)) or owner_of(one) is not owner_of(
        other
    ):
        return False
    # A part with elements shares memory with the array itself for all sizes.
    if (_is_whole(one) or _is_whole(other)) and one.size and other.size:
        return True
    raise TracingError(
        f"{capture.here()}: whether two parts of an array share memory may depend on its sizes, and cannot "
        "be recorded. Ask for the array "
        "itself, or copy a part"
    )


def _is_whole(array: Any) -> bool:
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return bool(array.size == whole.size)
