"""The protocol of a running recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ....ir import Origin, Value
from ....ir.node import CallRecord
from ....recording import Locator, Recorder
from ....recording.state.places import Draw
from ....sizes import Size
from ...common.read_numbers import Reading


class CallHistory(Protocol):
    """What the recording knows of the calls before."""

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        """What is to be noted of a call that is made now, with more ``facts`` of it."""


class OwnMemory(Protocol):
    """Which memory belongs to the recording.

    ``inside_call``: whether a public call runs, whose kernels are no calls of their own.
    """

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


class Trace(Protocol):
    """A recording in progress, as its parts see it: the torch mode that ``capture`` implements.

    Used in a ``with`` block, it sees the calls of torch that are made inside.
    """

    for_torch: bool  # whether the graph is for torch itself
    call: str  # the name of the public call that runs
    input_tensors: list[torch.Tensor | None]  # None for a number
    count_call_inputs: int  # the inputs that are arguments; the others stand in places of state
    arrays: dict[int, Any]  # identity of a given array -> its tensor

    @property
    def recorder(self) -> Recorder:
        """The graph so far, and which array is which of its values."""

    @property
    def locator(self) -> Locator:
        """Where in the user's code a call was made."""

    @property
    def weights(self) -> ModelWeights:
        """Parameters and buffers that the function can reach."""

    @property
    def reading(self) -> Reading:
        """Whether numbers become symbols."""

    @property
    def history(self) -> CallHistory:
        """The calls before."""

    @property
    def unseen(self) -> OwnMemory:
        """Which memory belongs to the recording."""

    @property
    def host_draws(self) -> HostDraws:
        """Random numbers of Python and numpy."""

    def here(self) -> Origin:
        """Where the user's code is now."""

    def value(self, tensor: torch.Tensor) -> Value:
        """The value of a tensor; one that nothing recorded made is a parameter or a constant."""

    def is_weight(self, value: Value) -> bool:
        """Whether the value is a parameter or a constant, whose sizes are fixed."""

    def size(self, value: Value, axis: int) -> Any:
        """One size of a value as an expression."""

    def decide(self, size: Size, key: bool = False, text: bool = False, compared: bool = False) -> Any:
        """The number of a size, under a guard; see the implementation for the exceptions."""

    def fix_all_sizes(self, origin: Origin | None = None) -> None:
        """Sizes went into code that cannot be seen: from here on they are what they are."""

    def depends_on(self, fact: str, tensor: torch.Tensor) -> None:
        """From here on the recording holds only for arrays of which this fact (``requires_grad``, ``layout``)
        is as it is now.
        """

    def note_fact(self, fact: str, count: int | None = None) -> None:
        """As :meth:`depends_on`, of the first ``count`` inputs, or of all."""

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The real call, on the sizes seen."""

    def record_call(
        self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Makes the call, and a node of it where it gives a new tensor or writes to one."""

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function whose kernels are no part of the recording."""

    def add_input(self, name: str, tensor: Any) -> None:
        """One array or generator that is an input."""

    def add_number(self, name: str, number: Any) -> Value:
        """One number that is an input."""

    def rewritten_state(self) -> frozenset[int]:
        """Identities of tensors in places that were written to, where the graph runs in a framework whose
        arrays cannot be.
        """

    def __enter__(self) -> Any: ...

    def __exit__(self, *problem: object) -> None: ...
