"""Translation of the target framework's exceptions to the recorded call that caused them."""

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
    """Raise an exception of a variant's generated function again.

    It becomes ``TargetRefused`` if the target is not the original's framework and the target rejects the
    arguments of an operation. Errors of this package and signals to compilers pass unchanged.
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
    lines = [
        line
        for frame, line in traceback.walk_tb(problem.__traceback__)
        if frame.f_code.co_filename.startswith(f"<graph_compiler {program.name} ")
    ]
    known = sorted((*program.origins, *program.inner_origins), key=lambda pair: pair[0])
    # The innermost line may lie in a helper before the function, which belongs to no call.
    for line in reversed(lines):
        place = bisect.bisect_right(known, line, key=lambda pair: pair[0])
        if place:
            return known[place - 1][1]
    return None
