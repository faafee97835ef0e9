"""Objects of Python's own library that a function asks a question, and that answer it from more than their attributes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, NamedTuple


class Answers(NamedTuple):
    """What objects of a class answer code that reads one of ``names``."""

    cls: type
    names: frozenset[str]
    read: Callable[[Any], Any]
    what: str


def _level(logger: logging.Logger) -> tuple[Any, ...]:
    return logger.getEffectiveLevel(), logger.disabled, logger.manager.disable


_ROWS = (Answers(logging.Logger, frozenset({"isEnabledFor", "getEffectiveLevel", "level", "disabled"}), _level, "the level of a logger"),)


def is_asked(item: Any) -> bool:
    """Whether an object is one of those in the table."""
    return any(isinstance(item, row.cls) for row in _ROWS)


def answers_of(item: Any, names: Collection[str]) -> list[Answers]:
    """The answers that code with these names may get of an object.

    >>> logger = logging.getLogger("graph_compiler.doctest")
    >>> [row.what for row in answers_of(logger, {"isEnabledFor"})], answers_of(logger, {"info"})
    (['the level of a logger'], [])
    """
    return [row for row in _ROWS if isinstance(item, row.cls) and not row.names.isdisjoint(names)]
