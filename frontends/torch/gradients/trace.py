"""What this room asks of a running recording beyond :class:`..trace.Trace`: its own parts."""

from __future__ import annotations

from typing import Protocol

from ..trace import Trace
from .gradients import Gradients
from .history import History


class GradientTrace(Trace, Protocol):
    """A recording with what it knows of gradients."""

    gradients: Gradients

    @property
    def history(self) -> History:
        """The calls before."""
