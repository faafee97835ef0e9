"""Programs that write in place to tensors outside of their arguments, whose storage all variants must share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(*shape: int) -> torch.Tensor:
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) * 7 % 11 - 5) * 0.5).reshape(shape)


_RANKS = (lambda: (_x(3),), lambda: (_x(2, 3),), lambda: (_x(3),), lambda: (_x(2, 3),))
_FLAGS = tuple(
    lambda flag=flag: (_x(3), flag) for flag in (False, True, False, True, False, False, True, True)
)
PROGRAMS: list[Program] = []


def _program(
    calls: Any, errors: dict[str, str] | None = None
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that adds a program under the name of the function that creates it."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS.append(Program(make.__name__, make, calls, errors or {}))
        return make

    return add


# ------------------------------------------------------------------------------- one memory, several variants
@_program(_RANKS)
def closure_written_at_two_ranks() -> Any:
    table = torch.zeros(3)

    def function(x: Any) -> Any:
        table.add_(1)
        return x * table

    return function


@_program(_FLAGS)
def closure_written_by_one_branch() -> Any:
    table = torch.zeros(3)

    def function(x: Any, writes: bool) -> Any:
        if writes:
            table.add_(1)
        return x * (table * 2)

    return function


@_program(_FLAGS)
def closure_decides_after_write() -> Any:
    table = torch.zeros(3)

    def function(x: Any, writes: bool) -> Any:
        if writes:
            table.add_(1)
        return x - table if table[0] > 1 else x * (table * 2)

    return function


@_program(_FLAGS)
def closure_decides_before_write() -> Any:
    table = torch.zeros(3)

    def function(x: Any, writes: bool) -> Any:
        y = x - table if table[0] > 1 else x * (table * 2)
        if writes:
            table.add_(1)
        return y

    return function


class Plain: ...


@_program(_FLAGS)
def attribute_beside_a_new_one() -> Any:
    held = Plain()
    held.total, held.inner = torch.zeros(3), Plain()  # type: ignore[attr-defined]
    held.inner.count = 0  # type: ignore[attr-defined]

    def function(x: Any, writes: bool) -> Any:
        if writes:
            held.total.add_(x)  # type: ignore[attr-defined]
            held.inner.count += 2  # type: ignore[attr-defined]
            held.inner.last = held.total * 1  # type: ignore[attr-defined]
        return held.total * held.inner.count  # type: ignore[attr-defined]

    return function


@_program(_RANKS, {ELSEWHERE: "kept where nobody finds it"})
def partial_argument_written() -> Any:
    def function(total: Any, x: Any) -> Any:
        total.mul_(0.5).add_(x.sum())
        return x + total

    return functools.partial(function, torch.zeros(3))


@_program(_RANKS)
def tensor_in_two_places_written() -> Any:
    first = torch.zeros(3)
    held = [first]

    def function(x: Any) -> Any:
        held[0].add_(1)
        first.mul_(2)
        return x * held[0] + first

    return function


@_program(_RANKS)
def tensor_in_a_tuple_written() -> Any:
    held = Plain()
    held.state = (torch.zeros(3), (torch.ones(3), 2))  # type: ignore[attr-defined]

    def function(x: Any) -> Any:
        held.state[1][0].add_(x.sum())  # type: ignore[attr-defined]
        return x * held.state[1][0] * held.state[1][1]  # type: ignore[attr-defined]

    return function


class Scratch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3), persistent=False)

    def forward(self, x: Any) -> Any:
        self.total += x.reshape(-1, 3).sum(0)
        return x + self.total


PROGRAMS.append(Program("fleeting_buffer_written_at_two_ranks", Scratch, _RANKS))


# --------------------------------------------------------------------------------- one memory under two names
@_program(_RANKS)
def closure_of_table_and_row() -> Any:
    table = torch.zeros(2, 3)
    row = table[0]

    def function(x: Any) -> Any:
        row.add_(x.mean())
        table[1] = row * 2
        return table.sum() + x

    return function


# -------------------------------------------------------------------------------------------- memory of numpy
@_program(_RANKS, dict.fromkeys(("torch", ELSEWHERE), "comes from outside of torch"))
def numpy_array_written_by_torch() -> Any:
    def function(x: Any) -> Any:
        numbers = np.zeros(3, np.float32)
        tensor = torch.from_numpy(numbers)
        numbers[1] = 4
        tensor.add_(1)
        return x * tensor + float(numbers[1])

    return function


@_program(_RANKS, {ELSEWHERE: "memory that two of its arrays share"})
def numpy_array_taken_twice() -> Any:
    """``torch.from_numpy`` returns a new tensor at each call, on the same memory."""
    numbers = np.zeros(3, np.float32)
    tensor = torch.from_numpy(numbers)

    def function(x: Any) -> Any:
        tensor.add_(x.mean())
        return x * tensor, torch.from_numpy(numbers).sum()

    return function


def _refused_for(words: str) -> dict[str, str]:
    return dict.fromkeys(("torch", ELSEWHERE), words)


@_program(_RANKS)
def numpy_arrays_written_between_calls() -> Any:
    """A recorded call must use the elements that an array had at that point."""

    def function(x: Any) -> Any:
        numbers, places, buffer = (
            np.ones(3, np.float32),
            np.array([0, 1]),
            torch.from_numpy(np.zeros(3, np.float32)),
        )
        first = (
            x * torch.tensor(numbers),
            x.new_tensor(numbers),
            x[..., places],
            torch.as_tensor(np.ones(2)),
            buffer,
        )
        numbers += 4
        places[0] = 2
        return first, x + torch.tensor(numbers), x[..., places]

    return function


@_program(_RANKS, _refused_for("code outside of torch"))
def numpy_writes_after_torch() -> Any:
    def function(x: Any) -> Any:
        made = torch.zeros(3)
        numbers = made.numpy()
        made[0] = 5
        numbers[1] = 2
        return x + made

    return function


def _beside_numpy(run: Any) -> Any:
    """Return a function that creates a NumPy array and a tensor on it, and calls ``run(x, array, tensor)``."""

    def function(x: Any) -> Any:
        numbers = np.ones(3, np.float32)
        return run(x, numbers, torch.as_tensor(numbers))

    return function


@_program(_RANKS, _refused_for("code outside of torch"))
def numpy_writes_and_puts_back() -> Any:
    def run(x: Any, numbers: Any, tensor: Any) -> Any:
        first = x * tensor
        numbers[0] = 3
        second = x * tensor
        numbers[0] = 1
        return first + second

    return _beside_numpy(run)


@_program(_RANKS, _refused_for("writes to memory of a tensor that torch.as_tensor"))
def numpy_writes_to_what_is_returned() -> Any:
    def run(x: Any, numbers: Any, tensor: Any) -> Any:
        numbers[0] = 3
        return x, tensor

    return _beside_numpy(run)


@_program(_RANKS, _refused_for("has handed to code that cannot be recorded"))
def numpy_reads_what_torch_writes() -> Any:
    def function(x: Any) -> Any:
        made = torch.zeros(3)
        numbers = made.numpy()
        made += x.sum()
        return x * float(numbers.sum())

    return function


@_program(_RANKS)
def numpy_array_written_before_it_is_used() -> Any:
    def function(x: Any) -> Any:
        numbers = np.ones(3, np.float32)
        tensor = torch.from_numpy(numbers)
        numbers[1] = 7
        return x * tensor

    return function


class Uncounted(tuple[Any, ...]):
    """A tuple whose ``__len__`` raises."""

    def __len__(self) -> int:
        raise NotImplementedError


@_program(_RANKS)
def tuple_that_is_not_counted() -> Any:
    pair = Uncounted((2.0, {"shift": torch.ones(3)}))
    pairs = [pair]

    def function(x: Any) -> Any:
        scale, shift = pair[0], pairs[0][1]["shift"]
        return x * scale + shift

    return function
