"""Calls that this package makes in the user's name, and errors that it raises as Python or a framework would.

What is raised there is not a bug of this package, although its code runs:
:mod:`graph_compiler.recording.faults` tells by it.
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
    """Return ``function(*args, **kwargs)``, a call that the user's code makes.

    C code, and a call that does not fit its function, have no frame of their own: they raise in this one.
    """
    return function(*args, **kwargs)


def passes_on(function: Function) -> Function:
    """Mark a method that users call and that leaves its exceptions to the public function of this package
    that it calls.

    A wrapper in its place would break the graphs of compilers that follow modules.
    """
    PASSING.add(function.__code__)
    return function
