"""What one function refers to without being given it: its closure, the globals that its code names, its defaults, and modules."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from ...registration import responds_to
from ..source.code_names import globals_read
from .namespaces import Names, Namespace, reaches_own_globals, reads_modules_whole, taken_by_name
from .origin import is_internal, is_users
from .originals import module_of, original_of

_ENVIRONMENT = frozenset({"environ", "getenv", "putenv"})
# What is called by another callable, or by a member of a class, and the attribute that holds it there.
_INNER: tuple[tuple[Any, str], ...] = (
    ((types.MethodType, staticmethod, classmethod), "__func__"),
    ((functools.partial, functools.cached_property), "func"),
)
_MEMBERS = (staticmethod, classmethod, property, functools.cached_property)  # code that is not called itself
Root = tuple[str, Any]


def roots_of(function: types.FunctionType) -> Iterator[Root]:
    """Named containers: closure cells, names in modules, defaults, and attributes of the function.

    >>> scale = 2
    >>> [(name, root.pairs()) for name, root in roots_of(lambda x: x * len(__name__)) if isinstance(root, Names)]
    [('', {'__name__': 'graph_compiler.tracing.reach.refers'})]
    """
    names = _names(function.__code__)
    modules = [item for name in names if isinstance(item := function.__globals__.get(name), types.ModuleType)]
    modules += [*(item for item in enclosed(function) if isinstance(item, types.ModuleType)), *taken_by_name(function)]
    if not _ENVIRONMENT.isdisjoint(names):
        yield "os.environ", os.environ
    if reaches_own_globals(names):
        yield "", Namespace(function.__globals__)
    elif others := [name for name in names if not isinstance(function.__globals__.get(name), types.ModuleType)]:
        yield "", Names(function.__globals__, others)
    whole = reads_modules_whole(function)
    for module in modules:
        if is_users(module):
            yield module.__name__, Namespace(vars(module)) if whole else Names(vars(module), names)
    yield from zip(function.__code__.co_freevars, function.__closure__ or ())
    yield from defaults_of(function)
    yield function.__name__, vars(function)


def defaults_of(function: types.FunctionType) -> Iterator[Root]:
    """The parameters that have a default, and it. Most functions have none, and a signature takes 30 microseconds."""
    if function.__defaults__ or function.__kwdefaults__:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        yield from ((p.name, p.default) for p in parameters if p.default is not inspect.Parameter.empty)


def enclosed(function: types.FunctionType) -> list[Any]:
    """What the variables of the functions around it hold, where they have been assigned."""
    return [cell.cell_contents for cell in function.__closure__ or () if cell_is_filled(cell)]


def named(function: types.FunctionType) -> list[Any]:
    """What code names: globals, what it takes by name from modules among them, and variables of the functions around it.

    >>> function = eval("lambda x: helpers.scale(x)", {"helpers": types.ModuleType("helpers")})
    >>> function.__globals__["helpers"].scale = abs
    >>> [item.__name__ for item in named(function)]
    ['helpers', 'abs']
    """
    own, names = globals_read(function.__code__), _names(function.__code__)  # x.T names no global
    held = [function.__globals__[name] for name in names if name in own and name in function.__globals__]
    entered: set[int] = set()
    for module in held:  # which grows: ``library.losses.dice(x)`` names a module of a module
        if isinstance(module, types.ModuleType) and id(module) not in entered and not is_internal(module):
            entered.add(id(module))
            held += [vars(module)[name] for name in names if name in vars(module)]
    return [*held, *enclosed(function)]


def cell_is_filled(cell: types.CellType) -> bool:
    """Whether the variable has been assigned."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def functions_of(item: Any) -> Iterator[types.FunctionType]:
    """The Python functions that run where a callable is called; of a class all of its own, and those of the user's that it inherits.

    Of a class of a framework those of the user's alone, which somebody has put there: a framework's own keep no state of the user's.
    """
    item = original_of(item)
    if isinstance(item, functools.partial):
        for part in filter(callable, (item.func, *item.args, *item.keywords.values())):
            yield from functions_of(part)
        return
    if isinstance(item, type):
        for base in item.__mro__:
            is_whole = base is item and not is_internal(item)
            yield from (function for part in _members(base) for function in layers(part) if is_whole or is_users(function))
        return
    yield from layers(item)
    if not isinstance(item, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        yield from functions_of(type(item))
    elif isinstance(item, types.MethodType) and not isinstance(item.__self__, (type, types.ModuleType)):
        yield from functions_of(type(item.__self__))


def _members(cls: type) -> list[Any]:
    """What may hold functions among the members of a class; of a framework's or of Python's, without those that its own file defines."""
    members = [
        part for part in list(vars(cls).values()) if callable(part) or isinstance(part, _MEMBERS)
    ]  # a copy: other threads may add some
    home = getattr(sys.modules.get(module_of(cls)), "__dict__", None) if is_internal(cls) else None
    return [part for part in members if not (type(part) is types.FunctionType and part.__globals__ is home and not vars(part))]


def layers(item: Any) -> Iterator[types.FunctionType]:
    """The function of a callable or of a member of a class (a property, a static method), and the wrappers around it, outermost first.

    >>> wrapper = functools.wraps(cell_is_filled)(lambda cell: cell_is_filled(cell))
    >>> [function is wrapper or function for function in layers(property(wrapper))] == [True, cell_is_filled], [*layers(len)]
    (True, [])
    """
    while item is not None:
        if isinstance(item, property):
            yield from itertools.chain.from_iterable(map(layers, (item.fget, item.fset, item.fdel)))
            return
        if isinstance(item, types.FunctionType):
            yield item
            item = vars(item).get("__wrapped__")
            continue
        name = next((name for cls, name in _INNER if isinstance(item, cls)), "__wrapped__" if callable(item) else None)
        item = getattr(item, name) if name is not None and not isinstance(item, type) and responds_to(item, name) else None


@functools.lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> list[str]:
    """The names that code refers to, that of functions inside of it too."""
    inner = (name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part))
    return list(dict.fromkeys((*code.co_names, *inner)))
