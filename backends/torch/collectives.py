"""Collectives of ``torch.distributed`` and their derivatives, also under ``torch.func``."""

from __future__ import annotations

import functools
import math
import zlib
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
import torch.distributed as dist
from torch.autograd import Function

from ...errors import CallMismatch, CollectiveFailed, GradientRefused

COMMUNICATION = ("gloo", "NCCL", "ProcessGroup", "Connection closed", "Timed out waiting")
"""Words that tell errors of communication from other errors of the same code."""

_OPERATIONS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
# The first name exists since torch 2.13, the second one before.
_gather_rows_kernel = (
    getattr(dist.ProcessGroup, "all_gather_single", None) or dist.ProcessGroup._allgather_base
)
# By dtype, a number that hardly occurs as the first element of an array. Arrays of other dtypes are gathered
# as bytes, because gloo supports few dtypes.
_SENTINELS = {
    torch.float32: -1.5 * 2.0**-99,
    torch.float64: -1.5 * 2.0**-99,
    torch.int32: -1515870811,
    torch.int64: -1515870811,
    torch.uint8: 165,
}


class communication_errors:
    """Context manager that turns errors of communication between processes into ``CollectiveFailed``.

    Such errors are ``DistError``, and any ``RuntimeError`` whose message contains one of ``words``.
    """

    def __init__(self, group: Any, words: tuple[str, ...] = ("",)) -> None:
        self._group, self._words = group, words

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, RuntimeError) and (
            isinstance(problem, dist.DistError) or any(word in str(problem) for word in self._words)
        ):
            raise CollectiveFailed(
                f"process {dist.get_rank(self._group)} of {dist.get_world_size(self._group)} could not "
                "exchange arrays with the others: "
                "one has ended, did not come to the same collective within the timeout of "
                "torch.distributed.init_process_group(timeout=), "
                "or came with an array of another shape. Look for its own error first, then start all "
                "processes again. torch says: "
                f"{problem}"
            ) from problem


class _ArrayDescription(NamedTuple):
    """Description of an array that a process exchanges, compared with those of the other processes.

    kind: ``"stack"`` to gather the array, or a key of ``_OPERATIONS`` to reduce it.
    rows: number of rows of the process's batch, or None if the call has no batch.
    """

    kind: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    rows: int | None

    def __str__(self) -> str:
        what = "gathers" if self.kind == "stack" else f"takes the {self.kind} of"
        return f"{what} {str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


class Exchanges:
    """Collectives over a group of processes, each of which passes an array of the same shape."""

    def __init__(self, group: Any) -> None:
        self.group, self.size, self.rank = group, group.size(), group.rank()

    def total(self, array: Any) -> Any:
        return self._exchange("sum", array).view(array.shape)

    def pmax(self, array: Any) -> Any:
        return self._exchange("max", array).view(array.shape)

    def pmin(self, array: Any) -> Any:
        return self._exchange("min", array).view(array.shape)

    def stacked(self, array: Any) -> Any:
        return self._exchange("stack", array).view(self.size, *array.shape)

    def concatenated(self, array: Any) -> Any:
        rows, *rest = array.shape
        return self._exchange("stack", array).view(self.size * rows, *rest)

    def local_rows(self, array: Any) -> Any:
        rows = array.shape[0] // self.size
        return torch.narrow_copy(array, 0, self.rank * rows, rows)

    def replicated_result(self, array: Any) -> Any:
        return array.view_as(array)

    summed_result = total

    def _exchange(self, kind: str, array: Any) -> Any:
        if kind == "stack":
            return _gather_rows(array, self.group).view(array.dtype)
        # The reduction is in place, and the array belongs to the caller.
        return all_reduce(kind, array.clone(memory_format=torch.contiguous_format), self.group)


@dataclass(frozen=True)
class _LatestExchange:
    """Record of the latest exchange at one position in the order of the exchanges of a call.

    flag: array of one element, the unset flag for the next exchange at this position. None if the processes
        have to compare descriptions first.
    """

    message: _ArrayDescription
    flag: Any


