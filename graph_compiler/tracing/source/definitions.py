"""Where a recorded function stands, for errors that concern all of it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from ...errors import GuardFailed, TracingError
from ...registration import entry_method

_PLACE = re.compile(r":\d+")


@contextmanager
def telling_place(function: Any) -> Iterator[None]:
    """A ``TracingError`` or ``GuardFailed`` of the block whose message names no line tells the file and line where the function is defined.

    >>> try:
    ...     with telling_place(telling_place):
    ...         raise TracingError("f starts a thread")
    ... except TracingError as problem:
    ...     print(str(problem).split(" (")[0], "definitions.py:" in str(problem))
    f starts a thread True
    """
    try:
        yield
    except (TracingError, GuardFailed) as problem:
        code = None if _PLACE.search(str(problem)) else code_of(function)
        if code is not None:
            problem.args = (f"{problem} ({code.co_name} stands at {code.co_filename}:{code.co_firstlineno})", *problem.args[1:])
        raise


def place_of(function: Any) -> str:
    """Where a function is defined, in brackets for the end of a message; empty where it has no code.

    >>> "definitions.py:" in place_of(place_of), place_of(len)
    (True, '')
    """
    code = code_of(function)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def code_of(function: Any) -> CodeType | None:
    """The code of a function, of the method that stands behind a callable object, or of a model's entry method."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not hasattr(function, "__code__"):
        function = inspect.unwrap(entry_method(type(function), type(function).__call__))
    return getattr(function, "__code__", None)
