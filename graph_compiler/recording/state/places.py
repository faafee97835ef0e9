"""Places outside the arguments where a function keeps state (``StatePlace``), and locks of their owners."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...errors import CallMismatch
from ...sizes import is_symbolic
from ...trees import Branch, Fixed, Leaf, Path, Tree, count_leaves, map_structure, unflatten
from ..reachability.containers import MISSING, is_whole
from ..reachability.snapshot import ORDER, TrackedContainer
from .container_updates import Containers, FromArguments, NewObject, OutsideObject, item_of
from .contents import contents_of


def stateful_paths(arg_paths: Iterable[Any] | None, kwarg_paths: Iterable[Any] | None) -> tuple[Path, ...]:
    """Return paths into ``(args, kwargs)`` for the paths that users write.

    ``arg_paths`` start with the index of an argument, and ``kwarg_paths`` with a name.

    >>> stateful_paths([[0], [1, 0]], ["cache"])
    ((0, 0), (0, 1, 0), (1, 'cache'))
    """
    if arg_paths is None and kwarg_paths is None:
        return ()
    return tuple(
        (where, *_path(path)) for where, paths in ((0, arg_paths), (1, kwarg_paths)) for path in paths or ()
    )


def _path(path: Any) -> tuple[Any, ...]:
    return tuple(path) if isinstance(path, (list, tuple)) else (path,)


@dataclass(frozen=True)
class Stateful:
    """Objects that the user has declared to hold state.

    objects: objects that are not passed as arguments.
    paths: paths of further objects in ``(args, kwargs)``.
    """

    objects: tuple[Any, ...] = ()
    paths: tuple[Path, ...] = ()

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the objects at ``paths`` in a call that have a ``__dict__``.

        Raise ``CallMismatch`` if a path leads nowhere. Keyword arguments that are not passed are skipped.
        """
        if not self.paths:
            return []
        # A keyword argument may be left to its default, which is searched with the function.
        found = [_at((args, kwargs), path) for path in self.paths if path[0] == 0 or path[1] in kwargs]
        return [item for item in found if hasattr(item, "__dict__")]


def _at(arguments: tuple[Any, ...], path: Path) -> Any:
    found: Any = arguments
    for key in path:
        try:
            found = getattr(found, key) if isinstance(key, str) and not hasattr(found, "keys") else found[key]
        except (AttributeError, LookupError, TypeError):
            raise CallMismatch(
                f"the call has nothing at {list(path[1:])!r}, where a stateful object was announced"
            ) from None
    return found


@dataclass(frozen=True, eq=False)
class StatePlace:
    """One part of a container (an attribute, a dict entry, a closure variable), or the whole container.

    held: the container.
    key: key of the part; None for a whole container.
    whole: True for a whole container.
    """

    held: TrackedContainer
    key: Any = None
    whole: bool = False

    @property
    def name(self) -> str:
        return self.held.name if self.whole else self.held.name_of(self.key)

    @property
    def identity(self) -> tuple[int, Any]:
        return (id(self.held.owner), None if self.whole else self.key)

    def read(self) -> Any:
        """Return the object at the place, or ``MISSING`` if the part does not exist.

        For a whole container, that is the container or a copy of its contents.
        """
        if self.whole:
            # The elements of a buffer belong to the signature of the graph.
            if contents_of(self.held.item) is not None:
                return self.held.kind.pairs(self.held.item)[0]
            return frozenset(self.held.item) if isinstance(self.held.item, set) else self.held.item
        return self.held.kind.pairs(self.held.item).get(self.key, MISSING)

    def write(self, value: Any) -> None:
        """Store ``value`` at the place. ``MISSING`` deletes the part, if its container can."""
        if not self.whole:
            self.held.kind.put(self.held.item, self.key, value)
        elif value is not self.held.item:
            self.held.kind.refill(self.held.item, _parts(value))

    def saved(self) -> Any:
        held = self.read()
        # The object itself would change with the place.
        return copy.copy(held) if self.whole and held is self.held.item else held


def place_at(held: TrackedContainer, key: Any) -> StatePlace:
    """Return the place of ``key``, or of the whole container for ``ORDER`` and in kinds such as lists."""
    if key is ORDER or is_whole(held.item):
        return StatePlace(held, whole=True)
    # The recording has already guarded the size, because a dict lookup hashes it.
    has_sizes = isinstance(key, tuple) or is_symbolic(key)
    return StatePlace(
        held, map_structure(lambda part: int(part) if is_symbolic(part) else part, key) if has_sizes else key
    )


