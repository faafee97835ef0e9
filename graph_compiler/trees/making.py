"""Construction of containers from their keys and items, if possible without calling ``__init__``.

Generated source that returns such a container holds copies of these functions, so they use only the
standard library.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import MutableMapping, Sequence
from typing import Any


def base_of(cls: type) -> Any:
    """Return the first class in the MRO of ``cls`` that is not a heap type."""
    is_heap_type = 1 << 9
    return next(base for base in cls.__mro__ if not base.__flags__ & is_heap_type)


def make_tuple(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return an instance of the tuple class ``cls`` without calling a ``__new__`` written in Python."""
    return base_of(cls).__new__(cls, children)


def make_called(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    return cls(children)


def make_list(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return an instance of the list class ``cls`` without calling its ``__init__``."""
    made: Any = list.__new__(cls)
    list.extend(made, children)
    return made


def make_deque(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return a deque of the class ``cls``. The first child is its ``maxlen``; the others are its items."""
    return cls(children[1:], children[0])


def make_default_dict(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return a defaultdict of the class ``cls``, without calling an ``__init__`` written in Python.

    The first child is its ``default_factory``; the others are its items.
    """
    made: Any = defaultdict.__new__(cls)
    defaultdict.__init__(made, children[0])
    return filled(made, dict(zip(keys[1:], children[1:])))


def make_dataclass_mapping(cls: Any, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return an object of ``cls``, a mapping and dataclass, that is made from ``keys`` and ``children``."""
    items = dict(zip(keys, children))
    fields = [field for field in dataclasses.fields(cls) if field.init]
    required = [
        field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING
    ]
    names = [field.name for field in fields if field.name in items]
    made = cls(**{**dict.fromkeys(required), **{name: items[name] for name in names}})
    if hasattr(cls, "__setitem__"):
        for key in [key for key in items if key not in names]:
            made[key] = items[key]
    if not isinstance(made, dict):
        return made
    for name in names:
        # The class may define `__setattr__`, which would set the item, too.
        object.__setattr__(made, name, items[name])
    return filled(made, items)


def make_mapping(cls: Any, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return a mapping of the class ``cls`` that is made from ``keys`` and ``children``."""
    items = dict(zip(keys, children))
    if cls is dict:
        return items
    if not issubclass(cls, MutableMapping) and not hasattr(cls, "update"):
        return cls(items)
    try:
        made = cls()
    except TypeError:
        # The constructor may require arguments.
        if not issubclass(cls, dict):
            return cls(items)
        made = base_of(cls).__new__(cls)
    return filled(made, items)


def filled(made: Any, items: dict[Any, Any]) -> Any:
    """Add ``items`` to the mapping ``made`` and return it.

    If it is a dict, its items are removed first.
    """
    if not isinstance(made, dict):
        made.update(items)
        return made
    base = base_of(type(made))
    # Methods of the subclass may convert items.
    base.clear(made)
    for key, child in items.items():
        base.__setitem__(made, key, child)
    return made


def make_object(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    """Return an object of the class ``cls`` with the attributes ``keys``, which have the values ``children``.

    Its ``__init__`` and ``__setattr__`` are not called.
    """
    made: Any = object.__new__(cls)
    for key, child in zip(keys, children):
        object.__setattr__(made, key, child)
    return made


def make_namespace(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    return cls(**dict(zip(keys, children)))
