"""Environment guards: conditions on objects outside a call, checked together by one generated expression."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple, Protocol

from ..errors import GuardFailed
from ..ir.quotation import shortened
from ..trees import same_static

# ------------------------------------------------------------------------------------------ memory versions
# Versions of dicts and of objects' classes show quickly that nothing has changed.
#
# A model's attributes may be hundreds of objects that are scattered in memory. CPython up to 3.11 stores a
# version tag in each dict that every change replaces (PEP 509), and the second word of each object points to
# its class. One call compares all these words. That matters because code and data may have left the
# processor's caches after a model has run, so that further Python functions are slow.

WORD = 8


class _Buffer(ctypes.Structure):
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
    """Buffer of the 64-bit words at the given addresses, which reads memory anew at each access.

    view: the words, reached through an array of pointers (``suboffsets`` of PEP 3118). The caller keeps the
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
    """Access to the versions of dicts' entries, of objects' classes, and of words of memory.

    now: the current versions, which equal a copy if none has changed since.
    copy: returns a copy of the current versions.
    """

    now: Any
    copy: Callable[[], Any]


class Words(NamedTuple):
    """Words of memory that are compared with earlier values.

    addresses: addresses of the words, in the order of comparison.
    is_readable(): True while all addresses may be read.
    """

    # A word that is a pointer to other words comes before these. Freeing them changes it, so a comparison
    # ends before it reads them.
    addresses: tuple[int, ...]
    is_readable: Callable[[], bool]


class VersionsOf(Protocol):
    """Function that returns the versions of dicts, of the classes of objects, and of words of memory."""

    def __call__(self, dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = (), /) -> Versions: ...


# Offsets in CPython's PyObject and PyDictObject.
_CLASS, _VERSION = (
    1 * WORD,
    3 * WORD,
)


def memory_versions(dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = ()) -> Versions:
    """Return versions that are read directly from memory. Use it for dicts only if :data:`is_readable`.

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


class _ReadOnCompare:
    """Object whose ``==`` compares the current result of ``read`` with the other operand."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, read: Callable[[], Any]) -> None:
        self.read = read

    def __eq__(self, other: object) -> bool:
        return bool(self.read() == other)


def versions_read_by(read: Callable[[], Any]) -> Versions:
    return Versions(_ReadOnCompare(read), read)


def versions_counted_by(version: Callable[[dict[Any, Any]], int]) -> VersionsOf:
    def versions_of(dicts: Dicts, objects: Sequence[Any], words: Sequence[Words] = ()) -> Versions:
        other = _scattered(_addresses(words), words).copy if words else tuple
        return versions_read_by(
            lambda: ([version(one) for one in dicts], [type(one) for one in objects], other())
        )

    return versions_of


def dict_of_class(cls: type) -> dict[str, Any] | None:
    """Return the dict behind the proxy ``vars(cls)``, or None if it cannot be reached.

    >>> dict_of_class(Versions)["copy"] is Versions.copy
    True
    """
    found = gc.get_referents(vars(cls))
    # ``vars`` of a class returns a proxy, whose only referent is the dict.
    return found[0] if len(found) == 1 and type(found[0]) is dict else None


def dicts_of_attribute(cls: type, name: str) -> list[dict[str, Any]]:
    """Return the dicts of the classes in the MRO of ``cls`` up to the first that defines ``name``, if any.

    Return an empty list if one of them cannot be reached.

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


# -------------------------------------------------------------------------------------- detection of changes
# A test finds out whether versions detect changes.
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


def detects_sample_changes(versions_of: VersionsOf) -> bool:
    """Return True if ``versions_of`` detects the changes of a test, and is stable in between."""
    item, held = _Object(), dict[str, Any]()
    return (
        # Watchers of dicts miss attributes that are stored in an object (Python 3.13).
        detects(versions_of([vars(item)], []), _stores(item))
        and detects(versions_of([held], []), _items(held))
        and detects(versions_of(dicts_of_attribute(_Other, "step"), []), _attributes(_Other))
        and detects(versions_of([], [item]), _classes(item), repeats=True)
    )


def detects(versions: Versions, changes: Iterable[None], repeats: bool = False) -> bool:
    """Return True if the versions change with each of ``changes``, and are stable in between.

    If ``repeats`` is True, earlier versions may return.

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
    and detects_sample_changes(memory_versions)
)


