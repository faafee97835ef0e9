"""The protocol of a running recording with all its parts, for the files of this room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from ....recording.loop_marks import Loops
from ..gradients.gradients import GradientTrace, KernelByKernel
from ..gradients.rules import Rules
from ..memory.exported_memory import ExportedMemory
from ..memory.trace import MemoryTrace
from ..numbers.keys import KeySizes
from ..process.generators import Generators
from ..state.parameters import Weights
from ..trace.trace import OwnMemory
from .outer_writes import OuterWrites


class KernelSizes(Protocol):
    """Knows where the sizes in some kernels come from, which run below public calls."""

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a call whose kernels are looked at."""

    def told(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a kernel with sizes as expressions, or None."""

    def explains(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the kernel's sizes follow from those of its arrays."""


class BackwardKernelSizes(KernelSizes, Protocol):
    """As :class:`KernelSizes`, of backward passes."""

    def note(self, tensors: Sequence[torch.Tensor]) -> None:
        """These have a history now."""


class MadeTensors(OwnMemory, Protocol):
    """Tensors that kernels make without a public call that gives them."""

    def maker_of(self, tensor: torch.Tensor) -> str | None:
        """The kernel that made a hidden tensor, or None."""

    def note(self, tensor: torch.Tensor) -> None:
        """The memory of this tensor belongs to the recording."""


class Running(MemoryTrace, GradientTrace, Protocol):
    """A recording in progress with all its parts."""

    exported: ExportedMemory
    rules: Rules
    outer_writes: OuterWrites
    loops: Loops
    generators: Generators
    keys: KeySizes
    by_kernel: KernelByKernel
    has_started_threads: bool
    count_decided: int  # nodes whose numbers are what they are

    @property
    def weights(self) -> Weights:
        """Parameters and buffers that the function can reach."""

    @property
    def unseen(self) -> MadeTensors:
        """Which memory belongs to the recording, and what kernels have made."""

    @property
    def vmapped(self) -> KernelSizes:
        """Sizes in kernels under ``torch.vmap``."""

    @property
    def backward_sizes(self) -> BackwardKernelSizes:
        """Sizes in kernels of backward passes."""

    @property
    def opened(self) -> KernelSizes:
        """Sizes in kernels of calls that are recorded kernel by kernel."""

    def sizes_of(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        """The sizes of a tensor as the user's code may hold them."""

    def arguments_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as they are recorded."""

    def attempt(
        self,
        function: Any,
        key: str,
        operands: list[torch.Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The real call, which may fail."""

    def record_kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sized: bool) -> Any:
        """A kernel that runs outside of any public call, as a call of its own."""
