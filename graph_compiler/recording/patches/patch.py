"""The kinds of probes: what a shim does where it is called, and whose calls concern a recording."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from ...errors import TracingError
from ...forwarding import forwards
from ..code.ownership import user_of
from ..environment_guards.guards import EnvironmentGuard

Place = tuple[Any, str, Any]  # a dict, or what has attributes; a name in it; what stands there for a while
Held = list[tuple[Any, dict[str, Any]]]  # owners, and what they hold by name
NOTHING = object()


@contextmanager
def replaced(places: Iterable[Place]) -> Iterator[None]:
    """Inside of the block these names hold what the places say, afterwards what they held before, or nothing.

    >>> space = {"len": len}
    >>> with replaced([(space, "len", 1), (space, "abs", 2)]):
    ...     space
    {'len': 1, 'abs': 2}
    >>> space
    {'len': <built-in function len>}
    """
    held = by_owner(places)
    before = [(owner, {name: _held_by(owner, name) for name in items}) for owner, items in held]
    try:
        put_all(held)
        yield
    finally:
        put_all(before)


def space_of(owner: Any) -> Any:
    return owner if isinstance(owner, dict) else vars(owner)


def _held_by(owner: Any, name: str) -> Any:
    # The code of a function is no item of its namespace.
    return (
        owner.__code__
        if isinstance(owner, FunctionType) and name == "__code__"
        else space_of(owner).get(name, NOTHING)
    )


def by_owner(places: Iterable[Place]) -> Held:
    """The places of each owner together."""
    found: dict[int, tuple[Any, dict[str, Any]]] = {}
    for owner, name, item in places:
        found.setdefault(id(owner), (owner, {}))[1][name] = item
    return list(found.values())


def put_all(held: Held) -> None:
    """Makes the names of each owner hold these items; nothing any more where an item is :data:`NOTHING`."""
    for owner, items in held:
        if isinstance(owner, (dict, ModuleType)) and id(NOTHING) not in map(id, items.values()):
            space_of(owner).update(items)  # 20 times as fast as one by one
            continue
        for name, item in items.items():
            _put(owner, name, item)


def _put(owner: Any, name: str, item: Any) -> None:
    if isinstance(owner, dict):
        owner.pop(name, None) if item is NOTHING else owner.__setitem__(name, item)
    elif item is not NOTHING:
        setattr(owner, name, item)
    elif name in vars(owner):
        delattr(owner, name)


def under_any_name(spaces: Iterable[dict[str, Any]], pairs: Iterable[tuple[Any, Any]]) -> list[Place]:
    """Where namespaces hold the first of a pair, by identity, for its second to stand there.

    >>> [name for _, name, _ in under_any_name([{"length": len, "abs": abs}], [(len, 1)])]
    ['length']
    """
    known = {id(original): (original, shim) for original, shim in pairs}
    return [
        (space, name, known[id(item)][1])
        for space in spaces
        for name, item in list(space.items())
        if id(item) in known
    ]


Kind = Callable[["Probe", "Probes", Any], Any]


class Probe(NamedTuple):
    """A function or attribute that a recording watches, or stands in for.

    ``kind`` makes the shim of what ``owner`` (a module, a class, an object) has under ``name``, see
    :mod:`.kinds`, which also tells what ``on_read`` is given.
    """

    owner: Any
    name: str
    kind: Kind
    on_read: Callable[..., Any]


class Session:
    """One recording, as shims see it: what frontends have it hold for their own rows, and what was noted.

    ``outside`` makes a context in which the framework computes at once and records nothing. ``concrete``
    gives, for an array that stands for another, one with elements. ``hold`` makes the parameters of a graph
    that the function calls parameters of the recording, and gives the arrays that stand for them; None if it
    cannot.

    >>> session = Session()
    >>> session.note("modules", session), session.noted("modules") == [session], session.noted("threads")
    (None, True, [])
    """

    def __init__(
        self,
        trace: Any = None,
        symbols: Any = None,
        outside: Callable[[], AbstractContextManager[Any]] = nullcontext,
        concrete: Callable[[Any], Any] = lambda array: array,
        hold: Callable[[Any, Mapping[str, Any]], Mapping[str, Any] | None] = lambda graph, arrays: None,
    ) -> None:
        self.trace, self.symbols, self.outside, self.concrete = trace, symbols, outside, concrete
        self.hold, self._thread = hold, threading.get_ident()
        self._asked: dict[Any, tuple[str, Callable[[], Any]]] = {}
        self._noted: dict[str, dict[int, Any]] = {}

    def hears(self) -> bool:
        return threading.get_ident() == self._thread and not getattr(_paused, "is_so", False)

    def note(self, what: str, item: Any) -> None:
        self._noted.setdefault(what, {})[id(item)] = item

    def noted(self, what: str) -> list[Any]:
        return list(self._noted.get(what, {}).values())

    def was_told(self) -> bool:
        return bool(self._asked or self._noted)

    def assume(self, name: str, key: Any, ask: Callable[[], Any]) -> None:
        self._asked[key] = name, ask

    def facts(self) -> list[EnvironmentGuard]:
        """A guard for each question: it has its answer of now."""
        return [
            EnvironmentGuard("{}() == {}", (ask, ask()), f"what {name} gives")
            for name, ask in self._asked.values()
        ]


_NO_SESSIONS: tuple[Session, ...] = ()
_paused = threading.local()
_open = threading.local()


@contextmanager
def paused() -> Iterator[None]:
    """No probe tells a session of this thread inside the block, unless it is opened there."""
    before, _paused.is_so = getattr(_paused, "is_so", False), True
    try:
        yield
    finally:
        _paused.is_so = before


@contextmanager
def _resumed(session: Session) -> Iterator[None]:
    """Sessions of this thread are told inside the block: this one, and those that are open and not paused."""
    before, paused_before = getattr(_open, "sessions", _NO_SESSIONS), getattr(_paused, "is_so", False)
    _open.sessions, _paused.is_so = (*sessions_here(), session), False
    try:
        yield
    finally:
        _open.sessions, _paused.is_so = before, paused_before


def sessions_here() -> tuple[Session, ...]:
    sessions: tuple[Session, ...] = getattr(_open, "sessions", _NO_SESSIONS)
    return _NO_SESSIONS if getattr(_paused, "is_so", False) else tuple(dict.fromkeys(sessions))


class Probes:
    """Tables of probes. While a session is open, in whatever thread, the shims are in their places; they tell
    sessions of their thread.
    """

    def __init__(self, *rows: Probe) -> None:
        self._rows, self._spaces = rows, [space_of(row.owner) for row in rows]
        self._originals: list[Any] = []
        self._shims: Held = []
        self._before: Held = []
        self._by_original: dict[int, Any] = {}
        self._here = threading.local()
        self._lock = threading.Lock()
        self._open: tuple[Session, ...] = _NO_SESSIONS

    def here(self) -> tuple[Session, ...]:
        sessions: tuple[Session, ...] = getattr(self._here, "sessions", _NO_SESSIONS)
        return _NO_SESSIONS if sessions and getattr(_paused, "is_so", False) else sessions

    def anywhere(self) -> tuple[Session, ...]:
        return self._open

    @contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        """Inside of the block, what this thread reads is told the session."""
        with self._lock:
            if not self._open:
                self._make_shims()
                put_all(self._shims)
            self._open = (*self._open, session)
        before = getattr(self._here, "sessions", _NO_SESSIONS)
        self._here.sessions = (*self.here(), session)
        try:
            with _resumed(session):
                yield
        finally:
            self._here.sessions = before
            with self._lock:
                self._open = tuple(one for one in self._open if one is not session)
                if not self._open:
                    put_all(self._before)

    def _make_shims(self) -> None:
        """Once for a process, and again where somebody has put another original in its place."""
        found = [space.get(row.name, NOTHING) for row, space in zip(self._rows, self._spaces)]
        if found == self._originals:
            return
        inherited = (
            getattr(row.owner, row.name, None) if item is NOTHING else item
            for row, item in zip(self._rows, found)
        )
        shims = [row.kind(row, self, item) for row, item in zip(self._rows, inherited)]
        self._originals, self._by_original = (
            found,
            {id(item): shim for item, shim in zip(found, shims) if item is not NOTHING},
        )
        self._shims, self._before = self._held(shims), self._held(found)

    def _held(self, items: Iterable[Any]) -> Held:
        return by_owner((row.owner, row.name, item) for row, item in zip(self._rows, items))

    def shims_in(self, spaces: Iterable[dict[str, Any]]) -> Iterator[Place]:
        """Where these globals hold an original under any name, and its shim; asked while a session is open."""
        known = self._by_original
        for space in spaces:
            if not known.keys().isdisjoint(map(id, list(space.values()))):
                yield from (
                    (space, name, known[id(item)]) for name, item in list(space.items()) if id(item) in known
                )


@contextmanager
def probing(
    probes: Probes, session: Session, spaces: Iterable[dict[str, Any]] = (), places: Iterable[Place] = ()
) -> Iterator[Session]:
    """Inside of the block the probes tell the session what this thread reads, also by names that these
    globals have imported.

    ``places`` are replaced besides.

    >>> import os
    >>> from .patch import ASSUME
    >>> probes = Probes(Probe(os, "getcwd", ASSUME, lambda original: original()))
    >>> with probing(probes, Session()) as session:
    ...     _ = eval("os.getcwd()", {"os": os, "__name__": "users"})
    >>> [fact.what for fact in session.facts()]
    ['what getcwd gives']
    """
    with (
        probes.opened(session),
        replaced((*probes.shims_in({id(space): space for space in spaces}.values()), *places)),
    ):
        yield session


def ASSUME(probe: Probe, probes: Probes, original: Any) -> Any:
    """The answer stays what it is: ``on_read(original, *args)`` gives what is compared of it before each
    call.

    Questions of libraries for their own ends count not: they change how a library computes, and not the
    result.
    """

    def again(*args: Any, **kwargs: Any) -> Any:
        try:
            return probe.on_read(original, *args, **kwargs)
        # The original is Python's or another library's, and its exception is the answer.
        except Exception as problem:
            return type(problem)

    @forwards
    def asked(*args: Any, **kwargs: Any) -> Any:  # noted first: that it fails is an answer as well
        if (sessions := probes.here()) and user_of(sys._getframe(1)) is not None:
            key = (probe.name, *map(id, args), *kwargs, *map(id, kwargs.values()))
            for session in sessions:
                session.assume(probe.name, key, functools.partial(again, *args, **kwargs))
        return original(*args, **kwargs)

    return named_as(original, asked)


def REFUSE(probe: Probe, probes: Probes, original: Any) -> Any:
    """``TracingError`` with the line of the user's code that calls it, unless ``on_read(*args)``: it gives
    something else each time, and nothing can ask beforehand.
    """

    @forwards
    def refused(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if probes.here() else None
        if frame is None or probe.on_read(*args, **kwargs):
            return original(*args, **kwargs)
        raise TracingError(
            f"{probe.owner.__name__}.{probe.name} at {frame.f_code.co_filename}:{frame.f_lineno} gives something else at each call, and "
            "would become a constant. Pass what it gives as an argument"
        )

    return named_as(original, refused)


def NOTE(probe: Probe, probes: Probes, original: Any) -> Any:
    """``on_read(session, *args)``, for each session of the thread, before each call."""

    @forwards
    def noted(*args: Any, **kwargs: Any) -> Any:
        for session in probes.here():
            probe.on_read(session, *args, **kwargs)
        return original(*args, **kwargs)

    return named_as(original, noted)


def STAND_IN(probe: Probe, probes: Probes, original: Any) -> Any:
    """``on_read(session, original, *args)`` is the answer, where a session of the thread is open: the
    innermost one.
    """

    @forwards
    def answered(*args: Any, **kwargs: Any) -> Any:
        sessions = probes.here()
        return (
            probe.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)
        )

    return named_as(original, answered)


def INPUT(probe: Probe, probes: Probes, original: Any) -> Any:
    """As :data:`STAND_IN`, for numbers that come from outside of a function. Other threads draw from the same
    source: there ``on_read(session, original, *args)`` is given the session of another thread.
    """

    @forwards
    def drawn(*args: Any, **kwargs: Any) -> Any:
        sessions = probes.here() or probes.anywhere()
        return (
            probe.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)
        )

    return named_as(original, drawn)


def named_as(original: Any, shim: Any) -> Any:
    """A shim with the name of its original. ``functools.wraps`` takes five times as long."""
    shim.__wrapped__, shim.__doc__ = original, getattr(original, "__doc__", None)
    shim.__name__ = getattr(original, "__name__", shim.__name__)
    shim.__qualname__ = getattr(original, "__qualname__", shim.__qualname__)
    return shim
