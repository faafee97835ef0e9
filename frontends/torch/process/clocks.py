"""Clocks that a torch function reads: they are read again before each call of the graph, and give it their numbers.

Between two readings of one call no time passes then. What is decided by them is a guard, what is only printed or logged ties a graph to
nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from ....tracing import active
from ....tracing.places import Draw
from ....tracing.reach.spaces import Space
from ...shims import shimmed, under_any_name
from ..trace import Trace

_CLOCKS = tuple(name + end for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns"))


def clocks_seen(capture: Trace, spaces: Iterable[Space]) -> AbstractContextManager[None]:
    """Inside of the block the clocks of ``time`` give symbols to the code of these modules, in this thread, also by names that were
    imported."""
    users = {id(space.held): space.held for space in spaces}
    clocks = [(name, getattr(time, name)) for name in _CLOCKS]
    pairs = [(clock, _shim(capture, name, clock, frozenset(users))) for name, clock in clocks]
    return shimmed(under_any_name((vars(time), *users.values()), pairs))


def _shim(capture: Trace, name: str, clock: Callable[[], Any], users: frozenset[int]) -> Callable[[], Any]:
    thread = threading.get_ident()

    @functools.wraps(clock)
    def read() -> Any:
        is_users = threading.get_ident() == thread and active.recording and id(sys._getframe(1).f_globals) in users
        return capture.host_draws.number(Draw(f"time.{name}", clock), name) if is_users else clock()

    return read
