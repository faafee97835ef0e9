"""Protocols of a running recording, for packages that must not import the classes that implement them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ...ir import Origin, Value
from ...ir.node import CallRecord
from ...recording import Locator, Recorder
from ...recording.state.places import Draw
from ...sizes import Size
from ..common.read_numbers import Reading


class CallHistory(Protocol):
    """State of autograd during a recording, with which the records of calls are marked."""

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        """Return the record of a call that is being made, marked with the autograd state at this point.

        ``written`` are the values that the call writes to, and ``facts`` further fields of the record.
        """


class OwnMemory(Protocol):
    """Storages that belong to the recording.

    inside_call: True while kernels are not recorded as calls of their own.
    """

    inside_call: bool

    def owns(self, tensor: torch.Tensor) -> bool:
        """Return True if the storage of ``tensor`` was registered as belonging to the recording."""


class ModelWeights(Protocol):
    """Parameters and buffers that a function can reach, by name.

    function: the recorded function.
    """

    function: Callable[..., Any]

    def name_of(self, tensor: torch.Tensor) -> str | None:
        """Return the name of the parameter or buffer that ``tensor`` is, or None."""

    def holder_of(self, name: str) -> tuple[dict[str, Any], str]:
        """Return the container of the weight ``name``, and its key there."""

    def is_trained(self, name: str) -> bool:
        """Return True if ``name`` is a parameter rather than a buffer."""


class HostDraws(Protocol):
    """Numbers that the function read from the host: random numbers of Python or NumPy, and clocks.

    draws: the reads, which are repeated before each call of the graph.
    trees: the structure of the numbers of each read.
    """

    draws: list[Draw]
    trees: list[Any]

    def read_number(self, draw: Draw, name: str) -> Any:
        """Return the number that ``draw`` reads, as a symbol unless draws are constants."""


class Trace(Protocol):
    """Recording in progress, as other objects of the recording see it. It is a torch function mode."""

    # True if the graph is for torch itself.
    for_torch: bool
    # The name of a call, for the origins of what is recorded.
    call: str
    # The inputs, with None for a number or a generator.
    input_tensors: list[torch.Tensor | None]
    # The number of inputs that are arguments. They come first.
    call_input_count: int
    # Maps the ids of the user's arrays to their tensors.
    arrays: dict[int, Any]

    @property
    def recorder(self) -> Recorder:
        """Recorder that holds the graph under construction, and maps arrays to its values."""

    @property
    def locator(self) -> Locator:
        """Finder of the line of the user's code that made a call."""

    @property
    def weights(self) -> ModelWeights: ...

    @property
    def reading(self) -> Reading:
        """Choice of symbols or guarded constants for numbers that are read from tensors."""

    @property
    def history(self) -> CallHistory: ...

    @property
    def kernels(self) -> OwnMemory: ...

    @property
    def host_draws(self) -> HostDraws: ...

    def here(self) -> Origin:
        """Return the current source location in the user's code."""

    def value(self, tensor: torch.Tensor) -> Value:
        """Return the value that represents ``tensor``. Add a new tensor to the graph.

        Raise ``TracingError`` for a new tensor that a call of the graph could not reproduce.
        """

    def is_weight(self, value: Value) -> bool:
        """Return True if ``value`` is a parameter or a constant."""

    def size(self, value: Value, axis: int) -> Any:
        """Return the size of ``value`` along ``axis``, a number or an expression."""

    def decide(self, size: Size, key: bool = False, text: bool = False, compared: bool = False) -> Any:
        """Return the number that ``size`` has while recording, guarded where necessary.

        The flags say that the number is for a key, a text or a condition. The result may then be ``size``
        itself.
        """

    def fix_all_sizes(self, origin: Origin | None = None) -> None:
        """Guard sizes and numbers recorded so far, because code that is not recorded may have used them.

        ``origin`` is the source location of guards on sizes, by default the current one.
        """

    def guard_fact_if_varying(self, fact: str, tensor: torch.Tensor) -> None:
        """Guard on the property ``fact`` of the inputs if ``tensor`` may differ between calls.

        Weights count as fixed.
        """

    def note_fact(self, fact: str, count: int | None = None) -> None:
        """Guard on the property ``fact`` of the first ``count`` inputs, or of all if ``count`` is None."""

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the call with numbers instead of symbolic sizes, and return its result.

        Its kernels are not recorded.
        """

    def record_call(
        self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the call, record what it does, and return its result."""

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)``, run without recording the calls in it."""

    def add_input(self, name: str, tensor: Any) -> None: ...

    def add_number(self, name: str, number: Any) -> Value: ...

    def rewritten_state(self) -> frozenset[int]:
        """Return the ids of state tensors that the graph must return as new arrays."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *problem: object) -> None: ...
