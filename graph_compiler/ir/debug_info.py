"""Facts about a recording that only comparisons with the original need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .node import Value


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Facts for `verify`. They do not affect what the program computes and are not saved.

    numbers: inputs that are Python numbers, with the number given while recording; used to make up
        arguments.
    lifted: canonical value for each recorded value; used to find the first call whose result differs.
    """

    numbers: Mapping[Value, Any] = field(default_factory=dict)
    lifted: Mapping[Value, Value] = field(default_factory=dict)
