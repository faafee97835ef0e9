"""Objects of Python's own library that hold what the user puts there, or answer from more than their attributes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

# Class -> whether its own methods read what an object holds, so that no name in the user's code tells which attributes count.
_HOLDING: dict[tuple[str, str], bool] = {
    **dict.fromkeys((("types", "SimpleNamespace"), ("argparse", "Namespace"), ("_thread", "_local")), False),
    **dict.fromkeys((("collections", name) for name in ("UserDict", "UserList", "UserString", "ChainMap")), True),
    **dict.fromkeys((("queue", name) for name in ("Queue", "LifoQueue", "PriorityQueue")), True),
    **dict.fromkeys((("weakref", name) for name in ("WeakKeyDictionary", "WeakValueDictionary")), True),
    ("configparser", "RawConfigParser"): True,
    ("configparser", "SectionProxy"): True,
    ("string", "Template"): True,
    **dict.fromkeys((("threading", name) for name in ("Event", "Semaphore")), True),
}


def is_holding(cls: type) -> bool:
    """Whether instances of a standard-library class (or a subclass) contain objects of the user.

    >>> import queue, types
    >>> is_holding(queue.Queue), is_holding(types.SimpleNamespace), is_holding(type)
    (True, True, False)
    """
    return any((base.__module__, base.__name__) in _HOLDING for base in cls.__mro__)


def reads_itself(cls: type) -> bool:
    """Whether methods of such a class read what its objects hold.

    >>> import queue, types
    >>> reads_itself(queue.Queue), reads_itself(types.SimpleNamespace)
    (True, False)
    """
    return any(_HOLDING.get((base.__module__, base.__name__), False) for base in cls.__mro__)


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
