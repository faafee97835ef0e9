"""The whole call of a variant that only computes, as one function: what it relies on, whether the call fits, and the flat function.

As functions of their own these cost a call of a small model 4 microseconds more: after a model has run, nothing of them is left in the
processor's caches, and each has code, constants and a frame to be fetched from further away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..codegen.loading import load
from ..codegen.source import Program
from ..tracing.environment.conjunction import GONE, Condition
from .matching import Matching

Attempt = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]

_SOURCE = """\
def attempt(args, kwargs, {defaults}):
    {followed}
    try:
        if not ({condition}): return {misfit}
    except gone:
        return {misfit}
    try:
        {lines}
    except unlike:
        return {misfit}
    try:
        return {call}
    except Exception as problem:
        return failed(problem)
"""


def dispatcher(
    condition: Condition, matching: Matching, call: str, bound: Mapping[str, Any], is_followed: Callable[[], bool] | None = None
) -> Attempt:
    """``attempt(args, kwargs)``: what ``call`` gives, an expression over the names of the arrays that matched.

    What the condition or the matching does not hold of gives ``matching.misfit``, an error in the call what ``failed`` in ``bound`` makes
    of it, and a call that a compiler follows what ``followed`` does.
    """
    known = {**condition.bound, **matching.bound, **bound, "gone": GONE, "is_followed": is_followed}
    followed = "if is_followed(): return followed(args, kwargs)" if is_followed else "pass"
    parts = {
        "condition": condition.text,
        "lines": "\n        ".join(matching.lines),
        "call": call,
        "misfit": matching.misfit,
        "followed": followed,
    }
    used = set(re.findall(r"\w+", _SOURCE.format(defaults="", **parts))) & known.keys()
    defaults = ", ".join(f"{name}={name}" for name in known if name in used)  # locals, not globals, are what the function reads them from
    return load(Program(_SOURCE.format(defaults=defaults, **parts), "attempt", (), (), known))
