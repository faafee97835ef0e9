"""Lazy compilation of classes and modules.

The originals are not changed.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import NotCompilable
from ..recording import active
from ..recording.code.syntax import runs_later
from ..recording.reachability.containers import COMPILED
from ..recording.reachability.libraries import is_of_framework
from ..registration import trait

Compile = Callable[[Any], Any]
# CPython's flag of classes that can be subclassed (``Py_TPFLAGS_BASETYPE``).
_IS_BASE_TYPE = 1 << 10


class LazyMethod:
    """Descriptor of a method that is compiled for each instance."""

    def __init__(self, name: str, function: types.FunctionType, compile_one: Compile) -> None:
        self.name, self.function, self._compile = f"{COMPILED}{name}", function, compile_one
        self.__doc__ = function.__doc__

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        if obj is None:
            return self
        if active.recording:
            return types.MethodType(self.function, obj)
        # The graph is stored on the instance, so that both live equally long.
        kept = _attributes(obj).get(self.name)
        # A shallow copy of an object has the graph of the object that it was copied from.
        if kept is None or kept.owner() is not obj:
            kept = InstanceGraph(weakref.ref(obj), self._compile(types.MethodType(self.function, obj)))
            # The ``__dict__`` of a class is read-only.
            if isinstance(obj, type):
                setattr(obj, self.name, kept)
            else:
                vars(obj)[self.name] = kept
        return kept.graph


class InstanceGraph:
    """Graph of one instance's method, stored on the instance.

    owner(): returns the instance that the graph belongs to, or None.
    """

    def __init__(self, owner: Callable[[], Any] = lambda: None, graph: Any = None) -> None:
        self.owner, self.graph = owner, graph

    def __reduce__(self) -> tuple[type[InstanceGraph], tuple[()]]:
        return InstanceGraph, ()


def _attributes(obj: Any) -> Mapping[str, Any]:
    if not hasattr(obj, "__dict__"):
        raise NotCompilable(
            f"a compiled method keeps a graph with each object, and one of the class {type(obj).__name__} "
            "has no __dict__; compile a function"
        )
    found: Mapping[str, Any] = vars(obj)
    return found


def compile_class(cls: type, compile_one: Compile) -> type:
    """Return a subclass of ``cls`` with methods that are compiled for each instance."""
    if not cls.__flags__ & _IS_BASE_TYPE:
        raise NotCompilable(
            f"{cls.__name__} is a class that cannot be subclassed: compile a function instead"
        )
    # From the root of the MRO, because later classes override members of earlier ones, also by what is no
    # function.
    items = {name: (base, item) for base in reversed(cls.__mro__[:-1]) for name, item in vars(base).items()}
    members = {
        name: item
        for name, (base, item) in items.items()
        if isinstance(item, types.FunctionType) and not _of_framework(base, cls)
    }
    wanted = {name for name in members if not name.startswith("_") or name == "__call__"}
    if is_of_framework(cls):
        wanted = set(trait("entry_methods")) & wanted or {"__call__"} & wanted
    # A recording of the call would miss code that runs after it has returned.
    methods = {
        name: LazyMethod(name, item, compile_one)
        for name, item in members.items()
        if name in wanted and not runs_later(item.__code__)
    }
    return type(
        cls.__name__,
        (cls,),
        {
            **methods,
            "__module__": cls.__module__,
            "__doc__": cls.__doc__,
            COMPILED: True,
            "__qualname__": cls.__qualname__,
        },
    )


def _of_framework(base: type, cls: type) -> bool:
    return base.__module__.partition(".")[0] != cls.__module__.partition(".")[0]


def compile_module(module: types.ModuleType, compile_one: Compile) -> types.ModuleType:
    copied: types.ModuleType = _copy(module, module.__name__, compile_one, {})
    return copied


def _copy(module: types.ModuleType, root: str, compile_one: Compile, done: dict[Any, Any]) -> Any:
    if module.__name__ in done:
        return done[module.__name__]
    # Registered before its members are copied, because modules may contain each other.
    copied = done[module.__name__] = types.ModuleType(module.__name__, module.__doc__)
    for name, item in vars(module).items():
        copied.__dict__[name] = _member(name, item, root, compile_one, done)
    return copied


def _member(name: str, item: Any, root: str, compile_one: Compile, done: dict[Any, Any]) -> Any:
    if isinstance(item, types.ModuleType) and _inside(item.__name__, root):
        return _copy(item, root, compile_one, done)
    if name.startswith("__") or not _inside(getattr(item, "__module__", None) or "", root):
        return item
    if isinstance(item, type) and _has_calls(item):
        if item not in done:
            done[item] = compile_class(item, compile_one)
        return done[item]
    # A recording of the call would miss code that runs after it has returned.
    if isinstance(item, types.FunctionType) and not runs_later(item.__code__):
        return compile_one(item)
    return item


def _has_calls(cls: type) -> bool:
    calls = [
        vars(base)[name]
        for name in ("__call__", *trait("entry_methods"))
        for base in cls.__mro__[:-1]
        if name in vars(base)
    ]
    # The ``forward`` of a ``torch.autograd.Function`` is a static method, so such a class is not compiled.
    return any("__call__" in vars(base) for base in cls.__mro__[:-1]) and all(
        isinstance(item, types.FunctionType) for item in calls
    )


def _inside(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")
