"""What a function can reach without being given it: its closure, the globals that its code names, its defaults, and those of what it calls."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .namespaces import Names, Namespace, reaches_own_globals, reads_modules_whole, taken_by_name
from .originals import original_of
from .reach.origin import is_users

_ENVIRONMENT = frozenset({"environ", "getenv", "putenv"})
Root = tuple[str, Any]


def reach(callables: Iterable[Any]) -> Iterator[Root]:
    """Named containers: closure cells, names in modules, defaults, and attributes of functions.

    Code that is installed (not the user's own) is followed only where it is asked for.

    >>> scale = 2
    >>> [(name, root.pairs()) for name, root in reach([lambda x: x * len(__name__)]) if isinstance(root, Names)]
    [('', {'__name__': 'graph_compiler.tracing.roots'})]
    """
    callables = list(callables)
    yield from ((item.__self__.__name__, item.__self__) for item in callables if isinstance(getattr(item, "__self__", None), type))
    seen: set[int] = set()
    waiting = [(item, True) for item in callables]
    while waiting:
        item, is_asked_for = waiting.pop(0)
        for function in _functions(item):
            if id(function) not in seen and (is_asked_for or is_users(function)):
                seen.add(id(function))
                roots = list(_roots(function))
                yield from roots
                waiting += [(part, False) for _, root in roots for part in _parts(root) if _leads_on(part)]


def roots_of(item: Any) -> Iterator[Root]:
    """What a function of the user's, or a member of a class (a property, a static method), refers to by itself."""
    for function in _member(item):
        if is_users(function):
            yield from _roots(function)


def _leads_on(item: Any) -> bool:
    return original_of(item) is not item or isinstance(item, (types.FunctionType, types.MethodType, functools.partial, type))


def _functions(item: Any) -> Iterator[types.FunctionType]:
    """The Python functions behind a callable, a class, or an object."""
    item = original_of(item)
    if isinstance(item, functools.partial):
        yield from (
            function for part in (item.func, *item.args, *item.keywords.values()) if callable(part) for function in _functions(part)
        )
        return
    if isinstance(item, type):
        for base in item.__mro__:
            # a copy, for other threads may add to a class meanwhile
            found = [function for part in vars(base).copy().values() for function in _member(part)]
            yield from (function for function in found if base is item or is_users(function))
        return
    plain = inspect.unwrap(getattr(item, "__func__", item)) if callable(item) else item
    bare = getattr(item, "__func__", item)
    yield from (function for function in ((bare,) if bare is plain else (bare, plain)) if isinstance(function, types.FunctionType))
    if not isinstance(item, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        yield from _functions(type(item))
    elif isinstance(item, types.MethodType) and not isinstance(item.__self__, (type, types.ModuleType)):
        yield from _functions(type(item.__self__))


def _member(part: Any) -> list[types.FunctionType]:
    """The functions of a member of a class: a method, also a static one, or a property."""
    found = [getattr(part, "__func__", part), *(getattr(part, name, None) for name in ("fget", "func"))]
    return [item for item in found if isinstance(item, types.FunctionType)]


def _roots(function: types.FunctionType) -> Iterator[Root]:
    names = _names(function.__code__)
    modules = [item for name in names if isinstance(item := function.__globals__.get(name), types.ModuleType)]
    modules += [item for item in _closure_of(function) if isinstance(item, types.ModuleType)]
    modules += taken_by_name(function)
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


def _closure_of(function: types.FunctionType) -> list[Any]:
    return [item for cell in function.__closure__ or () for item in _parts(cell)]


@functools.lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> list[str]:
    """The names that code refers to, that of functions inside of it too."""
    inner = (name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part))
    return list(dict.fromkeys((*code.co_names, *inner)))


def _parts(root: Any) -> list[Any]:
    if isinstance(root, Names):
        return list(root.pairs().values())
    if isinstance(root, types.CellType):
        try:
            return [root.cell_contents]
        except ValueError:
            return []
    return [root]
