"""Patches: kinds of shims, their installation, and the recordings that they report to."""

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
from ..environment_guards import EnvironmentGuard

# Owner (a dict or an object with attributes), a name, and the item to set for a while.
Replacement = tuple[Any, str, Any]
# Owners, and their items by name.
ItemsByOwner = list[tuple[Any, dict[str, Any]]]
NOTHING = object()


@contextmanager
def replaced(places: Iterable[Replacement]) -> Iterator[None]:
    """Set names to the items in ``places`` inside the block; after it, restore the old items.

    >>> space = {"len": len}
    >>> with replaced([(space, "len", 1), (space, "abs", 2)]):
    ...     space
    {'len': 1, 'abs': 2}
    >>> space
    {'len': <built-in function len>}
    """
    held = group_by_owner(places)
    before = [(owner, {name: _held_by(owner, name) for name in items}) for owner, items in held]
    try:
        set_all(held)
        yield
    finally:
        to_the_end(lambda: set_all(before))


def to_the_end(restore: Callable[[], None]) -> None:
    try:
        restore()
    except KeyboardInterrupt:
        restore()
        raise


def space_of(owner: Any) -> Any:
    return owner if isinstance(owner, dict) else vars(owner)


def _held_by(owner: Any, name: str) -> Any:
    # The code of a function is no item of its namespace.
    return (
        owner.__code__
        if isinstance(owner, FunctionType) and name == "__code__"
        else space_of(owner).get(name, NOTHING)
    )


def group_by_owner(places: Iterable[Replacement]) -> ItemsByOwner:
    found: dict[int, tuple[Any, dict[str, Any]]] = {}
    for owner, name, item in places:
        found.setdefault(id(owner), (owner, {}))[1][name] = item
    return list(found.values())


def set_all(held: ItemsByOwner) -> None:
    for owner, items in held:
        if isinstance(owner, (dict, ModuleType)) and id(NOTHING) not in map(id, items.values()):
            # ``update`` is faster than setting names one by one.
            space_of(owner).update(items)
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


def under_any_name(spaces: Iterable[dict[str, Any]], pairs: Iterable[tuple[Any, Any]]) -> list[Replacement]:
    """Return patches that replace the first item of each pair by the second, under any name in ``spaces``.

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


Kind = Callable[["Patch", "PatchSet", Any], Any]


class Patch(NamedTuple):
    """Function or attribute that is patched during a recording.

    owner: the module, class or object that has the function or attribute.
    kind: function that makes the shim, such as :func:`assume_result`.
    on_read: callback of the shim, if ``kind`` uses one.
    """

    owner: Any
    name: str
    kind: Kind
    on_read: Callable[..., Any]


class Session:
    """One recording as seen by shims, with what they have noted.

    trace: the frontend's object for its own patches.
    symbols: callbacks for symbolic numbers; None if there are none.
    outside(): context for code that is not to be recorded.
    concrete(array): an array with elements for a proxy.
    hold(graph, arrays): turns the parameters of a graph that the function calls into parameters of the
        recording, and returns the arrays that represent them by name; None if that is impossible.

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

    def is_active_here(self) -> bool:
        return threading.get_ident() == self._thread and not getattr(_paused, "is_so", False)

    def note(self, what: str, item: Any) -> None:
        self._noted.setdefault(what, {})[id(item)] = item

    def noted(self, what: str) -> list[Any]:
        return list(self._noted.get(what, {}).values())

    def was_told(self) -> bool:
        return bool(self._asked or self._noted)

    def assume(self, name: str, key: Any, ask: Callable[[], Any]) -> None:
        self._asked[key] = name, ask

    def guards(self) -> list[EnvironmentGuard]:
        """Return guards for the calls that shims of :func:`assume_result` noted.

        The values to compare with are read now.
        """
        return [
            EnvironmentGuard("{}() == {}", (ask, ask()), f"what {name} gives")
            for name, ask in self._asked.values()
        ]


_NO_SESSIONS: tuple[Session, ...] = ()
_paused = threading.local()
_open = threading.local()


