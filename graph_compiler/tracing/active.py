"""Whether this thread is recording just now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Active(threading.local):
    """How many recordings of this thread are open, one inside of the other."""

    recording = 0


active = _Active()


@contextmanager
def recording() -> Iterator[None]:
    """A recording is open inside of the block."""
    active.recording += 1
    try:
        yield
    finally:
        active.recording -= 1
