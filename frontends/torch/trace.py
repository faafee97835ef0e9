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
    """Autograd history of a recording, from which the records of its calls get their flags."""

    def record_of(self, key: str, inputs: Any, written: Sequence[Value], **facts: Any) -> CallRecord:
        """Return the record of a call that is being made, with ``facts`` as additional fields.

        ``written`` are the values that the call writes to.
        """


class OwnMemory(Protocol):
    """Storages that belong to the recording.

    inside_call: True while a public call runs, whose kernels are not recorded as calls of their own.
    """

    inside_call: bool

    def made(self, tensor: torch.Tensor) -> bool:
        """Return True if the tensor's storage is that of an input, or was allocated during the recording."""


class ModelWeights(Protocol):
    """Parameters and buffers that a function can reach, by name.

    function: the recorded function.
    """

    function: Callable[..., Any]

    def name_of(self, tensor: torch.Tensor) -> str | None:
        """Return the name of the parameter or buffer that ``tensor`` is, or None."""

    def holder_of(self, name: str) -> tuple[dict[str, Any], str]:
        """Return the dict that contains the weight ``name``, and its key there."""

    def is_trained(self, name: str) -> bool:
        """Return True if ``name`` is a parameter, and False if it is a buffer."""


class HostDraws(Protocol):
    """Random numbers that the function drew from Python or NumPy.

    draws: the draws, which are repeated before each call of the graph.
    trees: the structure of the numbers of each draw.
    """

    draws: list[Draw]
    trees: list[Any]

    def number(self, draw: Draw, name: str) -> Any:
        """Return the number that ``draw`` reads, as a symbol for a new input ``name``.

        The input is read again before each call. If draws are constants of the graph, return a plain
        number.
        """


class Trace(Protocol):
    """A recording in progress, as other objects of the recording see it. ``capture`` implements it.

    It is a torch function mode: torch calls are recorded inside of its ``with`` block.
    """

    # True if the graph is for torch itself.
    for_torch: bool
    # The name of the public call that runs.
    call: str
    # The inputs, with None for a number or a generator.
    input_tensors: list[torch.Tensor | None]
    # The number of inputs that are arguments. The other inputs are read from state.
    count_call_inputs: int
    # Maps the id of a given array to its tensor.
    arrays: dict[int, Any]

    @property
    def recorder(self) -> Recorder:
        """The graph so far, and the mapping from arrays to values."""

    @property
    def locator(self) -> Locator:
        """Finder of the line of the user's code that made a call."""

    @property
    def weights(self) -> ModelWeights: ...

    @property
    def reading(self) -> Reading:
        """Choice of the numbers read from tensors that become symbols."""

    @property
    def history(self) -> CallHistory: ...

    @property
    def kernels(self) -> OwnMemory: ...

    @property
    def host_draws(self) -> HostDraws: ...

    def here(self) -> Origin:
        """Return the current source location in the user's code."""

    def value(self, tensor: torch.Tensor) -> Value:
        """Return the value of ``tensor``.

        A tensor that no recorded call made becomes a parameter, a constant, or a view or alias of a
        recorded tensor. Raise ``TracingError`` if the function may have made it in a way that is not
        recorded.
        """

    def is_weight(self, value: Value) -> bool:
        """Return True if ``value`` is a parameter or a constant, whose sizes are fixed."""

    def size(self, value: Value, axis: int) -> Any:
        """Return the size of ``value`` along ``axis``: an int if it is fixed, else an expression."""

    def decide(self, size: Size, key: bool = False, text: bool = False, compared: bool = False) -> Any:
        """Return the number of ``size``, and add a guard that it stays.

        The flags tell what the number is for. With ``text``, a number in a message (of an exception, a log
        or ``print``) gets no guard. With ``key``, return ``size`` itself if it may be hashed as a symbol,
        and raise ``UnhashableSize`` if the next attempt has to fix it. With ``compared``, return the
        condition ``size`` unchanged if it contains a number from inside of an open block, such as one that
        a loop carries.
        """

    def fix_all_sizes(self, origin: Origin | None = None) -> None:
        """Add guards on all sizes so far, because sizes went into code that is not recorded.

        Raise ``TracingError`` while a rule of torch's own is recorded, and ``LengthAsked`` in a block that
        must hold for any number of pairs.
        """

    def depends_on(self, fact: str, tensor: torch.Tensor) -> None:
        """Guard on the property ``fact`` of all inputs, such as ``requires_grad``.

        Do nothing if ``tensor``, whose property was read, does not vary between calls or is a weight.
        """

    def note_fact(self, fact: str, count: int | None = None) -> None:
        """Guard on the property ``fact`` of the first ``count`` inputs, or of all if ``count`` is None."""

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the call with numbers instead of symbolic sizes, and without recording its kernels.

        Tensors that the kernels make are hidden: using one that the call does not return is an error.
        """

    def record_call(
        self, function: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the call and return its result.

        Add a node if the call made a tensor, wrote to a tensor or drew random numbers. Otherwise guard on
        the sizes in its arguments.
        """

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)``, run without recording the calls in it."""

    def add_input(self, name: str, tensor: Any) -> None: ...

    def add_number(self, name: str, number: Any) -> Value: ...

    def rewritten_state(self) -> frozenset[int]:
        """Return the ids of state tensors that the graph must return as new arrays.

        Return an empty set for a graph for torch, which writes to its arrays in place.
        """

    def __enter__(self) -> Any: ...

    def __exit__(self, *problem: object) -> None: ...
