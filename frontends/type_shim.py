"""``type(x)`` in the user's code while recording: the class of the array or number that something stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from .shims import shimmed

_BUILT_IN = {type.__name__: type}
ClassOf = Callable[[Any], type]


def _shown(item: Any) -> type:
    return item.__class__


class TypeShim:
    """Stands for ``type``, and is the class itself in all but what it gives of an item that ``stands`` for another: ``class_of`` it.

    >>> asked = TypeShim(lambda item: False)
    >>> asked(1), isinstance(int, asked), asked("Made", (), {}).__name__
    (<class 'int'>, True, 'Made')
    """

    def __init__(self, stands: Callable[[Any], bool], class_of: ClassOf = _shown) -> None:
        self._stands, self._class_of = stands, class_of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._class_of(args[0]) if len(args) == 1 and not kwargs and self._stands(args[0]) else type(*args, **kwargs)

    def __instancecheck__(self, item: Any) -> bool:
        return isinstance(item, type)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, type)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (type,)

    def __or__(self, other: Any) -> Any:
        return type | other

    def __ror__(self, other: Any) -> Any:
        return other | type

    def __getattr__(self, name: str) -> Any:
        return getattr(type, name)


def type_shimmed(
    places: Iterable[tuple[dict[str, Any], str]], stands: Callable[[Any], bool], class_of: ClassOf = _shown
) -> AbstractContextManager[None]:
    """Inside of the block code finds the shim where it looks up ``type`` in these globals, under its own name or another; other names
    stay."""
    asked = TypeShim(stands, class_of)
    return shimmed((space, name, asked) for space, name in places if space.get(name, _BUILT_IN.get(name)) is type)
