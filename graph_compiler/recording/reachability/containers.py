"""Reading, changing and restoring of containers by kind, and the parts of them that a graph reads.

:func:`kind_of` is for containers that a function finds outside its arguments. :func:`given_kind` is for
arguments, whose items are read through the methods of their class, as the caller reads them.
"""

from __future__ import annotations

import abc
import contextvars
import enum
import inspect
import logging
import os
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import is_
from typing import Any, NamedTuple

from ...registration import responds_to, stateless_modules
from ...trees import Fixed
from ..code.ownership import is_users, owner_of, package_of
from ..state.append_only_list import AppendOnlyList
from ..state.contents import contents_of
from .references import NamespacePart, module_of


def registered_with(cls: abc.ABCMeta) -> frozenset[Any]:
    """Return weak references to the classes registered with ``cls``, or with subclasses of it.

    >>> class Scaled(abc.ABC): ...
    >>> before = registered_with(Scaled)
    >>> Scaled.register(int) is int, len(registered_with(Scaled) - before)
    (True, 1)
    """
    own: frozenset[Any] = frozenset(abc._get_dump(cls)[0])  # type: ignore[attr-defined]
    # Subclasses have the metaclass of their base, or one derived from it.
    below: list[Any] = cls.__subclasses__()
    return own.union(*map(registered_with, below))


# For each class, True if its own methods read what an object contains, so that the names in the user's code
# do not tell which attributes count.
_HOLDING: dict[tuple[str, str], bool] = {
    **dict.fromkeys((("types", "SimpleNamespace"), ("argparse", "Namespace"), ("_thread", "_local")), False),
    **dict.fromkeys(
        (("collections", name) for name in ("UserDict", "UserList", "UserString", "ChainMap")), True
    ),
    **dict.fromkeys((("queue", name) for name in ("Queue", "LifoQueue", "PriorityQueue")), True),
    **dict.fromkeys((("weakref", name) for name in ("WeakKeyDictionary", "WeakValueDictionary")), True),
    ("configparser", "RawConfigParser"): True,
    ("configparser", "SectionProxy"): True,
    ("string", "Template"): True,
    **dict.fromkeys((("threading", name) for name in ("Event", "Semaphore")), True),
}


def is_holding(cls: type) -> bool:
    """Return True if ``cls`` or a base is one of the standard classes in ``_HOLDING``, which contain objects.

    >>> import queue, types
    >>> is_holding(queue.Queue), is_holding(types.SimpleNamespace), is_holding(type)
    (True, True, False)
    """
    return any((base.__module__, base.__name__) in _HOLDING for base in cls.__mro__)


def reads_itself(cls: type) -> bool:
    """Return True if ``cls`` or a base is marked in ``_HOLDING`` as reading what its objects contain.

    >>> import queue, types
    >>> reads_itself(queue.Queue), reads_itself(types.SimpleNamespace)
    (True, False)
    """
    return any(_HOLDING.get((base.__module__, base.__name__), False) for base in cls.__mro__)


class GuardedAnswers(NamedTuple):
    """Row for a class whose objects are guarded by the result of a function, instead of by their attributes.

    cls: the class, of the standard library.
    names: code that reads one of these attributes gets the guard.
    read: function of an object that returns what is compared.
    what: description for messages.
    """

    cls: type
    names: frozenset[str]
    read: Callable[[Any], Any]
    what: str


def _level(logger: logging.Logger) -> tuple[Any, ...]:
    return logger.getEffectiveLevel(), logger.disabled, logger.manager.disable


_ROWS = (
    GuardedAnswers(
        logging.Logger,
        frozenset({"isEnabledFor", "getEffectiveLevel", "level", "disabled"}),
        _level,
        "the level of a logger",
    ),
)


def is_asked(item: Any) -> bool:
    return any(isinstance(item, row.cls) for row in _ROWS)


def answers_of(item: Any, names: Collection[str]) -> list[GuardedAnswers]:
    """Return the :class:`GuardedAnswers` rows for ``item`` that have one of the attribute names ``names``.

    >>> logger = logging.getLogger("graph_compiler.doctest")
    >>> [row.what for row in answers_of(logger, {"isEnabledFor"})], answers_of(logger, {"info"})
    (['the level of a logger'], [])
    """
    return [row for row in _ROWS if isinstance(item, row.cls) and not row.names.isdisjoint(names)]


