"""Versions of dicts and of objects' classes, to find out quickly that nothing has changed.

A model's attributes are hundreds of objects that are scattered in memory. CPython up to 3.11 stores a
version tag in each dict that every change replaces (PEP 509), and each object begins with a pointer to its
class. One call compares all these words in a few instructions. That matters because code and data have
left the processor's caches after a model has run, so that every further Python function called is a cache
miss.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

WORD = 8


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
    """The 64-bit words at the given addresses, as one buffer.

    view: array of pointers, each followed to its word (``suboffsets`` of PEP 3118). The caller keeps the
        memory and this object alive while the view is read.

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
        self.view: memoryview = _view_of(
            # Without an owner (``obj``) the view keeps nothing alive.
            ctypes.byref(_Buffer(start, None, whole, WORD, 1, 1, b"Q", shape, strides, suboffsets, None))
        )

    def copy(self) -> memoryview:
        return memoryview(self.view.tobytes()).cast("Q")


_view_of = ctypes.pythonapi.PyMemoryView_FromBuffer
_view_of.argtypes, _view_of.restype = [ctypes.POINTER(_Buffer)], ctypes.py_object


Dicts = Sequence[dict[Any, Any]]


class Versions(NamedTuple):
    """Versions of dicts' entries, of objects' classes, and of words of memory.

    now: the current versions; equals an earlier ``copy()`` until one of them changes.
    copy: returns a copy of the current versions.
    """

    now: Any
    copy: Callable[[], Any]


class Words(NamedTuple):
    """Words of memory to compare.

    addresses: the addresses. A word that is the address of other words comes before them.
    stand(): True while the addresses may be read. Once it is False, a word has changed that comes before
        those that were freed.
    """

    addresses: tuple[int, ...]
    stand: Callable[[], bool]


class VersionsOf(Protocol):
    """Function that returns the versions of dicts, of the classes of objects, and of words of memory."""

    def __call__(self, dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = (), /) -> Versions: ...


# Offsets in CPython's PyObject and PyDictObject.
_CLASS, _VERSION = (
    1 * WORD,
    3 * WORD,
)


def memory_versions(dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = ()) -> Versions:
    """Return versions that are read directly from memory. They are valid only if :data:`is_readable`.

    >>> held = {"step": 1}
    >>> read = versions_read_by(lambda: list(held.items()))
    >>> versions = memory_versions([held], []) if is_readable else read
    >>> before = versions.copy()
    >>> versions.now == before, held.update(step=2), versions.now == before
    (True, None, False)
    """
    own = [id(one) + _VERSION for one in dicts] + [id(one) + _CLASS for one in objects]
    return _scattered(own + _addresses(words), (*dicts, *objects, words))


def _addresses(words: Sequence[Words]) -> list[int]:
    return [address for one in words for address in one.addresses]


def _scattered(addresses: Sequence[int], owners: Any) -> Versions:
    words = Scattered(addresses)

    # The default keeps the owners alive as long as this function.
    def copy(alive: Any = owners) -> memoryview:
        return words.copy()

    return Versions(words.view, copy)


class _Told:
    """Object whose ``==`` calls ``read`` and compares the result."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read

    def __eq__(self, other: object) -> bool:
        return bool(self.read() == other)


def versions_read_by(read: Callable[[], Any]) -> Versions:
    return Versions(_Told(read), read)


def versions_counted_by(version: Callable[[dict[Any, Any]], int]) -> VersionsOf:
    """Return a ``VersionsOf`` that calls ``version`` for each dict, and reads classes by ``type``."""

    def versions_of(dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = ()) -> Versions:
        other = _scattered(_addresses(words), words).copy if words else tuple
        return versions_read_by(
            lambda: ([version(one) for one in dicts], [type(one) for one in objects], other())
        )

    return versions_of


def dict_of_class(cls: type) -> dict[str, Any] | None:
    """Return the dict of a class, of which ``vars`` returns only a proxy; None if it cannot be reached.

    >>> dict_of_class(Versions)["copy"] is Versions.copy
    True
    """
    found = gc.get_referents(vars(cls))
    # ``vars`` of a class returns a proxy, whose only referent is the dict.
    return found[0] if len(found) == 1 and type(found[0]) is dict else None


def dicts_of_attribute(cls: type, name: str) -> list[dict[str, Any]]:
    """Return the dicts that ``cls.name`` depends on.

    They are the dicts of the classes in the MRO up to the first that defines ``name``, or of all if none
    does. Return an empty list if one of them cannot be reached.

    >>> class Layer:
    ...     def forward(self): ...
    >>> classes = Layer, type("Own", (Layer,), {})
    >>> [["forward" in held for held in dicts_of_attribute(cls, "forward")] for cls in classes]
    [[True], [False, True]]
    """
    # A class further up cannot change the result while a nearer one has the name.
    above = next((place for place, one in enumerate(cls.__mro__) if name in vars(one)), len(cls.__mro__) - 1)
    found = [dict_of_class(one) for one in cls.__mro__[: above + 1]]
    known = [held for held in found if held is not None]
    return known if len(known) == len(found) else []


# -------------------------------------------------------------------------- whether they tell of every change
# The rest tests once per process whether versions detect every kind of change.
class _Object:
    step = 0


class _Other(_Object):
    pass


def _stores(item: Any) -> Iterator[None]:
    for step in range(64):
        item.step = step
        yield
    setattr(item, "other", 1)  # noqa: B010
    yield
    del item.other
    yield


def _items(held: dict[str, Any]) -> Iterator[None]:
    for step in range(64):
        held["a"] = step
        yield
    for change in (lambda: held.update(b=3), lambda: held.pop("a"), held.clear, lambda: held.update(c=1)):
        change()
        yield


def _attributes(cls: Any) -> Iterator[None]:
    for base in cls.__mro__[-2::-1]:
        base.attribute = len
        yield
        base.attribute = repr
        yield


def _classes(item: Any) -> Iterator[None]:
    for cls in (_Other, _Object):
        item.__class__ = cls
        yield


def detects_every_change(versions_of: VersionsOf) -> bool:
    """Return True if ``versions_of`` detects every kind of change and is stable otherwise.

    It does not where, for example, watchers of a dict miss attributes that are stored in an object (Python
    3.13).
    """
    item, held = _Object(), dict[str, Any]()
    return (
        detects(versions_of([vars(item)], []), _stores(item))
        and detects(versions_of([held], []), _items(held))
        and detects(versions_of(dicts_of_attribute(_Other, "step"), []), _attributes(_Other))
        and detects(versions_of([], [item]), _classes(item), repeats=True)
    )


def detects(versions: Versions, changes: Iterable[None], repeats: bool = False) -> bool:
    """Return True if the versions after each change differ from all earlier ones, and are stable in between.

    If ``repeats`` is True, they need to differ only from those before the last change.

    >>> held = {}
    >>> detects(versions_read_by(lambda: len(held)), (held.update({number: 0}) for number in range(3)))
    True
    """
    seen = [versions.copy()]
    for _ in changes:
        if any(versions.now == before for before in (seen[-1:] if repeats else seen)):
            return False
        seen.append(versions.copy())
        if versions.now != seen[-1]:
            return False
    return True


# The layout of objects is private to CPython, so it is used only where a test has confirmed it.
is_readable = (
    sys.implementation.name == "cpython"
    and (3, 10) <= sys.version_info[:2] <= (3, 11)
    and sys.maxsize > 2**32
    and detects_every_change(memory_versions)
)
