"""Shim for a list that a function only appends to, while the function is recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ...errors import Signal


class ListRead(Signal):
    """Signal that a function that was expected only to append to a list uses it in another way."""


class AppendOnlyList(list):  # type: ignore[type-arg]
    """List that can be appended to, and raises :class:`ListRead` if it is read or changed in another way.

    C code that reads the memory of the list directly finds one meaningless object.

    added: the appended items.
    was_read: True after it has raised :class:`ListRead`.

    >>> losses = AppendOnlyList()
    >>> losses.append(2.5)
    >>> losses.added, losses.was_read
    ([2.5], False)
    >>> len(losses)
    Traceback (most recent call last):
    graph_compiler.recording.state.append_only_list.ListRead: a list ... is read
    """

    def __init__(self) -> None:
        # C code that reads the list finds this object instead of an empty list.
        super().__init__([object()])
        self.added: list[Any] = []
        self.was_read = False

    # ``isinstance`` asks for this besides the type.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return list

    def append(self, item: Any, /) -> None:
        self.added.append(item)

    def extend(self, items: Iterable[Any], /) -> None:
        self.added.extend(items)

    def __iadd__(self, items: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.added.extend(items)
        return self

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.was_read = True
        raise ListRead("a list that was taken for one that is only appended to is read")


_WRITES = frozenset(
    {
        "append",
        "extend",
        "__iadd__",
        "__init__",
        "__new__",
        "__class__",
        "__class_getitem__",
        "__getattribute__",
    }
)
_OF_OBJECT = (
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__repr__",
    "__str__",
    "__format__",
    "__reduce__",
    "__reduce_ex__",
    "__sizeof__",
)
_MORE = ("__radd__", "__bool__", "__copy__", "__deepcopy__", "__array__", "__length_hint__")
for _name in {*vars(list), *_OF_OBJECT, *_MORE} - _WRITES - {"__doc__", "__hash__"}:
    # These raise, besides those that ``_WRITES`` leaves out.
    setattr(AppendOnlyList, _name, AppendOnlyList._refuse)
