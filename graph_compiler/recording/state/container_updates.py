"""Changes of containers by a call: detection, application, and JSON form."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...errors import InvalidFile
from ...trees import Branch, Path, Tree, same_static, statics, unfixed
from ..reachability.containers import ContainerKind, Field, given_kind
from .append_only_list import AppendOnlyList


@dataclasses.dataclass(frozen=True)
class FromArguments:
    """Object that was at ``path`` of ``(args, kwargs)``, or of ``(args, kwargs, state)``, before the call."""

    path: Path


@dataclasses.dataclass(frozen=True)
class NewObject:
    """Object at ``index`` in the list of new objects that the graph returns besides its result."""

    index: int


@dataclasses.dataclass(frozen=True)
class OutsideObject:
    """Object outside the arguments that is the same at every call."""

    item: Any


@dataclasses.dataclass(frozen=True)
class ContainerUpdate:
    """New contents of a container.

    path: path of the container in ``(args, kwargs)``, or in ``(args, kwargs, state)``.
    items: pairs of a key and an item, for all items after the call; if ``is_append`` is True, only for those
        that were appended.
    is_append: True for a list that is only appended to.
    """

    path: Path
    items: tuple[tuple[Any, FromArguments | NewObject | OutsideObject], ...]
    is_append: bool = False


class Containers:
    """Containers in the arguments of a recording, with their contents before the call.

    Paths lead into ``arguments``, for example ``(args, kwargs)`` or ``(args, kwargs, state)``.
    ``is_array(item)`` returns True for arrays, which are no containers. ``is_known(item)`` returns True for
    objects outside the arguments that may be stored in them. Instances in ``opened`` are treated as
    containers even if they are callable.

    new: objects that :meth:`classify` has found to be new or to be written to.
    written: for objects in ``new`` that were written to, by index, their path in the arguments.
    """

    def __init__(
        self,
        arguments: Any,
        is_array: Callable[[Any], bool],
        is_known: Callable[[Any], bool] = lambda item: False,
        opened: Iterable[Any] = (),
    ) -> None:
        self._is_array, self._is_known, self._opened = is_array, is_known, set(map(id, opened))
        self._before: list[tuple[Path, Any, ContainerKind, dict[Any, Any]]] = []
        self._paths: dict[int, Path] = {}
        # Objects stay alive, so that no other object gets the id of one.
        self._alive: list[Any] = []
        self.new: list[Any] = []
        self.written: dict[int, Path] = {}
        self._note(arguments, ())

    def _note(self, item: Any, path: Path) -> None:
        is_array = self._is_array(item)
        kind = None if is_array else given_kind(item, id(item) in self._opened)
        if id(item) in self._paths or (kind is None and not is_array):
            return
        self._paths[id(item)] = path
        self._alive.append(item)
        if kind is None:
            return
        parts = kind.pairs(item)
        # A tuple cannot change, but may hold containers that do.
        if not isinstance(item, tuple):
            self._before.append((path, item, kind, parts))
        for key, child in parts.items():
            self._note(child, (*path, key))

    def holds(self, item: Any) -> bool:
        return id(item) in self._paths

    def compared_with(self, tree: Tree) -> Callable[[Any], bool]:
        """Return a predicate: True for arrays and containers found outside static values of ``tree``."""
        static = Containers([unfixed(item) for item in statics(tree)], self._is_array)
        return lambda item: self.holds(item) and not static.holds(item)

    def is_outer(self, item: Any) -> bool:
        return len(self._paths[id(item)]) == 2

    def updates(self, rewritten: frozenset[int] = frozenset()) -> list[ContainerUpdate]:
        """Return updates of containers that have changed, and add new objects to ``self.new``.

        Objects whose id is in ``rewritten`` count as changed.
        """
        # The target framework cannot write to arrays, so rewritten arrays are treated as new objects.
        found: list[ContainerUpdate] = []
        for path, item, kind, before in self._before:
            now = kind.pairs(item)
            if not (before or now):
                continue
            if not _same(before, now) or not rewritten.isdisjoint(map(id, now.values())):
                items = tuple((key, self.classify(child, rewritten)) for key, child in now.items())
                found.append(ContainerUpdate(path, items, type(item) is AppendOnlyList))
        return found

    def classify(
        self, child: Any, rewritten: frozenset[int] = frozenset()
    ) -> FromArguments | NewObject | OutsideObject:
        """Return where ``child``, an object that is in a container after the call, comes from.

        A new object is added to ``self.new``.
        """
        if id(child) in self._paths and id(child) not in rewritten:
            return FromArguments(self._paths[id(child)])
        if self._is_known(child):
            return OutsideObject(child)
        known = next((index for index, item in enumerate(self.new) if item is child), None)
        if known is None:
            self.new.append(child)
            if id(child) in self._paths:
                self.written[len(self.new) - 1] = self._paths[id(child)]
        return NewObject(len(self.new) - 1 if known is None else known)


def apply_updates(
    updates: Iterable[ContainerUpdate],
    new: Sequence[Any],
    arguments: Any,
    chosen: Callable[[Path, FromArguments | NewObject | OutsideObject], Any] | None = None,
) -> None:
    """Write the contents that ``updates`` describe to the containers in ``arguments``.

    ``new`` holds the new objects by index. ``chosen(path, item)`` returns the object to store for an item of
    the container at ``path``; without ``chosen``, :func:`item_of` does.
    """
    choose = chosen or (lambda path, item: item_of(arguments, item, new))
    # All new contents are read before the first container changes, because one update may take items from
    # another.
    planned = [
        (
            at(arguments, update.path),
            {key: choose(update.path, item) for key, item in update.items},
            update.is_append,
        )
        for update in updates
    ]
    for container, parts, is_append in planned:
        if is_append:
            container.extend(parts.values())
        else:
            _kind(container).refill(container, parts)


def item_of(arguments: Any, item: Any, new: Sequence[Any]) -> Any:
    if isinstance(item, FromArguments):
        return at(arguments, item.path)
    return (
        new[item.index]
        if isinstance(item, NewObject)
        else item.item
        if isinstance(item, OutsideObject)
        else item
    )


def at(arguments: Any, path: Path) -> Any:
    for key in path:
        arguments = (
            arguments[key]
            if isinstance(arguments, (tuple, list, deque, Mapping)) and not isinstance(key, Field)
            else getattr(arguments, key)
        )
    return arguments


def put(arguments: Any, path: Path, value: Any) -> bool:
    """Store ``value`` at ``path`` inside a container of ``arguments``, and return True if that is possible.

    >>> cache = {"keys": [1, 2]}
    >>> put(((cache,), {}), (0, 0, "keys", 1), 5), cache, put(((1,), {}), (0, 0), 5)
    (True, {'keys': [1, 5]}, False)
    """
    container = at(arguments, path[:-1])
    if len(path) < 3 or isinstance(container, tuple):
        return False
    _kind(container).put(container, path[-1], value)
    return True


def _kind(container: Any) -> ContainerKind:
    kind = given_kind(container, True)
    assert kind is not None
    return kind


def _same(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> bool:
    return len(before) == len(now) and all(
        a == b and _same_item(before[a], now[b]) for a, b in zip(before, now)
    )


def _same_item(before: Any, now: Any) -> bool:
    return before is now or (type(before) in (int, float, str) and same_static(before, now))


Item = Callable[[Any], Any]


def updates_to_json(updates: Iterable[ContainerUpdate] | None, item: Item) -> Any:
    if updates is None:
        return None
    return [
        [
            _path_to_json(one.path, item),
            [[_key_to_json(key, item), _part_to_json(part, item)] for key, part in one.items],
            one.is_append,
        ]
        for one in updates
    ]


def updates_from_json(data: Any, item: Item, tree: Tree) -> tuple[ContainerUpdate, ...] | None:
    """Return the updates that :func:`updates_to_json` wrote, or None for None.

    ``tree`` is the structure of the graph's output. Raise ``InvalidFile`` if it lacks new objects, or if a
    path, attribute or index in an update is not allowed.
    """
    if data is None:
        return None
    if (
        not isinstance(tree, Branch)
        or tree.type is not tuple
        or len(tree.children) != 2
        or not isinstance(tree.children[1], Branch)
    ):
        raise InvalidFile("a graph that changes its arguments gives no new objects")
    count = len(tree.children[1].children)
    return tuple(
        ContainerUpdate(
            _path_from_json(path, item),
            tuple((_key_from_json(key, item), _part_from_json(part, item, count)) for key, part in items),
            is_append is True,
        )
        for path, items, is_append in data
    )


def _key_to_json(key: Any, item: Item) -> Any:
    return {"field": str(key)} if isinstance(key, Field) else {"key": item(key)}


def _key_from_json(data: Any, item: Item) -> Any:
    if "field" not in data:
        return item(data["key"])
    name = data["field"]
    # Setting a dunder attribute could run code of the file's choice.
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        raise InvalidFile(f"{name!r:.80} is no attribute that a call may set")
    return Field(name)


def _path_to_json(path: Path, item: Item) -> list[Any]:
    return [_key_to_json(key, item) for key in path]


def _path_from_json(data: Any, item: Item) -> Path:
    path = tuple(_key_from_json(key, item) for key in data)
    # A file may be damaged or forged, so paths may only lead into arguments.
    if len(path) < 2 or path[0] not in (0, 1):
        raise InvalidFile("a graph changes what is none of its arguments")
    return path


def _part_to_json(part: FromArguments | NewObject | OutsideObject, item: Item) -> list[Any]:
    if isinstance(part, FromArguments):
        return ["kept", _path_to_json(part.path, item)]
    return ["new", part.index] if isinstance(part, NewObject) else ["same", item(part.item)]


def _part_from_json(data: Any, item: Item, count: int) -> FromArguments | NewObject | OutsideObject:
    kind, about = data
    if kind == "kept":
        return FromArguments(_path_from_json(about, item))
    if kind == "same":
        return OutsideObject(item(about))
    if kind != "new" or type(about) is not int or not 0 <= about < count:
        raise InvalidFile(f"{about!r:.80} is no new object")
    return NewObject(about)
