"""Parts of a recording that rooms below their own ask for something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ....ir import Value
from ....ir.record import CallRecord
from ....tracing.state.places import Draw


class CallHistory(Protocol):
    """What the recording knows of the calls before."""

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        """What is to be noted of a call that is made now, with more ``facts`` of it."""


class OwnMemory(Protocol):
    """Which memory belongs to the recording. ``inside_call``: whether a public call runs, whose kernels are no calls of their own."""

    inside_call: bool

    def made(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor's memory is that of an input, or was filled during the recording."""


class ModelWeights(Protocol):
    """Parameters and buffers that a function can reach, by name."""

    function: Callable[..., Any]

    def name_of(self, tensor: torch.Tensor) -> str | None:
        """The name of a parameter or buffer, or None."""

    def holder_of(self, name: str) -> tuple[dict[str, Any], str]:
        """The dict that holds a parameter, and its key there."""

    def is_trained(self, name: str) -> bool:
        """Whether the name is that of a parameter, not of a buffer."""

    def modules(self) -> list[torch.nn.Module]:
        """All modules."""


class HostDraws(Protocol):
    """Random numbers of Python and numpy that the function drew: each draw, and the structure of its numbers."""

    draws: list[Draw]
    trees: list[Any]

    def number(self, draw: Draw, name: str) -> Any:
        """What the call ``name`` gives: a number of a draw that is made again before each call."""
