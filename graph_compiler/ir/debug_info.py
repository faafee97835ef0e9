"""What comparisons of a graph with its original need to know of the recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .node import Value


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Says nothing about what the program computes, and is not saved.

    ``numbers`` are the inputs that are numbers, with what was given for them while recording: written by frontends, read where arguments
    are made up (``runtime/synthetic_inputs.py``). ``lifted`` gives for a recorded value the canonical one that it became: written by the
    lifter, read by ``verify`` to find the first call that differs.
    """

    numbers: Mapping[Value, Any] = field(default_factory=dict)
    lifted: Mapping[Value, Value] = field(default_factory=dict)
