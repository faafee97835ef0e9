"""The compilers of the frameworks: what users tell them, and what happens where one cannot compile a function."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InvalidOption, nearest

log = logging.getLogger("graph_compiler")
_MOST_LETTERS = 200  # of an error of a compiler, which goes on with all of the code


def check_compiler_options(name: str, compiler: Callable[..., Any], options: Iterable[str]) -> None:
    """``InvalidOption`` for the first option that a compiler does not take.

    >>> check_compiler_options("sorted", sorted, ["reversed"])
    Traceback (most recent call last):
    graph_compiler.errors.InvalidOption: compile_options= has 'reversed', which sorted does not take; did you mean 'reverse'? ...
    """
    _function, *known = inspect.signature(compiler).parameters
    for option in options:
        if option not in known:
            raise InvalidOption(
                f"compile_options= has {option!r}, which {name} does not take{nearest(option, known)} It takes {', '.join(known)}"
            )


def compiled_or_plain(
    compiled: Callable[..., Any], function: Callable[..., Any], reason: Callable[[Exception], str | None]
) -> Callable[..., Any]:
    """``compiled``, and from the first error that has a ``reason`` not to compile, ``function`` as it is, of which a log line tells.

    Errors of no reason are raised: they are the function's own.

    >>> def fails(x):
    ...     raise NotImplementedError("no kernel")
    >>> call = compiled_or_plain(fails, abs, lambda problem: "a kernel is missing" if isinstance(problem, NotImplementedError) else None)
    >>> call(-2)
    2
    """
    chosen = [compiled]

    def call(*args: Any) -> Any:
        try:
            return chosen[0](*args)
        # Compilers have no class of their own for what they refuse: `reason` knows it by its words, and all else is raised.
        except Exception as problem:
            why = None if chosen[0] is function else reason(problem)
            if why is None:
                raise
            log.warning("%s is not compiled: %s (%s)", function.__name__, why, " ".join(str(problem).split())[:_MOST_LETTERS])
        chosen[0] = function
        return function(*args)

    return call
