"""Namespaces in which recorded code finds its globals, and an index of attributes by name.

``spaces_of`` finds the namespaces of functions that may run, by the names in their code. ``NameIndex`` stores
attributes until code reads their names.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..code.names import globals_read, names_read
from ..code.ownership import is_internal
from .references import function_layers, named_objects

# ------------------------------------------------------------------------------------------------- name index
# The index stores attributes that no code has read so far, so that each attribute is visited once.


class _Entry(NamedTuple):
    """Attribute that is in the index until code uses it.

    number: position in the order in which attributes were added.
    in_module: True if the owner of the attribute is a module.
    is_setter: True if the attribute is a data descriptor of a class, which setting an attribute of an
        instance calls.
    """

    number: int
    item: Any
    in_module: bool
    is_setter: bool


class NameIndex:
    """Index, by name, of the attributes that a search has met and that no code has used so far.

    Once code uses an attribute, it is released: the next call of :meth:`released` returns it, so that the
    search visits it.

    reads: names that code reads.
    sets: names of attributes that code sets.
    fragments: parts of names that code composes. The empty fragment is a part of every name, but releases no
        attributes of modules.

    >>> index = NameIndex(["scale"])
    >>> index.add("scale", 1), index.add("shift", 2), index.add("shift_0", 3)
    (True, False, False)
    >>> index.compose(["shift"]); index.released(), index.released()
    ([2, 3], [])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.reads: set[str] = set(names)
        self.sets: set[str] = set()
        self.fragments: set[str] = set()
        # Names that contain a fragment.
        self._matched: set[str] = set()
        self._waiting: dict[str, list[_Entry]] = {}
        self._released: list[_Entry] = []
        self._added = 0

    def read(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.reads:
                self.reads.add(name)
                self._released += self._waiting.pop(name, ())

    def set(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.sets:
                self.sets.add(name)
                self._release([name], lambda entry: entry.is_setter)

    def compose(self, fragments: Iterable[str]) -> None:
        for fragment in fragments:
            if fragment in self.fragments:
                continue
            self.fragments.add(fragment)
            if fragment:
                self._release([name for name in self._waiting if fragment in name], lambda entry: True)
            else:
                # Code that goes through all attributes does so with objects and classes, not with modules.
                self._release(list(self._waiting), lambda entry: not entry.in_module)

    def is_used(self, name: str, in_module: bool = False, is_setter: bool = False) -> bool:
        if (
            name in self.reads
            or name in self._matched
            or "" in self.fragments
            and not in_module
            or is_setter
            and name in self.sets
        ):
            return True
        if name not in self._waiting and any(fragment in name for fragment in self.fragments if fragment):
            self._matched.add(name)
            return True
        return False

    def add(self, name: str, item: Any, in_module: bool = False, is_setter: bool = False) -> bool:
        if self.is_used(name, in_module, is_setter):
            return True
        self._added += 1
        self._waiting.setdefault(name, []).append(_Entry(self._added, item, in_module, is_setter))
        return False

    def released(self) -> list[Any]:
        released, self._released = sorted(self._released, key=lambda entry: entry.number), []
        return [entry.item for entry in released]

    def _release(self, names: Iterable[str], is_used: Callable[[_Entry], bool]) -> None:
        for name in names:
            entries = self._waiting.pop(name, [])
            self._released += filter(is_used, entries)
            if kept := [entry for entry in entries if not is_used(entry)]:
                self._waiting[name] = kept


# ------------------------------------------------------------------------------------------------- namespaces
# A callable, and the class whose attributes its code names.
Entry = tuple[Any, type]
_CODE = (types.FunctionType, types.MethodType, functools.partial, staticmethod, classmethod, property)


@dataclass
class ModuleNamespace:
    """Globals that some functions share, with the names that the functions read.

    names: names that the code of the functions reads.
    read_elsewhere: names of globals that functions from another file than the module's read, such as
        functions that ``exec`` has created.
    is_own: True for the globals of a recorded function: :meth:`looks_up` then accepts every name.
    """

    held: dict[str, Any]
    names: set[str] = field(default_factory=set)
    read_elsewhere: set[str] = field(default_factory=set)
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
            self.read_elsewhere.update(globals_read(function.__code__))

    @property
    def file(self) -> str:
        return str(self.held.get("__file__", ""))

    def files_with(self, name: str) -> set[str]:
        found = {
            function.__code__.co_filename
            for function in self.functions
            if name in names_read(function.__code__)
        }
        return found or {self.file}

    def looks_up(self, name: str) -> bool:
        return self.is_own or name in self.names


def spaces_of(entries: Iterable[Entry]) -> list[ModuleNamespace]:
    """Return namespaces of functions that may run when ``entries`` are called.

    An entry is a callable and the class in which its code may look up methods.

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
    yield from ((item, type(item)) for item in named_objects(function) if isinstance(item, _CODE))
    # A class has few of the names that code reads, so only those are looked up.
    held = {name for one in (owner, type(owner)) for cls in one.__mro__ for name in vars(cls)}
    members = (inspect.getattr_static(owner, name, None) for name in names_read(function.__code__) & held)
    yield from ((member, owner) for member in members if isinstance(member, _CODE))
