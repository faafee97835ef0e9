"""Arrays that processes exchange, and how each finds out that another one has come with something else.

gloo ends a process that is sent more than it waits for, and fills less than that with what lay there before: so nobody may send what the
others do not expect. A message of its own for the sizes takes as long as the one with the arrays. So processes remember what they have
exchanged the last time. Who comes with the same sends one element more, a flag; who does not sends, with the flag set, what the others
expect. Where a flag is set all of them describe what they have come with, and go on where that is equal.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from ...errors import CallMismatch, CollectiveFailed

COMMUNICATION = ("gloo", "NCCL", "ProcessGroup", "Connection closed", "Timed out waiting")
"""What is in messages of errors of communication, of code that may fail in other ways, too."""

_OPERATIONS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
_gather = getattr(dist.ProcessGroup, "all_gather_single", None) or dist.ProcessGroup._allgather_base  # since torch 2.13, and before
_GATHERED_TYPES = frozenset({torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8})  # others as bytes: gloo has few


class failures:
    """Errors of communication as this package's: those of torch whose message has one of these words. A class, as each exchange enters it:
    less runs than of a generator."""

    def __init__(self, group: Any, words: tuple[str, ...] = ("",)) -> None:
        self._group, self._words = group, words

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, RuntimeError) and (isinstance(problem, dist.DistError) or any(word in str(problem) for word in self._words)):
            raise CollectiveFailed(
                f"process {dist.get_rank(self._group)} of {dist.get_world_size(self._group)} could not exchange arrays with the others: "
                "one has ended, did not come to the same collective within the timeout of torch.distributed.init_process_group(timeout=), "
                "or came with an array of another shape. Look for its own error first, then start all processes again. torch says: "
                f"{problem}"
            ) from problem


class _Message(NamedTuple):
    """What a process comes to an exchange with: an array, of a batch of so many rows. ``kind`` is ``"stack"`` or one of
    ``_OPERATIONS``."""

    kind: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    rows: int | None

    def __str__(self) -> str:
        what = "gathers" if self.kind == "stack" else f"takes the {self.kind} of"
        return f"{what} {str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


class Exchanges:
    """Exchanges of arrays that are known to be of one shape in all processes."""

    def __init__(self, group: Any) -> None:
        self.group, self.size, self.rank = group, group.size(), group.rank()

    def reduced(self, kind: str, array: Any) -> Any:
        """A new array with the elements of all processes, reduced as ``_OPERATIONS`` says."""
        return self._sent(kind, array).view(array.shape)

    def stacked(self, array: Any) -> Any:
        """The arrays of all processes along a new first axis."""
        return self._sent("stack", array).reshape(self.size, *array.shape)

    def joined(self, array: Any) -> Any:
        """The arrays of all processes along their first axis."""
        return self._sent("stack", array).reshape(self.size * array.shape[0], *array.shape[1:])

    def _sent(self, kind: str, array: Any) -> Any:
        """The elements in a row; for ``"stack"`` a row for each process."""
        row = array if kind == "stack" else array.clone(memory_format=torch.contiguous_format)
        return _sent(kind, row.reshape(1, -1), self.group)


@dataclass(frozen=True)
class _Last:
    """What an exchange was the last time. ``flag`` is sent with the next one, and is None where that is described."""

    message: _Message
    flag: Any


class CheckedExchanges(Exchanges):
    """The exchanges of the calls of one function, each by its number in a call: ``CallMismatch`` in all processes where they come with
    different batches or arrays."""

    def __init__(self, group: Any) -> None:
        super().__init__(group)
        self._last: list[_Last] = []
        self._number, self._rows = 0, None
        _meet(group)

    def begin(self, batch: Any) -> None:
        """A call with this batch, or with none."""
        self._number, self._rows = 0, None if batch is None else batch.shape[0]

    def end(self, batch: Any) -> None:
        """Compares batches where nothing was exchanged that would have told of them."""
        if self._number == 0 and batch is not None:
            self._sent("sum", batch.new_empty(0))

    def _sent(self, kind: str, array: Any) -> Any:
        number, self._number = self._number, self._number + 1
        own = _Message(kind, array.shape, array.dtype, array.device, self._rows)
        last = self._last[number] if number < len(self._last) else None
        if last is not None and last.flag is not None:
            found = self._as_last_time(last, array, own == last.message)
            if found is not None:
                return found
        _require_one(own, self.group)
        # what changes each time is described each time
        flag = array.new_full((1, 1), kind == "min") if last is not None and own == last.message else None
        self._last[number : number + 1] = [_Last(own, flag)]
        return super()._sent(kind, array)

    def _as_last_time(self, last: _Last, array: Any, is_same: bool) -> Any:
        """Sends what the others expect, with the flag set where that is not the array; None where a process has come with something
        else."""
        kind, flag = last.message.kind, last.flag
        if is_same:
            elements = array.reshape(1, -1)
        else:
            elements, flag = flag.new_zeros(1, math.prod(last.message.shape)), torch.full_like(flag, kind != "min")
        found = _sent(kind, torch.cat([elements, flag], 1), self.group)
        flags = found[:, -1].tolist()
        return found[:, :-1] if flags.count(kind == "min") == len(flags) else None  # one that is set changes what all get


_meetings: Counter[str] = Counter()  # of each group, by its name


def _meet(group: Any) -> None:
    """Waits for the others to come with as many functions, by the store of all processes: where one begins to exchange what the others do
    not expect, gloo ends it."""
    store, name = dist.distributed_c10d._get_default_store(), group.group_name
    _meetings[name] += 1
    key = f"graph_compiler/{name}/{_meetings[name]}"
    with failures(group):
        if store.add(f"{key}/count", 1) == group.size():
            store.set(f"{key}/all", "")
        store.wait([f"{key}/all"])


def _sent(kind: str, row: Any, group: Any) -> Any:
    """The elements of all processes, a row of one: stacked in new memory, or reduced where they lie."""
    with failures(group):
        if kind != "stack":
            dist.all_reduce(row, _OPERATIONS[kind], group)
            return row
        row = row.contiguous()
        sent = row if row.dtype in _GATHERED_TYPES else row.view(torch.uint8)
        found = sent.new_empty(group.size(), sent.shape[1])
        _gather(group, found, sent).wait()
        return found if sent is row else found.view(row.dtype)


def _require_one(own: _Message, group: Any) -> None:
    """``CallMismatch`` in all processes where they describe different things."""
    told = torch.tensor([[-1 if own.rows is None else own.rows, zlib.crc32(str(own).encode())]], device=own.device)
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


__all__ = ["COMMUNICATION", "CheckedExchanges", "Exchanges", "failures"]