@contextmanager
def paused() -> Iterator[None]:
    """Pause the open sessions of this thread in the block. A session that is opened there is active."""
    before, _paused.is_so = getattr(_paused, "is_so", False), True
    try:
        yield
    finally:
        _paused.is_so = before


@contextmanager
def _resumed(session: Session) -> Iterator[None]:
    before, paused_before = getattr(_open, "sessions", _NO_SESSIONS), getattr(_paused, "is_so", False)
    # Shims must not report to paused sessions what happens in this one.
    _open.sessions, _paused.is_so = (*sessions_here(), session), False
    try:
        yield
    finally:
        _open.sessions, _paused.is_so = before, paused_before


def sessions_here() -> tuple[Session, ...]:
    sessions: tuple[Session, ...] = getattr(_open, "sessions", _NO_SESSIONS)
    return _NO_SESSIONS if getattr(_paused, "is_so", False) else tuple(dict.fromkeys(sessions))


class PatchSet:
    """Patches whose shims are installed while a session of the set is open in any thread."""

    def __init__(self, *rows: Patch) -> None:
        self._rows, self._spaces = rows, [space_of(row.owner) for row in rows]
        self._originals: list[Any] = []
        self._shims: ItemsByOwner = []
        self._before: ItemsByOwner = []
        self._by_original: dict[int, Any] = {}
        self._here = threading.local()
        self._lock = threading.Lock()
        self._open: tuple[Session, ...] = _NO_SESSIONS
        self._are_installed = False

    def here(self) -> tuple[Session, ...]:
        sessions: tuple[Session, ...] = getattr(self._here, "sessions", _NO_SESSIONS)
        return _NO_SESSIONS if sessions and getattr(_paused, "is_so", False) else sessions

    def anywhere(self) -> tuple[Session, ...]:
        return self._open

    @contextmanager
    def opened(self, session: Session) -> Iterator[None]:
        """Open ``session`` for this thread inside the block.

        The first open session of all threads installs the shims, and the last one to end removes them.
        """
        before = getattr(self._here, "sessions", _NO_SESSIONS)

        def close() -> None:
            self._here.sessions = before
            with self._lock:
                self._open = tuple(one for one in self._open if one is not session)
                if not self._open:
                    self._remove_shims()

        # An interrupt may come between any two statements, so the end undoes a half of the begin, too.
        try:
            with self._lock:
                if not self._open:
                    # The end of an earlier session may have been interrupted.
                    self._remove_shims()
                    self._make_shims()
                    self._are_installed = True
                    set_all(self._shims)
                self._open = (*self._open, session)
            self._here.sessions = (*self.here(), session)
            with _resumed(session):
                yield
        finally:
            to_the_end(close)

    def _remove_shims(self) -> None:
        if self._are_installed:
            set_all(self._before)
            self._are_installed = False

    def _make_shims(self) -> None:
        found = [space.get(row.name, NOTHING) for row, space in zip(self._rows, self._spaces)]
        # The originals are the same as last time, and so are their shims.
        if found == self._originals:
            return
        inherited = (
            # A method may be inherited. The shim is then set on the class itself, and deleted afterwards.
            getattr(row.owner, row.name, None) if item is NOTHING else item
            for row, item in zip(self._rows, found)
        )
        shims = [row.kind(row, self, item) for row, item in zip(self._rows, inherited)]
        self._shims, self._before = self._held(shims), self._held(found)
        self._by_original = {id(item): shim for item, shim in zip(found, shims) if item is not NOTHING}
        # Set last, so that an interrupt before leaves nothing that is taken for made.
        self._originals = found

    def _held(self, items: Iterable[Any]) -> ItemsByOwner:
        return group_by_owner((row.owner, row.name, item) for row, item in zip(self._rows, items))

    def shims_in(self, spaces: Iterable[dict[str, Any]]) -> Iterator[Replacement]:
        known = self._by_original
        for space in spaces:
            if not known.keys().isdisjoint(map(id, list(space.values()))):
                yield from (
                    (space, name, known[id(item)]) for name, item in list(space.items()) if id(item) in known
                )


