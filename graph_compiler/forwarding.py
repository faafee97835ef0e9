"""Marks of functions that call the user's code, or that raise errors as Python or a framework would.

Exceptions from these functions do not count as bugs of this package, although its code raises them
(:mod:`graph_compiler.recording.faults`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
FORWARDING: set[CodeType] = set()
PASSING: set[CodeType] = set()


def forwards(function: Function) -> Function:
    FORWARDING.add(function.__code__)
    return function


@forwards
def forward(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, a call that the user's code makes."""
    # C code, and a call that does not fit its function, have no frame of their own: they raise in this one.
    return function(*args, **kwargs)


def passes_on(function: Function) -> Function:
    """Mark a method of users' objects that leaves its exceptions to the public function that it calls.

    Wrapping the method instead would break the graphs of compilers that trace modules.
    """
    PASSING.add(function.__code__)
    return function
