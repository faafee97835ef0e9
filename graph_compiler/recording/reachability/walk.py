"""Search for the objects that a callable refers to outside its arguments, by the names in its code.

``Reached`` finds functions, closures, globals, objects and containers.
"""

from __future__ import annotations

import abc
import builtins
import contextvars
import functools
import operator
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...registration import responds_to, trait
from ..code.names import attributes_set, catches, fragments_read, globals_read, names_read
from ..code.ownership import INTERNAL, is_internal, is_users, owner_of
from .containers import is_asked, is_holding, kind_of, reads_itself, slots_of
from .namespaces import NameIndex
from .references import (
    OF_IMPORTS,
    WRAPPERS,
    closure_values,
    function_layers,
    imported_modules,
    module_of,
    names_in,
    names_of_builtins,
    original_of,
    reads_modules_whole,
    wrapped_by,
)

_ATOMS = (str, bytes, int, float, complex, type(None), types.CodeType, range, slice)
_SEQUENCES = (list, tuple, set, frozenset, deque)
# Attributes of classes that describe their source (since Python 3.13), or the fields of a dataclass, which
# ``linen.scan`` sets anew. They are no state.
_OF_COMPILER = ("__static_attributes__", "__firstlineno__", "__dataclass_fields__")
_CONSTANT = frozenset({*_ATOMS, bool})
_BUILT_IN = _CONSTANT | {*_SEQUENCES, dict}
# Of larger lists, deques and dicts without free items, only the length is guarded.
MOST_ITEMS = 1000


def is_constant(item: Any) -> bool:
    return type(item) in _CONSTANT or type(item) is type and item in _BUILT_IN


@dataclass(frozen=True)
class WalkPolicy:
    """Policy of a frontend for the objects that a search reaches.

    is_leaf(item): True for objects not to enter, such as arrays.
    parts(item): objects to visit besides the attributes that code names, such as a model's ``__call__``.
    hidden: names of attributes to skip, except in objects that are entered with all their attributes.
    whole: framework classes whose instances are entered, with all their attributes, because the framework's
        methods read what the user stored there.
    called: names of methods that the framework calls on user classes, so that they count as read by code.
    """

    is_leaf: Callable[[Any], bool] = lambda item: False
    parts: Callable[[Any], Iterable[Any]] = lambda item: ()
    hidden: frozenset[str] = frozenset()
    whole: tuple[type, ...] = ()
    called: frozenset[str] = frozenset()


