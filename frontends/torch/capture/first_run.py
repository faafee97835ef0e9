"""Calls of one run, which a second run takes over where it makes the same ones.

A run that is only made to see whether other code is reached costs little without the kernels of the first.
"""

from __future__ import annotations

import operator
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ....forwarding import forward
from ....trees import iterate_structure
from ..basics.tensors import hints, version
from .known_calls import Made, Outcome

# Kept whatever is known of their outcome: nearly all that a large model computes.
_LARGE = frozenset(
    {F.linear, F.conv1d, F.conv2d, F.conv3d, F.scaled_dot_product_attention}
    | {torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm}
    | {torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm, torch.Tensor.addmm}
)
_MOST_BYTES = 1 << 27  # that are kept for the second run; what comes after them is made twice
_FACTS = ("shape", "dtype", "layout", "device", "requires_grad")
_ROUNDING = 16  # units in the last place of the largest element: another kernel, not other code


@dataclass(frozen=True, slots=True)
class _Call:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: torch.Tensor
    tensors: list[torch.Tensor]  # the operands and the result
    versions: list[int]

    @property
    def is_unwritten(self) -> bool:
        return self.versions == list(map(version, self.tensors))

    def is_made_by(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether these arguments are those of this call."""
        if len(args) != len(self.args) or kwargs.keys() != self.kwargs.keys():
            return False
        if not kwargs and all(map(operator.is_, args, self.args)):  # as of most
            return True
        found, known = list(iterate_structure((args, kwargs))), list(iterate_structure(hints((self.args, self.kwargs))))
        return len(found) == len(known) and all(map(_is_same, found, known))


class FirstRun:
    """What the calls of a run gave, in order, from where ``wanted`` says so."""

    def __init__(self, wanted: Callable[[], bool] = lambda: False) -> None:
        self.wanted = wanted
        self._made: dict[Callable[..., Any], deque[_Call | None]] = defaultdict(deque)
        self._bytes = 0

    def note(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[torch.Tensor],
        result: Any,
        outcome: Outcome | None = None,
    ) -> None:
        """One call of the first run. It is kept where its ``outcome`` follows from its arguments; views take no memory."""
        kept: _Call | None = None
        if (isinstance(outcome, Made) or function in _LARGE) and self._has_room(result):
            tensors = [*operands, result]
            kept = _Call(args, kwargs, result, tensors, list(map(version, tensors)))
            self._bytes += 0 if isinstance(outcome, Made) and outcome.is_view else result.nbytes
        self._made[function].append(kept)

    def _has_room(self, result: torch.Tensor) -> bool:
        return self.wanted() and self._bytes <= _MOST_BYTES and not result.is_inference()

    def taken_over(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
        """What the first run's call of as many calls of this function gave, if it was the same one."""
        calls = self._made.get(function)
        if not calls:
            return None
        call = calls.popleft()
        return call.result if call is not None and call.is_unwritten and call.is_made_by(args, kwargs) else None


class TakingOver(TorchFunctionMode):
    """The second run: inside of the block calls give what they gave before."""

    def __init__(self, calls: FirstRun) -> None:
        super().__init__()
        self._calls = calls

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        known = self._calls.taken_over(function, args, kwargs)
        return forward(function, *args, **kwargs) if known is None else known


def _is_same(found: Any, known: Any) -> bool:
    """Whether an argument is what it was, but for rounding."""
    if found is known:
        return True
    if not isinstance(found, torch.Tensor) or not isinstance(known, torch.Tensor):
        return type(found) is type(known) and bool(found == known)
    if (
        any(getattr(found, fact) != getattr(known, fact) for fact in _FACTS)
        or found.is_conj() != known.is_conj()
        or found.is_neg() != known.is_neg()
    ):
        return False
    if found.data_ptr() == known.data_ptr() and found.stride() == known.stride() or torch.equal(found, known):
        return True
    if not found.is_floating_point():
        return False
    largest = known.detach().abs().max().item() if known.numel() else 0.0
    return torch.allclose(found, known, rtol=0, atol=_ROUNDING * torch.finfo(known.dtype).eps * largest)
