"""Clocks that a torch function reads: they are read again before each call of the graph, and give it their numbers.

Between two readings of one call no time passes then. What is decided by them is a guard, what is only printed or logged ties a graph to
nothing.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from ....tracing.probes import INPUT, Probe, Session
from ....tracing.probes.call_site import behind
from ....tracing.state.places import Draw

_CLOCKS = tuple(name + end for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns"))


def _read(name: str, session: Session, clock: Callable[[], Any]) -> Any:
    is_users = session.hears() and id(behind(sys._getframe(1)).f_globals) in session.trace.spaces
    return session.trace.host_draws.number(Draw(f"time.{name}", clock), name) if is_users else clock()


CLOCKS = tuple(Probe(time, name, INPUT, functools.partial(_read, name)) for name in _CLOCKS)
