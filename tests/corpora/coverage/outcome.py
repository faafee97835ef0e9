"""How one case of a corpus ended."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from typing import Any

from graph_compiler.errors import GraphCompilerError, InternalError, TargetRefused

RIGHT, WRONG, REFUSED, CRASHED, TIMEOUT, SKIPPED = (
    "right",
    "wrong",
    "refused",
    "crashed",
    "timeout",
    "skipped",
)
STATUSES = (RIGHT, WRONG, REFUSED, CRASHED, TIMEOUT, SKIPPED)


@dataclasses.dataclass
class Outcome:
    """``status`` is one of ``STATUSES``; ``refused`` is an error of graph_compiler's own, ``crashed`` any
    other and what the target refused, ``skipped`` is what torch itself cannot run.

    ``detail`` says why, ``facts`` holds what else was measured.
    """

    status: str
    detail: str = ""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)


class Skipped(Exception):
    """The source framework itself cannot run the case."""


def outcome_of(judge: Callable[[], dict[str, Any] | None]) -> Outcome:
    """Run a judgement. It returns facts where all is right, and raises where something is not."""
    try:
        return Outcome(RIGHT, facts=judge() or {})
    except Skipped as reason:
        return Outcome(SKIPPED, str(reason))
    except AssertionError as difference:
        return Outcome(WRONG, _short(difference))
    # A target refuses mostly where a row gives it what it does not take.
    except (TargetRefused, InternalError) as problem:
        return Outcome(CRASHED, _short(problem))
    except GraphCompilerError as problem:
        return Outcome(REFUSED, _short(problem))
    except Exception as problem:
        return Outcome(CRASHED, f"{_short(problem)} [{_place(problem)}]")


def _short(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:1500]


def _place(problem: BaseException) -> str:
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno}"
