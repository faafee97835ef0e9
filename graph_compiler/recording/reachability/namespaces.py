"""Namespaces in which the code of a recording finds its globals.

They belong to all functions that may run, which are found by the names in their code.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..code.names import globals_read, names_read
from ..code.ownership import is_internal
from .references import function_layers, named_objects

# A callable, and the class whose attributes its code names.
Entry = tuple[Any, type]
_CODE = (types.FunctionType, types.MethodType, functools.partial, staticmethod, classmethod, property)


@dataclass
class ModuleNamespace:
    """The globals of a module.

    held: the namespace.
    names: names that code is known to look up there.
    unread: those names that code from another file looks up (``exec``).
    functions: the functions whose code looks up the names.
    is_own: True if any other name may be looked up, too.
    """

    held: dict[str, Any]
    names: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    functions: list[types.FunctionType] = field(default_factory=list)
    is_own: bool = False

    @classmethod
    def of(cls, function: Any) -> ModuleNamespace:
        made = cls(function.__globals__, is_own=True)
        made.add(function)
        return made

    def add(self, function: types.FunctionType) -> None:
        self.names.update(names_read(function.__code__))
        self.functions.append(function)
        if function.__code__.co_filename != self.held.get("__file__"):
            self.unread.update(globals_read(function.__code__))

    @property
    def file(self) -> str:
        return str(self.held.get("__file__", ""))

    def files_with(self, name: str) -> set[str]:
        """Return the files of the functions that look up ``name``; the module's file if none does."""
        found = {
            function.__code__.co_filename
            for function in self.functions
            if name in names_read(function.__code__)
        }
        return found or {self.file}

    def looks_up(self, name: str) -> bool:
        return self.is_own or name in self.names


def spaces_of(entries: Iterable[Entry]) -> list[ModuleNamespace]:
    """Return the namespaces of the functions in ``entries`` and of all that these name, transitively.

    Functions of frameworks, the standard library and this package are left out.

    >>> def scaled(x): return x * 2
    >>> function = eval("lambda x: scaled(x)", {"scaled": scaled})
    >>> [sorted(space.names) for space in spaces_of([(function, type(function))])]
    [['scaled']]
    """
    pending = list(entries)
    own = {id(inner[-1].__globals__) for item, _ in pending if (inner := [*function_layers(item)])}
    found: dict[int, ModuleNamespace] = {}
    seen: set[tuple[Any, type]] = set()
    while pending:
        item, owner = pending.pop()
        for function in function_layers(item):
            if (function, owner) not in seen and not _is_closed(function):
                seen.add((function, owner))
                key = id(function.__globals__)
                found.setdefault(key, ModuleNamespace(function.__globals__, is_own=key in own)).add(function)
                pending += _called(function, owner)
    return list(found.values())


def entry_of(function: Any) -> Entry:
    owner = type(getattr(function, "__self__", function))
    return (
        function if any(function_layers(function)) else inspect.getattr_static(owner, "__call__", None)
    ), owner


def _is_closed(function: types.FunctionType) -> bool:
    return is_internal(function) or is_internal(function.__module__ or "")


def _called(function: types.FunctionType, owner: type) -> Iterator[Entry]:
    """Yield what code may call: functions that it names, and members of ``owner`` whose names it reads."""
    yield from ((item, type(item)) for item in named_objects(function) if isinstance(item, _CODE))
    # A class has few of the names that code reads, so only those are looked up.
    held = {name for one in (owner, type(owner)) for cls in one.__mro__ for name in vars(cls)}
    members = (inspect.getattr_static(owner, name, None) for name in names_read(function.__code__) & held)
    yield from ((member, owner) for member in members if isinstance(member, _CODE))
