"""Programs that scripts/fuzz.py and scripts/coverage.py found to fail, reduced to the cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .table import ELSEWHERE, Program

Calls = tuple[Callable[[], tuple[Any, ...]], ...]


def _x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = int(torch.tensor(shape).prod()) if shape else 1
    return ((torch.arange(count) * 5 % 13 - 6).reshape(shape) * 0.5).to(dtype)


def _calls(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Calls:
    return tuple(lambda shape=shape: (_x(*shape, dtype=dtype),) for shape in shapes)


# ------------------------------------------------------------------------------ the arguments after recording
def written_through_two_views(x: Any) -> Any:
    """The second view must see the write through the first."""
    x.mT[0].sub_(1)
    x[0] = x[1]
    return x.sum()


def written_where_memory_repeats(x: Any) -> Any:
    x[0] = 5
    return x * 2


def bfloat16_argument(x: Any) -> Any:
    """NumPy, through which elements are written back, has no bfloat16."""
    x[0] = x.mean()
    return x * 2


def memory_of_wide_type(x: Any) -> Any:
    """JAX without 64-bit types has only half of the bytes that are reinterpreted."""
    return x.view(torch.int32) + 1


def turned_argument(x: Any) -> Any:
    """NumPy's flipped view of a single row has a negative stride and still counts as contiguous."""
    x.copy_(x.flip(0))
    return x + 1


# ------------------------------------------------------------------------------------- another shape in place
def reshaped_in_place(x: Any) -> Any:
    made = x * 1.0
    row = made[0]
    made.t_()
    made.unsqueeze_(0)
    made[0, 1] = 5
    rows = made.shape[1] * 10 + made.shape[2]
    return made, row, rows, made.squeeze_(0).transpose_(0, 1).numel()


def argument_reshaped_in_place(x: Any) -> Any:
    return x.unsqueeze_(0) + 1


def argument_by_another_name_reshaped(x: Any) -> Any:
    """``contiguous`` returns the argument itself, which is then reshaped in place."""
    x.contiguous().t_()
    return x.shape[0]


def bools_filled_by_a_size(x: Any) -> Any:
    return x * (x > 0).index_fill(-1, torch.tensor([0]), x.shape[0])


def resized(x: Any) -> Any:
    return (x * 2).resize_(2)


def out_resized(x: Any) -> Any:
    made = torch.empty(0)
    torch.add(x, 1, out=made)
    return made


def out_without_elements(x: Any) -> Any:
    """Empty tensors passed as ``out=`` are resized, returned as the same objects, and can be viewed and
    written.
    """
    largest, places, total = torch.empty(0), torch.empty(0, dtype=torch.long), x.new_empty(0)
    pair = torch.max(x, 1, out=(largest, places))
    given = torch.sum(x, 1, out=total)
    part = total[:1]
    torch.add(total, 1, out=total)
    part.mul_(3)
    return pair.values is largest, given is total, total, part, largest, places


def out_without_elements_and_gradients(x: Any, asks: bool) -> Any:
    """torch rejects ``out=`` if an operand requires a gradient."""
    made = torch.empty(0)
    try:
        torch.mul(x.clone().requires_grad_(asks), 2, out=made)
    except RuntimeError:
        return x - 1
    return made


def out_of_another_type(x: Any) -> Any:
    return torch.add(x, 1, out=torch.empty(0, dtype=torch.float64))


def out_without_elements_at_this_size(x: Any) -> Any:
    return torch.mul(x, 2, out=torch.zeros(x.shape[0] - x.shape[0] % 7))


def out_beside_operand(x: Any) -> Any:
    made = x * 1.0
    torch.add(made[1], made[0], out=made[1])
    torch.index_select(made[:1], 0, torch.tensor([0]), out=made[1:2])
    return made


def out_overlaps_operand(x: Any) -> Any:
    made = x * 1.0
    torch.matmul(made, made, out=made.t())
    return made


def out_shows_operand(x: Any) -> Any:
    """torch sets the result to 0 before it reads the operand, which has the same storage."""
    made = x[:, :1] * 1.0
    torch.mean(made, 1, out=made.mT[0])
    return made


def out_repeats_elements(x: Any) -> Any:
    made = torch.zeros(2 * x.shape[0])
    return torch.add(x, 1, out=made.as_strided(x.shape, (1, 1))), made


