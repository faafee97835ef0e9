"""Which objects are stateful by name: some beside the calls, and some in the arguments, at paths of indices, names and keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import CallMismatch
from ...trees import Path


def stateful_paths(arg_paths: Iterable[Any] | None, kwarg_paths: Iterable[Any] | None) -> tuple[Path, ...]:
    """Paths into ``(args, kwargs)``; a path of one part may stand without its brackets.

    >>> stateful_paths([[0], [1, 0]], ["cache"])
    ((0, 0), (0, 1, 0), (1, 'cache'))
    """
    if arg_paths is None and kwarg_paths is None:
        return ()
    return tuple((where, *_path(path)) for where, paths in ((0, arg_paths), (1, kwarg_paths)) for path in paths or ())


def _path(path: Any) -> tuple[Any, ...]:
    return tuple(path) if isinstance(path, (list, tuple)) else (path,)


@dataclass(frozen=True)
class Stateful:
    """``objects`` beside the calls, and ``paths`` into ``(args, kwargs)``."""

    objects: tuple[Any, ...] = ()
    paths: tuple[Path, ...] = ()

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The objects at the paths in a call whose attributes stand in a dict: others are found as those of closures are. Keyword arguments
        that are not given are left out."""
        if not self.paths:
            return []
        found = [_at((args, kwargs), path) for path in self.paths if path[0] == 0 or path[1] in kwargs]
        return [item for item in found if hasattr(item, "__dict__")]


def _at(arguments: tuple[Any, ...], path: Path) -> Any:
    found: Any = arguments
    for key in path:
        try:
            found = getattr(found, key) if isinstance(key, str) and not hasattr(found, "keys") else found[key]
        except (AttributeError, LookupError, TypeError):
            raise CallMismatch(f"the call has nothing at {list(path[1:])!r}, where a stateful object was announced") from None
    return found
