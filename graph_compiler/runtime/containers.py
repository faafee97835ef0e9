"""Classes and modules whose functions are compiled when they are first called; what they are made from stays as it is."""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any

from ..errors import NotCompilable
from ..tracing import active
from ..tracing.world import COMPILED

Compile = Callable[[Any], Any]


class LazyMethod:
    """A method that is compiled for each object at its first call. While something else is being recorded it is the original."""

    def __init__(self, name: str, function: types.FunctionType, compile_one: Compile) -> None:
        self.name, self.function, self._compile = f"{COMPILED}{name}", function, compile_one
        self.__doc__ = function.__doc__

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        if obj is None:
            return self
        if active.recording:
            return types.MethodType(self.function, obj)
        kept = _attributes(obj).get(self.name)  # on the object itself, so that both live equally long
        if kept is None or kept.owner() is not obj:
            kept = vars(obj)[self.name] = Kept(weakref.ref(obj), self._compile(types.MethodType(self.function, obj)))
        return kept.graph


class Kept:
    """The graph of one object's method. A copy of the object takes an empty one along, and its method is compiled anew."""

    def __init__(self, owner: Callable[[], Any] = lambda: None, graph: Any = None) -> None:
        self.owner, self.graph = owner, graph

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


def _attributes(obj: Any) -> dict[str, Any]:
    if not hasattr(obj, "__dict__"):
        raise NotCompilable(
            f"a compiled method keeps a graph with each object, and one of the class {type(obj).__name__} has no __dict__; compile a function"
        )
    found: dict[str, Any] = vars(obj)
    return found


def compile_class(cls: type, compile_one: Compile) -> type:
    """A subclass whose own public methods, and ``__call__``, are compiled; those that come from another package (the framework) are not."""
    own = [base for base in reversed(cls.__mro__[:-1]) if not _of_framework(base, cls)]
    members = {name: item for base in own for name, item in vars(base).items()}
    methods = {
        name: LazyMethod(name, item, compile_one)
        for name, item in members.items()
        if isinstance(item, types.FunctionType) and (not name.startswith("_") or name == "__call__")
    }
    return type(
        cls.__name__,
        (cls,),
        {**methods, "__module__": cls.__module__, "__doc__": cls.__doc__, COMPILED: True, "__qualname__": cls.__qualname__},
    )


def _of_framework(base: type, cls: type) -> bool:
    return base.__module__.partition(".")[0] != cls.__module__.partition(".")[0]


def compile_module(module: types.ModuleType, compile_one: Compile) -> types.ModuleType:
    """A copy of a module, submodules included, whose functions are lazily compiled. The original is not touched.

    Inside of a compiled function the originals call each other, so that all is recorded in one graph.
    """
    return _copy(module, module.__name__, compile_one, {})


def _copy(module: types.ModuleType, root: str, compile_one: Compile, done: dict[str, types.ModuleType]) -> types.ModuleType:
    if module.__name__ in done:
        return done[module.__name__]
    copied = done[module.__name__] = types.ModuleType(module.__name__, module.__doc__)
    for name, item in vars(module).items():
        copied.__dict__[name] = _member(name, item, root, compile_one, done)
    return copied


def _member(name: str, item: Any, root: str, compile_one: Compile, done: dict[str, types.ModuleType]) -> Any:
    if isinstance(item, types.ModuleType) and _inside(item.__name__, root):
        return _copy(item, root, compile_one, done)
    own = isinstance(item, types.FunctionType) and _inside(item.__module__ or "", root)
    if own and not name.startswith("__") and not inspect.isgeneratorfunction(item) and not inspect.iscoroutinefunction(item):
        return compile_one(item)
    return item


def _inside(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")
