"""Fork of the test process that reports by its exit status."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# A child that waits for a lock that no thread will release is killed.
_SECONDS = 60


def holds_in_child(right: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Fork, call ``right`` in the child and ``meanwhile`` in the parent, and return True if ``right``
    returned True.

    Return False if ``right`` raises, or if the child runs for more than 60 seconds; it is killed then.
    """
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if right() else 1)
        finally:
            os._exit(2)
    meanwhile()
    deadline = time.monotonic() + _SECONDS
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    return ended == (child, 0)
