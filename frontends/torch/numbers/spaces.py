"""The globals in which the code of a recording finds its names."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ....tracing.code_names import globals_read, names_read
from ..trace import ModelWeights

_CLOSED = frozenset(
    {"torch", "numpy", __name__.partition(".")[0], *sys.stdlib_module_names}
)  # packages whose code gets numbers as they are


@dataclass
class Space:
    """The globals of a Python module, and the names that code in it is known to look up there; ``is_own``: it may look up others, too.

    ``unread``: those of them that code looks up which does not stand in the module's file (``exec``). ``functions``: those whose code it is.
    """

    held: dict[str, Any]
    names: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    functions: list[types.FunctionType] = field(default_factory=list)
    is_own: bool = False

    @property
    def file(self) -> str:
        """Where the module's text stands; empty where it has none."""
        return str(self.held.get("__file__", ""))

    def files_with(self, name: str) -> set[str]:
        """Where the code stands that looks up this name; that of the module, if there is none."""
        found = {function.__code__.co_filename for function in self.functions if name in names_read(function.__code__)}
        return found or {self.file}

    def looks_up(self, name: str) -> bool:
        """Whether code of a recording may look up this name here."""
        return self.is_own or name in self.names


def spaces_of(weights: ModelWeights) -> list[Space]:
    """Those of the recorded function and of its modules' ``forward``, and of the functions and methods that these name, and so on."""
    classes = {type(module) for module in weights.modules()}
    pending: list[tuple[Any, type]] = [
        _entered(weights.function),
        *((getattr(cls, "forward", None), cls) for cls in classes),
    ]
    own = {id(function.__globals__) for function in (_function(item) for item, _ in pending) if function is not None}
    found: dict[int, Space] = {}
    seen: set[tuple[Any, type]] = set()
    while pending:
        item, owner = pending.pop()
        for function in _layers(item):
            if (function, owner) in seen or _is_closed(function):
                continue
            seen.add((function, owner))
            key = id(function.__globals__)
            space = found.setdefault(key, Space(function.__globals__, is_own=key in own))
            space.names.update(names_read(function.__code__))
            space.functions.append(function)
            if function.__code__.co_filename != space.held.get("__file__"):
                space.unread.update(globals_read(function.__code__))
            pending += _named(function, owner)
    return list(found.values())


def _is_closed(function: types.FunctionType) -> bool:
    """Whether this is code of a library that gets numbers as they are; a wrapper bears the name of what it wraps."""
    return any(str(name).partition(".")[0] in _CLOSED for name in (function.__module__, function.__globals__.get("__name__")))


def _layers(item: Any) -> Iterator[types.FunctionType]:
    """The function of a callable, and the wrappers around it."""
    inner = _function(item)
    while inner is not None and item is not inner:
        if isinstance(item, types.FunctionType):
            yield item
        item = next(getattr(item, name) for name in _INNER if hasattr(item, name))
    if inner is not None:
        yield inner


def _entered(function: Any) -> tuple[Any, type]:
    """The code that a call of the recorded function runs, and the class whose attributes it names."""
    owner = type(getattr(function, "__self__", function))
    is_object = _function(function) is None and not isinstance(function, torch.nn.Module)
    return (inspect.getattr_static(owner, "__call__", None) if is_object else function), owner


_INNER = ("__wrapped__", "__func__", "func", "fget")


def _function(item: Any) -> types.FunctionType | None:
    """The function of a method, a partial call or a property, inside of its wrappers; None where it has no code of Python."""
    while not isinstance(item, types.FunctionType) or hasattr(item, "__wrapped__"):
        inner = next((getattr(item, name) for name in _INNER if hasattr(item, name)), None)
        if inner is None:
            return None
        item = inner
    return item


def _named(function: types.FunctionType, owner: type) -> Iterator[tuple[Any, type]]:
    """What code may call: globals, attributes of Python modules and of its class by their names, and variables of the functions around it."""
    names = names_read(function.__code__)
    held = [function.__globals__[name] for name in names if name in function.__globals__]
    entered: set[int] = set()
    for module in held:  # which grows: ``library.losses.dice(x)`` names a module of a module
        if isinstance(module, types.ModuleType) and id(module) not in entered and module.__name__.partition(".")[0] not in _CLOSED:
            entered.add(id(module))
            held += [vars(module)[name] for name in names if name in vars(module)]
    yield from ((item, type(item)) for item in (*held, *_enclosed(function)) if _is_code(item))
    members = (inspect.getattr_static(owner, name, None) for name in names)
    yield from ((member, owner) for member in members if _is_code(member))


def _is_code(item: Any) -> bool:
    return isinstance(item, (types.FunctionType, types.MethodType, functools.partial, staticmethod, classmethod, property))


def _enclosed(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
