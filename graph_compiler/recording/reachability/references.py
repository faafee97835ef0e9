"""Objects that one function refers to besides its arguments, such as globals, defaults and modules."""

from __future__ import annotations

import builtins
import functools
import gc
import importlib.util
import inspect
import itertools
import os
import sys
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ...registration import responds_to
from ..code.names import fragments_read, globals_read, imports_of, names_read, texts_of
from ..code.ownership import is_internal, is_users

_OWN = f"{__name__.partition('.')[0]}.runtime."
# Classes whose objects only call a function, and the attribute with that function.
_HELD = {("numpy", "vectorize"): "pyfunc"}
PLAIN = frozenset({bool, int, float, str, type(None), tuple, list, set, dict, OrderedDict})
_KNOWN = (_OWN, *(module for module, _ in _HELD))


def module_of(cls: type) -> str:
    """Return the name of the module of ``cls``, or an empty string if ``__module__`` is no string.

    >>> module_of(dict)
    'builtins'
    """
    # It is no string in some compiled extensions.
    module: Any = cls.__module__
    return module if isinstance(module, str) else ""


def original_of(item: Any) -> Any:
    """Return the callable that a graph or ``numpy.vectorize`` object was made from.

    Other objects, and graphs that have no original, such as those from files, are returned unchanged.

    >>> original_of(len) is len
    True
    """
    # Most objects are neither compiled nor wrapped, so a quick test comes first.
    if type(item) in PLAIN or not module_of(type(item)).startswith(_KNOWN):
        return item
    if (name := _HELD.get((module_of(type(item)), type(item).__name__))) is not None:
        return getattr(item, name)
    # A graph of a graph has an original that is compiled itself.
    while (
        module_of(type(item)).startswith(_OWN)
        and (pipeline := getattr(item, "__dict__", {}).get("_pipeline")) is not None
        and pipeline.has_original
    ):
        item = pipeline.function
    return item


_BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
# Methods of other objects, such as modules and arrays, change what is tracked elsewhere.
_CHANGED_BY_METHODS = (
    list,
    dict,
    set,
    deque,
    bytearray,
    Iterator,
)


def _of_bound(method: Any) -> tuple[Any, ...]:
    return (method.__self__,) if isinstance(method.__self__, _CHANGED_BY_METHODS) else ()


_ROWS: tuple[tuple[Any, Callable[[Any], tuple[Any, ...]]], ...] = (
    (types.MethodType, lambda method: (method.__func__, method.__self__)),
    (_BOUND, _of_bound),
    (functools.partial, lambda partial: (partial.func, partial.args, partial.keywords)),
    (types.MappingProxyType, lambda proxy: tuple(gc.get_referents(proxy))),
    (_VIEWS, lambda view: tuple(gc.get_referents(view.mapping))),
    (weakref.ref, lambda reference: (reference(),)),
)
WRAPPERS = tuple(
    cls for classes, _ in _ROWS for cls in (classes if isinstance(classes, tuple) else (classes,))
)


def wrapped_by(item: Any) -> tuple[Any, ...]:
    """Return the objects behind a wrapper that may hold state, or an empty tuple for any other object.

    >>> settings = {"scale": 2}
    >>> wrappers = settings.get, settings.values(), types.MappingProxyType(settings)
    >>> [wrapped_by(one)[0] is settings for one in wrappers]
    [True, True, True]
    >>> wrapped_by(len), wrapped_by(settings)
    ((), ())
    """
    # Most objects are no wrappers.
    if not isinstance(item, WRAPPERS):
        return ()
    return next(found(item) for classes, found in _ROWS if isinstance(item, classes))


_OWN_MODULE = frozenset({"f_globals", "__globals__"})
_BY_NAME = frozenset({"modules", "import_module", "__import__", *_OWN_MODULE})
_WHOLE_MODULE = frozenset({"dir", "getmembers", *_OWN_MODULE})
OWN_GLOBALS = frozenset({"globals", "eval", "exec"})
# A recording of another thread may put its shims under these names.
STOOD_IN = frozenset({"int", "float", "type", "len", *OWN_GLOBALS})

_BUILT_IN = (type, types.BuiltinFunctionType)

# Python stores these in the namespace of a module, which may be stored like any other dict.
OF_IMPORTS = frozenset({"__loader__", "__spec__", "__builtins__"})