# -------------------------------------------------------------------------------------- guards and conditions

# Straight-line code is faster than a loop, but takes longer to compile.
_MANY = 500
# Raised by a guard on something that no longer exists.
GONE = (
    KeyError,
    AttributeError,
    ValueError,
    GuardFailed,
)
# Only one thread at a time refreshes, because one that has read older entries could otherwise be the last.
_reading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reading._at_fork_reinit)  # type: ignore[attr-defined]


class EnvironmentGuard(NamedTuple):
    """Expression on objects outside the arguments, which has to be true at each call.

    The text is executed, so it must not come from a file.

    text: the expression, with a pair of braces for each item.
    items: objects that fill the braces.
    what: description for messages.
    of: a dict whose entries are all that the expression depends on, if one is known.
    class_of: an object whose class is all that the expression depends on, if one is known.
    words: words of memory, one of which changes if anything changes that the expression depends on, if such
        words are known.
    is_thread_mode: True for a mode that the framework stores per thread.
    """

    text: str
    items: tuple[Any, ...]
    what: str = ""
    of: dict[Any, Any] | None = None
    class_of: Any = None
    words: Words | None = None
    is_thread_mode: bool = False

    @property
    def has_versions(self) -> bool:
        return self.of is not None or self.class_of is not None or self.words is not None

    def change(self) -> str:
        compared = self._compared()
        if compared is None or type(self.items[-1]) not in _SHOWN:
            return f"{self.what} changed since"
        try:
            now = _conjunction([compared]).evaluate()
        # What was compared no longer exists.
        except GONE:
            return f"{self.what} was {shortened(repr(self.items[-1]))} when recorded and is gone now"
        shown = shortened(repr(now)) if type(now) in _SHOWN else f"a {type(now).__name__}"
        return f"{self.what} was {shortened(repr(self.items[-1]))} when recorded and is {shown} now"

    def _compared(self) -> EnvironmentGuard | None:
        """Return the part of the guard in front of its last item, or None if it is no known comparison."""
        if self.items and self.items[0] is is_same:
            return EnvironmentGuard(self.text.removeprefix("{}(").removesuffix(", {})"), self.items[1:-1])
        for compared, end in (("", " is {}"), ("len(", " == {}")):
            if self.text.startswith(compared) and self.text.endswith(end):
                return EnvironmentGuard(self.text.removesuffix(end), self.items[:-1])
        return None


class Derived(Protocol):
    """Object that may depend on entries of ``dicts``; ``refresh`` brings it up to date.

    fits: returns False if the object no longer has properties for which a variant was recorded.
    """

    dicts: list[dict[Any, Any]]

    def refresh(self) -> None: ...

    def fits(self) -> bool: ...


class Condition(NamedTuple):
    """Expression over names, and the objects bound to them.

    Its evaluation may raise one of :data:`GONE`, which means that a guard does not hold.
    """

    text: str
    bound: dict[str, Any]

    def evaluate(self) -> Any:
        return eval(self.text, self.bound)

    def function(self) -> Callable[[], bool]:
        bound, scope = {**self.bound, "gone": GONE}, dict[str, Any]()
        # Defaults make them local variables, which are faster to read than globals.
        defaults = ", ".join(f"{name}={name}" for name in bound)
        exec(
            _compiled(
                f"def holds({defaults}):\n    try:\n        return {self.text}\n    except gone:\n        "
                "return False\n"
            ),
            bound,
            scope,
        )
        holds: Callable[[], bool] = scope["holds"]
        return holds


def conjunction(
    guards: Iterable[EnvironmentGuard], versions_of: VersionsOf | None = None, derived: Sequence[Derived] = ()
) -> Callable[[], bool]:
    return condition(guards, versions_of, derived).function()


