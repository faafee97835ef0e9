"""Modules that code takes by their name (``sys.modules``), and namespaces that it reads as a whole (``vars(module)``, ``globals()``)."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

from ..source.code_names import fragments_read, globals_read, imports_of, names_read

_OWN_MODULE = frozenset({"f_globals", "__globals__"})
_BY_NAME = frozenset({"modules", "import_module", "__import__", *_OWN_MODULE})
_WHOLE_MODULE = frozenset({"dir", "getmembers", *_OWN_MODULE})
OWN_GLOBALS = frozenset({"globals", "eval", "exec"})
STOOD_IN = frozenset({"int", "float", "type", "len", *OWN_GLOBALS})  # a recording of another thread puts these there and takes them away

_BUILT_IN = (type, types.BuiltinFunctionType)

OF_IMPORTS = frozenset(
    {"__loader__", "__spec__", "__builtins__"}
)  # what Python puts into the dict of a module, which may be held like any other


def taken_by_name(function: types.FunctionType) -> Iterator[types.ModuleType]:
    """The modules that code imports when it runs; where it looks in ``sys.modules`` or imports by a text, those that its texts name, and
    its own.

    >>> def scaled(x):
    ...     return x * sys.modules["graph_compiler.errors"].SCALE
    >>> [module.__name__ for module in taken_by_name(scaled) if module.__name__ != __name__]
    ['graph_compiler.errors']
    """
    names, own = sorted(imports_of(function.__code__)), function.__globals__
    package = str(own.get("__package__") or "")
    names += [f"{package}.{name}".strip(".") for name in names]  # from .name import what
    if not _BY_NAME.isdisjoint(names_read(function.__code__)):
        names += [*(item for item in function.__code__.co_consts if isinstance(item, str)), str(own.get("__name__"))]
    found = (sys.modules.get(name) for name in dict.fromkeys(names))
    yield from (module for module in found if isinstance(module, types.ModuleType))


def names_of_builtins(function: types.FunctionType) -> list[str]:
    """Names that a function finds beside Python's own functions and classes, where somebody has put something.

    >>> builtins.factor = 2
    >>> names_of_builtins(lambda x: len(x) * factor * missing)
    ['factor']
    >>> del builtins.factor
    """
    names = globals_read(function.__code__) - function.__globals__.keys()
    return sorted(name for name in names & vars(builtins).keys() if not isinstance(vars(builtins)[name], _BUILT_IN))


def reads_modules_whole(function: types.FunctionType) -> bool:
    """Whether code asks what it names for a dict, for a list of names, or for a name that nobody knows: any name in a module may be
    read."""
    return "" in fragments_read(function.__code__) or not _WHOLE_MODULE.isdisjoint(names_read(function.__code__))


def reaches_own_globals(names: Collection[str]) -> bool:
    """Whether code with these names may read and write any global of its module."""
    return not OWN_GLOBALS.isdisjoint(names)


def names_in(space: dict[str, Any]) -> list[str]:
    """The names in a namespace but Python's own."""
    return [name for name in space.copy() if name not in STOOD_IN and not name.startswith("__")]  # a copy: other threads may add to it


def values_in(space: dict[str, Any]) -> dict[str, Any]:
    """What a namespace holds but functions, classes and modules, and Python's own names.

    >>> values_in({"scale": 2, "sin": len, "__name__": "users"})
    {'scale': 2}
    """
    held = ((name, space.get(name)) for name in names_in(space))
    return {name: item for name, item in held if not (callable(item) or isinstance(item, types.ModuleType))}


class Names:
    """Some of the names in a namespace: the globals that a function refers to, or what it takes from a Python module.

    >>> Names({"a": 1, "b": 2, "c": 3}, ("a", "d")).pairs()
    {'a': 1}
    """

    def __init__(self, space: dict[str, Any], names: Collection[str]) -> None:
        self.space, self.names = space, tuple(names)

    def pairs(self) -> dict[Any, Any]:
        """The names that exist, with what they stand for."""
        return {name: self.space[name] for name in self.names if name in self.space}


class Namespace(Names):
    """All names in a namespace that code may read by text.

    >>> Namespace({"a": 1, "sin": len}).pairs()
    {'a': 1}
    """

    def __init__(self, space: dict[str, Any]) -> None:
        super().__init__(space, ())

    def pairs(self) -> dict[Any, Any]:
        """What it holds beside functions, classes and modules."""
        return values_in(self.space)