@contextmanager
def patching(
    patches: PatchSet,
    session: Session,
    spaces: Iterable[dict[str, Any]] = (),
    places: Iterable[Replacement] = (),
) -> Iterator[Session]:
    """Report patched calls to ``session`` inside the block, even under names imported into ``spaces``.

    The further replacements ``places`` are made, too.

    >>> import os
    >>> from .patch import assume_result
    >>> patches = PatchSet(Patch(os, "getcwd", assume_result, lambda original: original()))
    >>> with patching(patches, Session()) as session:
    ...     _ = eval("os.getcwd()", {"os": os, "__name__": "users"})
    >>> [guard.what for guard in session.guards()]
    ['what getcwd gives']
    """
    with (
        patches.opened(session),
        replaced((*patches.shims_in({id(space): space for space in spaces}.values()), *places)),
    ):
        yield session


def assume_result(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that calls ``original``, and notes calls by user or library code for guards."""

    def again(*args: Any, **kwargs: Any) -> Any:
        try:
            return patch.on_read(original, *args, **kwargs)
        # The original is Python's or another library's, and its exception is the answer.
        except Exception as problem:
            return type(problem)

    # The call is noted first, because an exception is an answer too.
    @forwards
    def asked(*args: Any, **kwargs: Any) -> Any:
        if (sessions := patches.here()) and user_of(sys._getframe(1)) is not None:
            # Arguments need not be hashable, so they are told apart by identity.
            key = (patch.name, *map(id, args), *kwargs, *map(id, kwargs.values()))
            for session in sessions:
                session.assume(patch.name, key, functools.partial(again, *args, **kwargs))
        return original(*args, **kwargs)

    return copy_name(original, asked)


def refuse_call(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that raises ``TracingError`` for calls by user or library code during a recording.

    Calls for which ``on_read`` returns True are allowed.
    """

    @forwards
    def refused(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if patches.here() else None
        if frame is None or patch.on_read(*args, **kwargs):
            return original(*args, **kwargs)
        raise TracingError(
            f"{patch.owner.__name__}.{patch.name} at {frame.f_code.co_filename}:{frame.f_lineno} gives "
            "something else at each call, and would become a constant. Pass what it gives as an argument"
        )

    return copy_name(original, refused)


def note_call(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that calls ``on_read`` for active sessions of the calling thread, then ``original``.

    ``on_read`` receives a session and the arguments.
    """

    @forwards
    def noted(*args: Any, **kwargs: Any) -> Any:
        for session in patches.here():
            patch.on_read(session, *args, **kwargs)
        return original(*args, **kwargs)

    return copy_name(original, noted)


def replace_call(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim that calls ``on_read`` with the innermost session, ``original`` and the arguments.

    Without an active session in the calling thread, it calls ``original``.
    """

    @forwards
    def answered(*args: Any, **kwargs: Any) -> Any:
        sessions = patches.here()
        return (
            patch.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)
        )

    return copy_name(original, answered)


def replace_call_anywhere(patch: Patch, patches: PatchSet, original: Any) -> Any:
    """Return a shim like that of :func:`replace_call` that also works in threads without a session.

    It is for values from a source that all threads share, such as random numbers.
    """

    @forwards
    def drawn(*args: Any, **kwargs: Any) -> Any:
        # Other threads draw from the same generator, so their draws must be noticed.
        sessions = patches.here() or patches.anywhere()
        return (
            patch.on_read(sessions[-1], original, *args, **kwargs) if sessions else original(*args, **kwargs)
        )

    return copy_name(original, drawn)


def copy_name(original: Any, shim: Any) -> Any:
    shim.__wrapped__, shim.__doc__ = original, getattr(original, "__doc__", None)
    shim.__name__ = getattr(original, "__name__", shim.__name__)
    shim.__qualname__ = getattr(original, "__qualname__", shim.__qualname__)
    return shim