def condition(
    guards: Iterable[EnvironmentGuard], versions_of: VersionsOf | None = None, derived: Sequence[Derived] = ()
) -> Condition:
    """Return the condition that all ``guards`` hold. If it is true, ``derived`` has been refreshed as needed.

    With ``versions_of``, guards that have versions may be skipped while no version changes.

    >>> held = {"step": 1}
    >>> step = EnvironmentGuard("{}[{}] == {}", (held, "step", 1), of=held)
    >>> holds = condition([step, EnvironmentGuard("len({}) == 1", (held,))]).function()
    >>> holds(), held.update(step=2), holds()
    (True, None, False)
    """
    known = list(guards)
    # Without versions, no guard is skipped.
    if versions_of is None:
        return _conjunction([*known, *map(_refreshed, derived)])
    seen = [guard for guard in known if guard.has_versions]
    return _conjunction(
        [*_seen_by(versions_of, seen, derived), *(guard for guard in known if not guard.has_versions)]
    )


def first_broken(guards: Iterable[EnvironmentGuard]) -> EnvironmentGuard | None:
    return next((guard for guard in guards if not _conjunction([guard]).function()()), None)


def _conjunction(guards: list[EnvironmentGuard]) -> Condition:
    bound: dict[str, Any] = {}
    alike: dict[str, list[tuple[Any, ...]]] = {}
    for guard in guards:
        # Other guards may depend on those before them, so they keep their order.
        if guard.of is not None or guard.class_of is not None:
            alike.setdefault(guard.text, []).append(guard.items)
    many = {text: rows for text, rows in alike.items() if len(rows) >= _MANY}
    alone = [
        guard for guard in guards if guard.text not in many or (guard.of is None and guard.class_of is None)
    ]
    texts = [_filled(guard.text, [_bind(bound, item) for item in guard.items]) for guard in alone]
    texts += [_loop(bound, text, rows) for text, rows in many.items()]
    return Condition(" and ".join(texts) or "True", bound)


def _loop(bound: dict[str, Any], text: str, rows: list[tuple[Any, ...]]) -> str:
    names = [f"item_{place}" for place in range(len(rows[0]))]
    return f"all([{_filled(text, names)} for {', '.join(names)}, in {_bind(bound, rows)}])"


def _filled(text: str, names: Sequence[str]) -> str:
    try:
        return text.format(*names)
    except IndexError as problem:
        raise IndexError(
            f"the guard {text!r} has more pairs of braces than items ({len(names)})"
        ) from problem


# Guards of many recordings have the same text; their objects are bound later.
@functools.lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<guards>", "exec")


def _seen_by(
    versions_of: VersionsOf, guards: list[EnvironmentGuard], derived: Sequence[Derived]
) -> list[EnvironmentGuard]:
    """Return guards that evaluate ``guards`` and refresh ``derived``, unless versions are unchanged."""
    dicts = _distinct(
        [
            *(guard.of for guard in guards if guard.of is not None),
            *(held for one in derived for held in one.dicts),
        ]
    )
    objects = _distinct([guard.class_of for guard in guards if guard.class_of is not None])
    words = _distinct([guard.words for guard in guards if guard.words is not None])
    if not dicts and not objects and not words:
        return [*map(_refreshed, derived)]
    entries, versions = _conjunction(guards).function(), versions_of(dicts, objects, words)
    # A list, because the expression of the guard reads the stored versions by index.
    held: list[Any] = [None]

    def hold_still() -> bool:
        with _reading:
            # Freed memory must not be read.
            if not all(one.is_readable() for one in words):
                return False
            # The versions are copied before the entries are read, so that a concurrent change is seen at the
            # next call.
            seen = versions.copy()
            # A guard does not hold, so the versions are not stored and the next call evaluates it again.
            if not entries():
                return False
            for one in derived:
                one.refresh()
            held[0] = seen
            return True

    return [EnvironmentGuard("({} == {}[0] or {}())", (versions.now, held, hold_still))]


def _refreshed(derived: Derived) -> EnvironmentGuard:
    # ``refresh`` returns None, so the guard always holds.
    return EnvironmentGuard("{}() is None", (derived.refresh,))


