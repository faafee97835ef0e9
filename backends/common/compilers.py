"""Options, caches and failures of the frameworks' compilers, and the shapes that they compiled for."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...errors import InvalidOption, nearest

# -------------------------------------------------------------------------------------------- compiled shapes
# Record of the shapes that a function was compiled for: JAX and TensorFlow compile a program for each.

_WARNED_AT = 3
# After this many shapes, a limited record lets a new shape be compiled when it occurs a second time.
_MOST_AT_ONCE = 16
_REMEDY = (
    "Keep the shapes of arguments the same: take a cache of a fixed length (a static cache), or pad to a few "
    "lengths. With "
    "return_backend_compiled_fn=False the graph runs operation by operation"
)

# XLA takes three to six times as long to compile a tiny model as TensorFlow takes to trace and run it. If
# True, XLA compiles for the second call with the same shapes, and the first one runs without it.
is_second_call_compiled = True

_NUMBERS = (bool, int, float, complex)

Key = tuple[Any, ...]


class NewShape(Exception):
    """Exception that asks to run a call uncompiled."""


class CompiledShapes:
    """Record of the argument shapes and Python numbers that a function was compiled for.

    is_limited: if True, a call with new shapes or numbers may run uncompiled the first time.
    sizes: indices of arguments that are numbers used as sizes.
    message: a warning about many shapes that is not issued yet, or None.
    """

    def __init__(self, function: Callable[..., Any], is_limited: bool, sizes: Sequence[int] = ()) -> None:
        self._function, self._is_limited, self._sizes = function, is_limited, frozenset(sizes)
        self._compiled: dict[Key, None] = {}
        self._seen_once: set[Key] = set()
        self.message: str | None = None

    def note(self, args: Sequence[Any]) -> None:
        """Record a trace for ``args``, or raise ``NewShape`` if the call should run uncompiled."""
        key = tuple(
            tuple(arg.shape) if hasattr(arg, "shape") else arg for arg in args if not _holds_weights(arg)
        )
        if key in self._compiled:
            return
        # A number that is no size may differ at each call, and each value would be compiled.
        numbers = tuple(
            (place, arg)
            for place, arg in enumerate(args)
            if type(arg) in _NUMBERS and place not in self._sizes
        )
        is_late = len(self._compiled) >= _MOST_AT_ONCE or (numbers and self._compiled)
        if self._is_limited and is_late and key not in self._seen_once:
            self._seen_once.add(key)
            raise NewShape
        self._seen_once.discard(key)
        self._compiled[key] = None
        if len(self._compiled) == _WARNED_AT:
            self.message = self._describe_changes(args)

    def warn(self) -> None:
        # While tracing, the first frame outside of this package is one of the framework, so the warning waits
        # until the call has ended.
        message, self.message = self.message, None
        if message is not None:
            warnings.warn(message, RuntimeWarning, stacklevel=_level_of_user())

    def describe(self) -> str:
        count = len(self._compiled)
        return f"compiled for {count} shape{'' if count == 1 else 's'} of its arguments"

    def _describe_changes(self, args: Sequence[Any]) -> str:
        # The first parameters are those of captured arrays, for which there is no argument.
        known = list(inspect.signature(inspect.unwrap(self._function)).parameters)[-len(args) :]
        names = [name for name, arg in zip(known, args) if not _holds_weights(arg)]
        changed = [
            f"{name} "
            + ", ".join(
                str(list(shape) if isinstance(shape, tuple) else shape) for shape in dict.fromkeys(shapes)
            )
            for name, *shapes in zip(names, *self._compiled)
            if len(set(shapes)) > 1
        ]
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        return (
            f"{self._function.__name__} was compiled {len(self._compiled)} times, once for each new shape of "
            "its arguments "
            f"({'; '.join(changed[:3])}{more}), which takes longer than a call. {_REMEDY}"
        )


def _holds_weights(arg: Any) -> bool:
    return isinstance(arg, (dict, tuple))


def _level_of_user() -> int:
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_internal(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_internal(frame: Any) -> bool:
    package, module = __name__.partition(".")[0], str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] == package or frame.f_code.co_filename.startswith("<graph_compiler ")


# -------------------------------------------------------------------------------------------------- compilers
VARIABLE = "GRAPH_COMPILER_CACHE"
_OFF = ("", "0", "off", "no", "false")


def cache_folder(compiler: str) -> str | None:
    """Return the cache folder of ``compiler``, created if missing; None if caching is off or that fails.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, GRAPH_COMPILER_CACHE="off"):
    ...     cache_folder("xla") is None
    True
    """
    told = os.environ.get(VARIABLE)
    if told is not None and told.strip().lower() in _OFF:
        return None
    try:
        caches = os.environ.get("XDG_CACHE_HOME")
        own = Path(told) if told else Path(caches or Path.home() / ".cache") / "graph_compiler"
        folder = own / compiler
        folder.mkdir(parents=True, exist_ok=True)
    # The file system may be read-only, and a user may have no home directory.
    except (OSError, RuntimeError):
        return None
    return str(folder)


log = logging.getLogger("graph_compiler")
# Compilers append all of the code to their error messages.
_MOST_LETTERS = 200


def check_compiler_options(name: str, compiler: Callable[..., Any], options: Iterable[str]) -> None:
    """Raise ``InvalidOption`` if one of ``options`` is no parameter of ``compiler`` after the first.

    >>> check_compiler_options("sorted", sorted, ["reversed"])
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: compile_options= has 'reversed', which sorted does not take; ...
    """
    _function, *known = inspect.signature(compiler).parameters
    for option in options:
        if option not in known:
            raise InvalidOption(
                f"compile_options= has {option!r}, which {name} does not take{nearest(option, known)} It "
                f"takes {', '.join(known)}"
            )


def compiled_or_plain(
    compiled: Callable[..., Any],
    function: Callable[..., Any],
    reason: Callable[[Exception], str | None],
    compiler: str,
    describe: Callable[[], str] | None = None,
    is_wanted: bool = True,
) -> Callable[..., Any]:
    """Return a function that calls ``compiled`` until the compiler fails, and ``function`` from then on.

    ``reason`` says why an exception is such a failure, or returns None to raise it.

    >>> def fails(x):
    ...     raise NotImplementedError("no kernel")
    >>> def reason(problem):
    ...     return "a kernel is missing" if isinstance(problem, NotImplementedError) else None
    >>> call = compiled_or_plain(fails, abs, reason, "the compiler")
    >>> call(-2), call.describe_compilation()
    (2, 'operation by operation, because a kernel is missing')
    """
    chosen, because = [compiled], [""]

    def call(*args: Any) -> Any:
        try:
            return chosen[0](*args)
        # Compilers raise exceptions of many classes for what they do not support. ``reason`` recognizes these
        # by their messages, and other exceptions are raised.
        except Exception as problem:
            why = None if chosen[0] is function else reason(problem)
            if why is None:
                raise
            level = logging.WARNING if is_wanted else logging.INFO
            log.log(
                level,
                "%s is not compiled: %s (%s)",
                function.__name__,
                why,
                " ".join(str(problem).split())[:_MOST_LETTERS],
            )
        chosen[0], because[0] = function, why
        return function(*args)

    def describe_compilation() -> str:
        if because[0]:
            return f"operation by operation, because {because[0]}"
        more = "" if describe is None else describe()
        return f"as one program of {compiler}{', ' if more else ''}{more}"

    call.describe_compilation = describe_compilation  # type: ignore[attr-defined]
    return call
