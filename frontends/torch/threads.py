"""Whether a function starts threads while it is recorded: a recording sees its own thread only."""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.Lock()
_open: list[StartedThreads] = []
_start = threading.Thread.start


class StartedThreads:
    """Inside of the block, notes whether this thread starts another.

    >>> with StartedThreads() as threads:
    ...     threading.Thread(target=lambda: None).start()
    >>> threads.any
    True
    """

    def __init__(self) -> None:
        self.any = False
        self._thread = threading.get_ident()

    def __enter__(self) -> StartedThreads:
        with _lock:
            _open.append(self)
            threading.Thread.start = _noted  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                threading.Thread.start = _start  # type: ignore[method-assign]

    def note(self, thread: int) -> None:
        """This thread has started another."""
        self.any = self.any or thread == self._thread


def _noted(self: Any) -> None:
    for started in tuple(_open):
        started.note(threading.get_ident())
    _start(self)