def _parts(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, Fixed):
        return {0: value}
    return dict(zip(value, value)) if isinstance(value, (set, frozenset)) else dict(enumerate(value))


def merge_places(known: Sequence[StatePlace], found: Iterable[StatePlace]) -> list[StatePlace]:
    """Return the places of both sequences, with one place for a dict of which both have entries.

    >>> from ..reachability.containers import kind_of
    >>> from ..reachability.snapshot import TrackedContainer
    >>> hooks = {}
    >>> held = TrackedContainer("hooks", hooks, kind_of(hooks), {})
    >>> [place.name for place in merge_places([StatePlace(held, 3)], [StatePlace(held, 5)])]
    ['hooks']
    """
    found = list(found)
    held_before = {
        id(place.held.item) for place in known if not place.whole and isinstance(place.held.item, dict)
    }
    whole = {
        id(place.held.item): StatePlace(place.held, whole=True)
        for place in found
        if id(place.held.item) in held_before
    }
    return [*(place for place in (*known, *found) if id(place.held.item) not in whole), *whole.values()]


def outermost_places(places: Iterable[StatePlace], is_array: Callable[[Any], bool]) -> tuple[StatePlace, ...]:
    """Return distinct places, without those whose container is inside an object at another returned place."""
    kept = list({place.identity: place for place in places}.values())
    for place in [*kept]:
        others = Containers(((), {}, tuple(other.read() for other in kept if other is not place)), is_array)
        if others.holds(place.held.item):
            kept.remove(place)
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class Draw:
    """Value that is drawn anew before each call, such as a random number.

    It is read like a place, and not written.

    name: name for messages.
    read(): draws the value.
    """

    name: str
    read: Callable[[], Any]


@dataclass(frozen=True)
class ReplacedPlace:
    """Place that holds another object after the call.

    number: index of the place in ``ExternalState.places``, where draws come last.
    item: where the object comes from; the object itself if it is a constant; ``MISSING`` if the part is
        deleted.
    """

    number: int
    item: FromArguments | NewObject | OutsideObject | Any


