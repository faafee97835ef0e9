"""Threads in tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Signal:
    """One-time signal from one thread to another.

    It consists of a lock alone: a recording would take a ``threading.Event`` for state of the function.
    """

    def __init__(self) -> None:
        self._closed = threading.Lock()
        self._closed.acquire()

    def send(self) -> None:
        if self._closed.locked():
            self._closed.release()

    def came(self, timeout: float) -> bool:
        """Wait for the signal; return False if it is not sent within ``timeout`` seconds."""
        came = self._closed.acquire(timeout=timeout)
        if came:
            self._closed.release()
        return came


def several(work: Callable[[int], Any], count: int = 4) -> None:
    """Run ``work(0)`` to ``work(count - 1)`` in threads of their own, and raise the first exception that one
    of them raised.
    """
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
