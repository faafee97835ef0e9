"""Objects that hold elements in memory of their own, or a state that only they can tell: compared and put back by what they hold."""

from __future__ import annotations

import array
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Contents:
    """``take(item)`` gives what an object holds, hashable and never changing; ``put(item, taken)`` puts it back."""

    take: Callable[[Any], Any]
    put: Callable[[Any, Any], None]


def _put_in_array(item: Any, taken: Any) -> None:
    item[:] = array.array(item.typecode, taken)


def _put_in_bytes(item: bytearray, taken: bytes) -> None:
    item[:] = taken


def _put_in_numpy(item: Any, taken: bytes) -> None:
    item[...] = np.frombuffer(taken, item.dtype).reshape(item.shape)


_ROWS: tuple[tuple[type, Contents], ...] = (
    (array.array, Contents(lambda item: item.tobytes(), _put_in_array)),
    (bytearray, Contents(bytes, _put_in_bytes)),
    (np.ndarray, Contents(lambda item: item.tobytes(), _put_in_numpy)),
    (random.Random, Contents(random.Random.getstate, random.Random.setstate)),
)


def contents_of(item: Any) -> Contents | None:
    """How an object's contents are taken; None for other objects, and for arrays of numpy that nobody can write to.

    >>> buffer = bytearray(b"ab")
    >>> contents_of(buffer).take(buffer), contents_of([1])
    (b'ab', None)
    """
    found = next((contents for cls, contents in _ROWS if isinstance(item, cls)), None)
    is_fixed = isinstance(item, np.ndarray) and (not item.flags.writeable or item.dtype.hasobject)
    return None if is_fixed else found