def _distinct(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _bind(bound: dict[str, Any], item: Any) -> str:
    name = f"_{len(bound)}"
    bound[name] = item
    return name


ATOMS = frozenset({bool, int, float, complex, str, bytes})
# Classes of values that messages show.
_SHOWN = frozenset({bool, int, float, complex, str, type(None)})


def same_guard(
    access: str, objects: tuple[Any, ...], item: Any, what: str, of: dict[Any, Any] | None = None
) -> EnvironmentGuard:
    # Equal numbers and strings need not be the same object.
    if _is_atomic(item):
        return EnvironmentGuard(f"{{}}({access}, {{}})", (is_same, *objects, item), what, of)
    return EnvironmentGuard(f"{access} is {{}}", (*objects, item), what, of)


def is_same(item: Any, before: Any) -> bool:
    """Return True if ``item`` is ``before``, or if ``before`` is an atom and ``same_static`` holds for both.

    Atoms are objects of the classes in ``ATOMS`` and tuples of these.

    >>> is_same(2.0, 1.0 + 1.0), is_same(2, 2.0), is_same([], []), is_same((1, "a"), tuple([1, "a"]))
    (True, False, False, True)
    """
    return item is before or _is_atomic(before) and same_static(item, before)


def _is_atomic(item: Any) -> bool:
    return type(item) in ATOMS or type(item) is tuple and all(type(part) in ATOMS for part in item)


def same_items(items: Collection[Any], before: Collection[Any]) -> bool:
    """Return True if the items are those of ``before``, in order, compared by :func:`is_same`.

    >>> same_items([2.0, print], (2.0, print)), same_items([2.0], [])
    (True, False)
    """
    return len(items) == len(before) and all(map(is_same, items, before))


_SIMPLE = (bool, int, float, str, type(None))


class EnvironmentGuards:
    """The environment guards of a recording, which are checked together at each call.

    versions_of: function that returns the versions of dicts, classes and memory; None if there are no
        versions, so that each call evaluates the guards again.
    derived: objects to refresh while the guards are checked.

    >>> settings = {"scale": 2}
    >>> guard = EnvironmentGuard("{}['scale'] == 2", (settings,), "the scale", of=settings)
    >>> environment = EnvironmentGuards([guard])
    >>> environment.holds(), settings.update(scale=3), environment.holds(), environment.reason()
    (True, None, False, 'the scale changed since')
    """

    def __init__(
        self,
        guards: Iterable[EnvironmentGuard] = (),
        versions_of: VersionsOf | None = None,
        derived: Sequence[Derived] = (),
    ) -> None:
        self.derived = tuple(derived)
        self._guards, self._versions_of = list(guards), versions_of

    @functools.cached_property
    def condition(self) -> Condition:
        return condition(self._guards, self._versions_of, self.derived)

    @functools.cached_property
    def holds(self) -> Callable[[], bool]:
        return self.condition.function()

    @functools.cached_property
    def simple(self) -> Condition:
        """Condition of the guards with ``of`` whose last item is a bool, int, float, string or None."""
        return condition(
            guard for guard in self._guards if guard.of is not None and type(guard.items[-1]) in _SIMPLE
        )

    @functools.cached_property
    def lasting(self) -> EnvironmentGuards:
        return EnvironmentGuards(
            [guard for guard in self._guards if not guard.is_thread_mode], self._versions_of
        )

    def with_derived(self, derived: Derived, what: str) -> EnvironmentGuards:
        """Return these guards and one that ``derived`` fits, with ``derived`` as the object to refresh.

        ``what`` describes ``derived`` in messages.
        """
        fits = EnvironmentGuard("{}()", (derived.fits,), what)
        # Without versions, the guards come before what is derived is refreshed.
        if self._versions_of is None:
            fits = EnvironmentGuard("({}() is None and {}())", (derived.refresh, derived.fits), what)
        return EnvironmentGuards([*self._guards, fits], self._versions_of, (derived,))

    def changed(self) -> str:
        broken = first_broken(self._guards)
        return "" if broken is None else broken.what

    def reason(self) -> str:
        broken = first_broken(self._guards)
        return "" if broken is None or not broken.what else broken.change()
