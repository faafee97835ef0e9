"""Options, caches and failures of the frameworks' compilers."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...errors import InvalidOption, nearest

VARIABLE = "GRAPH_COMPILER_CACHE"
_OFF = ("", "0", "off", "no", "false")


def cache_folder(compiler: str) -> str | None:
    """Return the cache folder of ``compiler``, created if it is missing, or None.

    None means that the environment variable switches the cache off, or that the folder cannot be created.

    >>> import os, tempfile
    >>> before, os.environ["GRAPH_COMPILER_CACHE"] = os.environ.get("GRAPH_COMPILER_CACHE"), "off"
    >>> cache_folder("xla") is None
    True
    >>> if before is not None: os.environ["GRAPH_COMPILER_CACHE"] = before
    """
    told = os.environ.get(VARIABLE)
    if told is not None and told.strip().lower() in _OFF:
        return None
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graph_compiler"
    folder = (Path(told) if told else usual) / compiler
    try:
        folder.mkdir(parents=True, exist_ok=True)
    # The file system may be read-only.
    except OSError:
        return None
    return str(folder)


log = logging.getLogger("graph_compiler")
# Compilers append all of the code to their error messages.
_MOST_LETTERS = 200


def check_compiler_options(name: str, compiler: Callable[..., Any], options: Iterable[str]) -> None:
    """Raise ``InvalidOption`` for the first of ``options`` that ``compiler`` does not take as a keyword.

    Its first parameter is the function to compile, which is no option.

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
    """Return a function that calls ``compiled``, and falls back to ``function`` when the compiler fails.

    ``reason`` returns why an exception means that the function cannot be compiled. If it returns None, the
    exception is raised. After the first fallback every call runs ``function``. The fallback is logged, as
    a warning if ``is_wanted``. ``describe`` returns details for ``describe_compilation``.

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