_CLOSED = (
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    str,
    bytes,
    int,
    float,
    complex,
    enum.Enum,
    type(None),
)
# Attributes with this prefix hold compiled methods, which are no state of the user's.
COMPILED = "_compiled_"
_CLASS_OF = "__class__"


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True)
class ContainerKind:
    """Functions that read and change the containers of one kind, such as dicts or closure cells.

    pairs(container): a new dict of its parts by key.
    put(container, key, value): sets a part, or removes it if ``value`` is ``MISSING``, as far as the kind
        allows.
    refilled(container, parts): sets a container to these parts; None if it is enough to ``put`` those that
        differ.
    dotted: True if messages name a part ``container.key`` instead of ``container[key]``.
    is_surely(container, parts): fast check that a container still has these parts; False may also mean
        unknown.
    """

    pairs: Callable[[Any], dict[Any, Any]]
    put: Callable[[Any, Any, Any], None]
    refilled: Callable[[Any, dict[Any, Any]], None] | None = None
    dotted: bool = False
    is_surely: Callable[[Any, dict[Any, Any]], bool] = lambda held, before: False

    def refill(self, held: Any, before: dict[Any, Any]) -> None:
        if self.refilled is not None:
            return self.refilled(held, before)
        now = self.pairs(held)
        for key in {**now, **before}:
            if now.get(key, MISSING) is not (part := before.get(key, MISSING)):
                self.put(held, key, part)
        return None


def _dict_behind(held: Any) -> tuple[Any, Any]:
    """Return the underlying dict of a dict or proxy, and the class whose methods bypass overrides."""
    while not issubclass(type(held), dict):
        held = held.__wrapped__
    return held, OrderedDict if isinstance(held, OrderedDict) else dict


def _pairs_of_dict(held: dict[Any, Any]) -> dict[Any, Any]:
    held, own = _dict_behind(held)
    return dict(own.items(held))


def _put_in_dict(held: dict[Any, Any], key: Any, value: Any) -> None:
    held, own = _dict_behind(held)
    if value is not MISSING:
        own.__setitem__(held, key, value)
    elif key in held:
        own.__delitem__(held, key)


def _refill_dict(held: dict[Any, Any], before: dict[Any, Any]) -> None:
    plain, own = _dict_behind(held)
    own.clear(plain)
    for key, value in before.items():
        _put_in_dict(held, key, value)


def _pairs_of_cell(cell: types.CellType) -> dict[Any, Any]:
    try:
        return {0: cell.cell_contents}
    except ValueError:
        # The cell is empty.
        return {}


def _put_in_cell(cell: types.CellType, key: Any, value: Any) -> None:
    if value is MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _put_item(held: Any, key: Any, value: Any) -> None:
    if value is not MISSING:
        held[key] = value
    elif key in held:
        del held[key]


def _put_at(held: Any, index: Any, value: Any) -> None:
    # Only ``_refill_list`` changes the length of a list.
    if value is not MISSING:
        held[index] = value


def _has_items_of(held: Any, before: dict[Any, Any]) -> bool:
    return len(held) == len(before) and all(map(is_, held, before.values()))


def _refill_list(held: Any, before: dict[Any, Any]) -> None:
    held.clear()
    held.extend(before.values())


def _refill_set(held: set[Any], before: dict[Any, Any]) -> None:
    held.clear()
    held.update(before)


# Slots by the id of the class, found once.
_slots: dict[int, tuple[weakref.ref[type], list[str]]] = {}


def slots_of(item: Any) -> list[str]:
    """Return the names of the slots of ``item`` that no subclass hides, except those such as ``__name__``.

    >>> class Counter:
    ...     __slots__ = ("__count", "step")
    >>> sorted(slots_of(Counter()))
    ['_Counter__count', 'step']
    """
    cls = type(item)
    found = _slots.get(id(cls))
    if found is None or found[0]() is not cls:
        # The names of the descriptors are those that Python has made of private names. A subclass may define
        # a property of the same name, which hides the slot.
        own = [
            name
            for base in cls.__mro__
            if "__slots__" in vars(base)
            for name, part in vars(base).items()
            if isinstance(part, types.MemberDescriptorType)
            and not name.startswith("__")
            and inspect.getattr_static(cls, name, None) is part
        ]
        found = _slots[id(cls)] = weakref.ref(cls), own
    return found[1]


def _pairs_of_object(item: Any) -> dict[Any, Any]:
    attributes = getattr(item, "__dict__", {})
    # Compiled methods are a cache that calls may fill at any time.
    if responds_to(type(item), COMPILED):
        attributes = {name: part for name, part in attributes.items() if not name.startswith(COMPILED)}
    return {
        _CLASS_OF: type(item),
        **attributes,
        **{name: getattr(item, name) for name in slots_of(item) if hasattr(item, name)},
    }