class Reached:
    """Objects that ``roots`` refer to, found by the names in their code.

    functions: functions of the user.
    cells: pairs of the name of a variable and its closure cell, for these functions.
    containers: lists, tuples, sets, frozensets, deques and dicts.
    owners: objects, classes and modules whose attributes are followed.
    variables: context variables.
    references: weak references.
    partials: ``functools.partial`` objects.
    abstract: classes with which other classes may be registered.
    asked: objects that are guarded by what their methods return, such as loggers (:class:`.GuardedAnswers`).
    tried: names read by those ``functions`` that handle exceptions.
    """

    def __init__(self, roots: Iterable[Any], policy: WalkPolicy = WalkPolicy()) -> None:
        self._index = NameIndex(policy.called)
        self.functions: list[types.FunctionType] = []
        self.cells: list[tuple[str, types.CellType]] = []
        self.containers: list[Any] = []
        self.owners: list[Any] = []
        self.variables: list[contextvars.ContextVar[Any]] = []
        self.references: list[weakref.ref[Any]] = []
        self.partials: list[functools.partial[Any]] = []
        self.abstract: list[abc.ABCMeta] = []
        self.asked: list[Any] = []
        self.tried: set[str] = set()
        self._policy = policy
        self._seen: dict[int, Any] = {}
        # Ids of modules whose namespace is read as a whole.
        self._read_whole: set[int] = set()
        # An explicit stack, because objects may be linked to each other as long lists.
        self._waiting = deque[Any]()
        # Number of owners whose attributes are in the index.
        self._indexed = 0
        self._wait(roots)
        self._walk()

    @property
    def names(self) -> set[str]:
        return self._index.reads

    @property
    def fragments(self) -> set[str]:
        return self._index.fragments

    def extend(self, roots: Iterable[Any]) -> None:
        self._wait((*roots, *(module for function in self.functions for module in self._imported(function))))
        self._indexed = 0
        self._walk()

    def attributes(self, owner: Any) -> list[str]:
        return list(self.read_of(owner))

    def read_of(self, owner: Any) -> dict[str, Any]:
        return self._attributes(owner, lambda name, item, *kind: self._index.is_used(name, *kind))

    def _attributes(self, owner: Any, is_used: Callable[[str, Any, bool, bool], bool]) -> dict[str, Any]:
        held = attributes_of(owner)
        if self.is_whole(owner):
            return {name: held[name] for name in names_in(held)}
        if self._wraps(type(owner)):
            return {name: held[name] for name in vars(owner)}
        hidden, in_module, in_class = (
            self._policy.hidden,
            isinstance(owner, types.ModuleType),
            isinstance(owner, type),
        )
        return {
            name: item
            for name, item in held.items()
            if name not in hidden
            and (
                is_used(name, item, in_module, in_class and responds_to(type(item), "__set__"))
                if name[:2] != "__"
                else _is_operator(owner, item)
            )
        }

    def is_whole(self, owner: Any) -> bool:
        return id(owner) in self._read_whole

    def items(self) -> Iterator[Any]:
        for held in self.containers:
            yield from islice(held.values() if isinstance(held, dict) else list(iter(held)), MOST_ITEMS)

    def found(self) -> list[Any]:
        return list(self._seen.values())

    def globals_of(self, function: types.FunctionType) -> list[str]:
        return [name for name in globals_read(function.__code__) if name in function.__globals__]

    # ------------------------------------------------------------------------------ search
    def _walk(self) -> None:
        while True:
            while self._waiting:
                self._visit(self._waiting.popleft())
            self._wait(self._index.released())
            if not self._waiting:
                # Attributes of new owners may add names, and names may release attributes of earlier owners.
                if self._indexed == len(self.owners):
                    return
                self._wait(self._attributes(self.owners[self._indexed], self._index.add).values())
                self._indexed += 1

    def _visit(self, item: Any) -> None:
        # A compiled callable is replaced by its original, which holds the code to search.
        item = original_of(item)
        if id(item) in self._seen or isinstance(item, _ATOMS) or self._policy.is_leaf(item):
            return None
        self._seen[id(item)] = item
        for cls, visit in _KINDS:
            if isinstance(item, cls):
                return visit(self, item)
        return self._object(item)

    def _function(self, function: types.FunctionType) -> None:
        owner = owner_of(function)
        if owner in INTERNAL:
            self._wait([vars(function).get("__wrapped__")])
        if owner in INTERNAL and function.__name__ not in trait("entry_methods"):
            return None
        self._index.read(names_read(function.__code__))
        self._index.set(attributes_set(function.__code__))
        self._index.compose(fragments_read(function.__code__))
        if owner in INTERNAL:
            return None
        if owner == "library":
            for inner in function_layers(vars(function).get("__wrapped__")):
                if is_users(inner):
                    self._wait([inner])
                # Fragments are left out, because a library's decorators read attributes by any string.
                self._index.read(names_read(inner.__code__))
            used = (function.__globals__.get(name) for name in names_read(function.__code__))
            return self._wait(
                item for item in used if getattr(item, "__globals__", None) is function.__globals__
            )
        self.functions.append(function)
        self.tried |= names_read(function.__code__) if catches(function.__code__) else set()
        self.cells += zip(function.__code__.co_freevars, function.__closure__ or ())
        put_in = (vars(builtins)[name] for name in names_of_builtins(function))
        globals_used = [
            *(function.__globals__[name] for name in self.globals_of(function)),
            *self._imported(function),
            *put_in,
        ]
        if reads_modules_whole(function):
            self._read_whole_modules(item for item in globals_used if isinstance(item, types.ModuleType))
        self._wait(
            (
                *closure_values(function),
                *globals_used,
                *(function.__defaults__ or ()),
                function.__kwdefaults__,
                *vars(function).values(),
            )
        )
        return None

    def _imported(self, function: types.FunctionType) -> list[types.ModuleType]:
        modules = list(imported_modules(function))
        if reads_modules_whole(function):
            self._read_whole_modules(modules)
        return modules

    def _read_whole_modules(self, modules: Iterable[types.ModuleType]) -> None:
        for module in modules:
            if id(module) not in self._read_whole:
                self._read_whole.add(id(module))
                self._wait(self.read_of(module).values() if is_users(module) else ())

    def _wait(self, items: Iterable[Any]) -> None:
        # Depth first: what is found first is visited first.
        self._waiting.extendleft([*items][::-1])

    def _container(self, items: Any) -> None:
        self.containers.append(items)
        if isinstance(items, dict):
            items = [item for key, item in items.items() if not isinstance(key, str) or key not in OF_IMPORTS]
        # ``len`` is not called, because a tuple of the user's may raise an error there.
        self._wait(islice(list(iter(items)), MOST_ITEMS))

    def _class(self, cls: type) -> None:
        for base in cls.__mro__:
            if base is not cls:
                if id(base) in self._seen:
                    continue
                self._seen[id(base)] = base
            library, methods = not is_users(base), trait("entry_methods")
            own = [(name, item) for name, item in list(vars(base).items()) if name not in _OF_COMPILER]
            self._wait(item for name, item in own if name in methods or name.startswith("__") and not library)
            if not library:
                self.owners.append(base)
                self.abstract += [base] if isinstance(base, abc.ABCMeta) else []

    def _module(self, module: types.ModuleType) -> None:
        if is_users(module):
            self.owners.append(module)

    def _object(self, item: Any) -> None:
        parts = list(self._policy.parts(item))
        cls = type(item)
        if callable(item) and (inner := getattr(item, "__dict__", {}).get("__wrapped__")) is not None:
            # Examples are a function in ``functools.lru_cache`` and a model in ``jax.jit``.
            self._wait([inner])
        if is_asked(item):
            return self.asked.append(item)
        if not module_of(cls):
            return None
        # Objects of frameworks are assumed to hold nothing of the user's.
        if is_internal(cls) and not (parts or is_holding(cls) or self._wraps(cls)):
            return None
        if id(cls) not in self._seen:
            self._seen[id(cls)] = cls
            self._class(cls)
        self.owners.append(item)
        return self._wait(parts)

    def _standing(self, item: Any) -> None:
        if isinstance(item, weakref.ref):
            self.references.append(item)
        if isinstance(item, functools.partial):
            self.partials.append(item)
        self._wait(wrapped_by(item))

    def _getter(self, getter: Any) -> None:
        self._index.read(
            name for text in getter.__reduce__()[1] if isinstance(text, str) for name in text.split(".")
        )

    def _wraps(self, cls: type) -> bool:
        return issubclass(cls, self._policy.whole) or reads_itself(cls)

    def _variable(self, variable: contextvars.ContextVar[Any]) -> None:
        self.variables.append(variable)
        self._wait([variable.get(None)])


