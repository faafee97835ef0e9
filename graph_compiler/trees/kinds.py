"""Kinds of containers: how objects of a class are taken apart and rebuilt."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import making

# ----------------------------------------------------------------------------------------------- shim classes
# Shim classes: subclasses that replace a class of the user while it is recorded.

STANDS_FOR = "_graph_compiler_stands_for"


def plain_class(cls: Any) -> Any:
    """Return the class that a shim class replaces; ``cls`` itself if it is no shim.

    >>> class Layer: ...
    >>> shim = type("Layer", (Layer,), {STANDS_FOR: Layer})
    >>> plain_class(shim) is plain_class(Layer) is Layer
    True
    """
    return cls.__dict__.get(STANDS_FOR, cls)


# ------------------------------------------------------------------------------------------------------ kinds
class Setting(str):
    """Key of a property that a container has besides its items, such as the ``maxlen`` of a deque."""

    __slots__ = ()


def is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_dataclass_mapping(cls: type) -> bool:
    return issubclass(cls, Mapping) and dataclasses.is_dataclass(cls)


def stand_in(name: str, fields: Sequence[str]) -> type:
    """Return a new named tuple class, marked as the replacement of a class that is not imported."""
    made = collections.namedtuple(name, fields)  # type: ignore[misc]
    setattr(made, _STANDS_IN, True)
    return made


def is_stand_in(cls: type) -> bool:
    return _STANDS_IN in cls.__dict__


def is_like(cls: type, stands_in: type) -> bool:
    """Return True if ``cls`` is a named tuple class with the name and fields of the class ``stands_in``.

    >>> is_like(collections.namedtuple("Pair", "a b"), stand_in("Pair", ["a", "b"]))
    True
    """
    return is_namedtuple(cls) and all(
        getattr(cls, name) == getattr(stands_in, name) for name in ("__name__", "_fields")
    )


_STANDS_IN = "_graph_compiler_stands_in"
# ``Py_TPFLAGS_HEAPTYPE`` marks classes that are made in Python, and some of C.
_MADE_IN_PYTHON = 1 << 9


def _is_struct_sequence(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def _struct_sequence_items(value: Any) -> Iterator[tuple[Any, Any]]:
    cls = type(value)
    # Struct sequences have no ``_fields``; their names are those of the member descriptors, in order.
    names = [
        name for name, field in vars(cls).copy().items() if isinstance(field, types.MemberDescriptorType)
    ]
    return iter(list(zip(names, value)))


def _default_dict_items(value: Any) -> Iterator[tuple[Any, Any]]:
    yield Setting("default_factory"), value.default_factory
    yield from value.items()


def _dataclass_items(value: Any) -> Iterator[tuple[Any, Any]]:
    # `__post_init__` may set attributes that are no fields.
    names = dict.fromkeys(
        (*(field.name for field in dataclasses.fields(value)), *getattr(value, "__dict__", ()))
    )
    return ((name, getattr(value, name)) for name in names if hasattr(value, name))


def _deque_items(value: Any) -> Iterator[tuple[Any, Any]]:
    yield Setting("maxlen"), value.maxlen
    yield from enumerate(value)


_registered: dict[type, tuple[Callable[[Any], Iterable[tuple[Any, Any]]], Callable[..., Any]]] = {}


def register_container(
    cls: type,
    items: Callable[[Any], Iterable[tuple[Any, Any]]],
    make: Callable[[type, Sequence[Any], Sequence[Any]], Any],
) -> None:
    """Register ``cls`` as a class of containers. Subclasses inherit the registration.

    items: returns (key, part) pairs of an object. Keys must be hashable.
    make: returns an object of the class from (class, keys, parts).

    A second registration of a class replaces the first. Raise ``TypeError`` if the class is ``tuple``,
    ``list`` or ``dict``.

    >>> class Span:
    ...     __slots__ = ("start", "stop")
    ...     def __init__(self, start, stop):
    ...         self.start, self.stop = start, stop
    >>> def items(span):
    ...     return [("start", span.start), ("stop", span.stop)]
    >>> register_container(Span, items, lambda cls, keys, parts: cls(*parts))
    >>> keys, parts = parts_of(Span(1, 2))
    >>> keys, build(Span, keys, [5, 6]).stop
    (('start', 'stop'), 6)
    """
    # Values of these classes also hold the arguments and operands of every call.
    if cls in _PLAIN:
        raise TypeError(
            f"register_container: {cls.__name__} is a container of Python; register a subclass of it"
        )
    _registered[cls] = (items, make)
    _found.cache_clear()


def registered_class(cls: type) -> type | None:
    return next((base for base in cls.__mro__ if base in _registered), None) if _registered else None


def parts_of(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    cls = registered_class(type(value))
    assert cls is not None
    pairs = tuple(_registered[cls][0](value))
    return tuple(key for key, _ in pairs), tuple(part for _, part in pairs)


# Rows: a predicate of classes, a function that returns (key, child) pairs of an object, and one that builds
# an object from (class, keys, children). The first row that applies to a class is used, so special classes
# come before their bases.
_KINDS: tuple[
    tuple[Callable[[type], bool], Callable[[Any], Iterable[tuple[Any, Any]]], Callable[..., Any]], ...
] = (
    (is_namedtuple, lambda value: zip(value._fields, value), making.make_tuple),
    (_is_struct_sequence, _struct_sequence_items, making.make_called),
    (lambda cls: issubclass(cls, tuple), enumerate, making.make_tuple),
    (lambda cls: issubclass(cls, list), enumerate, making.make_list),
    (lambda cls: issubclass(cls, deque), _deque_items, making.make_deque),
    (lambda cls: issubclass(cls, defaultdict), _default_dict_items, making.make_default_dict),
    (is_dataclass_mapping, lambda value: value.items(), making.make_dataclass_mapping),
    (lambda cls: issubclass(cls, Mapping), lambda value: value.items(), making.make_mapping),
    (dataclasses.is_dataclass, _dataclass_items, making.make_object),
    (
        lambda cls: issubclass(cls, types.SimpleNamespace),
        lambda value: vars(value).items(),
        making.make_namespace,
    ),
)


@functools.lru_cache(maxsize=1024)
def _found(cls: type) -> Any:
    if (registered := registered_class(cls)) is not None:
        # A registration takes precedence over the kinds.
        return (issubclass, *_registered[registered])
    return next((kind for kind in _KINDS if kind[0](cls)), None)


# Most containers are of these classes.
_PLAIN: dict[type, Any] = {cls: _found(cls) for cls in (tuple, list, dict)}


def kind_of(cls: type) -> Any:
    """Return ``(_, items, make)`` for a class of containers, or None for any other class.

    ``items`` and ``make`` are as in :func:`register_container`.
    """
    return _PLAIN.get(cls) or _found(cls)


def is_container(cls: type) -> bool:
    return kind_of(cls) is not None


def build(cls: type, keys: Sequence[Any], children: Sequence[Any]) -> Any:
    return maker_of(cls)(cls, keys, children)


def maker_of(cls: type) -> Callable[[type, Sequence[Any], Sequence[Any]], Any]:
    kind = kind_of(cls)
    made: Callable[[type, Sequence[Any], Sequence[Any]], Any] = kind[2] if kind else making.make_object
    return made


def is_called_with_items(cls: type) -> bool:
    """Return True if ``cls`` seems to have no constructor written by a user.

    >>> class Row(list):
    ...     def __init__(self, width):
    ...         super().__init__([0] * width)
    >>> is_called_with_items(list), is_called_with_items(Row), build(Row, (0, 1), [3, 4])
    (True, False, [3, 4])
    """
    own = (base for base in cls.__mro__ if base.__flags__ & _MADE_IN_PYTHON)
    return not any(
        {"__new__", "__init__"} & vars(base).keys()
        for base in own
        if not {"_fields", "n_sequence_fields"} & vars(base).keys()
    )
