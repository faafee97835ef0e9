"""Exceptions and warnings of public functions, and errors that name the recorded call a target refuses."""

from __future__ import annotations

import bisect
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, NoReturn, TypeVar

from ..codegen import Program
from ..contracts import Target
from ..errors import GraphCompilerError, InternalError, TargetRefused
from ..forwarding import PASSING
from ..ir.node import Node, Origin
from ..ir.quotation import place_of
from ..recording.code.ownership import owner_of
from ..recording.faults import owner_of_frame, owner_of_problem
from ..recording.lock import stage

Public = TypeVar("Public", bound=Callable[..., Any])
_REPORT = (
    "This is a bug of graph_compiler, not of your code. Please report it with the traceback that "
    "GRAPH_COMPILER_TRACEBACK=full shows, the code at that line, and what `graph-compiler doctor` prints"
)


def public(function: Public) -> Public:
    """Decorate a public function so that :func:`prepare_to_raise` prepares its errors for users."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as problem:
            prepare_to_raise(problem, function.__qualname__)
            raise

    return called  # type: ignore[return-value]


def prepare_to_raise(problem: Exception, doing: str) -> None:
    """Prepare an exception of the public function ``doing`` for users, or raise ``InternalError`` from it.

    Do nothing if the call is nested in another one of this package.
    """
    if _is_nested(sys._getframe(1)):
        return
    told = as_internal_error(problem, doing)
    if told is not problem:
        raise told from problem
    if os.environ.get("GRAPH_COMPILER_TRACEBACK") != "full":
        for each in _with_causes(problem):
            each.__traceback__ = shortened_traceback(each)
        # Before Python 3.11 a bare raise restores the old traceback.
        if sys.version_info < (3, 11):
            raise problem


def as_internal_error(problem: Exception, doing: str) -> Exception:
    trace = problem.__traceback__
    # If there is only the first frame, the arguments do not fit the function that was called, which is a
    # TypeError of the user.
    is_bug = trace is not None and trace.tb_next is not None and _is_bug(problem)
    return _internal_error(problem, doing) if is_bug else problem


def _is_nested(frame: FrameType) -> bool:
    above = frame.f_back
    # Code in ``PASSING`` is called like the user's own methods, so it does not count as this package.
    while above is not None and (not _is_own_frame(above) or above.f_code in PASSING):
        above = above.f_back
    return above is not None


def shortened_traceback(problem: BaseException) -> TracebackType | None:
    """Return the traceback of ``problem`` without frames that do not help users, or None if none remains."""
    frames = list(traceback.walk_tb(problem.__traceback__))
    owners = [owner_of_frame(frame) for frame, _ in frames]
    users = [place for place, owner in enumerate(owners) if owner == "user"]
    kept: list[TracebackType] = []
    trace, is_inside = problem.__traceback__, False
    for place, owner in enumerate(owners):
        assert trace is not None
        is_hidden = _is_own_frame(trace.tb_frame)
        is_inside = is_hidden if owner != "framework" else is_inside
        if owner == "framework":
            is_hidden = (
                isinstance(problem, GraphCompilerError) or is_inside and place < max(users, default=-1)
            )
        if not is_hidden:
            kept.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for one in reversed(kept):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def _is_own_frame(frame: FrameType) -> bool:
    return owner_of(frame) == "own"


def _is_bug(problem: Exception) -> bool:
    return (
        not isinstance(problem, (GraphCompilerError, OSError, MemoryError))
        and owner_of_problem(problem) != "user"
    )


def _with_causes(problem: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = problem
    while found is not None and id(found) not in seen and not (seen and isinstance(problem, InternalError)):
        seen.add(id(found))
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _internal_error(problem: Exception, doing: str) -> InternalError:
    frames = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)]
    own = [
        (frame.f_code, line)
        for frame, line in traceback.walk_tb(problem.__traceback__)
        if _is_own_frame(frame)
    ]
    where = f", raised at {own[-1][0].co_filename}:{own[-1][1]} in {own[-1][0].co_name}" if own else ""
    done = stage.noted(problem) or f"running {doing}"
    text = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")
    return InternalError(
        f"{_user_location(frames, problem)}: {done} failed with {type(problem).__name__}: {text}{where}. "
        f"{_REPORT}"
    )


def _user_location(frames: list[FrameType], problem: Exception) -> str:
    if (found := line_of_user(problem)) is not None:
        return found
    for frame in reversed(frames):
        node = frame.f_locals.get("node")
        if isinstance(node, Node) and str(node.origin):
            return str(node.origin)
    above = frames[0].f_back if frames else None
    while above is not None and not _is_line_of_user(above):
        above = above.f_back
    return f"{above.f_code.co_filename}:{above.f_lineno}" if above is not None else "unknown line"


def line_of_user(problem: Exception) -> str | None:
    for frame, line in reversed(list(traceback.walk_tb(problem.__traceback__))):
        if _is_line_of_user(frame):
            return f"{frame.f_code.co_filename}:{line}"
    return None


def _is_line_of_user(frame: FrameType) -> bool:
    return (
        owner_of_frame(frame) == "user"
        and not _is_own_frame(frame)
        and not frame.f_code.co_filename.startswith("<")
    )


# --------------------------------------------------------------------------------------------------- warnings
def level_of_user() -> int:
    """Return the ``stacklevel`` for a warning of the caller that should point outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_own_frame(frame):
        frame, level = frame.f_back, level + 1
    return level


# --------------------------------------------------------------------------------------------------- refusals
# Translation of the target framework's exceptions to the recorded call that caused them.


def raise_refused(problem: Exception, program: Program, target: Target, keeps_calls: bool) -> NoReturn:
    """Raise ``TargetRefused`` for the recorded call that the target refused, or else ``problem`` itself."""
    is_own = keeps_calls or isinstance(problem, GraphCompilerError)
    words = None if is_own else target.refusal(problem)
    origin = None if words is None else _origin(program, lines_of(program, problem))
    if origin is None:
        raise problem
    raise TargetRefused(f"{origin}: {target.name} refuses what was recorded there: {words}") from problem


def lines_of(program: Program, problem: Exception) -> list[int]:
    return [
        line
        for frame, line in traceback.walk_tb(problem.__traceback__)
        if frame.f_code.co_filename.startswith(f"<graph_compiler {program.name} ")
    ]


def with_expression(program: Program, text: str, lines: list[int]) -> str:
    """Return ``text``, the message of a guard, with the code of the recorded call added if it is found."""
    origin = _origin(program, lines)
    return text if origin is None else text.replace(str(origin.portable()), place_of(origin), 1)


def _origin(program: Program, lines: list[int]) -> Origin | None:
    known = sorted((*program.origins, *program.inner_origins), key=lambda pair: pair[0])
    # The innermost line may lie in a helper before the function, which belongs to no call.
    for line in reversed(lines):
        place = bisect.bisect_right(known, line, key=lambda pair: pair[0])
        if place:
            return known[place - 1][1]
    return None
