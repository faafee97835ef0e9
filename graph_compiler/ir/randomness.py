"""Where the random numbers of a program come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .node import Value


@dataclass(frozen=True, slots=True)
class Randomness:
    """``key`` is the input from which a canonical graph derives its random numbers, the last of ``Graph.inputs``: written by the lifting
    builder, read by the runtime, which gives another key at each call.

    ``recorded_from`` is the state of the framework's generators before a recording whose random numbers are to be the same at every call
    (``include_generators=False``): written by the torch frontend, used up by the pass ``repeat_draws``.
    """

    key: Value | None = None
    recorded_from: Any = None
