"""Snapshot of the Python objects that a function can reach (``ObjectSnapshot``), and changes since then."""

from __future__ import annotations

import functools
import operator
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ...trees import Fixed, same_static
from ..code.ownership import is_users
from .containers import CLASS, DICT, MISSING, OBJECT, ContainerKind, has_attributes, kind_of
from .references import (
    OF_IMPORTS,
    WRAPPERS,
    NamespacePart,
    function_layers,
    functions_of,
    original_of,
    roots_of,
    wrapped_by,
)

_DEEPEST = 8
_CODE = (types.FunctionType, property, staticmethod, classmethod, functools.cached_property)
# These lead to other objects than their attributes.
_LEADING = (tuple, functools._lru_cache_wrapper, *_CODE, *WRAPPERS)
# Key of a change in the order of a dict's items that single changes cannot make.
ORDER = object()


_LONGEST_KEY = 60


def _no_name(item: Any) -> str | None:
    return None


class TrackedContainer:
    """Container whose changes are tracked.

    name: the expression for the container in messages.
    item: the container.
    kind: how the container is read and changed.
    before: parts of the container when tracking began, by key.
    name_of_object(key): returns the name of an object that is a key of a dict, or None.
    """

    __slots__ = ("_name_of_object", "before", "item", "kind", "name")

    def __init__(
        self,
        name: str,
        item: Any,
        kind: ContainerKind,
        before: dict[Any, Any],
        name_of_object: Callable[[Any], str | None] = _no_name,
    ) -> None:
        self.name, self.item, self.kind, self.before = name, item, kind, before
        self._name_of_object = name_of_object

    @property
    def owner(self) -> Any:
        return self.item.space if isinstance(self.item, NamespacePart) else self.item

    def is_untouched(self) -> bool:
        item, before = self.item, self.before
        # Most containers are unchanged, and this check copies nothing.
        if self.kind.is_surely(item, before):
            return True
        now = item if type(item) in _PLAIN_DICTS else self.kind.pairs(item)
        if len(before) != len(now):
            return False

        return not before or (
            all(map(operator.is_, before, now)) and all(map(operator.is_, before.values(), now.values()))
        )

    def name_of(self, key: Any) -> str:
        if isinstance(self.item, types.CellType):
            return self.name
        if isinstance(self.item, NamespacePart) or self.kind.dotted:
            return f"{self.name}.{key}" if self.name else str(key)
        return f"{self.name}[{self._text_of_key(key)}]"

    def _text_of_key(self, key: Any) -> str:
        text = self._name_of_object(key) or repr(key)
        if len(text) <= _LONGEST_KEY and "\n" not in text and " at 0x" not in text:
            return text
        position = next((n for n, other in enumerate(self.kind.pairs(self.item)) if other is key), 0)
        return f"{type(key).__name__} {position}"


@dataclass(frozen=True)
class Change:
    """Part of a container that differs from the snapshot.

    key: key of the part; :data:`ORDER` for the order of a dict's items.
    before: the part in the snapshot; :data:`MISSING` if it is new; the keys for :data:`ORDER`.
    now: the part now; :data:`MISSING` if it was removed; the keys for :data:`ORDER`.
    """

    held: TrackedContainer
    key: Any
    before: Any
    now: Any

    @property
    def where(self) -> str:
        return self.held.name_of(self.key)


_PLAIN_DICTS = frozenset({dict, OrderedDict})
PLAIN_CONTAINERS = _PLAIN_DICTS | {list, set}
"""Classes of containers that lead to no other objects than their items."""
_NO_PARTS = PLAIN_CONTAINERS | {bool, str, type(None)}
_SCALARS = frozenset({bool, int, float, str, type(None)})