def _has_attributes_of(item: Any, before: dict[Any, Any]) -> bool:
    now: Any = getattr(item, "__dict__", before)
    if len(now) + 1 != len(before) or before.get(_CLASS_OF) is not type(item):
        return False
    # All parts before are in the ``__dict__``, so no slot had a value.
    return (
        all(map(is_, islice(before, 1, None), now))
        and all(map(is_, islice(before.values(), 1, None), now.values()))
        and not any(hasattr(item, name) for name in slots_of(item))
    )


def _put_in_object(item: Any, key: Any, value: Any) -> None:
    attributes = getattr(item, "__dict__", None)
    if attributes is not None and key not in (_CLASS_OF, *slots_of(item)):
        _put_in_dict(attributes, key, value)
    elif value is MISSING:
        # A ``__setattr__`` or ``__delattr__`` of the class, as of a frozen dataclass, must not run.
        object.__delattr__(item, key)
    else:
        object.__setattr__(item, key, value)


def _refill_object(item: Any, before: dict[Any, Any]) -> None:
    ContainerKind(_pairs_of_object, _put_in_object).refill(item, before)
    attributes = getattr(item, "__dict__", {})
    compiled = {name: part for name, part in attributes.items() if name not in before}
    # Code that iterates over attributes sees their order.
    if list(attributes) != (order := [*(name for name in before if name in attributes), *compiled]):
        _refill_dict(attributes, {name: attributes[name] for name in order})


def _pairs_of_class(cls: type) -> dict[Any, Any]:
    return {
        name: part
        for name, part in vars(cls).copy().items()
        # The caches of ``abc`` change with each ``isinstance``.
        if not name.startswith(("__", "_abc_", COMPILED))
    }


def _put_in_class(cls: type, key: Any, value: Any) -> None:
    if value is not MISSING:
        type.__setattr__(cls, key, value)
    elif key in vars(cls):
        type.__delattr__(cls, key)


def _pairs_of_variable(variable: contextvars.ContextVar[Any]) -> dict[Any, Any]:
    held = variable.get(MISSING)
    return {} if held is MISSING else {0: held}


def _put_in_variable(variable: contextvars.ContextVar[Any], key: Any, value: Any) -> None:
    # A context variable can be unset only with a token of ``set``.
    if value is not MISSING:
        variable.set(value)


def _numbered(held: Any) -> dict[Any, Any]:
    return dict(enumerate(held))


def _refill_mapping(held: Any, before: dict[Any, Any]) -> None:
    for key in [key for key in held if key not in before]:
        del held[key]
    if isinstance(held, dict) and [key for key in before if key in held] != list(held):
        # The same keys in another order can only be set again from an empty dict.
        held.clear()
    held.update(before)


OBJECT = ContainerKind(
    _pairs_of_object, _put_in_object, _refill_object, dotted=True, is_surely=_has_attributes_of
)


def _pairs_of_contents(item: Any) -> dict[Any, Any]:
    contents = contents_of(item)
    return {0: Fixed(contents.take(item))} if contents else {}


def _put_contents(item: Any, value: Any) -> None:
    if contents := contents_of(item):
        contents.put(item, value.value)


_CONTENTS = ContainerKind(_pairs_of_contents, lambda item, key, value: _put_contents(item, value))
CLASS = ContainerKind(_pairs_of_class, _put_in_class)
_LIST = ContainerKind(_numbered, _put_at, _refill_list, is_surely=_has_items_of)
DICT = ContainerKind(_pairs_of_dict, _put_in_dict, _refill_dict)
_KINDS: tuple[tuple[Any, ContainerKind], ...] = (
    (dict, DICT),
    ((list, deque), _LIST),
    (contextvars.ContextVar, ContainerKind(_pairs_of_variable, _put_in_variable)),
    (type(os.environ), ContainerKind(dict, _put_item)),
    (set, ContainerKind(lambda held: dict(zip(held, held)), lambda held, key, value: None, _refill_set)),
    (
        NamespacePart,
        ContainerKind(
            lambda names: names.pairs(), lambda names, key, value: _put_in_dict(names.space, key, value)
        ),
    ),
    (types.CellType, ContainerKind(_pairs_of_cell, _put_in_cell)),
)


class Field(str):
    """Name of an attribute, used as a key where keys of items are used, too.

    It equals the same string as a key of a dict, so only its class shows that it is an attribute.
    """

    __slots__ = ()


_FIELDS = ContainerKind(
    lambda item: {Field(name): part for name, part in vars(item).items()},
    lambda item, key, value: _put_in_dict(vars(item), str(key), value),
    lambda item, before: _refill_mapping(vars(item), {str(name): part for name, part in before.items()}),
    dotted=True,
)
_GIVEN: tuple[tuple[Any, ContainerKind], ...] = (
    (tuple, ContainerKind(_numbered, lambda held, key, value: None)),
    ((list, deque), _LIST),
    (Mapping, ContainerKind(lambda held: dict(held.items()), _put_item, _refill_mapping)),
)
_APPENDED = ContainerKind(lambda held: _numbered(held.added), lambda held, key, value: None)