def _each(*getters: str) -> Callable[[Reached, Any], None]:
    def visit(reach: Reached, item: Any) -> None:
        reach._wait(getattr(item, getter) for getter in getters)

    return visit


_KINDS: tuple[tuple[Any, Callable[[Reached, Any], None]], ...] = (
    (types.FunctionType, Reached._function),
    (contextvars.ContextVar, Reached._variable),
    (WRAPPERS, Reached._standing),
    ((operator.attrgetter, operator.methodcaller), Reached._getter),
    (property, _each("fget", "fset", "fdel")),
    (functools.cached_property, _each("func")),
    ((staticmethod, classmethod), _each("__func__")),
    (type, Reached._class),
    (types.ModuleType, Reached._module),
    ((*_SEQUENCES, dict), Reached._container),
)


def attributes_of(owner: Any) -> dict[str, Any]:
    held = dict(vars(owner)) if hasattr(owner, "__dict__") else {}
    if not isinstance(owner, (type, types.ModuleType)):
        held.update((name, getattr(owner, name)) for name in slots_of(owner) if hasattr(owner, name))
    return held


def _is_operator(owner: Any, item: Any) -> bool:
    return isinstance(owner, type) and isinstance(item, types.FunctionType)


# Name in the code, object, and a function that replaces the object.
ReplaceablePart = tuple[str, Any, Callable[[Any], None]]


def replaceable_parts(reach: Reached) -> list[ReplaceablePart]:
    return list(_places(reach))


def _places(reach: Reached) -> Iterator[ReplaceablePart]:
    for function in (item for item in reach.found() if isinstance(item, types.FunctionType)):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            yield from _in(cell, (0,), name)
    for function in reach.functions:
        yield from _in(function.__globals__, reach.globals_of(function))
    for owner in reach.owners:
        if isinstance(own := getattr(owner, "__dict__", None), dict):
            yield from _in(own, reach.attributes(owner))
    for items in reach.containers:
        if isinstance(items, (dict, list)):
            yield from _in(items)
    for partial in reach.partials:
        yield from _of_partial(partial)


def _in(held: Any, keys: Iterable[Any] | None = None, name: str = "") -> Iterator[ReplaceablePart]:
    kind = kind_of(held)
    parts = kind.pairs(held) if kind is not None else {}
    for key in parts if keys is None else [key for key in keys if key in parts]:
        yield name or str(key), parts[key], functools.partial(kind.put, held, key)  # type: ignore[union-attr]


def _of_partial(partial: functools.partial[Any]) -> Iterator[ReplaceablePart]:
    names = ("func", *map(str, range(len(partial.args))), *partial.keywords)
    for place, (name, item) in enumerate(zip(names, _parts(partial))):
        yield name, item, functools.partial(_put, partial, place)


def _parts(partial: functools.partial[Any]) -> list[Any]:
    return [partial.func, *partial.args, *partial.keywords.values()]


def _put(partial: Any, place: int, item: Any) -> None:
    parts, count = _parts(partial), 1 + len(partial.args)
    parts[place] = item
    partial.__setstate__(
        (parts[0], tuple(parts[1:count]), dict(zip(partial.keywords, parts[count:])), vars(partial))
    )


@contextmanager
def replacing_parts(places: Iterable[ReplaceablePart], replacements: Mapping[int, Any]) -> Iterator[None]:
    """Replace objects at ``places`` inside the block; ``replacements`` maps ids of objects to new objects."""
    with ExitStack() as undo:
        for _, item, put in places:
            if id(item) in replacements:
                undo.callback(put, item)
                put(replacements[id(item)])
        yield
