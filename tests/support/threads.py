"""Work done by several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Signal:
    """What one thread waits for until another has sent it.

    An event would be state to a recording: this is none but for a lock.
    """

    def __init__(self) -> None:
        self._closed = threading.Lock()
        self._closed.acquire()

    def send(self) -> None:
        """From now on nobody waits."""
        if self._closed.locked():
            self._closed.release()

    def came(self, timeout: float) -> bool:
        """Waits, and whether it was sent within as many seconds."""
        came = self._closed.acquire(timeout=timeout)
        if came:
            self._closed.release()
        return came


def several(work: Callable[[int], Any], count: int = 4) -> None:
    """Runs ``work(i)`` in ``count`` threads; an exception in one of them is raised here."""
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
