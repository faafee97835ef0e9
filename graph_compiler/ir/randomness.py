"""Source of the random numbers of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .node import Value


@dataclass(frozen=True, slots=True)
class Randomness:
    """Random state of a graph.

    key: input from which a canonical graph derives its random numbers, the last of `Graph.inputs`. The
        runtime passes a new key on each call.
    recorded_from: state of the framework's generators before the recording, if every call is to draw the
        same numbers (`include_generators=False`). The pass `repeat_draws` consumes it.
    """

    key: Value | None = None
    recorded_from: Any = None
