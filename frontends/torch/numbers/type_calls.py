"""``type(x)`` in the code of a recording: where a shim can be called in its place, and where nothing can, so that all sizes have to be
plain numbers."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from ....tracing.probes.builtin_names import types_asked
from ....tracing.probes.name_uses import handed_on, only_called
from ....tracing.probes.replaced import Place
from ....tracing.reach.spaces import Space
from ....tracing.source.code_names import globals_read, names_read
from ....tracing.state.append_only_list import AppendOnlyList
from .sizes import is_symbolic

_NAME = type.__name__


def type_shims(spaces: Iterable[Space]) -> list[Place]:
    """Shims by which ``type`` of a symbol is the class of the number, and that of what stands for a list ``list``, in the code of these
    modules that does nothing with the name but call it."""
    return types_asked(((space.held, _NAME) for space in spaces if space.looks_up(_NAME) and _only_calls(space)), _stands_in)


def _stands_in(item: Any) -> bool:
    return is_symbolic(item) or type(item) is AppendOnlyList


def asks_for_types_unseen(spaces: Iterable[Space], owners: Iterable[Any]) -> bool:
    """Whether code that nobody can read looks up ``type``, or code that can be read hands it on, or it or its ``owners`` have it under
    another name."""
    return (
        any(_NAME in space.unread and _NAME not in space.held for space in spaces)
        or any(_hands_on(function) for space in spaces for function in space.functions)
        or any(id(type) in map(id, held) for held in _attributes([getattr(owner, "__self__", owner) for owner in owners]))
    )


def _only_calls(space: Space) -> bool:
    """Whether the functions of a file, or at least all those of the recording, hand the name on nowhere."""
    file = space.file
    if _NAME in only_called(file, (_NAME,)):
        return True
    return not space.unread and all(function.__code__.co_firstlineno not in handed_on(file, _NAME) for function in space.functions)


def _hands_on(function: types.FunctionType) -> bool:
    code = function.__code__
    looked_up = _NAME in globals_read(code) and _NAME not in function.__globals__
    if looked_up and code.co_firstlineno in handed_on(code.co_filename, _NAME):
        return True
    return id(type) in map(id, _held(function)) or "builtins" in code.co_names and _NAME in names_read(code)


def _attributes(owners: list[Any]) -> Iterator[list[Any]]:
    """What stands in each object, and in their classes."""
    yield from ([*getattr(owner, "__dict__", {}).values()] for owner in owners)
    yield from ([*vars(cls).values()] for cls in set(map(type, owners)))


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
