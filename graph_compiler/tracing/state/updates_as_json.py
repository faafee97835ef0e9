"""What calls leave in containers of their arguments, as JSON: keys that are names of attributes are told from keys of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...errors import InvalidFile
from ...trees import Branch, Path, Tree
from ..reach.containers import Field
from .updates import Kept, New, Same, Update

Item = Callable[[Any], Any]


def updates_to_json(updates: Iterable[Update] | None, item: Item) -> Any:
    """Return the updates as JSON; ``item`` writes keys and values."""
    if updates is None:
        return None
    return [
        [_path_to_json(one.path, item), [[_key_to_json(key, item), _part_to_json(part, item)] for key, part in one.items], one.beside]
        for one in updates
    ]


def updates_from_json(data: Any, item: Item, tree: Tree) -> tuple[Update, ...] | None:
    """Return the updates that were written; ``tree`` is the output of the graph, whose second part are the new objects."""
    if data is None:
        return None
    if not isinstance(tree, Branch) or tree.type is not tuple or len(tree.children) != 2 or not isinstance(tree.children[1], Branch):
        raise InvalidFile("a graph that changes its arguments gives no new objects")
    count = len(tree.children[1].children)
    return tuple(
        Update(
            _path_from_json(path, item),
            tuple((_key_from_json(key, item), _part_from_json(part, item, count)) for key, part in items),
            beside is True,
        )
        for path, items, beside in data
    )


def _key_to_json(key: Any, item: Item) -> Any:
    return {"field": str(key)} if isinstance(key, Field) else {"key": item(key)}


def _key_from_json(data: Any, item: Item) -> Any:
    if "field" not in data:
        return item(data["key"])
    name = data["field"]
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        raise InvalidFile(f"{name!r:.80} is no attribute that a call may set")
    return Field(name)


def _path_to_json(path: Path, item: Item) -> list[Any]:
    return [_key_to_json(key, item) for key in path]


def _path_from_json(data: Any, item: Item) -> Path:
    path = tuple(_key_from_json(key, item) for key in data)
    if len(path) < 2 or path[0] not in (0, 1):
        raise InvalidFile("a graph changes what is none of its arguments")
    return path


def _part_to_json(part: Kept | New | Same, item: Item) -> list[Any]:
    if isinstance(part, Kept):
        return ["kept", _path_to_json(part.path, item)]
    return ["new", part.index] if isinstance(part, New) else ["same", item(part.item)]


def _part_from_json(data: Any, item: Item, count: int) -> Kept | New | Same:
    kind, about = data
    if kind == "kept":
        return Kept(_path_from_json(about, item))
    if kind == "same":
        return Same(item(about))
    if kind != "new" or type(about) is not int or not 0 <= about < count:
        raise InvalidFile(f"{about!r:.80} is no new object")
    return New(about)
