"""Exceptions of the target's framework, told in the user's terms: which recorded call was refused, and where
it stands.
"""

from __future__ import annotations

import bisect
import traceback
from typing import TYPE_CHECKING, NoReturn

from ..codegen import Program
from ..errors import GraphCompilerError, TargetRefused
from ..ir.node import Origin

if TYPE_CHECKING:
    from .variant import Variant


def raise_refused(variant: Variant, problem: Exception) -> NoReturn:
    """Raises an exception of a variant's flat function: ``TargetRefused`` for what another framework than the
    original's does not take.

    Errors of this package, of the original's own framework, and those by which the target tells compilers
    something, are raised as they are.
    """
    is_own = variant.is_own is None or isinstance(problem, GraphCompilerError)
    words = None if is_own else variant.target.refusal(problem)
    origin = None if words is None else _origin(variant.program, problem)
    if origin is None:
        raise problem
    raise TargetRefused(
        f"{origin}: {variant.target.name} refuses what was recorded there: {words}"
    ) from problem


def _origin(program: Program, problem: Exception) -> Origin | None:
    """The recorded call whose line of the flat function raised."""
    lines = [
        line
        for frame, line in traceback.walk_tb(problem.__traceback__)
        if frame.f_code.co_filename.startswith(f"<graph_compiler {program.name} ")
    ]
    known = sorted((*program.origins, *program.inner_origins), key=lambda pair: pair[0])
    for line in reversed(
        lines
    ):  # a nested function, or a helper in front of the function, whose lines are none of a call
        place = bisect.bisect_right(known, line, key=lambda pair: pair[0])
        if place:
            return known[place - 1][1]
    return None
