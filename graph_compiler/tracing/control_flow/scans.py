"""Whether the steps of a loop that is being recorded are computed again for a gradient, which the framework's own loop has no word for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_again: ContextVar[bool] = ContextVar("steps are computed again", default=False)


@contextmanager
def computing_again(checkpoint: bool) -> Iterator[None]:
    """Loops that are recorded inside of the block compute their steps again, or not; loops in their steps say so themselves."""
    before = _again.set(checkpoint)
    try:
        yield
    finally:
        _again.reset(before)


def is_computed_again() -> bool:
    """Whether the loop that begins here computes its steps again."""
    return _again.get()
