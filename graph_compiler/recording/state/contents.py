"""Contents of buffers and random generators, detection of iterators, and clearing of ``lru_cache`` caches."""

from __future__ import annotations

import array
import ctypes
import gc
import random
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import TracingError
from ...trees import iterate_structure
from ..patches.host_random import state_key
from ..reachability.references import wrapped_by


@dataclass(frozen=True)
class Contents:
    """Functions that read and restore the contents of objects of a class.

    take(item): a hashable copy of the contents.
    put(item, taken): restores the contents.
    """

    take: Callable[[Any], Any]
    put: Callable[[Any, Any], None]


def _put_in_array(item: Any, taken: Any) -> None:
    item[:] = array.array(item.typecode, taken)


def _put_in_bytes(item: bytearray, taken: bytes) -> None:
    item[:] = taken


def _put_in_numpy(item: Any, taken: bytes) -> None:
    item[...] = np.frombuffer(taken, item.dtype).reshape(item.shape)


@dataclass(frozen=True)
class NumpyGeneratorState:
    """State of a NumPy random generator.

    key: the state as hashable tuples, by which it is compared.
    state: the state as NumPy returns it.
    """

    key: Any
    state: Any = field(compare=False)


def _take_from_generator(item: np.random.Generator) -> NumpyGeneratorState:
    state = item.bit_generator.state
    return NumpyGeneratorState(state_key(state), state)


def _put_in_generator(item: Any, taken: NumpyGeneratorState) -> None:
    item.bit_generator.state = taken.state


def _take_from_random_state(item: np.random.RandomState) -> NumpyGeneratorState:
    state = item.get_state()
    return NumpyGeneratorState(state_key(state), state)


_ROWS: tuple[tuple[type, Contents], ...] = (
    (array.array, Contents(lambda item: item.tobytes(), _put_in_array)),
    (bytearray, Contents(bytes, _put_in_bytes)),
    (np.ndarray, Contents(lambda item: item.tobytes(), _put_in_numpy)),
    (np.random.Generator, Contents(_take_from_generator, _put_in_generator)),
    (
        np.random.RandomState,
        Contents(_take_from_random_state, lambda item, taken: item.set_state(taken.state)),
    ),
    (random.Random, Contents(random.Random.getstate, random.Random.setstate)),
)


def contents_of(item: Any) -> Contents | None:
    """Return the functions that read and restore the contents of a buffer or random generator, or None.

    >>> buffer = bytearray(b"ab")
    >>> contents_of(buffer).take(buffer), contents_of([1])
    (b'ab', None)
    """
    # The real type decides, as a proxy may claim another class.
    found = next((contents for cls, contents in _ROWS if issubclass(type(item), cls)), None)
    # A read-only array cannot change, and the bytes of an object array are pointers.
    is_fixed = issubclass(type(item), np.ndarray) and (not item.flags.writeable or item.dtype.hasobject)
    return None if is_fixed else found


def buffer_bytes(item: Any) -> bytes | None:
    """Return the bytes of a NumPy array, ``array.array``, ``memoryview`` or ``bytearray``, otherwise None.

    >>> buffer_bytes(bytearray(b"ab")), buffer_bytes(array.array("b", [1])), buffer_bytes([1])
    (b'ab', b'\\x01', None)
    """
    if isinstance(item, (np.ndarray, array.array, memoryview)):
        return item.tobytes()
    return bytes(item) if isinstance(item, bytearray) else None


