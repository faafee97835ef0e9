"""Containers among the arguments that a function changes: found after recording, applied to the caller's containers after each call.

An update says what one container holds afterwards: for each key either the object that stood at some place of the arguments before the call, or
a new one, which the graph returns beside its result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..trees import Path


@dataclasses.dataclass(frozen=True)
class Kept:
    """What stood at this place of the arguments before the call."""

    path: Path


@dataclasses.dataclass(frozen=True)
class New:
    """The next of the objects that the graph returns for updates."""

    index: int


@dataclasses.dataclass(frozen=True)
class Update:
    """Afterwards the container at ``path`` of ``(args, kwargs)`` holds these items."""

    path: Path
    items: tuple[tuple[Any, Kept | New], ...]


class Containers:
    """The arguments that a recording passes to the function, and what each of their containers holds before."""

    def __init__(self, arguments: Any, is_array: Callable[[Any], bool]) -> None:
        self._is_array = is_array
        self._before: list[tuple[Path, Any, list[tuple[Any, Any]]]] = []
        self._paths: dict[int, Path] = {}
        self._alive: list[Any] = []  # so that no other object takes an id
        self._note(arguments, ())

    def _note(self, item: Any, path: Path) -> None:
        is_array = self._is_array(item)
        pairs = None if is_array else _pairs(item)
        if id(item) in self._paths or (pairs is None and not is_array):
            return
        self._paths[id(item)] = path
        self._alive.append(item)
        if pairs is None:
            return
        if _is_mutable(item):
            self._before.append((path, item, pairs))
        for key, child in pairs:
            self._note(child, (*path, key))

    def updates(self) -> tuple[list[Update], list[Any]]:
        """The containers that changed, and the new objects in them."""
        found: list[Update] = []
        new: list[Any] = []
        for path, item, before in self._before:
            now = _pairs(item)
            assert now is not None
            if not _same(before, now):
                found.append(Update(path, tuple((key, self._place(child, new)) for key, child in now)))
        return found, new

    def _place(self, child: Any, new: list[Any]) -> Kept | New:
        if id(child) in self._paths:
            return Kept(self._paths[id(child)])
        new.append(child)
        return New(len(new) - 1)


def apply_updates(updates: Iterable[Update], new: tuple[Any, ...], arguments: Any) -> None:
    """Changes the caller's containers as the original function would have done."""
    planned = [(_at(arguments, update.path), [(key, _item(arguments, item, new)) for key, item in update.items]) for update in updates]
    for container, pairs in planned:
        _refill(container, pairs)


def _item(arguments: Any, item: Kept | New, new: tuple[Any, ...]) -> Any:
    return _at(arguments, item.path) if isinstance(item, Kept) else new[item.index]


def _at(arguments: Any, path: Path) -> Any:
    for key in path:
        arguments = (
            arguments[key] if isinstance(arguments, (tuple, list, Mapping)) and not isinstance(key, _Field) else getattr(arguments, key)
        )
    return arguments


class _Field(str):
    """The name of an attribute, as a key."""

    __slots__ = ()


def _pairs(item: Any) -> list[tuple[Any, Any]] | None:
    """Keys and items of a container; None for what is none."""
    if isinstance(item, (tuple, list)):
        return list(enumerate(item))
    if isinstance(item, Mapping):
        return list(item.items())
    if isinstance(item, type) or callable(item) or not isinstance(getattr(item, "__dict__", None), dict):
        return None
    return [(_Field(name), child) for name, child in vars(item).items()]


def _is_mutable(item: Any) -> bool:
    return not isinstance(item, tuple)


def _same(before: list[tuple[Any, Any]], now: list[tuple[Any, Any]]) -> bool:
    return len(before) == len(now) and all(a == b and _same_item(x, y) for (a, x), (b, y) in zip(before, now))


def _same_item(before: Any, now: Any) -> bool:
    return before is now or (isinstance(before, (int, float, str)) and type(before) is type(now) and before == now)


def _refill(container: Any, pairs: list[tuple[Any, Any]]) -> None:
    if isinstance(container, list):
        container[:] = [item for _, item in pairs]
        return
    if isinstance(container, Mapping):
        for key in [key for key in container if key not in dict(pairs)]:
            del container[key]  # type: ignore[attr-defined]
        container.update(pairs)  # type: ignore[attr-defined]
        return
    for name in [name for name in vars(container) if name not in dict(pairs)]:
        object.__delattr__(container, name)
    for name, item in pairs:
        object.__setattr__(container, name, item)