def picked_by_what_a_view_shows(x: Any) -> Any:
    """The mask is a view of a tensor that was written to, so that it must be read again."""
    kept = x > 0
    last = kept[-1]
    last.unsqueeze_(-1)
    kept[0] = True
    return torch.masked_select(x[:1], last)


class TakenBefore(torch.nn.Module):
    """``x[index]`` with an index tensor of no axes is a view in torch, but ``take`` copies."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor([0, 4]))

    def forward(self, x: Any) -> Any:
        place = (x.sum() > 0).long()
        taken = torch.take(self.steps, place)
        self.steps += 1
        return taken, x


# ---------------------------------------------------------------------------------------------- sizes
def chunks_of_nothing(x: Any) -> Any:
    """torch splits an empty array into as many pieces as requested."""
    return x[x > 100].chunk(3)[-1], x.chunk(2)[0]


def halves_of_sizes(x: Any) -> Any:
    n = x.shape[0]
    return x * (n * 0.5) + (n - 0.25), round(n - 0.5), int(1.5 * n), n + 0.5, x[: int(n * 0.5)]


# ---------------------------------------------------------------------------------------------- numbers
def wrapped_numbers(x: Any) -> Any:
    """torch wraps a Python number to the dtype of an integer array."""
    filled = torch.full_like(x, -1)
    return (
        x % -2,
        x + -2,
        x > -1,
        x - 300,
        torch.where(x > 2, x, -1),
        filled,
        x.new_full((2,), -1),
        x.clone().fill_(-3),
        -1 - x,
    )


# ---------------------------------------------------------------------------------------------- state
class WrittenThenReplaced(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.total.add_(x.sum(0))
        self.total = self.total * 2
        return x + self.total


class CastBeforeUse(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        self.layer = self.layer.to(x.dtype)
        return self.layer(x)


def new_of_sizes(x: Any) -> Any:
    return x.new(x.shape).zero_() + x, x.new(x.shape[0] + 1).fill_(2), x.new([1, 2])


class MakesUp:
    """Its ``__getattr__`` raises ``KeyError`` instead of ``AttributeError``."""

    def __init__(self) -> None:
        self.settings = {"scale": 2.0}

    def __getattr__(self, name: str) -> Any:
        return vars(self)["settings"][name]

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class OddNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name in ('"', '"""', "'", "\\", "a\nb", "class"):
            self.register_parameter(name, nn.Parameter(torch.full((3,), 2.0)))

    def forward(self, x: Any) -> Any:
        for weight in self.parameters():
            x = x * weight
        return x


def sparse_argument(x: Any) -> Any:
    return x @ torch.ones(3, 2)


# ----------------------------------------------------------------------------- told that it is being compiled
def other_code_when_compiled(x: Any) -> Any:
    """A graph must give the result of the uncompiled function, whatever the function does under a compiler."""
    return x * 2 if torch.compiler.is_compiling() else x * 3


def number_that_tells_of_compilation(x: Any) -> Any:
    return x * 2, x.shape[0], 1 if torch.compiler.is_compiling() else 0


def shortcut_when_not_compiled(x: Any) -> Any:
    """The shortcut has the same result, so that one graph without it serves all calls."""
    mask = x > -100
    if not torch.compiler.is_compiling() and mask.all():
        return x + 1
    return torch.where(mask, x + 1, 0.0)


def other_code_between_products(x: Any) -> Any:
    """A second recording reuses products of the first one only if their operands are equal."""
    y = x @ x.T
    if torch.compiler.is_compiling():
        y.mul_(2)
    return (y @ x) @ x.T


def shortcut_between_products(x: Any) -> Any:
    y = (x @ x.T).relu_()
    return (y + y + y if torch.compiler.is_compiling() else y * 3) @ x


def looped_over_chosen_rows(x: Any) -> Any:
    """No row is selected in the recorded call, but the number of rows still matters."""
    for row in x[x[:, 0] > 1]:
        x = x + row.sum()
    return x


def conjugate_written_to(x: Any) -> Any:
    """A write through a conjugated view must conjugate what is written and nothing else."""
    x.conj()[:, 1:] = 2 + 1j
    x.mH.diagonal().mul_(1j)
    x.conj().imag[0] += 1
    return x.real


