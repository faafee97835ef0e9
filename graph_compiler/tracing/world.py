"""The Python objects that a function can reach and change: what they hold before a recording, and what has changed after it."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_CLOSED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    str,
    bytes,
    int,
    float,
    complex,
    tuple,
    type(None),
)
_DEEPEST = 4
_MISSING = object()


@dataclass(frozen=True)
class Change:
    """``where[key]`` held ``before`` and holds ``now``; either may be :data:`MISSING`."""

    where: str
    key: Any
    before: Any
    now: Any


MISSING = _MISSING


class World:
    """Lists, dicts, sets, closure cells and objects below the ``roots``, with what each of them holds now."""

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self._held: list[tuple[str, Any, Any]] = []
        self._known: set[int] = set()
        for name, root in roots:
            self._walk(name, root, 0)

    def _walk(self, name: str, item: Any, depth: int) -> None:
        content = _content(item)
        if content is None or id(item) in self._known or depth > _DEEPEST:
            return
        self._known.add(id(item))
        self._held.append((name, item, content))
        for key, child in _pairs(content):
            self._walk(f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!r}]", child, depth + 1)

    def changes(self) -> Iterator[Change]:
        """What is not as it was."""
        for name, item, before in self._held:
            was, now = dict(_pairs(before)), dict(_pairs(_content(item)))
            for key in {**was, **now}:
                old, new = was.get(key, _MISSING), now.get(key, _MISSING)
                if old is not new:
                    yield Change(name, key, old, new)

    def restore(self) -> None:
        """Puts everything back as it was."""
        for _, item, before in self._held:
            now = _content(item)
            if list(map(_identity, _pairs(now))) != list(map(_identity, _pairs(before))):
                _refill(item, before)


def _identity(pair: tuple[Any, Any]) -> tuple[Any, int]:
    return pair[0], id(pair[1])


def _content(item: Any) -> Any:
    """A shallow copy of what a container holds; None for what is no container."""
    if isinstance(item, (list, dict, set)):
        return dict(item) if isinstance(item, dict) else list(item) if isinstance(item, list) else set(item)
    if isinstance(item, types.CellType):
        return [item.cell_contents] if _filled(item) else []
    if isinstance(item, _CLOSED) or not isinstance(getattr(item, "__dict__", None), dict) or hasattr(item, "__array__"):
        return None
    return dict(vars(item))


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _pairs(content: Any) -> list[tuple[Any, Any]]:
    if isinstance(content, dict):
        return list(content.items())
    return [(item, True) for item in content] if isinstance(content, set) else list(enumerate(content))


def _refill(item: Any, before: Any) -> None:
    if isinstance(item, list):
        item[:] = before
    elif isinstance(item, types.CellType):
        item.cell_contents = before[0]
    else:
        content = item if isinstance(item, (dict, set)) else vars(item)
        content.clear()
        content.update(before)
