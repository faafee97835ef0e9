"""Tracking of globals that the user's code reads by string (``globals()[name]``, ``eval(text)``).

The names that it reads are known only while it runs.
"""

from __future__ import annotations

import builtins
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from ..code.names import names_read
from ..environment_guards import EnvironmentGuard
from ..reachability.outside import names_of_whole
from ..reachability.references import OWN_GLOBALS, names_in, reaches_own_globals, values_in
from .patch import Replacement

_ANY = compile("name", "<globals>", "eval")


class GlobalReads:
    """Record of the globals that code looks up by string, in the thread that created this object.

    >>> from .patch import replaced
    >>> def read(name): return globals()[name]
    >>> reads = GlobalReads([read])
    >>> with replaced(reads.replacements()):
    ...     _ = read("GlobalReads")
    >>> [function.__code__.co_names for function in reads.functions()]
    [('GlobalReads',)]
    """

    def __init__(self, functions: Iterable[types.FunctionType]) -> None:
        self._thread = threading.get_ident()
        self._found: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
        for one in functions:
            space = one.__globals__
            for name in OWN_GLOBALS & names_read(one.__code__):
                # A module may define the name itself.
                if name not in space:
                    self._found[id(space), name] = space, name
        self._functions: dict[Any, types.FunctionType] = {}
        self._whole: dict[int, dict[str, Any]] = {}

    def replacements(self) -> list[Replacement]:
        return [(space, name, _SHIMS[name](self, space)) for space, name in self._found.values()]

    def is_active_here(self) -> bool:
        return threading.get_ident() == self._thread

    def note(self, space: dict[str, Any], name: Any) -> None:
        # A function that reads the name represents the lookup, so that the search of references finds it.
        if isinstance(name, str) and not name.startswith("__"):
            self.run(_ANY.replace(co_names=(name,)), space)

    def note_all(self, space: dict[str, Any]) -> None:
        self._whole[id(space)] = space

    def run(self, code: types.CodeType, space: dict[str, Any]) -> None:
        self._functions[code.co_names, code.co_code, id(space)] = types.FunctionType(code, space)

    def functions(self) -> list[types.FunctionType]:
        for space in self._whole.values():
            for name in names_in(space):
                self.note(space, name)
        return list(self._functions.values())

    def guards(self) -> list[EnvironmentGuard]:
        return [names_of_whole(space, "the module") for space in self._whole.values()]


def guards_on_all_globals(functions: Iterable[types.FunctionType]) -> list[EnvironmentGuard]:
    """Return guards on the globals of those ``functions`` that may read globals by string."""
    # This code has not run yet, so its reads are unknown.
    spaces = {
        id(one.__globals__): one.__globals__
        for one in functions
        if reaches_own_globals(names_read(one.__code__))
    }
    guards = [names_of_whole(space, "the module") for space in spaces.values()]
    for space in spaces.values():
        guards += [
            EnvironmentGuard(
                "{}({}, {}) == {}", (_identities, space, name, _identities(space, name)), f"the global {name}"
            )
            for name in values_in(space)
        ]
    return guards


def _identities(space: dict[str, Any], name: str) -> tuple[int, ...]:
    item = space.get(name)
    parts = (
        item.values()
        if isinstance(item, dict) and item is not space
        else item
        if isinstance(item, (list, set))
        else ()
    )
    return (id(item), *map(id, parts))


class _Noted(dict[str, Any]):
    """Dict that ``globals()`` returns to recorded code, and that notes lookups."""

    def __init__(self, reads: GlobalReads, space: dict[str, Any]) -> None:
        super().__init__(space)
        self._reads, self._space = reads, space


def _noting(name: str, note: Callable[[_Noted, Any], None]) -> Callable[..., Any]:
    def method(self: _Noted, *args: Any, **kwargs: Any) -> Any:
        note(self, args[0] if args else None)
        # Some methods of dicts read the copy in a ``_Noted``.
        plain = [item._space if isinstance(item, _Noted) else item for item in args]
        found = getattr(self._space, name)(*plain, **kwargs)
        # ``|=`` returns the dict itself, whose further lookups would not be noted.
        return self if found is self._space else found

    return method


_METHODS: dict[str, Callable[[_Noted, Any], None]] = {
    **dict.fromkeys(("__setitem__", "update", "__ior__", "clear"), lambda noted, _: None),
    **dict.fromkeys(
        (
            *("__iter__", "__reversed__", "__len__", "keys", "values", "items", "copy", "popitem"),
            *("__or__", "__ror__", "__eq__", "__ne__"),
        ),
        lambda noted, _: noted._reads.note_all(noted._space),
    ),
    **dict.fromkeys(
        ("__getitem__", "__contains__", "get", "pop", "setdefault", "__delitem__"),
        lambda noted, key: noted._reads.note(noted._space, key),
    ),
}
for _name, _note in _METHODS.items():
    setattr(_Noted, _name, _noting(_name, _note))


def _globals(reads: GlobalReads, space: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: _Noted(reads, space) if reads.is_active_here() else space


def _running(
    mode: str, run: Callable[..., Any]
) -> Callable[[GlobalReads, dict[str, Any]], Callable[..., Any]]:
    """Return a maker of shims for ``eval`` or ``exec``, which note globals that the executed code names."""

    def shim(reads: GlobalReads, space: dict[str, Any]) -> Callable[..., Any]:
        def noted(source: Any, globals: Any = None, locals: Any = None, /, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            code = (
                source
                if isinstance(source, types.CodeType)
                # ``eval`` accepts leading spaces, and ``compile`` does not.
                else compile(source.strip() if mode == "eval" else source, "<text>", mode)
            )
            # ``exec`` requires a real namespace to write to.
            if isinstance(globals, _Noted):
                globals = globals._space
            if globals is None:
                globals, locals = frame.f_globals, frame.f_locals if locals is None else locals
            # Other threads share the shim, but their reads are not part of this recording.
            if globals is space and not code.co_freevars and reads.is_active_here():
                reads.run(code, space)
            return run(code, globals, locals, **kwargs)

        return noted

    return shim


_SHIMS: dict[str, Callable[[GlobalReads, dict[str, Any]], Any]] = {
    "globals": _globals,
    "eval": _running("eval", builtins.eval),
    "exec": _running("exec", builtins.exec),
}