def given_kind(item: Any, always: bool = False) -> ContainerKind | None:
    """Return the kind of ``item`` as a container in an argument, or None if it is not treated as one.

    With ``always``, callable objects may be containers, too.

    >>> from collections import UserDict
    >>> given_kind(UserDict(a=1)).pairs(UserDict(a=1)), given_kind(len)
    ({'a': 1}, None)
    """
    if type(item) is AppendOnlyList:
        return _APPENDED
    # The methods of the argument's class are used, as the caller sees the object through them.
    for cls, kind in _GIVEN:
        if isinstance(item, cls):
            return kind
    if isinstance(item, (type, types.ModuleType)) or callable(item) and not always:
        return None
    return _FIELDS if isinstance(getattr(item, "__dict__", None), dict) else None


def kind_of(item: Any, always: bool = False) -> ContainerKind | None:
    """Return the kind of ``item`` as a container outside the arguments, or None if it is not treated as one.

    ``always`` includes objects whose class is taken to contain nothing of the user's.
    """
    for cls, kind in _KINDS:
        if isinstance(item, cls):
            return kind
    if contents_of(item) is not None:
        return _CONTENTS
    if isinstance(item, type):
        return CLASS if is_users(item) else None
    if (
        isinstance(item, _CLOSED)
        or responds_to(type(item), "__array__")
        or not (hasattr(item, "__dict__") or slots_of(item))
    ):
        return None
    return OBJECT if always or _holds_of_user(type(item)) else None


# Valid as long as no package is registered.
_of_users: weakref.WeakKeyDictionary[type, tuple[frozenset[str], bool]] = weakref.WeakKeyDictionary()


def _holds_of_user(cls: type) -> bool:
    modules, known = stateless_modules(), _of_users.get(cls)
    if known is None or known[0] is not modules:
        module = module_of(cls)
        is_stateless = (
            not module
            or not modules.isdisjoint((module, package_of(module)))
            or owner_of(module) in ("python", "own")
        )
        known = _of_users[cls] = modules, not is_stateless or is_holding(cls)
    return known[1]


def slotted(items: Iterable[Any]) -> list[Any]:
    return [
        item for item in items if not hasattr(item, "__dict__") and slots_of(item) and kind_of(item) is OBJECT
    ]


def has_attributes(item: Any) -> bool:
    return responds_to(type(item), "__array__") and hasattr(item, "__dict__") and _holds_of_user(type(item))


def is_whole(item: Any) -> bool:
    return isinstance(item, (list, deque, set)) or contents_of(item) is not None


# ------------------------------------------------------------------------------------------------- free parts
# A graph reads some parts of containers at each call, so that no guard compares them.


class _AllParts:
    __slots__ = ()


ALL_PARTS = _AllParts()
_ALL = (ALL_PARTS,)


@dataclass(frozen=True)
class FreeParts:
    """Predicate ``free(item, key)``: True if a part is free, so that no guard compares it.

    keys_of(item): keys of the free parts of a container; ``ALL_PARTS`` means all of them.

    >>> free = FreeParts(lambda item: ["step"])
    >>> free({}, "step"), free({}, "rate"), free({}, None), free.without({}, frozenset({"step", "rate"}))
    (True, False, False, frozenset({'rate'}))
    """

    keys_of: Callable[[Any], Collection[Any]] = lambda item: ()

    def __call__(self, item: Any, key: Any) -> bool:
        keys = self.keys_of(item)
        return ALL_PARTS in keys or key in keys

    def without(self, item: Any, keys: frozenset[Any]) -> frozenset[Any]:
        free = self.keys_of(item)
        if ALL_PARTS in free:
            return frozenset()
        return keys if keys.isdisjoint(free) else keys.difference(free)


def free_parts(
    parts: Iterable[tuple[int, Any]],
    is_whole: Callable[[Any], bool],
    container_of: Callable[[Any], Any] = lambda item: item,
) -> FreeParts:
    """Return a predicate for which ``parts``, pairs of a container's id and a key, are free.

    All parts of a container are free if ``is_whole`` returns True for it. ``container_of(item)`` returns the
    container that an item represents in calls of the predicate.
    """
    keys: dict[int, set[Any]] = {}
    for container, key in parts:
        keys.setdefault(container, set()).add(key)

    def keys_of(item: Any) -> Collection[Any]:
        container = container_of(item)
        return _ALL if is_whole(container) else keys.get(id(container), ())

    return FreeParts(keys_of)


NO_FREE_PARTS = FreeParts()
