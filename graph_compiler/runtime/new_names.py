"""Recording of functions that create new names (UUIDs), on which a program must not depend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import TracingError
from ..ir.sameness import same_program
from ..recording import Recording, Request
from ..recording.patches.new_names import patterns, watching_names


def record_independent_of_names(record: Callable[[Request], Recording], request: Request) -> Recording:
    """Record a call; if it creates new names (UUIDs), record it again with others and compare the programs.

    Return the first recording. Raise ``TracingError`` if the programs differ.
    """
    with watching_names() as watch:
        recording = record(request)
    for pattern in patterns() if watch.origin else ():
        with watching_names(pattern):
            again = record(request)
        if not same_program(recording.graph, again.graph, _are_equal):
            raise TracingError(
                f"{watch.origin} gives something else at each call, and what {request.name} computes depends "
                "on it, so it would become a constant. Pass what it gives as an argument"
            )
    return recording


def _are_equal(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))