class CheckedExchanges(Exchanges):
    """Collectives with a check that the processes exchange arrays of the same shape and dtype.

    Creating the object waits for all processes of the group.

    made: number of exchanges in the current call.
    """

    def __init__(self, group: Any) -> None:
        super().__init__(group)
        self._last: list[_LatestExchange] = []
        self.made, self._rows = 0, None
        _wait_for_others(group)

    def begin(self, batch: Any) -> None:
        self.made, self._rows = 0, None if batch is None else batch.shape[0]

    def compare(self, batch: Any) -> None:
        self._exchange("sum", batch.new_empty(0))

    def _exchange(self, kind: str, array: Any) -> Any:
        # An exchange that equals the previous one needs no further message: a sentinel or a flag in it shows
        # if a process has another array.
        number, self.made = self.made, self.made + 1
        own = (kind, array.shape, array.dtype, array.device, self._rows)
        last = self._last[number] if number < len(self._last) else None
        if last is not None and last.flag is not None:
            again = self._stacked_again if last.message.kind == "stack" else self._reduced_again
            found = again(last, array if own == last.message else None)
            if found is not None:
                return found
        message = _ArrayDescription(*own)
        _require_same_description(message, self.group)
        # An array that differs from the last call, or is gathered empty, is described at the next call, too.
        is_steady = last is not None and own == last.message and (kind != "stack" or array.numel() > 0)
        self._last[number : number + 1] = [
            _LatestExchange(message, array.new_full((1,), kind == "min") if is_steady else None)
        ]
        return super()._exchange(kind, array)

    def _stacked_again(self, last: _LatestExchange, array: Any) -> Any:
        """Gather ``array``, or a sentinel if it is None because it differs from that of ``last``.

        Return a row of elements for each process, or None if a row begins with the sentinel.
        """
        found = _gather_rows(_sentinel(last.message) if array is None else array, self.group)
        return (
            None if _SENTINELS[found.dtype] in found.select(1, 0).tolist() else found.view(last.message.dtype)
        )

    def _reduced_again(self, last: _LatestExchange, array: Any) -> Any:
        """Reduce ``array`` and a flag, which is set if ``array`` is None because it differs from ``last``'s.

        Return the flat result, or None if a process has set its flag.
        """
        unset, flag = last.message.kind == "min", last.flag
        if array is None:
            array, flag = flag.new_zeros(math.prod(last.message.shape)), torch.full_like(flag, not unset)
        found = all_reduce(last.message.kind, torch.cat([array.reshape(-1), flag]), self.group)
        # A flag that one process sets changes the result of all.
        return found[:-1] if found[-1].item() == unset else None


def _sentinel(expected: _ArrayDescription) -> Any:
    array = torch.empty(expected.shape, dtype=expected.dtype, device=expected.device)
    sent = array if array.dtype in _SENTINELS else array.view(-1).view(torch.uint8)
    sent.fill_(_SENTINELS[sent.dtype])
    return array


# The number of calls of _wait_for_others, by the name of the group.
_wait_counts: Counter[str] = Counter()


# The processes meet at the default store, because gloo ends a process whose exchange the others do not
# expect.
def _wait_for_others(group: Any) -> None:
    """Wait until every process of ``group`` has called this function for ``group`` as often as this one."""
    store, name = dist.distributed_c10d._get_default_store(), group.group_name
    _wait_counts[name] += 1
    key = f"graph_compiler/{name}/{_wait_counts[name]}"
    with communication_errors(group):
        if store.add(f"{key}/count", 1) == group.size():
            store.set(f"{key}/all", "")
        store.wait([f"{key}/all"])


def all_reduce(kind: str, row: Any, group: Any) -> Any:
    """Reduce ``row`` in place over the processes of ``group`` by ``kind`` ("sum", "max" or "min")."""
    try:
        # The method of the group avoids the overhead of dist.all_reduce, but does not accept complex numbers.
        if row.is_complex():
            dist.all_reduce(row, _OPERATIONS[kind], group)
        else:
            group.allreduce(row, _OPERATIONS[kind]).wait()
    except RuntimeError:
        with communication_errors(group):
            raise
    return row


def _gather_rows(array: Any, group: Any) -> Any:
    """Return the elements of the arrays of all processes, one row per process.

    Elements of dtypes other than those of ``_SENTINELS`` are returned as bytes (uint8).
    """
    row = array.reshape(1, -1).contiguous()
    if row.dtype not in _SENTINELS:
        row = row.view(torch.uint8)
    found = row.new_empty(group.size(), row.shape[1])
    try:
        _gather_rows_kernel(group, found, row).wait()
    except RuntimeError:
        with communication_errors(group):
            raise
    return found


def _require_same_description(own: _ArrayDescription, group: Any) -> None:
    # Checksums fit one small exchange. The descriptions themselves are exchanged only if they differ.
    told = torch.tensor(
        [[-1 if own.rows is None else own.rows, zlib.crc32(str(own).encode())]], device=own.device
    )
    rows, texts = _gather_rows(told, group).T.tolist()
    if len(set(rows)) > 1:
        raise CallMismatch(
            f"the processes give batches of {', '.join(map(str, rows))} rows, in the order of their ranks; "
            "all have to give one size: "
            "leave the rest of the last batch out (drop_last=True)"
        )
    if len(set(texts)) > 1:
        each: list[Any] = [None] * len(texts)
        with communication_errors(group):
            dist.all_gather_object(each, str(own), group)
        raise CallMismatch(
            f"the processes exchange different arrays, in the order of their ranks: {'; '.join(each)}. All "
            "have to come with one shape and "
            "dtype: pad what differs to one size, and call parallel.psum and its like in one order in all "
            "processes"
        )


