"""``int(x)``, ``float(x)``, ``complex(x)``, ``len(x)`` and ``type(x)`` of arrays and symbolic numbers, where code looks up these names in
its own module.

Python wants numbers of its very classes, symbols are none; and what stands for an array should tell the class of an array. While
recording, the modules of the user's functions hold shims under these names. Names that are handed on (``dtype=float``, ``return len``) are
left as they are, and a conversion then guards the number.
"""

from __future__ import annotations

import dis
import functools
import linecache
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...forwarding import forwards
from ...sizes import apply
from ..source.code_names import names_read
from .host_math import Symbols, called
from .name_uses import only_called
from .replaced import Place

LookedUp = tuple[dict[str, Any], str, str]  # globals, a name in them, the file of the code that looks it up
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
        operands = symbols.opened((item,)) if symbols.is_symbolic(item) else None
        if operands is None:
            return item if item.__class__ is cls else cls(*args, **kwargs)
        return item if isinstance(item, cls) else symbols.made(functools.partial(apply, _FUNCTIONS[cls]), operands)

    return ClassShim(cls, convert)


def _of_parts(symbols: Symbols) -> ClassShim:
    def convert(*args: Any, **kwargs: Any) -> Any:
        found = NotImplemented if kwargs else called(symbols, complex, args)
        return complex(*args, **kwargs) if found is NotImplemented else found

    return ClassShim(complex, convert)


def _counting(symbols: Symbols) -> Callable[..., Any]:
    def count(*args: Any, **kwargs: Any) -> Any:
        length = symbols.length_of(args[0]) if len(args) == 1 and not kwargs else None
        return len(*args, **kwargs) if length is None else length

    return functools.update_wrapper(count, len, assigned=())


def looked_up(functions: Iterable[types.FunctionType]) -> Iterator[LookedUp]:
    """Which of the names of conversions the code of functions looks up.

    >>> def length(x): return len(x)
    >>> [name for _, name, _ in looked_up([length])]
    ['len']
    """
    for function in functions:
        names = _ORIGINALS.keys() & names_read(function.__code__)
        yield from ((function.__globals__, name, function.__code__.co_filename) for name in names)


def conversions(places: Iterable[LookedUp], symbols: Symbols) -> list[Place]:
    """Return the places of the shims for ``int``, ``float``, ``complex`` and ``len``: where code only calls the names, and asks
    ``isinstance``."""
    spaces: dict[tuple[int, str], dict[str, Any]] = {}
    files: dict[tuple[int, str], set[str]] = {}
    for space, name, file in places:
        spaces[id(space), name] = space
        files.setdefault((id(space), name), {space.get("__file__") or file}).add(file)
    found = [(space, key[1]) for key, space in spaces.items() if _may_be_replaced(space, key[1], files[key])]
    return [(space, name, _shim(name, symbols)) for space, name in found]


def _shim(name: str, symbols: Symbols) -> Any:
    if name in COUNTED:
        return _counting(symbols)
    return _of_parts(symbols) if name == "complex" else _converting(_ORIGINALS[name], symbols)


def _may_be_replaced(space: dict[str, Any], name: str, files: Iterable[str]) -> bool:
    """Whether code in these globals knows this name as Python's own (or as a shim of a recording around this one), and may find something
    else that can be called under it."""
    held = space.get(name, _ORIGINALS)
    is_pythons = held is _ORIGINALS or isinstance(held, ClassShim) or isinstance(held, types.FunctionType) and held.__module__ == __name__
    return is_pythons and all(name in only_called(file, tuple(_ORIGINALS)) or _only_called_in_code(space, name, file) for file in files)


def _only_called_in_code(space: dict[str, Any], name: str, file: str) -> bool:
    """Return True if a file has no source text (a script on standard input), and the code of its functions only calls the name."""
    if sys.version_info < (3, 11) or linecache.getlines(file):
        return False
    classes = [item for item in list(space.values()) if isinstance(item, type) and item.__module__ == space.get("__name__")]
    held = [*space.values(), *(item for cls in classes for item in vars(cls).values())]
    if any(isinstance(item, property) for item in held):
        return False
    functions = [function for item in held if isinstance(function := getattr(item, "__func__", item), types.FunctionType)]
    loads = [load for function in functions if function.__globals__ is space for load in _loads_of(function.__code__, name)]
    return bool(loads) and all(loads)


def _loads_of(code: types.CodeType, name: str) -> Iterator[bool]:
    """Yield for each place that loads a global name whether it is called there: from Python 3.11 on, the lowest bit says so."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name:
            yield bool((instruction.arg or 0) & 1)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _loads_of(part, name)


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
