"""One thread at a time records, in the whole process and whatever the framework: it replaces functions and moves generators that all
share."""

from __future__ import annotations

import os
import threading

from .state.locks import Reserved

recording_lock = threading.RLock()  # one for all frameworks: with one for each, two that record each other's functions would wait for ever


def is_mine() -> bool:
    """Whether this thread is the one that may record."""
    return recording_lock._is_owned()  # type: ignore[attr-defined,no-any-return]


_reserved: list[Reserved] = []


def _before_fork() -> None:
    """Waits until nobody records or changes state: a child has all of it as it is now, and not the threads that would finish it."""
    recording_lock.acquire()
    _reserved.append(Reserved())


def _after_fork() -> None:
    _reserved.pop().release()
    recording_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