class ObjectSnapshot:
    """Snapshot of the containers that a search from ``roots`` and from the callables ``called`` finds.

    ``roots`` are pairs of a name and an object. Parts with a name in ``closed`` are not searched. Objects in
    ``own`` are searched even if their class contains nothing of the user's. ``name_of_object`` names objects
    that are keys of dicts.

    held: the containers, without empty plain dicts inside other containers.
    caches: functions that ``functools.lru_cache`` decorates.
    elsewhere: ids of objects that were found through tuples, wrappers or functions.

    >>> history = {"seen": [1]}
    >>> world = ObjectSnapshot([("history", history)])
    >>> history["seen"].append(2)
    >>> [(change.where, change.now) for change in world.changes()]
    [("history['seen'][1]", 2)]
    >>> world.restore(); history
    {'seen': [1]}
    """

    def __init__(
        self,
        roots: Iterable[tuple[str, Any]],
        closed: frozenset[str] = frozenset(),
        own: Iterable[Any] = (),
        called: Iterable[Any] = (),
        name_of_object: Callable[[Any], str | None] = _no_name,
    ) -> None:
        self._name_of_object = name_of_object
        self.held: list[TrackedContainer] = []
        # Empty dicts with their place. A torch module has many, so no ``TrackedContainer`` is made for them.
        self._empty: list[tuple[TrackedContainer, Any, dict[Any, Any]]] = []
        self.caches: list[Any] = []
        self.elsewhere: set[int] = set()
        self._known: set[int] = set()
        self._own = set(map(id, own))
        # Pairs of a class of objects, and True if these are in ``own``.
        self._objects: set[tuple[type, bool]] = set()
        # The user's classes among the bases of each.
        self._bases: dict[type, list[type]] = {}
        # True for classes whose objects are arrays.
        self._arrays: dict[type, bool] = {}
        # Depth at which each part of a container was met, by id.
        self._met: dict[int, int] = {}
        closed |= OF_IMPORTS
        waiting = [deque((*roots, *chain.from_iterable(map(self._asked, called))))]
        while any(waiting):
            # Levels are searched in order, so that objects are found by their shortest path. References of
            # functions on the way come first.
            depth = next(depth for depth, level in enumerate(waiting) if level)
            for name, item, place in self._opened(*waiting[depth].popleft(), depth, closed):
                while len(waiting) <= place:
                    waiting.append(deque())
                waiting[place].append((name, item))

    def _asked(self, called: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(owner := getattr(called, "__self__", None), type):
            yield owner.__name__, owner
        for function in functions_of(called):
            if id(function) not in self._known:
                self._known.add(id(function))
                yield from roots_of(function)

    def _opened(
        self, name: str, item: Any, depth: int, closed: frozenset[str]
    ) -> Iterator[tuple[str, Any, int]]:
        if type(item) in _SCALARS:
            return
        if type(item) not in PLAIN_CONTAINERS:
            item = original_of(item)
            yield from self._around(name, item, depth)
        kind = None if id(item) in self._known or depth > _DEEPEST else self._kind(item)
        if kind is None:
            return
        self._known.add(id(item))
        if kind is OBJECT:
            yield from (
                (cls.__name__, cls, depth + 1)
                for cls in self._bases[type(item)]
                if id(cls) not in self._known
            )
        if kind is CLASS:
            yield from (
                (name, member, depth + 1)
                for member in vars(item).copy().values()
                if isinstance(member, _CODE)
            )
        held = TrackedContainer(name, item, kind, kind.pairs(item), self._name_of_object)
        self.held.append(held)
        for key, child in held.before.items():
            cls, number = type(child), id(child)
            if cls in _SCALARS or number in self._known or isinstance(key, str) and key in closed:
                continue
            # Another path of the same or smaller length leads there.
            if self._met.get(number, depth + 1) <= depth:
                continue
            attributes = child if cls in _PLAIN_DICTS else vars(child) if self._is_array(child) else None
            if attributes is None or attributes:
                self._met[number] = depth
                yield held.name_of(key), child, depth + 1
            elif id(attributes) not in self._known:
                self._known.add(id(attributes))
                self._empty.append((held, key, attributes))

    def _is_array(self, item: Any) -> bool:
        cls = type(item)
        if cls not in self._arrays:
            self._arrays[cls] = (
                has_attributes(item) and not isinstance(item, _LEADING) and kind_of(item) is None
            )
        return self._arrays[cls]

    def _kind(self, item: Any) -> ContainerKind | None:
        cls, always = type(item), id(item) in self._own
        if (cls, always) in self._objects and item.__class__ is cls:
            return OBJECT
        kind = kind_of(item, always)
        if kind is OBJECT:
            self._objects.add((cls, always))
            self._bases.setdefault(cls, list(filter(is_users, cls.__mro__)))
        return kind

    def _around(self, name: str, item: Any, depth: int) -> Iterator[tuple[str, Any, int]]:
        """Yield objects that ``item`` leads to otherwise than as a container, each with its name and depth.

        ``elsewhere`` and ``caches`` are updated.
        """
        if isinstance(item, tuple) and depth <= _DEEPEST:
            self.elsewhere.update(map(id, item))
            yield from ((f"{name}[{i}]", part, depth + 1) for i, part in enumerate(item))
        for part in wrapped_by(item):
            self.elsewhere.add(id(part))
            yield name, part, depth + 1
        if isinstance(item, _CODE):
            yield from self._code(item)
        if isinstance(item, functools._lru_cache_wrapper):
            self.caches.append(item)
        if has_attributes(item):
            yield name, vars(item), depth + 1

    def _code(self, item: Any) -> Iterator[tuple[str, Any, int]]:
        for function in function_layers(item):
            if id(function) not in self._known and is_users(function):
                self._known.add(id(function))
                for name, root in roots_of(function):
                    self.elsewhere.add(id(root))
                    yield name, root, 0

    def knows(self, item: Any) -> bool:
        return id(item) in self._known

    def owners(self) -> set[int]:
        return {*(id(held.owner) for held in self.held), *(id(item) for _, _, item in self._empty)}

    @functools.cached_property
    def parts(self) -> list[tuple[TrackedContainer, Any, Any]]:
        """Triples of a container, a key and the part that the snapshot has at the key.

        Parts that are plain containers, strings, bools or None are left out.
        """
        return [
            (held, key, item)
            for held in self.held
            for key, item in held.before.items()
            if type(item) not in _NO_PARTS
        ]

    def changes(self) -> Iterator[Change]:
        """Yield the parts that differ from the snapshot, and changes in the order of dicts."""
        for held in self._touched():
            now = held.kind.pairs(held.item)
            for key in {**held.before, **now}:
                old, new = held.before.get(key, MISSING), now.get(key, MISSING)
                if not _same(old, new):
                    yield Change(held, key, old, new)
            # Single changes keep the order of the other items.
            if isinstance(held.item, dict) and list(now) != _order(held.before, now):
                yield Change(held, ORDER, list(held.before), list(now))

    def restore(self) -> None:
        for held in self._touched():
            held.kind.refill(held.item, held.before)

    def _touched(self) -> Iterator[TrackedContainer]:
        for held in self.held:
            if not held.is_untouched():
                yield held
        # A dict that was empty is a container only if something was added.
        for around, key, item in self._empty:
            if item:
                yield TrackedContainer(around.name_of(key), item, DICT, {}, self._name_of_object)


def tuple_parts(item: Any) -> Iterator[Any]:
    """Yield ``item`` and, if it is a tuple, its items, and likewise the items of nested tuples.

    >>> list(tuple_parts((1, (2, [3]))))
    [(1, (2, [3])), 1, (2, [3]), 2, [3]]
    """
    yield item
    for part in item if isinstance(item, tuple) else ():
        yield from tuple_parts(part)


def _order(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> list[Any]:
    return [*(key for key in before if key in now), *(key for key in now if key not in before)]


def _same(before: Any, now: Any) -> bool:
    return before is now or (type(before) in (int, float, str, Fixed) and same_static(before, now))