def broadcast(array: Any, group: Any) -> Any:
    with communication_errors(group):
        dist.broadcast(array, group=group, group_src=0)
    return array


class Exchange(Function):
    """Autograd function ``(array, name, over)`` that calls the method ``name`` of ``over``."""

    @staticmethod
    def forward(array: Any, name: str, over: Exchanges) -> Any:
        return getattr(over, name)(array)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.kind, over = inputs
        ctx.group = over.group

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        return _TRANSPOSES[ctx.kind](cotangent, Exchanges(ctx.group)), None, None

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, array: Any, name: str, over: Exchanges) -> Any:
        # All methods keep the axes after the first one, and some combine or select along that one.
        result = cls.apply(array.movedim(in_dims[0], -1), name, over)
        return result, result.ndim - 1


class SharedAcrossDevices(Function):
    """Autograd function ``(group, *arrays)`` that sums the cotangents of ``arrays`` over the processes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(group: Any, *arrays: Any) -> Any:
        return tuple(array.view_as(array) for array in arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.group = inputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return None, *apply_flattened(lambda flat: sum_in_place(flat, Exchanges(ctx.group)), list(cotangents))


def exchange(array: Any, name: str, over: Exchanges) -> Any:
    return (
        apply_function(Exchange, array, name, over)
        if is_differentiated_or_transformed(array)
        else getattr(over, name)(array)
    )


def sum_in_place(array: Any, over: Exchanges) -> Any:
    return (
        apply_function(Exchange, array, "total", over)
        if is_differentiated_or_transformed(array)
        else all_reduce("sum", array, over.group)
    )


def is_differentiated_or_transformed(*arrays: Any) -> bool:
    if (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch.autograd.forward_ad._current_level >= 0
    ):
        return True
    if torch.is_grad_enabled():
        for array in arrays:
            if array.requires_grad:
                return True
    return False


def has_transforms() -> bool:
    return torch._C._functorch.peek_interpreter_stack() is not None


def apply_function(function: type[Function], *inputs: Any) -> Any:
    # Outside of transforms, this avoids torch's inspection of `forward` at each call.
    return (
        function.apply(*inputs)
        if has_transforms()
        else _without_transforms(cast(Hashable, function)).apply(*inputs)
    )


@functools.cache
def _without_transforms(function: Any) -> Any:
    # torch recognizes an autograd function for use without transforms by the context argument of `forward`,
    # and calls it with less overhead.
    def forward(ctx: Any, *inputs: Any) -> Any:
        output = function.forward(*inputs)
        function.setup_context(ctx, inputs, output)
        return output

    return type(
        function.__name__,
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(function.backward)},
    )


NO_GRADIENT = (
    "parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what they are given"
)


def _refuse(cotangent: Any, over: Exchanges) -> Any:
    raise GradientRefused(NO_GRADIENT)


# The transpose of each exchange.
_TRANSPOSES: dict[str, Callable[[Any, Exchanges], Any]] = {
    "total": lambda cotangent, over: exchange(cotangent, "total", over),
    "pmax": _refuse,
    "pmin": _refuse,
    "stacked": lambda cotangent, over: exchange(cotangent, "total", over)[over.rank],
    # "local_rows" selects this device's rows, and "concatenated" concatenates the rows of all devices.
    "local_rows": lambda cotangent, over: exchange(cotangent, "concatenated", over),
    "concatenated": lambda cotangent, over: exchange(cotangent, "local_rows", over),
    # All processes continue in the same way after "summed_result". Arrays of "replicated_result" are equal on
    # all devices, and each device gets a share of the cotangent.
    "summed_result": lambda cotangent, over: cotangent,
    "replicated_result": lambda cotangent, over: cotangent / over.size,
}


def apply_flattened(function: Callable[[Any], Any], arrays: list[Any]) -> list[Any]:
    """Apply ``function`` to the arrays of each dtype as one flat array, and return the parts of its results.

    None among ``arrays`` stays None.
    """
    found: list[Any] = [None] * len(arrays)
    for dtype in dict.fromkeys(array.dtype for array in arrays if array is not None):
        places = [place for place, array in enumerate(arrays) if array is not None and array.dtype == dtype]
        given = [arrays[place] for place in places]
        flat = function(torch.cat([array.reshape(-1) for array in given]))
        for place, array, part in zip(places, given, flat.split_with_sizes(list(map(torch.numel, given)))):
            found[place] = part.view(array.shape)
    return found