@dataclass(frozen=True)
class ExternalState:
    """State outside the arguments that a recorded graph reads before a call and may change after it.

    places: the places that the graph reads; draws come last.
    tree: the pytree structure of the objects at the places before the call.
    replaced: the places that have another object after the call.
    written: pairs of an index in the new objects and a path in ``(args, kwargs, state)``. The elements of
        the new object are copied into the array at the path.
    """

    places: tuple[StatePlace | Draw, ...] = ()
    tree: Tree = Leaf()
    replaced: tuple[ReplacedPlace, ...] = ()
    written: tuple[tuple[int, Path], ...] = ()

    def read(self, given: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        if not given:
            return tuple(place.read() for place in self.places)
        return tuple(given[place.name] if place.name in given else place.read() for place in self.places)

    def held(self) -> tuple[Any, ...]:
        return tuple(place.read() for place in self.places if isinstance(place, StatePlace))

    @property
    def draws(self) -> bool:
        return any(isinstance(place, Draw) for place in self.places)

    def kept(self) -> list[StatePlace]:
        return [place for place in self.places if isinstance(place, StatePlace)]

    def with_arrays(self, held: Sequence[Any], arrays: Sequence[Any], numbers: Set[int]) -> tuple[Any, ...]:
        """Return ``held``, the objects at the places, with those that contain a new array built again.

        arrays: the arrays of all places, one place after the other.
        numbers: indices in ``arrays`` of the new ones.
        """
        children = self.tree.children if isinstance(self.tree, Branch) else ()
        found, start = [], 0
        for tree, item in zip(children, held):
            stop = start + count_leaves(tree)
            is_new = not numbers.isdisjoint(range(start, stop))
            found.append(unflatten(tree, arrays[start:stop]) if is_new else item)
            start = stop
        return (*found, *held[len(found) :])

    def changed(self, before: Sequence[Any], after: Sequence[Any]) -> dict[str, Any]:
        places = zip(self.places, before, after)
        return {place.name: new for place, old, new in places if new is not old}

    @property
    def takes_arguments(self) -> bool:
        items = (one.item for one in self.replaced)
        # The path of an object in the arguments starts with 0 or 1, and that of one in the state with 2.
        return any(isinstance(item, FromArguments) and item.path[0] < 2 for item in items)

    def named(self, arguments: Any, new: Sequence[Any]) -> dict[str, Any]:
        return {self.places[one.number].name: item_of(arguments, one.item, new) for one in self.replaced}


def replaced_places(state: ExternalState) -> list[tuple[StatePlace, Any]]:
    kept = state.kept()
    return [(kept[one.number], one.item) for one in state.replaced]


def planned_places(state: ExternalState, new: Sequence[Any], arguments: Any) -> list[tuple[StatePlace, Any]]:
    return [(place, item_of(arguments, item, new)) for place, item in replaced_places(state)]


# ------------------------------------------------------------------------------------------------ state locks
# Calls that use the same state run one after the other.
#
# A graph without state takes no lock. Graphs that share a model share its lock, because a lock belongs to the
# objects that hold the state. To avoid deadlocks, a thread takes the recording lock
# (:mod:`graph_compiler.recording.lock`) before any of these, and waits for one of these only while it holds
# no other of the same call.


class _Slot:
    """Object that holds state, kept alive by the slot, and the lock for changing it."""

    __slots__ = ("__weakref__", "lock", "owner")

    def __init__(self, owner: Any, lock: Any) -> None:
        self.owner, self.lock = owner, lock


# Slots by the id of the owner.
_slots: weakref.WeakValueDictionary[int, _Slot] = weakref.WeakValueDictionary()
_assigning = threading.RLock()


class StateLock:
    """Context manager that holds the locks of ``owners`` inside the block.

    It keeps the owners alive.

    >>> model, other = [], []
    >>> with StateLock([model]), StateLock([model, other]):
    ...     pass
    """

    def __init__(self, owners: Iterable[Any]) -> None:
        distinct = {id(owner): owner for owner in owners}
        with _assigning:
            known = {number: slot for number in distinct if (slot := _slots.get(number)) is not None}
            lock = next(iter(known.values())).lock if known else threading.RLock()
            made = {number: _Slot(owner, lock) for number, owner in distinct.items() if number not in known}
            _slots.update(made)
        # The table refers to slots weakly, so a lock exists as long as something that uses it.
        self._slots = [*known.values(), *made.values()]
        self._locks = _distinct(self._slots)

    def __enter__(self) -> None:
        # With a single lock, no other one is held while waiting for it.
        if len(self._locks) == 1:
            self._locks[0].acquire()
        else:
            _take(self._locks)

    def __exit__(self, *problem: object) -> None:
        for lock in self._locks:
            lock.release()


class Reserved:
    """Existing state locks, acquired by the constructor and released by :meth:`only` and :meth:`release`.

    They are held while it is unknown which objects a recording will change and restore.
    """

    def __init__(self) -> None:
        with _assigning:
            self._slots = list(_slots.values())
        self._held: list[Any] = []
        if self._slots:
            self._held = _distinct(self._slots)
            _take(self._held)

    def only(self, is_changed: Callable[[Any], bool]) -> None:
        if not self._held:
            return
        wanted = _distinct(slot for slot in self._slots if is_changed(slot.owner))
        others, self._held = [lock for lock in self._held if lock not in wanted], wanted
        for lock in others:
            lock.release()

    def release(self) -> None:
        self.only(lambda owner: False)


@contextmanager
def reserved() -> Iterator[Reserved]:
    """Acquire the existing state locks, yield them, and release at the end of the block those still held.

    Enter the block before the state is read, and while holding the recording lock.
    """
    locks = Reserved()
    try:
        yield locks
    finally:
        locks.release()


def _distinct(slots: Iterable[_Slot]) -> list[Any]:
    return list(dict.fromkeys(slot.lock for slot in slots))


def _take(locks: list[Any]) -> None:
    # While waiting for a lock, a thread holds none of the others.
    waiting = list(locks)
    while waiting:
        taken: list[Any] = []
        for lock in waiting:
            # The lock that is taken by another thread is waited for first, while none is held.
            if not lock.acquire(blocking=not taken):
                waiting = [lock, *(other for other in waiting if other is not lock)]
                break
            taken.append(lock)
        else:
            return
        for lock in taken:
            lock.release()
