"""Code that asks for types in ways that nothing can stand for: it would see the class of a symbol, so all sizes have to be plain numbers."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from ....tracing.code_names import globals_read, names_read
from .name_uses import handed_on
from .spaces import Space

_NAME = type.__name__


def asks_for_types_unseen(spaces: Iterable[Space], owners: Iterable[Any]) -> bool:
    """Whether code that nobody can read looks up ``type``, or code that can be read hands it on, or it or its ``owners`` have it under another name."""
    return (
        any(_NAME in space.unread and _NAME not in space.held for space in spaces)
        or any(_hands_on(function) for space in spaces for function in space.functions)
        or any(item is type for owner in owners for item in _attributes(getattr(owner, "__self__", owner)))
    )


def _hands_on(function: types.FunctionType) -> bool:
    code = function.__code__
    looked_up = _NAME in globals_read(code) and _NAME not in function.__globals__
    if looked_up and code.co_firstlineno in handed_on(code.co_filename, _NAME):
        return True
    return any(item is type for item in _held(function)) or "builtins" in code.co_names and _NAME in names_read(code)


def _attributes(owner: Any) -> Iterator[Any]:
    """What stands in an object and in its class."""
    yield from getattr(owner, "__dict__", {}).values()
    yield from vars(type(owner)).values()


def _held(function: types.FunctionType) -> Iterator[Any]:
    """What a function has in its defaults, in the functions around it, in globals, and in Python modules that are globals."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    names = names_read(function.__code__)
    held = [function.__globals__[name] for name in names if name in function.__globals__]
    yield from held
    modules = [item for item in held if isinstance(item, types.ModuleType)]
    yield from (vars(module)[name] for module in modules for name in names if name in vars(module))
