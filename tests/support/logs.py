"""What the package logs, for tests that look at it: pytest's own plugin is off, for it costs every test a
millisecond.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def logged(level: int = logging.WARNING, name: str = "graph_compiler") -> Iterator[list[str]]:
    """The messages of ``graph_compiler``, or of the logger of another name, that are at least of this level
    and come inside of the block.
    """
    log, kept = logging.getLogger(name), _Kept()
    before = log.level
    log.addHandler(kept)
    log.setLevel(level)
    try:
        yield kept.messages
    finally:
        log.setLevel(before)
        log.removeHandler(kept)
