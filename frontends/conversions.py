"""``float(x)``, ``int(x)`` and ``len(x)`` of arrays and of symbolic numbers: Python wants numbers of its very classes, symbols are none.

While recording, the modules of the user's functions find shims under these names, which give symbols. Only where their code does nothing
with the names but call them and ask ``isinstance``: what is handed on (``dtype=float``, ``return len``) is left as it is, and a conversion
then guards the number.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..sizes import apply
from ..tracing.code_names import names_read
from .host_math import Symbols
from .name_uses import only_called
from .shims import shimmed

_FUNCTIONS: dict[type, str] = {int: "trunc", float: "float"}
CONVERTED = ("int", "float")
COUNTED = ("len",)
_ORIGINALS: dict[str, Any] = {"int": int, "float": float, "len": len}


class _Conversion:
    """Stands for a class under its name, where that is only called, or asked about."""

    def __init__(self, cls: Any, symbols: Symbols) -> None:
        self.cls, self.symbols = cls, symbols

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        item: Any = self.symbols.number_of(args[0]) if len(args) == 1 and not kwargs else None
        operands = self.symbols.opened((item,)) if self.symbols.is_symbolic(item) else None
        if operands is None:
            return item if item.__class__ is self.cls else self.cls(*args, **kwargs)
        return item if isinstance(item, self.cls) else self.symbols.made(functools.partial(apply, _FUNCTIONS[self.cls]), operands)

    def __instancecheck__(self, item: Any) -> bool:
        return isinstance(item, self.cls)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self.cls)

    def __or__(self, other: Any) -> Any:
        return self.cls | (other.cls if isinstance(other, _Conversion) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self.cls


class _Counted:
    """Stands for ``len``: that of an array is a size."""

    def __init__(self, length_of: Callable[[Any], Any]) -> None:
        self.length_of = length_of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        length = self.length_of(args[0]) if len(args) == 1 and not kwargs else None
        return len(*args, **kwargs) if length is None else length


def places_of(functions: Iterable[types.FunctionType]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Globals, name and file of all that the code of functions looks up.

    >>> def length(x): return len(x)
    >>> [name for _, name, _ in places_of([length])]
    ['len']
    """
    for function in functions:
        yield from ((function.__globals__, name, function.__code__.co_filename) for name in names_read(function.__code__))


def conversions_in(
    places: Iterable[tuple[dict[str, Any], str, str]], symbols: Symbols, length_of: Callable[[Any], Any]
) -> AbstractContextManager[None]:
    """Inside of the block code finds the shims where it looks up these names in these globals; a place names the file of the code as well.

    ``length_of`` gives the size that the length of an array is, None for all else.
    """
    shims = {name: _Counted(length_of) if name in COUNTED else _Conversion(_ORIGINALS[name], symbols) for name in _ORIGINALS}
    spaces: dict[tuple[int, str], dict[str, Any]] = {}
    files: dict[tuple[int, str], set[str]] = {}
    for space, name, file in places:
        if name in shims:
            spaces[id(space), name] = space
            files.setdefault((id(space), name), {space.get("__file__") or file}).add(file)
    return shimmed((space, key[1], shims[key[1]]) for key, space in spaces.items() if _may_be_replaced(space, key[1], files[key]))


def _may_be_replaced(space: dict[str, Any], name: str, files: Iterable[str]) -> bool:
    """Whether code in these globals knows this name as Python's own, and may find something else that can be called under it."""
    is_pythons = isinstance(space.get(name), (_Conversion, _Counted, type(None)))
    return is_pythons and all(name in only_called(file, tuple(_ORIGINALS)) for file in files)
