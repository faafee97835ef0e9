"""Distinction of bugs of this package from exceptions of the user's code and of frameworks.

No fallback may hide a bug, which :func:`is_fault` recognizes.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from types import FrameType
from typing import Literal

from ..errors import DuplicateRow, GraphCompilerError, InternalError, InvalidGraph, Signal, UnknownOperation
from ..forwarding import FORWARDING
from .code.ownership import owner_of

Owner = Literal["user", "framework", "own"]
GENERATED = "<graph_compiler "
# Functions of these modules are copied into generated code.
_PRELUDE = ".prelude."
# A function with this many unfinished calls is taken for the one that recurses.
_DEEP = 10
# Attribute of an exception with the result of ``is_fault``.
_VERDICT = "_graph_compiler_is_fault"
# Errors of this package that count as its bugs.
BUGS = (InvalidGraph, UnknownOperation, DuplicateRow, InternalError)


def owner_of_frame(frame: FrameType) -> Owner:
    """Return the owner to whom an exception raised by ``frame`` is attributed."""
    if (
        frame.f_code in FORWARDING
        or frame.f_code.co_filename.startswith(GENERATED)
        or _PRELUDE in str(frame.f_globals.get("__name__"))
    ):
        return "user"
    owner = owner_of(frame)
    return "own" if owner == "own" else "framework" if owner in ("framework", "python") else "user"


def owner_of_problem(problem: BaseException) -> Owner:
    """Return the owner of the code to which ``problem`` is attributed."""
    if _is_users_recursion(problem):
        return "user"
    owners = [owner_of_frame(frame) for frame, _ in traceback.walk_tb(problem.__traceback__)]
    return next((owner for owner in reversed(owners) if owner != "framework"), "framework")


def _is_users_recursion(problem: BaseException) -> bool:
    if not isinstance(problem, RecursionError):
        return False
    # A handler in the middle of the recursion sees the calls below it in the traceback, and those above it
    # on the stack.
    frames = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)]
    frames += [frame for frame, _ in traceback.walk_stack(sys._getframe())]
    calls = Counter(
        (frame.f_code.co_filename, frame.f_code.co_name) for frame in frames if owner_of(frame) == "user"
    )
    return max(calls.values(), default=0) >= _DEEP


def is_fault(problem: BaseException) -> bool:
    """Return True if ``problem`` counts as a bug of this package, so that a fallback must not hide it.

    >>> is_fault(InvalidGraph("a value is used before it is made")), is_fault(ValueError("raised nowhere"))
    (True, False)
    """
    # Errors of this package say by their class whether they are bugs.
    if isinstance(problem, (GraphCompilerError, Signal)):
        return isinstance(problem, BUGS)
    if not isinstance(problem, Exception) or problem.__traceback__ is None:
        return False
    # JAX removes its frames from the traceback of an exception that leaves it. Later, this package would seem
    # to have raised it.
    if _VERDICT not in problem.__dict__ and _is_users_recursion(problem):
        problem.__dict__[_VERDICT] = False
    # The first result is stored, because the traceback may lose frames later.
    if _VERDICT not in problem.__dict__:
        last = problem.__traceback__
        while last.tb_next is not None:
            last = last.tb_next
        # An exception of a framework may mean that this way is impossible, whoever called the framework.
        problem.__dict__[_VERDICT] = owner_of_frame(last.tb_frame) == "own"
    return bool(problem.__dict__[_VERDICT])