def windows_written_to(x: Any) -> Any:
    """The windows overlap, so that a write to an element of one changes the others."""
    windows = x.unfold(0, 2, 1)
    windows.index_fill_(-1, torch.tensor([0]), 7.0)
    return windows * 1, x * 1


def windows_filled(x: Any) -> Any:
    x[1:].unfold(0, 2, 1).zero_()
    return x * 2


def windows_as_out(x: Any) -> Any:
    return torch.add(torch.arange(4.0).reshape(2, 2), 1, out=x.as_strided((2, 2), (1, 1))) * 1


def masked_by_one_element(x: Any) -> Any:
    return x[np.array(True)], x[np.array(False)]


def copied_then_written(x: Any) -> Any:
    before = x.clone()
    x += 1
    return before


class CountedBefore(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x: Any) -> Any:
        before = self.steps.clone()
        self.steps += 1
        return before, x * 2


def viewed_where_it_fits(x: Any) -> Any:
    """The view is unused where it succeeds, except that it raises at other sizes."""
    try:
        y = x.view(3)
    except RuntimeError:
        return None
    return y * 2


def written_with_a_part_of_itself(x: Any) -> None:
    x[...] = x[0]


def written_through_einsum(x: Any) -> Any:
    made = torch.einsum("ij->ji", x) * 1
    torch.einsum("ii->i", made[:2, :2]).zero_()
    return made, torch.einsum("ij->i", x.int()), torch.einsum("ii->i", x[:2, :2].int())


_TWO_AXES = _calls((2, 3), (4, 2), (2, 3))
_EVERYWHERE = ("torch", ELSEWHERE)


def of_nothing(x: Any) -> Any:
    images = x[:, None, None] * torch.ones(3, 4)
    mirrored = functional.pad(images, (1, 2), mode="reflect")
    windows = functional.conv2d(images[:, None], torch.ones(2, 1, 2, 2))
    return x.median(), torch.nanmedian(x), mirrored, windows


