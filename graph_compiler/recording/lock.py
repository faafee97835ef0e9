"""The lock that lets one thread at a time record, the open recordings, and the stage of a conversion."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Any

from .reachability.snapshot import ObjectSnapshot
from .state.places import Reserved

# ------------------------------------------------------------------------------------------ current stage


class _Stage:
    """Progress of the newest conversion, for messages.

    name: name of the stage, or empty.
    calls: recorded calls, whose number is shown.
    """

    def __init__(self) -> None:
        self.name = ""
        self.calls: Sized = ()

    def __str__(self) -> str:
        count = len(self.calls)
        return f"{self.name}, {count:,} call{'' if count == 1 else 's'}" if count else self.name

    def note(self, problem: Exception) -> None:
        problem.__dict__.setdefault("_graph_compiler_stage", str(self))

    @staticmethod
    def noted(problem: BaseException) -> str:
        return str(getattr(problem, "_graph_compiler_stage", ""))

    def end(self) -> None:
        self.name, self.calls = "", ()


stage = _Stage()


# ----------------------------------------------------------------------------------------- recording lock
# One lock serves all frameworks. With one for each, two that record each other's functions would wait for
# each other forever.
recording_lock = threading.RLock()


def is_mine() -> bool:
    return recording_lock._is_owned()  # type: ignore[attr-defined,no-any-return]


_reserved: list[Reserved] = []


def _before_fork() -> None:
    # A child process gets copies of all locks. Those held by other threads at the fork would never be
    # released there.
    recording_lock.acquire()
    _reserved.append(Reserved())


def _after_fork() -> None:
    _reserved.pop().release()
    # The child process has only this thread, which took the locks and releases them.
    recording_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class _Active:
    """Recordings that are open in each thread, possibly nested.

    anywhere: number of open recordings in all threads.
    """

    def __init__(self) -> None:
        # This number is cheaper to read than a thread-local variable.
        self.anywhere = 0
        self._here = threading.local()
        self._lock = threading.Lock()
        self._tokens: set[object] = set()

    @property
    def recording(self) -> bool:
        return bool(self._frameworks)

    @property
    def framework(self) -> str | None:
        return self._frameworks[-1] if self._frameworks else None

    @property
    def _frameworks(self) -> tuple[str | None, ...]:
        found: tuple[str | None, ...] = getattr(self._here, "frameworks", ())
        return found

    @contextmanager
    def opened(self, framework: str | None) -> Iterator[None]:
        token, before = object(), self._frameworks
        # An interrupt may come between any two statements, so the end undoes a half of the begin, too.
        try:
            with self._lock:
                self._tokens.add(token)
                self.anywhere = len(self._tokens)
            self._here.frameworks = (*before, framework)
            yield
        finally:
            self._here.frameworks = before
            with self._lock:
                self._tokens.discard(token)
                self.anywhere = len(self._tokens)

    def knows(self, item: Any) -> bool:
        worlds: list[ObjectSnapshot] = getattr(self._here, "worlds", [])
        return bool(worlds) and worlds[-1].knows(item)

    @contextmanager
    def looking_after(self, world: ObjectSnapshot) -> Iterator[None]:
        self._here.worlds = worlds = [*getattr(self._here, "worlds", ()), world]
        try:
            yield
        finally:
            self._here.worlds = worlds[:-1]


active = _Active()


@contextmanager
def recording(framework: str | None = None) -> Iterator[None]:
    """Mark this thread as recording a function of ``framework`` inside the block, without taking the lock."""
    # A function of one framework may be recorded inside a recording of another one.
    with active.opened(framework):
        yield
