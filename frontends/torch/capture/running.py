"""Protocols of a running recording with all its parts, for the files of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ....recording.loop_marks import LoopMarker
from ..generators import Generators
from ..gradient_rules import GradientRules
from ..gradients import GradientTrace
from ..memory.memory import MemoryTrace
from ..memory.watching import ExportedMemory
from ..numbers import KeySizes
from ..state.parameters import TorchWeights
from ..trace import OwnMemory
from .outer_writes import OuterWrites


class KernelSizes(Protocol):
    """Protocol of objects that find out which numbers in the arguments of kernels are sizes.

    Public calls run kernels, which get sizes as plain numbers.
    """

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run ``function`` with numbers in place of symbolic sizes, or answer it, and return its result.

        During the call, :meth:`with_sizes` can map numbers in the arguments of its kernels back to sizes.
        """

    def with_sizes(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the arguments of a kernel with expressions for its sizes, or None if they are unknown."""

    def has_no_sizes(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return True if the kernel is known to need no guards on sizes."""


class BackwardKernelSizes(KernelSizes, Protocol):
    """Protocol of objects that find the sizes in kernels of backward passes."""

    def note(self, tensors: Sequence[torch.Tensor]) -> None:
        """Register tensors, so that their autograd nodes are found."""


class MadeTensors(OwnMemory, Protocol):
    """Protocol of a table of the recording's storages, and of tensors that unrecorded kernels made."""

    def maker_of(self, tensor: torch.Tensor) -> str | None:
        """Return the name of the call that was running when an unrecorded kernel made ``tensor``, or None."""

    def note(self, tensor: torch.Tensor) -> None:
        """Register the storage of ``tensor`` as belonging to the recording."""


class RunningTrace(MemoryTrace, GradientTrace, Protocol):
    """Protocol of a recording in progress with all its parts, which ``Capture`` implements."""

    exported: ExportedMemory
    rules: GradientRules
    outer_writes: OuterWrites
    loops: LoopMarker
    generators: Generators
    keys: KeySizes
    has_started_threads: bool
    # Number of nodes whose numbers have been fixed.
    count_decided: int

    @property
    def weights(self) -> TorchWeights: ...

    @property
    def kernels(self) -> MadeTensors: ...

    @property
    def vmapped(self) -> KernelSizes:
        """Finder of the sizes in kernels under ``torch.vmap``."""

    @property
    def backward_sizes(self) -> BackwardKernelSizes:
        """Finder of the sizes in kernels of backward passes."""

    @property
    def kernelwise_sizes(self) -> KernelSizes:
        """Finder of the sizes in kernels of calls that are recorded kernel by kernel."""

    def sizes_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        """Return the sizes of a tensor as the user's code gets them: ints or symbols."""

    def arguments_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as they are recorded."""

    def run_guarded(
        self,
        function: Any,
        key: str,
        operands: list[torch.Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a call and return its result.

        If it raises, add guards on what the exception may depend on, because the function may catch it.
        """

    def record_kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sized: bool) -> Any:
        """Record a kernel as a call of its own, or answer it, and return its result.

        If ``sized``, numbers in its arguments may be sizes of unknown origin, so guards fix all sizes.
        """
