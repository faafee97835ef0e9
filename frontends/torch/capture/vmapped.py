"""Kernels that ``torch.vmap`` runs, and the public call of the user's that each belongs to.

A transform takes public calls apart: below the user's ``F.multilabel_soft_margin_loss`` comes a division by the number of classes, which
torch's code has computed from a size where nothing sees it. A number of a kernel that the call was not given ties the recording to its
sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ....trees import iterate_structure
from ..basics import reads
from ..basics.names import name_of, row_key
from ..basics.tensors import hints
from ..numbers.numbers import decide_all
from .batching import Kernel, levels, physical_sizes
from .kernel_numbers import computing, given_numbers, is_sized
from .running import Running


class Vmapped:
    """The public call that runs inside of a transform, by its name and what it was given."""

    def __init__(self, capture: Running) -> None:
        self.capture = capture
        self._call: str | None = None
        self._given: frozenset[Any] = frozenset()

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, with sizes as numbers; the kernels that come meanwhile are its own."""
        if name_of(function) in reads.BACKWARD:
            return self.capture.backward_sizes.run(function, args, kwargs)
        decide_all(self.capture, (args, kwargs))
        key = row_key(name_of(function))
        if key in reads.SIZES:
            if key in _TOLD:
                return _TOLD[key](physical_sizes(self.capture, args[0]), *hints(args[1:]), **hints(kwargs))
            self.capture.fix_all_sizes()
        before = self._call, self._given
        self._call, self._given = key, given_numbers(function, hints((args, kwargs)))
        try:
            result = function(*hints(args), **hints(kwargs))
        finally:
            self._call, self._given = before
        self.capture.backward_sizes.note([item for item in iterate_structure((result,)) if isinstance(item, torch.Tensor)])
        return result

    def told(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a kernel that makes sizes, with those that stand behind its numbers; None where that cannot be told."""
        batch = levels(self._call)
        return None if batch is None else Kernel(self.capture, function, args, self._call, self._given, batch).with_sizes()

    def explains(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all numbers of a kernel, but its axes, are those of the public call or of torch's schema, or ``torch.vmap`` alone runs
        and there are none."""
        if is_sized(kernel) or self._call is None and levels(None) is None:
            return False
        return self._given.issuperset(computing(kernel, args, kwargs))


def _size(sizes: tuple[Any, ...], dim: int | None = None) -> Any:
    return torch.Size(sizes) if dim is None else sizes[dim]


_TOLD: dict[str, Callable[..., Any]] = {"shape": _size, "size": _size}