def imported_modules(function: types.FunctionType) -> Iterator[types.ModuleType]:
    """Yield loaded modules whose names are in imports of ``function``, or that its code may look up by name.

    >>> def scaled(x):
    ...     return x * sys.modules["graph_compiler.errors"].SCALE
    >>> [module.__name__ for module in imported_modules(scaled) if module.__name__ != __name__]
    ['graph_compiler.errors']
    """
    own = function.__globals__
    package = str(own.get("__package__") or "")
    names = [_absolute_name(name, package) for name in sorted(imports_of(function.__code__))]
    # Such code can take any module whose name it has as a string, and its own.
    if not _BY_NAME.isdisjoint(names_read(function.__code__)):
        names += [*sorted(texts_of(function.__code__)), str(own.get("__name__"))]
    found = (sys.modules.get(name) for name in dict.fromkeys(names))
    yield from (module for module in found if isinstance(module, types.ModuleType))


def _absolute_name(name: str, package: str) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return ""


def names_of_builtins(function: types.FunctionType) -> list[str]:
    """Return the names that ``function`` finds in ``builtins``, except for classes and builtin functions.

    >>> builtins.factor = 2
    >>> names_of_builtins(lambda x: len(x) * factor * missing)
    ['factor']
    >>> del builtins.factor
    """
    names = globals_read(function.__code__) - function.__globals__.keys()
    return sorted(
        name for name in names & vars(builtins).keys() if not isinstance(vars(builtins)[name], _BUILT_IN)
    )


def reads_modules_whole(function: types.FunctionType) -> bool:
    return "" in fragments_read(function.__code__) or not _WHOLE_MODULE.isdisjoint(
        names_read(function.__code__)
    )


def reaches_own_globals(names: Collection[str]) -> bool:
    return not OWN_GLOBALS.isdisjoint(names)


def names_in(space: dict[str, Any]) -> list[str]:
    # Iterate over a copy, because other threads may add names.
    return [name for name in space.copy() if name not in STOOD_IN and not name.startswith("__")]


def values_in(space: dict[str, Any]) -> dict[str, Any]:
    """Return the items of a namespace without callables, modules and the names that :func:`names_in` omits.

    >>> values_in({"scale": 2, "sin": len, "__name__": "users"})
    {'scale': 2}
    """
    held = ((name, space.get(name)) for name in names_in(space))
    return {name: item for name, item in held if not (callable(item) or isinstance(item, types.ModuleType))}


class NamespacePart:
    """Items of a namespace under given names, as a container.

    >>> NamespacePart({"a": 1, "b": 2, "c": 3}, ("a", "d")).pairs()
    {'a': 1}
    """

    def __init__(self, space: dict[str, Any], names: Collection[str]) -> None:
        self.space, self.names = space, tuple(names)

    def pairs(self) -> dict[Any, Any]:
        return {name: self.space[name] for name in self.names if name in self.space}


class WholeNamespace(NamespacePart):
    """Items of a namespace that :func:`values_in` returns, as a container.

    >>> WholeNamespace({"a": 1, "sin": len}).pairs()
    {'a': 1}
    """

    def __init__(self, space: dict[str, Any]) -> None:
        super().__init__(space, ())

    def pairs(self) -> dict[Any, Any]:
        return values_in(self.space)


_ENVIRONMENT = frozenset({"environ", "getenv", "putenv"})
# Classes of callables and class members that wrap a callable, and the attribute with that callable.
_INNER: tuple[tuple[Any, str], ...] = (
    ((types.MethodType, staticmethod, classmethod), "__func__"),
    ((functools.partial, functools.cached_property), "func"),
)
# Members of a class that wrap functions and need not be callable themselves.
_MEMBERS = (staticmethod, classmethod, property, functools.cached_property)
Root = tuple[str, Any]


def roots_of(function: types.FunctionType) -> Iterator[Root]:
    """Yield (name, object) for objects in which ``function`` may find or keep state.

    >>> scale = 2
    >>> roots = roots_of(lambda x: x * len(__name__))
    >>> [(name, root.pairs()) for name, root in roots if isinstance(root, NamespacePart)]
    [('', {'__name__': 'graph_compiler.recording.reachability.references'})]
    """
    names = _names(function.__code__)
    modules = [item for name in names if isinstance(item := function.__globals__.get(name), types.ModuleType)]
    modules += [
        *(item for item in closure_values(function) if isinstance(item, types.ModuleType)),
        *imported_modules(function),
    ]
    if not _ENVIRONMENT.isdisjoint(names):
        yield "os.environ", os.environ
    if reaches_own_globals(names):
        yield "", WholeNamespace(function.__globals__)
    elif others := [
        name for name in names if not isinstance(function.__globals__.get(name), types.ModuleType)
    ]:
        yield "", NamespacePart(function.__globals__, others)
    whole = reads_modules_whole(function)
    # Attributes of other modules are guarded by :mod:`.libraries`.
    for module in modules:
        if is_users(module):
            yield (
                module.__name__,
                WholeNamespace(vars(module)) if whole else NamespacePart(vars(module), names),
            )
    yield from zip(function.__code__.co_freevars, function.__closure__ or ())
    yield from defaults_of(function)
    yield function.__name__, vars(function)


