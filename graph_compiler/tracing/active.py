"""Whether this thread is recording just now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .reach.world import World


class _Active:
    """Which threads have recordings open, one inside of the other. ``anywhere`` is the quick question that each call of a graph asks
    first."""

    def __init__(self) -> None:
        self.anywhere = 0
        self._here = threading.local()
        self._lock = threading.Lock()

    @property
    def recording(self) -> bool:
        """Whether a recording of this thread is open."""
        return getattr(self._here, "depth", 0) > 0

    def change(self, by: int) -> None:
        """One recording more, or less, of this thread."""
        with self._lock:
            self.anywhere += by
        self._here.depth = getattr(self._here, "depth", 0) + by

    @property
    def framework(self) -> str | None:
        """The framework of the innermost recording of this thread, if it is known."""
        found: str | None = getattr(self._here, "framework", None)
        return found

    @framework.setter
    def framework(self, name: str | None) -> None:
        self._here.framework = name

    def knows(self, item: Any) -> bool:
        """Whether changes of this container are state of the innermost recording of this thread, which looks after them itself."""
        worlds: list[World] = getattr(self._here, "worlds", [])
        return bool(worlds) and worlds[-1].knows(item)

    @contextmanager
    def looking_after(self, world: World) -> Iterator[None]:
        """Inside of the block the innermost recording looks after all containers of a world."""
        self._here.worlds = worlds = [*getattr(self._here, "worlds", ()), world]
        try:
            yield
        finally:
            self._here.worlds = worlds[:-1]


active = _Active()


@contextmanager
def recording(framework: str | None = None) -> Iterator[None]:
    """A recording of a function of ``framework`` is open inside of the block."""
    active.change(+1)
    before, active.framework = active.framework, framework
    try:
        yield
    finally:
        active.framework = before
        active.change(-1)
