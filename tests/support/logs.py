"""Messages that the package logs. pytest's own logging plugin is disabled because it costs a millisecond per
test.
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
    """Yield a list that collects the messages of the logger ``name`` of at least ``level`` while the block
    runs.
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
