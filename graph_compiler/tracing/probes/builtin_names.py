"""``int(x)``, ``float(x)``, ``complex(x)``, ``len(x)`` and ``type(x)`` of arrays and symbolic numbers, where code looks up these names in
its own module.

Python wants numbers of its very classes, symbols are none; and what stands for an array should tell the class of an array. While
recording, the modules of the user's functions hold shims under these names. Where a name is passed on as well (``dtype=float``,
``return len``), it is left as it is, and the calls of it alone look up the shim, under another name.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...forwarding import forwards
from ...sizes import apply
from ..source.code_names import names_read
from .called_names import alias_of, with_aliases
from .host_math import Symbols, called
from .name_uses import only_called
from .replaced import Place

# globals, a name in them, the file of the code that looks it up, and the functions whose code this is
LookedUp = tuple[dict[str, Any], str, str, tuple[types.FunctionType, ...]]
_FUNCTIONS: dict[type, str] = {int: "trunc", float: "float"}
CONVERTED = ("int", "float")
COUNTED = ("len",)
_ORIGINALS: dict[str, Any] = {"int": int, "float": float, "complex": complex, "len": len}
_BUILT_IN = {type.__name__: type}


class ClassShim:
    """Stands for a class under its name, and is the class itself in all but what a call of it gives.

    >>> asked = ClassShim(type, type)
    >>> asked(1), isinstance(int, asked), asked("Made", (), {}).__name__
    (<class 'int'>, True, 'Made')
    """

    def __init__(self, cls: Any, call: Callable[..., Any]) -> None:
        self._class, self._call, self.__wrapped__ = cls, call, cls

    @forwards
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __instancecheck__(self, item: Any) -> bool:
        return isinstance(item, self._class)

    def __subclasscheck__(self, cls: type) -> bool:
        return issubclass(cls, self._class)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._class,)

    def __or__(self, other: Any) -> Any:
        return self._class | (other._class if isinstance(other, ClassShim) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self._class

    def __getattr__(self, name: str) -> Any:
        return getattr(self._class, name)


def _converting(cls: Any, symbols: Symbols) -> ClassShim:
    def convert(*args: Any, **kwargs: Any) -> Any:
        item: Any = symbols.number_of(args[0]) if len(args) == 1 and not kwargs else None
        if symbols.is_recorded(item):
            return _recorded_as(cls, item, symbols)
        operands = symbols.opened((item,)) if symbols.is_symbolic(item) else None
        if operands is None:
            return item if item.__class__ is cls else cls(*args, **kwargs)
        return item if isinstance(item, cls) else symbols.made(functools.partial(apply, _FUNCTIONS[cls]), operands)

    return ClassShim(cls, convert)


def _recorded_as(cls: Any, item: Any, symbols: Symbols) -> Any:
    """Return a number that stays an array of the recording as an int or float that does, too."""
    if item.__class__ is cls:
        return item
    found: Any = NotImplemented
    if cls is int and isinstance(item, float):
        found = symbols.call("math.trunc", math.trunc, (item,))
    elif cls is float and isinstance(item, int):
        found = item * 1.0
    return cls(item) if found is NotImplemented else found


def _of_parts(symbols: Symbols) -> ClassShim:
    def convert(*args: Any, **kwargs: Any) -> Any:
        found = NotImplemented if kwargs else called(symbols, complex, args)
        return complex(*args, **kwargs) if found is NotImplemented else found

    return ClassShim(complex, convert)


def _counting(symbols: Symbols) -> ClassShim:
    def count(*args: Any, **kwargs: Any) -> Any:
        length = symbols.length_of(args[0]) if len(args) == 1 and not kwargs else None
        return len(*args, **kwargs) if length is None else length

    # AutoGraph reads the source of what is called: that of ``count``, which a function that wraps ``len`` would hide.
    return ClassShim(len, count)


def looked_up(functions: Iterable[types.FunctionType]) -> Iterator[LookedUp]:
    """Which of the names of conversions the code of functions looks up.

    >>> def length(x): return len(x)
    >>> [name for _, name, *_ in looked_up([length])]
    ['len']
    """
    for function in functions:
        names = _ORIGINALS.keys() & names_read(function.__code__)
        yield from ((function.__globals__, name, function.__code__.co_filename, (function,)) for name in names)


def conversions(places: Iterable[LookedUp], symbols: Symbols) -> list[Place]:
    """Return the places of the shims for ``int``, ``float``, ``complex`` and ``len``: under these names where code only calls them, and
    asks ``isinstance``; elsewhere under their aliases, with the code of the functions that call them there."""
    spaces: dict[tuple[int, str], dict[str, Any]] = {}
    files: dict[tuple[int, str], set[str]] = {}
    functions: dict[tuple[int, str], dict[int, types.FunctionType]] = {}
    for space, name, file, calling in places:
        key = id(space), name
        spaces[key] = space
        files.setdefault(key, set()).add(space.get("__file__") or file)
        functions.setdefault(key, {}).update((id(function), function) for function in calling)
    known = [key for key, space in spaces.items() if _is_pythons_own(space, key[1])]
    shimmed = [key for key in known if _is_only_called(key[1], files[key])]
    passed_on = [key for key in known if key not in shimmed]
    names: dict[int, set[str]] = {}
    for key in passed_on:
        for function in functions[key]:
            names.setdefault(function, set()).add(key[1])
    calling_functions = {place: function for key in passed_on for place, function in functions[key].items()}
    return [
        *((spaces[key], key[1], _shim(key[1], symbols)) for key in shimmed),
        *((spaces[key], alias_of(key[1]), _shim(key[1], symbols)) for key in passed_on),
        *((function, "__code__", with_aliases(function.__code__, names[place])) for place, function in calling_functions.items()),
    ]


def _shim(name: str, symbols: Symbols) -> Any:
    if name in COUNTED:
        return _counting(symbols)
    return _of_parts(symbols) if name == "complex" else _converting(_ORIGINALS[name], symbols)


def _is_pythons_own(space: dict[str, Any], name: str) -> bool:
    """Return True if code in these globals finds Python's own function under the name, or the shim of a recording around this one."""
    held = space.get(name, _ORIGINALS)
    return held is _ORIGINALS or isinstance(held, ClassShim)


def _is_only_called(name: str, files: Iterable[str]) -> bool:
    return all(name in only_called(file, tuple(_ORIGINALS)) for file in files)


def types_asked(
    places: Iterable[tuple[dict[str, Any], str]],
    stands: Callable[[Any], bool],
    class_of: Callable[[Any], type] = lambda item: item.__class__,
) -> list[Place]:
    """The places of the shim for ``type``, under its own name or another: it gives ``class_of`` an item that ``stands`` for something."""

    def ask(*args: Any, **kwargs: Any) -> Any:
        return class_of(args[0]) if len(args) == 1 and not kwargs and stands(args[0]) else type(*args, **kwargs)

    shim = ClassShim(type, ask)
    return [(space, name, shim) for space, name in places if space.get(name, _BUILT_IN.get(name)) is type]
