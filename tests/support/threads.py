"""Work done by several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


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
