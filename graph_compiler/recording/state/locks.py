"""Locks of the objects in which graphs keep state.

Calls that use the same state run one after the other.

A graph without state takes no lock. Graphs that share a model share its lock, because a lock belongs to
the objects that hold the state. To avoid deadlocks, a thread takes the recording lock
(:mod:`graph_compiler.recording.lock`) before any of these, and waits for one of these only while it holds
no other of the same call.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class _Slot:
    """An object that holds state, kept alive by this, and the lock for changing it."""

    __slots__ = ("__weakref__", "lock", "owner")

    def __init__(self, owner: Any, lock: Any) -> None:
        self.owner, self.lock = owner, lock


# Slots by the id of the owner.
_slots: weakref.WeakValueDictionary[int, _Slot] = weakref.WeakValueDictionary()
_assigning = threading.RLock()


class StateLock:
    """Context manager in which a call of a graph with state runs. It keeps ``owners`` alive.

    It acquires the locks of all owners. Owners that have no lock yet share one: that of another owner, or
    a new one.

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
    """All state locks, acquired when this is made and held until :meth:`release`.

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
        """Release the locks that belong only to objects for which ``is_changed`` returns False."""
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
    """Hold all state locks inside the block, so that no graph changes, or sees, what a recording works on.

    The locks must be held before the objects are read. The caller must hold the recording lock.
    """
    locks = Reserved()
    try:
        yield locks
    finally:
        locks.release()


def _distinct(slots: Iterable[_Slot]) -> list[Any]:
    return list(dict.fromkeys(slot.lock for slot in slots))


def _take(locks: list[Any]) -> None:
    """Acquire all locks. While waiting for one of them, hold none of the others."""
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
