"""Functions that give something else each time, and that nothing can ask beforehand: they are refused while the user's code is recorded."""

from __future__ import annotations

import functools
import os
import secrets
import sys
import uuid
from typing import Any

import numpy as np

from ..errors import TracingError
from ..tracing import active
from .call_site import user_of

Rows = dict[Any, tuple[str, ...]]  # what holds functions, and their names
FLEETING: Rows = {
    os: ("urandom",),
    uuid: ("uuid1", "uuid4"),
    secrets: ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"),
}

# Those that are seeded by the operating system unless they are given a seed.
UNSEEDED: Rows = {np.random: ("default_rng",)}


def _refusing(owner: Any, name: str, unless_given: bool) -> Any:
    original = vars(owner)[name]

    @functools.wraps(original)
    def refused(*args: Any, **kwargs: Any) -> Any:
        frame = user_of(sys._getframe(1)) if active.recording else None
        is_seeded = unless_given and any(item is not None for item in (*args, *kwargs.values()))
        if frame is None or is_seeded:
            return original(*args, **kwargs)
        raise TracingError(
            f"{owner.__name__}.{name} at {frame.f_code.co_filename}:{frame.f_lineno} gives something else at each call, and would become "
            "a constant. "
            "Pass what it gives as an argument"
        )

    return refused


def refusals(rows: Rows, unless_given: bool = False) -> tuple[tuple[Any, str, Any], ...]:
    """For each row what stands in its place while recording: ``TracingError`` with the line of the user's code that calls it (without an
    argument)."""
    return tuple((owner, name, _refusing(owner, name, unless_given)) for owner, names in rows.items() for name in names)