PROGRAMS = [
    Program("written_through_two_views", lambda: written_through_two_views, _TWO_AXES),
    Program(
        "written_where_memory_repeats",
        lambda: written_where_memory_repeats,
        (lambda: (_x(2, 3),), lambda: (_x(4, 3)[::2],), lambda: (_x(3).expand(2, 3),)),
        dict.fromkeys(_EVERYWHERE, "whose elements share memory"),
    ),
    Program("turned_argument", lambda: turned_argument, _calls((3, 2), (1, 2), (2, 3))),
    Program("bfloat16_argument", lambda: bfloat16_argument, _calls((2, 3), (4, 2), dtype=torch.bfloat16)),
    Program(
        "memory_of_wide_type",
        lambda: memory_of_wide_type,
        _calls((3,), (2,), dtype=torch.int64),
        {"jax": "memory of int64"},
        targets=("torch", "jax", "numpy"),
    ),
    Program("reshaped_in_place", lambda: reshaped_in_place, _TWO_AXES),
    Program(
        "argument_reshaped_in_place",
        lambda: argument_reshaped_in_place,
        _TWO_AXES,
        dict.fromkeys(_EVERYWHERE, "changes the shape of an array"),
    ),
    Program(
        "argument_by_another_name_reshaped",
        lambda: argument_by_another_name_reshaped,
        _TWO_AXES,
        dict.fromkeys(_EVERYWHERE, "changes the shape of an array"),
    ),
    Program("bools_filled_by_a_size", lambda: bools_filled_by_a_size, _TWO_AXES),
    Program(
        "resized", lambda: resized, _TWO_AXES, dict.fromkeys(_EVERYWHERE, "puts other memory under a tensor")
    ),
    Program("out_resized", lambda: out_resized, _TWO_AXES),
    Program("out_without_elements", lambda: out_without_elements, _TWO_AXES),
    Program(
        "out_without_elements_and_gradients",
        lambda: out_without_elements_and_gradients,
        tuple(lambda asks=asks: (torch.ones(3), asks) for asks in (False, True, False)),
    ),
    Program(
        "out_of_another_type",
        lambda: out_of_another_type,
        _TWO_AXES,
        dict.fromkeys(_EVERYWHERE, "passed as out= has no elements"),
    ),
    Program(
        "out_without_elements_at_this_size",
        lambda: out_without_elements_at_this_size,
        _TWO_AXES,
        dict.fromkeys(_EVERYWHERE, "passed as out= has another shape"),
    ),
    Program("halves_of_sizes", lambda: halves_of_sizes, _calls((4,), (5,), (2,))),
    Program("wrapped_numbers", lambda: wrapped_numbers, _calls((2, 3), (4,), dtype=torch.uint8)),
    Program("wrapped_numbers_signed", lambda: wrapped_numbers, _calls((2, 3), (4,), dtype=torch.int8)),
    Program("written_then_replaced", WrittenThenReplaced, _calls((2, 3), (4, 3), (2, 3))),
    Program(
        "sparse_argument",
        lambda: sparse_argument,
        (lambda: (_x(2, 3).to_sparse(),),),
        dict.fromkeys(_EVERYWHERE, "a graph takes dense arrays"),
    ),
    Program(
        "looped_over_chosen_rows",
        lambda: looped_over_chosen_rows,
        (
            lambda: (torch.zeros(2, 3),),
            lambda: (torch.full((2, 3), 2.0),),
            lambda: (torch.tensor([[2.0], [0.0]]),),
        ),
    ),
    Program(
        "conjugate_written_to", lambda: conjugate_written_to, _calls((3, 3), (2, 2), dtype=torch.complex64)
    ),
    Program(
        "windows_written_to",
        lambda: windows_written_to,
        _calls((4,), (5,)),
        {ELSEWHERE: "a view whose elements share memory"},
    ),
    Program("windows_filled", lambda: windows_filled, _calls((4,), (6,))),
    Program("windows_as_out", lambda: windows_as_out, _calls((3, 2), (4, 2)), {ELSEWHERE: "share"}),
    Program("masked_by_one_element", lambda: masked_by_one_element, _TWO_AXES),
    Program("copied_then_written", lambda: copied_then_written, _TWO_AXES),
    Program("counted_before", CountedBefore, _TWO_AXES),
    Program("other_code_when_compiled", lambda: other_code_when_compiled, _TWO_AXES, variants=1),
    Program(
        "number_that_tells_of_compilation", lambda: number_that_tells_of_compilation, _TWO_AXES, variants=1
    ),
    Program("other_code_between_products", lambda: other_code_between_products, _TWO_AXES, variants=1),
    Program("shortcut_between_products", lambda: shortcut_between_products, _TWO_AXES, variants=1),
    Program("shortcut_when_not_compiled", lambda: shortcut_when_not_compiled, _TWO_AXES),
    Program("cast_before_use", CastBeforeUse, _calls((2, 3), (4, 3)), variants=1),
    Program(
        "out_overlaps_operand",
        lambda: out_overlaps_operand,
        _calls((3, 3), (2, 2)),
        dict.fromkeys(_EVERYWHERE, "shares part of its memory with an operand"),
    ),
    Program(
        "out_shows_operand",
        lambda: out_shows_operand,
        _calls((3, 2), (4, 2)),
        dict.fromkeys(_EVERYWHERE, "shares part of its memory"),
    ),
    Program(
        "out_repeats_elements",
        lambda: out_repeats_elements,
        _calls((3, 3), (2, 2)),
        {ELSEWHERE: "a view whose elements share memory"},
    ),
    Program("picked_by_what_a_view_shows", lambda: picked_by_what_a_view_shows, _calls((3,), (5,), (2,))),
    Program("taken_before", TakenBefore, _TWO_AXES),
    Program("out_beside_operand", lambda: out_beside_operand, _calls((2, 3), (2, 3))),
    Program("written_through_einsum", lambda: written_through_einsum, _calls((2, 3), (4, 2), (2, 3))),
    Program("viewed_where_it_fits", lambda: viewed_where_it_fits, _calls((3,), (4,), (3,))),
    Program("new_of_sizes", lambda: new_of_sizes, _TWO_AXES),
    Program("makes_up_attributes", MakesUp, _TWO_AXES),
    Program("odd_names", OddNames, _calls((2, 3), (4, 3))),
    Program(
        "written_with_a_part_of_itself",
        lambda: written_with_a_part_of_itself,
        (lambda: (torch.tensor([2, 1], dtype=torch.int8)[::2],),),
    ),
    Program("of_nothing", lambda: of_nothing, _calls((2,), (0,), (3,))),
    Program("chunks_of_nothing", lambda: chunks_of_nothing, _calls((4,), (5,), (2,))),
]
