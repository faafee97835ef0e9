"""Of which of Python's own classes the objects hold what the user puts there."""

from __future__ import annotations

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
