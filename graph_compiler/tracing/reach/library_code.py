"""The Python code of installed libraries that a function may run, found by the names that each function's code uses."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..source.code_names import names_read
from .namespaces import taken_by_name
from .origin import owner_of, package_of
from .originals import original_of
from .refers import layers, named
from .walk import MOST_ITEMS
from .wrappers import wrapped_by

_CONTAINERS = (list, tuple, set, frozenset, Mapping)
_NO_CODE = (str, bytes, int, float, complex, type(None), types.CodeType)


class LibraryCode(NamedTuple):
    """Functions of libraries, and the namespaces of the modules that their code names."""

    functions: list[types.FunctionType]
    spaces: list[dict[str, Any]]


def library_code(roots: Iterable[Any], opened: Collection[str] = ()) -> LibraryCode:
    """Return the library code that functions, classes and objects among ``roots`` may run.

    The walk goes from a function to what its own code names, so its length does not depend on the size of the packages. It does not enter
    frameworks and Python's own library, except for packages in ``opened``.
    """
    return _Walk(roots, opened).found()


class _Walk:
    def __init__(self, roots: Iterable[Any], opened: Collection[str]) -> None:
        self._opened = opened
        self._seen: dict[int, Any] = {}
        self._functions: list[types.FunctionType] = []
        self._spaces: dict[int, dict[str, Any]] = {}
        self._modules: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self._waiting = deque(roots)

    def found(self) -> LibraryCode:
        while self._waiting:
            while self._waiting:
                item = original_of(self._waiting.popleft())
                if id(item) not in self._seen and not isinstance(item, _NO_CODE):
                    self._seen[id(item)] = item
                    self._waiting.extend(self._behind(item))
            # Modules are handed on as values (`xp.asarray`), so a name counts in each of them whichever function uses it.
            for held in self._modules:
                self._waiting.extend(item for name in self._names & held.keys() if self._is_new(item := held[name]))
        return LibraryCode(self._functions, list(self._spaces.values()))

    def _is_new(self, item: Any) -> bool:
        return id(item) not in self._seen and not isinstance(item, (*_NO_CODE, types.ModuleType))

    def _behind(self, item: Any) -> Iterator[Any]:
        if isinstance(item, types.FunctionType):
            yield from self._of_function(item)
        elif isinstance(item, type):
            yield from (part for part in list(vars(item).values()) if self._is_open(item) and any(layers(part)))
            yield from item.__bases__
        elif isinstance(item, types.ModuleType):
            if self._is_open(item):
                self._spaces[id(vars(item))] = vars(item)
                self._modules.append(vars(item))
        elif isinstance(item, _CONTAINERS):
            yield from islice(list(item.values() if isinstance(item, Mapping) else item), MOST_ITEMS)
        else:
            yield from (*layers(item), *wrapped_by(item), type(item))

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        yield from islice(layers(function), 1, None)
        if not (self._is_open(function) or owner_of(function) == "user"):
            return
        if self._is_open(function):
            self._functions.append(function)
            self._spaces[id(function.__globals__)] = function.__globals__
        yield from named(function)
        names = names_read(function.__code__)
        self._names |= names
        for module in taken_by_name(function):
            yield module
            yield from (vars(module)[name] for name in names & vars(module).keys())
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())

    def _is_open(self, item: Any) -> bool:
        if owner_of(item) == "library":
            return True
        name = item.__globals__.get("__name__") if isinstance(item, types.FunctionType) else getattr(item, "__module__", None)
        return package_of(item.__name__ if isinstance(item, types.ModuleType) else name) in self._opened
