"""Library code that the user's code may run, and settings that it reads from libraries.

Modules of the standard library and of frameworks are not searched otherwise.
"""

from __future__ import annotations

import decimal
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..code.names import names_read, texts_of
from ..code.ownership import is_users, owner_of, package_of
from ..environment_guards.guards import ATOMS, EnvironmentGuard, same_fact, same_items
from .containers import answers_of, is_asked
from .references import (
    closure_values,
    function_layers,
    imported_modules,
    named_objects,
    original_of,
    wrapped_by,
)
from .walk import MOST_ITEMS

_CONTAINERS = (list, tuple, set, frozenset, Mapping)
_NO_CODE = (str, bytes, int, float, complex, type(None), types.CodeType)


class LibraryCode(NamedTuple):
    """Functions of libraries, and the namespaces of the modules that their code names."""

    functions: list[types.FunctionType]
    spaces: list[dict[str, Any]]


def library_code(roots: Iterable[Any], opened: Collection[str] = ()) -> LibraryCode:
    """Return the library code that functions, classes and objects among ``roots`` may run.

    The walk goes from a function to what its own code names, so its length does not depend on the size of
    the packages. It does not enter frameworks and the standard library, except for packages in ``opened``.
    It passes through the user's functions, which are not in the result.
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
            # Modules are passed as values (``xp.asarray``), so a name counts in each of them, whichever
            # function uses it.
            for held in self._modules:
                self._waiting.extend(
                    item for name in self._names & held.keys() if self._is_new(item := held[name])
                )
        return LibraryCode(self._functions, list(self._spaces.values()))

    def _is_new(self, item: Any) -> bool:
        return id(item) not in self._seen and not isinstance(item, (*_NO_CODE, types.ModuleType))

    def _behind(self, item: Any) -> Iterator[Any]:
        if isinstance(item, types.FunctionType):
            yield from self._of_function(item)
        elif isinstance(item, type):
            yield from (
                part
                for part in list(vars(item).values())
                if self._is_open(item) and any(function_layers(part))
            )
            yield from item.__bases__
        elif isinstance(item, types.ModuleType):
            if self._is_open(item):
                self._spaces[id(vars(item))] = vars(item)
                self._modules.append(vars(item))
        elif isinstance(item, _CONTAINERS):
            yield from islice(list(item.values() if isinstance(item, Mapping) else item), MOST_ITEMS)
        else:
            yield from (*function_layers(item), *wrapped_by(item), type(item))

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        yield from islice(function_layers(function), 1, None)
        if not (self._is_open(function) or owner_of(function) == "user"):
            return
        if self._is_open(function):
            self._functions.append(function)
            self._spaces[id(function.__globals__)] = function.__globals__
        yield from named_objects(function)
        names = names_read(function.__code__)
        self._names |= names
        for module in imported_modules(function):
            yield module
            yield from (vars(module)[name] for name in names & vars(module).keys())
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())

    def _is_open(self, item: Any) -> bool:
        if owner_of(item) == "library":
            return True
        name = (
            item.__globals__.get("__name__")
            if isinstance(item, types.FunctionType)
            else getattr(item, "__module__", None)
        )
        return package_of(item.__name__ if isinstance(item, types.ModuleType) else name) in self._opened


_DEEPEST = 4
_DATA_CONTAINERS = (list, set, dict)
# In a dict with more items, only keys that are string constants of the code are compared.
_FEW = 100
_MISSING = object()


def _of_decimal() -> str:
    context = decimal.getcontext().copy()
    context.clear_flags()
    return repr(context)


# Modules whose functions and objects depend on a setting that code need not name.
_STEERED: dict[str, tuple[str, Callable[[], Any]]] = {"decimal": ("the context of decimal", _of_decimal)}


class _CodeReads(NamedTuple):
    names: frozenset[str]
    texts: frozenset[str]


def library_guards(functions: Iterable[types.FunctionType]) -> Iterator[EnvironmentGuard]:
    """Yield guards on the attributes that ``functions`` read from modules outside the user's code.

    These are modules of the standard library, frameworks and installed packages. A guard covers a number,
    string, list, set or dict, or an attribute of an object if the code names it too. Anything else, such
    as a function or class, is assumed constant. In a dict of more than 100 items, such as ``sys.modules``,
    only keys that are string constants in the code are compared. The ``decimal`` context is guarded if the
    code refers to ``decimal``.

    >>> import types, warnings
    >>> [fact.what for fact in library_guards([eval("lambda: warnings.filters", {"warnings": warnings})])]
    ['warnings.filters']
    """
    known: set[tuple[int, str]] = set()
    functions = list(functions)
    texts = frozenset[str]().union(*(texts_of(function.__code__) for function in functions))
    for function in functions:
        reader = _CodeReads(names_read(function.__code__), texts)
        held = list(_held(function, reader.names))
        for module in held:
            if isinstance(module, types.ModuleType) and not is_users(module):
                yield from _parts(module, vars(module), module.__name__, reader, known, _DEEPEST)
        yield from _steering(held, known)


def _held(function: types.FunctionType, names: frozenset[str]) -> Iterator[Any]:
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from closure_values(function)


def _steering(held: Iterable[Any], known: set[tuple[int, str]]) -> Iterator[EnvironmentGuard]:
    for item in held:
        module = (
            item.__name__
            if isinstance(item, types.ModuleType)
            else getattr(item, "__module__", None) or type(item).__module__
        )
        if module in _STEERED and (0, module) not in known:
            known.add((0, module))
            what, ask = _STEERED[module]
            yield EnvironmentGuard("{}() == {}", (ask, ask()), what)


def _parts(
    holder: Any, own: dict[str, Any], where: str, reader: _CodeReads, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    for name in sorted(reader.names & own.keys()):
        if (id(holder), name) not in known and depth:
            known.add((id(holder), name))
            yield from _part(own, name, f"{where}.{name}", reader, known, depth)


def _part(
    own: dict[str, Any], name: str, what: str, reader: _CodeReads, known: set[tuple[int, str]], depth: int
) -> Iterator[EnvironmentGuard]:
    item = own[name]
    if type(item) in ATOMS:
        yield same_fact("{}[{}]", (own, name), item, what, own)
    elif isinstance(item, _DATA_CONTAINERS):
        yield EnvironmentGuard(
            "{}({}, {}, {}, {})", (_holds, own, name, reader.texts, _snapshot(item, reader.texts)), what
        )
    elif is_asked(item):
        yield from (
            EnvironmentGuard("{}({}) == {}", (row.read, item, row.read(item)), row.what)
            for row in answers_of(item, reader.names)
        )
    elif not callable(item) and isinstance(held := getattr(item, "__dict__", None), dict):
        yield from _parts(item, held, what, reader, known, depth - 1)


def _snapshot(items: Any, texts: frozenset[str]) -> list[Any]:
    """Return the contents of a list, set or dict; of a dict with over 100 items, the values at ``texts``.

    Return an empty list for anything else.
    """
    if isinstance(items, dict):
        return (
            [items.get(text, _MISSING) for text in texts] if len(items) > _FEW else [*items, *items.values()]
        )
    return [*items] if isinstance(items, _DATA_CONTAINERS) else []


def _holds(own: dict[str, Any], name: str, texts: frozenset[str], before: list[Any]) -> bool:
    return same_items(_snapshot(own.get(name), texts), before)
