"""Memory of tensors that code outside of torch shares: NumPy arrays, buffers, results of ``.numpy()``."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ....errors import TracingError
from ....ir.node import Origin
from ..basics.tensors import version
from ..compat import no_torch_function
from .copies import Snapshot
from .memory import has_memory, reach
from .watching import pieces_of

# ``torch.from_numpy`` passes the tensor that it made through this kernel.
_OF_CONSTRUCTORS = "lift_fresh"


@dataclass
class _SharedTensor:
    """A tensor that other code shares, with its contents at the last access by torch.

    start, end: addresses of its first byte and after its last.
    origin: the line that shared it.
    is_read: True if the recording has handed it out.
    is_weight: True if only pieces are compared, because all weights loaded from a file are here.
    is_used: True if a call has computed with its contents.
    number: its version at the last access.
    same: returns True while the contents are those at the last access.
    """

    tensor: torch.Tensor
    start: int
    end: int
    origin: Origin
    is_read: bool
    is_weight: bool
    is_used: bool
    number: int = 0
    same: Callable[[], bool] = bool

    def refresh(self) -> None:
        pieces = pieces_of(self.tensor) if self.is_weight else None
        self.number, self.same = (
            version(self.tensor),
            pieces.same if pieces else partial(Snapshot(self.tensor).is_of, self.tensor),
        )

    def changed(self) -> bool:
        return version(self.tensor) == self.number and not self.same()


class ExportedMemory:
    """Tensors of a recording whose memory other code may read, and write without a version counter."""

    def __init__(self) -> None:
        # Sorted by address, because there may be thousands.
        self._shared: list[_SharedTensor] = []
        # The size of the largest one in bytes.
        self._longest = 0

    def share(
        self, tensor: torch.Tensor, origin: Origin, is_read: bool = False, is_weight: bool = False
    ) -> None:
        """Register a tensor whose memory other code may write to from now on.

        `is_read` is True if the recording has handed the memory out, so that other code may read it.
        Tensors off the CPU and sparse ones are ignored.
        """
        if has_memory(tensor):
            with no_torch_function():
                start, end = _place(tensor)
            one = _SharedTensor(tensor, start, end, origin, is_read, is_weight, is_used=is_read)
            one.refresh()
            insort(self._shared, one, key=_start)
            self._longest = max(self._longest, end - start)

    def look(self, name: str, key: str, operands: Sequence[torch.Tensor]) -> None:
        """Check the operands of a call that is about to run, and mark them as used.

        Raise ``TracingError`` if other code has written to the memory of an operand since a call used it.
        """
        for one in self._in(operands):
            if one.is_used:
                _refuse_changed(name, one)
            else:
                one.refresh()
                one.is_used = key != _OF_CONSTRUCTORS

    def written(self, here: Callable[[], Any], tensors: Sequence[torch.Tensor], varies: bool) -> None:
        """Note that a call wrote to `tensors`.

        Raise ``TracingError`` if other code could read elements there that depend on the inputs
        (`varies`).
        """
        for one in self._in(tensors):
            if varies and one.is_read:
                raise TracingError(
                    f"{here()}: elements that depend on the inputs are written to memory that {one.origin} "
                    "has handed to code that cannot be recorded (numpy, or a pointer), so what that code "
                    "reads would be baked in. Write to a copy (clone)"
                )
            one.refresh()

    def check(self, name: str, written: Container[int]) -> None:
        for one in self._shared:
            if one.is_used and id(one.tensor) not in written:
                _refuse_changed(name, one)

    def _in(self, tensors: Sequence[torch.Tensor]) -> Iterable[_SharedTensor]:
        if not self._shared:
            return ()
        # Comparing addresses is no read by the user's code.
        with no_torch_function():
            places = [
                _place(tensor) for tensor in tensors if self._begins_before_end(tensor) and has_memory(tensor)
            ]
        # Few remain if most weights are in torch's own memory.
        near = [place for place in places if self._shared[0].start < place[1]]
        return {id(one): one for place in near for one in self._around(*place)}.values()

    def _begins_before_end(self, tensor: torch.Tensor) -> bool:
        try:
            # This comparison is cheap, and rules out most tensors.
            return tensor.data_ptr() < self._shared[-1].start + self._longest
        except (NotImplementedError, RuntimeError):
            return False

    def _around(self, start: int, end: int) -> Iterable[_SharedTensor]:
        first, last = (
            bisect_right(self._shared, start - self._longest, key=_start),
            bisect_left(self._shared, end, key=_start),
        )
        return (one for one in self._shared[first:last] if start < one.end)


def _start(one: _SharedTensor) -> int:
    return one.start


def _place(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + reach(tensor) * tensor.itemsize


def _refuse_changed(name: str, one: _SharedTensor) -> None:
    if one.changed():
        raise TracingError(
            f"{name}: code outside of torch (numpy, or a pointer) writes to memory of a tensor that "
            f"{one.origin} shares with it, which cannot be recorded. Write to the tensor with torch, or pass "
            "on a copy (torch.tensor, clone)"
        )
