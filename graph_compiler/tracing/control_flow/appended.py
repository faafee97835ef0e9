"""Lists of a traced function to which the steps of loops append."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...forwarding import forwards

if TYPE_CHECKING:
    from .regions import Regions

_DEEPEST = 4


class Appended:
    """A list that takes items. Its ``parts`` are items and stretches. What it is asked for besides is a matter of its kind."""

    def __init__(self, regions: Regions, parts: Sequence[Any]) -> None:
        self.regions, self.parts = regions, list(parts)
        regions.lists[id(self)] = self

    def append(self, item: Any, /) -> None:
        """Takes an item."""
        self.parts.append(item)

    def extend(self, items: Iterable[Any], /) -> None:
        """Takes items."""
        self.parts.extend(items.pieces if isinstance(items, Appended) else items)

    def __iadd__(self, items: Any) -> Any:
        if not isinstance(items, (list, tuple, Appended)):
            return self.plain() + items  # of an array, the sum
        self.extend(items)
        return self

    def symbolic_length(self) -> Any:
        """``len`` of the list as the user's code may hold it."""
        raise NotImplementedError

    @property
    def pieces(self) -> list[Any]:
        """Items and stretches that hold all of it."""
        raise NotImplementedError

    def plain(self) -> list[Any]:
        """The very items: how many there are is decided."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.plain())

    @forwards
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        return getattr(self.plain(), name)

    __hash__ = None  # type: ignore[assignment]


class Growing(Appended):
    """One inside of a step that appends to it."""

    def count(self) -> int:
        """How many items it has where Python runs unrecorded."""
        return int(self.symbolic_length())


def _of_items(name: str) -> Callable[..., Any]:
    def method(self: Appended, *args: Any) -> Any:
        return getattr(self.plain(), name)(*(arg.plain() if isinstance(arg, Appended) else arg for arg in args))

    return method


_BY_ITEMS = (
    "__getitem__", "__bool__", "__add__", "__radd__", "__iter__", "__reversed__", "__contains__", "__setitem__", "__delitem__", "__mul__",
    "__rmul__", "__imul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__str__", "__format__",
    "__reduce_ex__", "__sizeof__",
)  # fmt: skip
for _name in _BY_ITEMS:
    setattr(Appended, _name, _of_items(_name))


def plain(item: Any, depth: int = 0) -> Any:
    """Plain lists in the place of those that loops have made longer, in tuples, lists and dicts too."""
    if isinstance(item, Appended):
        return item.plain()
    if depth < _DEEPEST and type(item) in (tuple, list, dict):
        parts = {key: plain(part, depth + 1) for key, part in (item.items() if type(item) is dict else enumerate(item))}
        if any(part is not (item[key]) for key, part in parts.items()):
            if type(item) is tuple:
                return tuple(parts.values())
            for key, part in parts.items():
                item[key] = part
    return item
