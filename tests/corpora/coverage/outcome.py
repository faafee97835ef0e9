"""The outcome of one case of a corpus."""

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
    """The outcome of one case.

    status: one of ``STATUSES``. ``refused`` is an error that graph_compiler raises on purpose; ``crashed``
        any other error, including one of the target; ``skipped`` a case that the source framework itself
        cannot run.
    detail: the message of the error.
    facts: other measurements.
    """

    status: str
    detail: str = ""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)


class Skipped(Exception):
    """Raised by a judge if the source framework itself cannot run the case."""


def outcome_of(judge: Callable[[], dict[str, Any] | None]) -> Outcome:
    """Call ``judge`` and classify its result: a return means right, ``AssertionError`` wrong, any other
    exception by its class.
    """
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
