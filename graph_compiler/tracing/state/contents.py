"""Objects that hold elements in memory of their own, or a state that only they can tell: compared and put back by what they hold."""

from __future__ import annotations

import array
import random
from collections.abc import Callable
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Taken:
    """The state of a generator of numpy, compared by its ``key``."""

    key: Any
    state: Any = field(compare=False)


def _key(state: Any) -> Any:
    if isinstance(state, dict):
        return tuple((name, _key(part)) for name, part in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else tuple(map(_key, state)) if isinstance(state, tuple) else state


def _take_from_generator(item: np.random.Generator) -> Taken:
    state = item.bit_generator.state
    return Taken(_key(state), state)


def _put_in_generator(item: Any, taken: Taken) -> None:
    item.bit_generator.state = taken.state


def _take_from_random_state(item: np.random.RandomState) -> Taken:
    state = item.get_state()
    return Taken(_key(state), state)


_ROWS: tuple[tuple[type, Contents], ...] = (
    (array.array, Contents(lambda item: item.tobytes(), _put_in_array)),
    (bytearray, Contents(bytes, _put_in_bytes)),
    (np.ndarray, Contents(lambda item: item.tobytes(), _put_in_numpy)),
    (np.random.Generator, Contents(_take_from_generator, _put_in_generator)),
    (np.random.RandomState, Contents(_take_from_random_state, lambda item, taken: item.set_state(taken.state))),
    (random.Random, Contents(random.Random.getstate, random.Random.setstate)),
)


def contents_of(item: Any) -> Contents | None:
    """How an object's contents are taken; None for other objects, and for arrays of numpy that nobody can write to.

    >>> buffer = bytearray(b"ab")
    >>> contents_of(buffer).take(buffer), contents_of([1])
    (b'ab', None)
    """
    found = next((contents for cls, contents in _ROWS if issubclass(type(item), cls)), None)  # not what it passes for
    is_fixed = issubclass(type(item), np.ndarray) and (not item.flags.writeable or item.dtype.hasobject)
    return None if is_fixed else found
