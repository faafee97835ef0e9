"""Clocks that a torch function reads: they are read again before each call of the graph, and give it their numbers.

Between two readings of one call no time passes then. What is decided by them is a guard, what is only printed or logged ties a graph to nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ....tracing import active
from ....tracing.places import Draw
from ..numbers.spaces import Space

_CLOCKS = tuple(name + end for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns"))


@contextmanager
def clocks_seen(capture: Any, spaces: Iterable[Space]) -> Iterator[None]:
    """Inside of the block the clocks of ``time`` give symbols to the code of these modules, in this thread, also by names that were imported."""
    users = {id(space.held): space.held for space in spaces}
    stand_ins = {getattr(time, name): _stand_in(capture, name, getattr(time, name), frozenset(users)) for name in _CLOCKS}
    imported = [(held, name, item) for held in users.values() for name, item in held.items() if _is_clock(item, stand_ins)]
    swapped = [*((vars(time), name, getattr(time, name)) for name in _CLOCKS), *imported]
    for held, name, item in swapped:
        held[name] = stand_ins[item]
    try:
        yield
    finally:
        for held, name, item in swapped:
            held[name] = item


def _is_clock(item: Any, clocks: dict[Any, Any]) -> bool:
    return any(item is clock for clock in clocks)


def _stand_in(capture: Any, name: str, clock: Callable[[], Any], users: frozenset[int]) -> Callable[[], Any]:
    thread = threading.get_ident()

    @functools.wraps(clock)
    def read() -> Any:
        is_users = threading.get_ident() == thread and active.recording and id(sys._getframe(1).f_globals) in users
        return capture.host_draws.number(Draw(f"time.{name}", clock), name) if is_users else clock()

    return read
