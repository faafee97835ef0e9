"""Arrays that processes exchange, and how each finds out that another one has come with something else.

gloo ends a process that is sent more than it waits for, and fills less than that with what lay there before: so nobody may send what the
others do not expect. A message of its own for the sizes takes as long as the one with the arrays. So processes remember what they have
exchanged the last time. Who comes with the same sends one element more, a flag; who does not sends, with the flag set, what the others
expect. Where a flag is set all of them describe what they have come with, and go on where that is equal.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from ...errors import CallMismatch, CollectiveFailed

COMMUNICATION = ("gloo", "NCCL", "ProcessGroup", "Connection closed", "Timed out waiting")
"""What is in messages of errors of communication, of code that may fail in other ways, too."""

_OPERATIONS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
_GATHERED = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor  # the name since torch 2.13, and before


@contextmanager
def failures(group: Any, words: tuple[str, ...] = ("",)) -> Iterator[None]:
    """Errors of communication as this package's: those of torch whose message has one of these words."""
    try:
        yield
    except RuntimeError as problem:
        if not isinstance(problem, dist.DistError) and not any(word in str(problem) for word in words):
            raise
        raise CollectiveFailed(
            f"process {dist.get_rank(group)} of {dist.get_world_size(group)} could not exchange arrays with the others: one has ended, did "
            "not come to the same collective within the timeout of torch.distributed.init_process_group(timeout=), or came with an array "
            f"of another shape. Look for its own error first, then start all processes again. torch says: {problem}"
        ) from problem


@dataclass(frozen=True)
class _Message:
    """What a process comes to an exchange with: an array, of a batch of so many rows. ``kind`` is ``"stack"`` or one of
    ``_OPERATIONS``."""

    kind: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    rows: int | None

    def __str__(self) -> str:
        what = "gathers" if self.kind == "stack" else f"takes the {self.kind} of"
        return f"{what} {str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


class Exchanges:
    """Exchanges of arrays that are known to be of one shape in all processes."""

    def __init__(self, group: Any) -> None:
        self.group = group

    def reduced(self, kind: str, array: Any) -> Any:
        """A new array with the elements of all processes, reduced as ``_OPERATIONS`` says."""
        return self._sent(kind, array.detach()).view(array.shape)

    def stacked(self, array: Any) -> Any:
        """The arrays of all processes along a new first axis."""
        return self._sent("stack", array.detach()).reshape(dist.get_world_size(self.group), *array.shape)

    def _sent(self, kind: str, array: Any) -> Any:
        flat = array.reshape(-1) if kind == "stack" else array.clone(memory_format=torch.contiguous_format).view(-1)
        return _sent(kind, flat, self.group)


@dataclass
class Agreement:
    """What each exchange of a call was the last time, and whether it was that twice: what changes every time is described every time."""

    last: list[tuple[_Message, bool]] = field(default_factory=list)


class CheckedExchanges(Exchanges):
    """The exchanges of one call, each by its number: ``CallMismatch`` in all processes where they come with different batches or arrays."""

    def __init__(self, group: Any, agreement: Agreement, batch: Any) -> None:
        super().__init__(group)
        self._last, self._batch, self._number = agreement.last, batch, 0

    def end(self) -> None:
        """Compares batches where nothing was exchanged that would have told of them."""
        if self._number == 0 and self._batch is not None:
            self._sent("sum", self._batch.new_empty(0))

    def _sent(self, kind: str, array: Any) -> Any:
        number, self._number = self._number, self._number + 1
        own = _Message(kind, tuple(array.shape), array.dtype, None if self._batch is None else self._batch.shape[0])
        last, is_settled = self._last[number] if number < len(self._last) else (None, False)
        if last is not None and is_settled:
            found = self._as_last_time(last, array if own == last else None, array.device)
            if found is not None:
                return found
        _require_one(own, array.device, self.group)
        self._last[number : number + 1] = [(own, own == last)]
        return super()._sent(kind, array)

    def _as_last_time(self, last: _Message, array: Any, device: Any) -> Any:
        """Sends what the others expect, nothing in it where there is no array; None where a process has come with something else."""
        unset = int(last.kind == "min")  # a flag that is set changes what all get
        flag = torch.full((1,), unset if array is not None else 1 - unset, dtype=last.dtype, device=device)
        elements = torch.zeros(math.prod(last.shape), dtype=last.dtype, device=device) if array is None else array.reshape(-1)
        found = _sent(last.kind, torch.cat([elements, flag]), self.group)
        return found[..., :-1] if not (found[..., -1] != unset).any() else None


def _sent(kind: str, flat: Any, group: Any) -> Any:
    """The elements of all processes: stacked in new memory, or reduced where they lie."""
    with failures(group):
        if kind != "stack":
            dist.all_reduce(flat, _OPERATIONS[kind], group)
            return flat
        sent = flat.contiguous().view(torch.uint8)  # gloo gathers few types
        found = sent.new_empty(size := dist.get_world_size(group), sent.numel())
        _GATHERED(found.view(-1), sent, group)
        return found.view(-1).view(flat.dtype).view(size, flat.numel())


def _require_one(own: _Message, device: Any, group: Any) -> None:
    """``CallMismatch`` in all processes where they describe different things."""
    told = torch.tensor([-1 if own.rows is None else own.rows, zlib.crc32(str(own).encode())], device=device)
    rows, texts = _sent("stack", told, group).T.tolist()
    if len(set(rows)) > 1:
        raise CallMismatch(
            f"the processes give batches of {', '.join(map(str, rows))} rows, in the order of their ranks; all have to give one size: "
            "leave the rest of the last batch out (drop_last=True)"
        )
    if len(set(texts)) > 1:
        each: list[Any] = [None] * len(texts)
        with failures(group):
            dist.all_gather_object(each, str(own), group)
        raise CallMismatch(
            f"the processes exchange different arrays, in the order of their ranks: {'; '.join(each)}. All have to come with one shape and "
            "dtype: pad what differs to one size, and call parallel.psum and its like in one order in all processes"
        )


__all__ = ["COMMUNICATION", "Agreement", "CheckedExchanges", "Exchanges", "failures"]
