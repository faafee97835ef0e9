"""Marks of functions whose exceptions count as the user's, and of methods that users call.

:mod:`graph_compiler.recording.faults` distinguishes these exceptions from bugs of this package.
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
def forward(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, and let an exception of C code count as the user's."""
    # C code, and a call that does not fit its function, have no frame of their own: they raise in this one.
    return function(*args, **kwargs)


def passes_on(function: Function) -> Function:
    """Mark ``function``, through which users' calls reach public functions, and return it.

    A public function that it calls prepares its exceptions as one that the user calls.
    """
    PASSING.add(function.__code__)
    return function
