"""Memory of tensors that code outside of torch holds as well: numpy's arrays, buffers, what was handed out by ``.numpy()``."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ....errors import TracingError
from ....ir.graph import Origin
from ..basics.tensors import version
from .memory import has_memory, shares
from .snapshots import Snapshot

_OF_CONSTRUCTORS = "lift_fresh"  # by which torch.from_numpy hands on the tensor that it has made


@dataclass
class _Shared:
    """One tensor, with what its memory held when torch has last looked at it or written to it.

    ``is_read``: whether other code got it from the recording; ``is_used``: whether a call has computed with what it held.
    """

    tensor: torch.Tensor
    origin: Origin
    is_read: bool
    is_used: bool
    number: int = 0
    before: Snapshot | None = None

    def refresh(self) -> None:
        self.number, self.before = version(self.tensor), Snapshot(self.tensor)

    def changed(self) -> bool:
        """Whether it holds something else although torch has not written to it."""
        return self.before is not None and version(self.tensor) == self.number and not self.before.is_of(self.tensor)


class Handed:
    """The tensors of a recording whose memory other code may read and write, of which torch counts nothing."""

    def __init__(self) -> None:
        self._shared: list[_Shared] = []

    def share(self, tensor: torch.Tensor, origin: Origin, is_read: bool = False) -> None:
        """From now on other code may write to the tensor's memory, and read it where the recording has handed it out."""
        if has_memory(tensor):
            self._shared.append(_Shared(tensor, origin, is_read, is_used=is_read))
            self._shared[-1].refresh()

    def look(self, name: str, key: str, operands: Sequence[torch.Tensor]) -> None:
        """Before a call: ``TracingError`` where other code has written to memory of one of its operands since another call took it."""
        for one in self._in(operands):
            if one.is_used:
                _refuse_changed(name, one)
            else:
                one.refresh()
                one.is_used = key != _OF_CONSTRUCTORS

    def written(self, here: Callable[[], Any], tensors: Sequence[torch.Tensor], varies: bool) -> None:
        """After a call that wrote to these: what they hold now is torch's. ``TracingError`` where other code would read what depends on the inputs."""
        for one in self._in(tensors):
            if varies and one.is_read:
                raise TracingError(
                    f"{here()}: elements that depend on the inputs are written to memory that {one.origin} has handed to code that cannot be recorded "
                    "(numpy, or a pointer), so what that code reads would be baked in. Write to a copy (clone)"
                )
            one.refresh()

    def check(self, name: str, written: Container[int]) -> None:
        """As :meth:`look`, of all at the end; ``written`` are the ids of what recorded calls wrote to."""
        for one in self._shared:
            if one.is_used and id(one.tensor) not in written:
                _refuse_changed(name, one)

    def _in(self, tensors: Sequence[torch.Tensor]) -> Iterable[_Shared]:
        """Those that lie in the memory of one of the tensors."""
        if not self._shared:
            return ()
        with torch._C.DisableTorchFunction():  # to compare places is no read of the user's
            return [one for one in self._shared if any(has_memory(item) and shares(one.tensor, item) for item in tensors)]


def _refuse_changed(name: str, one: _Shared) -> None:
    if one.changed():
        raise TracingError(
            f"{name}: code outside of torch (numpy, or a pointer) writes to memory of a tensor that {one.origin} shares with it, "
            "which cannot be recorded. Write to the tensor with torch, or pass on a copy (torch.tensor, clone)"
        )
