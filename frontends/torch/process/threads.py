"""Whether a function starts threads while it is recorded: a recording sees its own thread only."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_lock = threading.Lock()
_open: list[StartedThreads] = []
_start, _submit = threading.Thread.start, ThreadPoolExecutor.submit


class StartedThreads:
    """Inside of the block, notes whether this thread starts another, or gives work to a pool of them.

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
            threading.Thread.start, ThreadPoolExecutor.submit = _noted, _submit_noted  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _open.remove(self)
            if not _open:
                threading.Thread.start, ThreadPoolExecutor.submit = _start, _submit  # type: ignore[method-assign]

    def note(self, thread: int) -> None:
        """This thread has started another."""
        self.any = self.any or thread == self._thread


def _note() -> None:
    for started in tuple(_open):
        started.note(threading.get_ident())


def _noted(self: Any) -> None:
    _note()
    _start(self)


def _submit_noted(self: Any, *args: Any, **kwargs: Any) -> Any:
    _note()
    return _submit(self, *args, **kwargs)
