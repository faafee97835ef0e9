"""Guards on process settings that the recorded code reads."""

from __future__ import annotations

import decimal
import functools
import gc
import locale
import logging
import os
import random
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..tracing.conjunction import EnvironmentGuard
from ..tracing.listening import Listener, of_this_thread
from .call_site import user_of
from .file_reads import FILES
from .fleeting import FLEETING, UNSEEDED, refusals

Rows = dict[Any, tuple[str, ...]]  # what holds functions that only tell a setting, and their names
Shim = tuple[Any, str, Any]
_ROWS: Rows = {
    np: ("geterr", "get_printoptions"),
    np.random: ("get_state",),
    random: ("getstate",),
    os: ("getcwd", "listdir"),
    os.path: ("exists", "isfile", "isdir", "getmtime", "getsize"),
    sys: ("getrecursionlimit", "gettrace", "getprofile", "getswitchinterval"),
    gc: ("isenabled", "get_threshold", "get_debug"),
    locale: ("getlocale", "localeconv"),
    decimal: ("getcontext",),
    logging: ("getLogger",),
    logging.Logger: ("isEnabledFor", "getEffectiveLevel", "hasHandlers"),
}


def _of_logger(logger: logging.Logger) -> Any:
    return logger.level, logger.getEffectiveLevel(), logger.disabled, [*logger.handlers]


# What is compared of an answer that does not tell by itself whether it is another.
_COMPARED: dict[tuple[Any, str], Callable[[Any], Any]] = {
    (decimal, "getcontext"): repr,
    (logging, "getLogger"): _of_logger,
    (np.random, "get_state"): lambda state: [str(part) if not isinstance(part, np.ndarray) else part.tobytes() for part in state],
}
_open: list[SettingReads] = []


class SettingReads(Listener):
    """Inside of the block, notes which settings the user's code asks for, under the names of libraries and those in these globals.

    Settings that only libraries read are not noted: they change how a library computes, not the result.

    >>> with SettingReads() as reads:
    ...     _ = eval("os.getcwd()", {"os": os, "__name__": "users"})
    >>> [fact.what for fact in reads.facts()]
    ['what getcwd gives']
    """

    shims: tuple[Shim, ...] = ()

    def __init__(self, spaces: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__()
        self._spaces = list({id(space): space for space in spaces}.values())
        self._asked: dict[Any, tuple[str, Callable[[], Any]]] = {}
        self._replaced: list[tuple[Any, str, Any]] = []
        self._imported: list[tuple[dict[str, Any], str, Any]] = []

    def __enter__(self) -> SettingReads:
        _open.append(self)
        known = {id(shim.__wrapped__): shim for _, _, shim in self.shims}
        self._replaced = [(owner, name, vars(owner)[name]) for owner, name, _ in self.shims if id(vars(owner)[name]) in known]
        self._imported = [(space, name, item) for space in self._spaces for name, item in space.items() if id(item) in known]
        for owner, name, item in self._replaced:
            setattr(owner, name, known[id(item)])
        for space, name, item in self._imported:
            space[name] = known[id(item)]
        return self

    def __exit__(self, *_: object) -> None:
        for space, name, item in self._imported:
            space[name] = item
        for owner, name, item in self._replaced:
            setattr(owner, name, item)
        _open.remove(self)

    def note(self, name: str, key: Any, ask: Callable[[], Any]) -> None:
        """This setting was asked for."""
        self._asked[key] = name, ask

    def facts(self) -> list[EnvironmentGuard]:
        """A guard for each setting that was read: it has its value of now."""
        return [EnvironmentGuard("{}() == {}", (ask, ask()), f"what {name} gives") for name, ask in self._asked.values()]


def note(name: str, key: Any, ask: Callable[[], Any]) -> None:
    """Notes a question of the caller's caller's, where that is the user's code, or Python's own on its behalf: ``ask()`` puts it again."""
    if any(reads.hears() for reads in tuple(_open)) and user_of(sys._getframe(2)) is not None:
        for reads in of_this_thread(_open):
            reads.note(name, key, ask)


def _noting(owner: Any, name: str, again: Callable[..., Any]) -> Any:
    original = vars(owner)[name]

    @functools.wraps(original)
    def asked(*args: Any, **kwargs: Any) -> Any:  # noted first: that it fails is an answer as well
        note(name, (name, *map(id, args), *kwargs, *map(id, kwargs.values())), functools.partial(again, *args, **kwargs))
        return original(*args, **kwargs)

    return asked


def _again(original: Callable[..., Any], compared: Callable[[Any], Any]) -> Callable[..., Any]:
    """Puts a question again: what is compared of the answer, or the class of the error."""

    def again(*args: Any, **kwargs: Any) -> Any:
        try:
            return compared(original(*args, **kwargs))
        except Exception as problem:  # of whatever kind the original raises
            return type(problem)

    return again


def shims_of(rows: Rows) -> tuple[Shim, ...]:
    """For each row what stands in its place while recording."""
    places = [(owner, name) for owner, names in rows.items() for name in names]
    return tuple(
        (*place, _noting(*place, _again(vars(place[0])[place[1]], _COMPARED.get(place, lambda answer: answer)))) for place in places
    )


SettingReads.shims = (
    *shims_of(_ROWS),
    *((*place, _noting(*place, of_file)) for place, of_file in FILES.items()),
    *refusals(FLEETING),
    *refusals(UNSEEDED, unless_given=True),
)