def defaults_of(function: types.FunctionType) -> Iterator[Root]:
    if function.__defaults__ or function.__kwdefaults__:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        yield from ((p.name, p.default) for p in parameters if p.default is not inspect.Parameter.empty)


def closure_values(function: types.FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or () if cell_is_filled(cell)]


def named_objects(
    function: types.FunctionType, is_closed: Callable[[types.ModuleType], bool] = is_internal
) -> list[Any]:
    """Return the objects that ``function`` names: globals, members of modules among these, closure variables.

    Modules that are ``is_closed``, by default those of frameworks, the standard library and this package, are
    not searched for members.

    >>> function = eval("lambda x: helpers.scale(x)", {"helpers": types.ModuleType("helpers")})
    >>> function.__globals__["helpers"].scale = abs
    >>> [item.__name__ for item in named_objects(function)]
    ['helpers', 'abs']
    """
    # An attribute such as ``T`` in ``x.T`` names no global.
    own, names = globals_read(function.__code__), _names(function.__code__)
    held = [function.__globals__[name] for name in names if name in own and name in function.__globals__]
    entered: set[int] = set()
    # The list grows, because ``library.losses.dice(x)`` names a module in a module.
    for module in held:
        if isinstance(module, types.ModuleType) and id(module) not in entered and not is_closed(module):
            entered.add(id(module))
            held += [vars(module)[name] for name in names if name in vars(module)]
    return [*held, *closure_values(function)]


def cell_is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def functions_of(item: Any) -> Iterator[types.FunctionType]:
    """Yield Python functions that may run when a callable is called, some of them several times."""
    item = original_of(item)
    if isinstance(item, functools.partial):
        for part in filter(callable, (item.func, *item.args, *item.keywords.values())):
            yield from functions_of(part)
        return
    if isinstance(item, type):
        for base in item.__mro__:
            is_whole = base is item and not is_internal(item)
            yield from (
                function
                for part in _members(base)
                for function in function_layers(part)
                if is_whole or is_users(function)
            )
        return
    yield from function_layers(item)
    if not isinstance(item, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        yield from functions_of(type(item))
    elif isinstance(item, types.MethodType) and not isinstance(item.__self__, (type, types.ModuleType)):
        yield from functions_of(type(item.__self__))


def _members(cls: type) -> list[Any]:
    # Iterate over a copy, because other threads may add members.
    members = [part for part in list(vars(cls).values()) if callable(part) or isinstance(part, _MEMBERS)]
    # Functions without attributes that the module of a framework's class defines are left out.
    home = getattr(sys.modules.get(module_of(cls)), "__dict__", None) if is_internal(cls) else None
    return [
        part
        for part in members
        if not (type(part) is types.FunctionType and part.__globals__ is home and not vars(part))
    ]


def function_layers(item: Any) -> Iterator[types.FunctionType]:
    """Yield the Python functions behind a callable or class member, wrappers before what they wrap.

    Builtins, classes and objects that only have ``__call__`` have none.

    >>> wrapper = functools.wraps(cell_is_filled)(lambda cell: cell_is_filled(cell))
    >>> [function is wrapper for function in function_layers(property(wrapper))], [*function_layers(len)]
    ([True, False], [])
    """
    while item is not None:
        if isinstance(item, property):
            yield from itertools.chain.from_iterable(map(function_layers, (item.fget, item.fset, item.fdel)))
            return
        if isinstance(item, types.FunctionType):
            yield item
            item = vars(item).get("__wrapped__")
            continue
        name = next(
            (name for cls, name in _INNER if isinstance(item, cls)), "__wrapped__" if callable(item) else None
        )
        item = (
            getattr(item, name)
            if name is not None and not isinstance(item, type) and responds_to(item, name)
            else None
        )


@functools.lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> list[str]:
    inner = (name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part))
    return list(dict.fromkeys((*code.co_names, *inner)))
