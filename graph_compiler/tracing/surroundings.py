"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Surroundings:
    """Checked before each call: ``holds`` in well under a microsecond a fact; ``reason`` says in words what has changed."""

    holds: Callable[[], bool] = lambda: True
    reason: Callable[[], str] = lambda: ""