def iterators_in(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the iterators in ``items``, also those inside plain tuples and wrappers such as bound methods.

    Instances of classes whose ``__next__`` is written in Python are skipped, because their attributes hold
    their state.

    >>> row = iter([1, 2])
    >>> [found is row for found in iterators_in([3, (row, "text"), row.__next__])]
    [True, True]
    """
    for item in items:
        if isinstance(item, Iterator):
            yield from (
                () if isinstance(getattr(type(item), "__next__", None), types.FunctionType) else (item,)
            )
        else:
            yield from iterators_in(item if type(item) is tuple else wrapped_by(item))


def refuse_outside(items: Iterable[Any], name: str = "") -> None:
    """Raise ``TracingError`` if :func:`iterators_in` finds an iterator in ``items``.

    >>> try:
    ...     refuse_outside([iter([1, 2])], "rows")
    ... except TracingError as problem:
    ...     print(str(problem)[:44])
    rows is an iterator outside of the recorded
    """
    for item in iterators_in(items):
        raise TracingError(
            f"{name or f'a {type(item).__name__}'} is an iterator outside of the recorded function: what the "
            "function takes from it cannot be recorded. Pass it as an argument"
        )


def refuse_iterators(value: Any) -> None:
    """Raise ``TracingError`` if :func:`iterators_in` finds an iterator in the nested arguments ``value``.

    >>> refuse_iterators({"rows": [1, 2]})
    >>> try:
    ...     refuse_iterators({"rows": iter([1, 2])})
    ... except TracingError as problem:
    ...     print(str(problem)[:30])
    an argument is a list_iterator
    """
    for item in iterators_in(iterate_structure(value)):
        raise TracingError(
            f"an argument is a {type(item).__name__}, an iterator: what the function takes from it is gone "
            "afterwards, which cannot be recorded. Pass a list of its items"
        )


# Up to this many bytes are compared completely.
WHOLE = 16 * 1024
# In larger memory, this many pieces at equal distances are compared, including the first and last bytes.
_COUNT, _LENGTH = (
    8,
    512,
)


class Pieces:
    """Copy of memory, to detect writes to it.

    Of large memory, parts are copied unless ``whole`` is True, so that writes between them are missed.

    address: where the memory begins.
    now: views of the memory itself, which keep ``owner`` alive.
    before: copies of the memory when this object was created.

    >>> import array
    >>> numbers = array.array("d", [1.0, 2.0])
    >>> pieces = Pieces(numbers, numbers.buffer_info()[0], 16)
    >>> pieces.same(), numbers.__setitem__(1, 3.0), pieces.same()
    (True, None, False)
    """

    __slots__ = ("address", "before", "now")

    def __init__(self, owner: Any, address: int, size: int, whole: bool = False) -> None:
        self.address = address
        memory: Any = (ctypes.c_char * size).from_address(address)
        # The view would dangle if the owner were collected.
        memory.owner = owner
        view = memoryview(memory)
        self.now = [view[start : start + length] for start, length in _pieces(size, whole)]
        self.before: list[Any] = list(map(bytearray, self.now))

    def same(self) -> bool:
        return self.before == self.now


def _pieces(size: int, whole: bool) -> Iterator[tuple[int, int]]:
    if whole or size <= WHOLE:
        yield from [(0, size)] if size else []
        return
    step = (size - _LENGTH) // (_COUNT - 1)
    yield from ((step * number, _LENGTH) for number in range(_COUNT - 1))
    yield size - _LENGTH, _LENGTH


# ----------------------------------------------------------------------------------------------------- caches
# Caches of ``functools.lru_cache`` that the recorded function fills.
#
# Each attempt to record begins with empty caches, except those that had results when they were first found.
# The last attempt leaves them filled.


class Caches:
    """Record of the ``lru_cache`` functions that a recording reaches.

    Those that were empty when they were first found are cleared before each attempt.

    >>> import functools
    >>> cached, caches = functools.lru_cache(lambda n: n), Caches()
    >>> caches.begin([cached]), cached(2), caches.begin([cached]), cached.cache_info().currsize
    (None, 2, None, 0)
    """

    def __init__(self) -> None:
        self._empty: dict[int, Any] = {}
        self._known: dict[int, Any] = {}

    def begin(self, caches: Iterable[Any]) -> None:
        for cache in caches:
            # A cache that had results before the first attempt keeps them, because the user's code may rely
            # on these.
            if id(cache) not in self._known and not cache.cache_info().currsize:
                self._empty[id(cache)] = cache
            self._known[id(cache)] = cache
        for cache in self._empty.values():
            cache.cache_clear()


def cached_results(cache: Any) -> Iterator[Any]:
    """Yield objects that a ``functools.lru_cache`` function holds, among them the leaves of stored results.

    >>> import functools
    >>> cached = functools.lru_cache(lambda n: ("row", n * 1000))
    >>> cached(2) == ("row", 2000), 2000 in cached_results(cached)
    (True, True)
    """
    for item in gc.get_referents(cache):
        yield from iterate_structure(list(item.values()) if isinstance(item, dict) else item)
