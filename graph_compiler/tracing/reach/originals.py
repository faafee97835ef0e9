"""What a compiled callable was made of: a function that calls one is recorded together with the original."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

_OWN = f"{__name__.partition('.')[0]}.runtime."
# Classes whose objects do nothing but call a function, and the attribute that holds it.
_HELD = {("numpy", "vectorize"): "pyfunc"}
PLAIN = frozenset({bool, int, float, str, type(None), tuple, list, set, dict, OrderedDict})
_KNOWN = (_OWN, *(module for module, _ in _HELD))


def module_of(cls: type) -> str:
    """The name of the module of a class; empty for classes of compiled extensions that hold a descriptor in its place.

    >>> module_of(dict)
    'builtins'
    """
    module: Any = cls.__module__
    return module if isinstance(module, str) else ""


def original_of(item: Any) -> Any:
    """The original of a compiled callable. Other objects, and graphs from files, are returned unchanged.

    >>> original_of(len) is len
    True
    """
    if type(item) in PLAIN or not module_of(type(item)).startswith(_KNOWN):  # as most
        return item
    if (name := _HELD.get((module_of(type(item)), type(item).__name__))) is not None:
        return getattr(item, name)
    while (
        module_of(type(item)).startswith(_OWN)
        and (pipeline := getattr(item, "__dict__", {}).get("pipeline")) is not None
        and pipeline.has_original
    ):
        item = pipeline.function
    return item
