"""Programs with arithmetic on sizes, which must be right at other sizes than the recorded ones, including 0
and 1.
"""

from __future__ import annotations

import functools
import math
import numbers
from typing import Any

import torch
from torch.nn import functional

from .table import Program


def _shaped(*shapes: tuple[int, ...]) -> Any:
    return tuple(
        lambda shape=shape: (torch.arange(1.0, 1 + math.prod(shape)).reshape(shape),) for shape in shapes
    )


def _pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    return tuple(
        lambda a=a, b=b: (torch.arange(1.0, 1 + math.prod(a)).reshape(a), torch.ones(b) * 2)
        for a, b in shapes
    )


_TWO = _shaped((2, 3), (3, 2), (4, 4), (1, 3), (3, 1), (1, 1), (5, 2))
_EMPTY_TOO = (*_TWO, *_shaped((2, 0), (0, 3)))


# ------------------------------------------------------------------------------------ operators beside others
def sum_times(x: Any) -> Any:
    return x * (x.shape[0] + x.shape[1]) - (x.shape[0] - x.shape[1])


def divided_by_product(x: Any) -> Any:
    return x.sum() / x.numel()


def halves_up(x: Any) -> Any:
    return x + -(-x.shape[0] // 2), x - (-x.shape[1] // 2), x + (-x.shape[1] % 3)


def negated_quotient(x: Any) -> Any:
    return x * -(x.shape[0] // 2) + -((x.shape[1] + 1) // 2)


def quotient_then_sum(x: Any) -> Any:
    return x * ((x.shape[0] + 1) // 2 + x.shape[1]), x ** ((x.shape[1] + 1) // 2 - 1)


def bits(x: Any) -> Any:
    n, m = x.shape
    return x * (n & 1) + (m | 4) + (n ^ m) + (n << 1) + (m >> 1)


def powers(x: Any) -> Any:
    n, m = x.shape
    return x * n**2 + 2**m + n**0.5 + n**m - 0.5**n


def number_on_the_left(x: Any) -> Any:
    return (x.shape[0] - 1) / x + (x.shape[1] + 1) * x, (x.shape[0] - 3) ** x.abs()


# ------------------------------------------------------------------------------------- numbers made of sizes
def int_of_float(x: Any) -> Any:
    return x[: int(x.shape[0] * 0.5)], x[:, : round(x.shape[1] * 0.7)], x[: math.ceil(x.shape[0] / 2)]


def scaled_by_float(x: Any) -> Any:
    return x * (x.shape[0] * 0.5) + x.shape[1] / 2 + math.sqrt(x.shape[0])


def pair_of_divmod(x: Any) -> Any:
    return x * divmod(x.shape[0], 2)[0] + divmod(7, x.shape[1])[1]


def text_of_sizes(x: Any) -> Any:
    n, m = x.shape
    return {f"{n:03d}": x, f"{m!r:>3}": x, "%d" % n + str(m): x, f"{n / 2:.2f}": x}  # noqa: UP031


def attributes_of_numbers(x: Any) -> Any:
    n = x.shape[0]
    return x * n.real + n.bit_length() + (n / 2).is_integer() * 2


def kinds_of_numbers(x: Any) -> Any:
    n = x.shape[0]
    kinds = [
        isinstance(item, kind)
        for item in (n, n + 1, n / 2)
        for kind in (int, float, bool, numbers.Integral, numbers.Number, torch.SymInt)
    ]
    return x * sum(2**place for place, is_kind in enumerate(kinds) if is_kind and place % 6 != 5)


def memory(x: Any) -> Any:
    return x * x.nbytes + x.element_size()


def shapes_together(x: Any) -> Any:
    return x * math.prod(
        torch.broadcast_shapes(x.shape, (x.shape[0], 1), x[:, :1].shape, x.sum(0, keepdim=True).shape)
    )


def same_size(x: Any) -> Any:
    return x * 2 if x.is_same_size(x.t()) else x * 3


def truth(x: Any) -> Any:
    return x * bool(x.shape[0]) + (x.shape[0] and 7) + (x.shape[1] or 5) + (not x.shape[0])


def search(x: Any) -> Any:
    return x * (x.shape.index(3) if 3 in x.shape else 9) + x.shape.count(3), x.reshape(sorted(x.shape))


# ----------------------------------------------------------------------- pieces, and sizes that become 1 or 0
def pieces(x: Any) -> Any:
    return x.split(2), x.chunk(2), x.chunk(3, dim=1), x.tensor_split(2), x.split(1, dim=-1)


def squeezed(x: Any) -> Any:
    return x.squeeze(), x.squeeze(0), x.squeeze((0, 1))


def steps(x: Any) -> Any:
    return x[::2], x[1::2], x[:-1], x[-2:], x[:, -1:], x.flip(0), x.roll(x.shape[0] // 2, 0)


def ranges(x: Any) -> Any:
    return (
        torch.arange(0, x.numel(), max(x.shape[0], 1)),
        torch.arange(x.shape[0], 0, -1),
        torch.linspace(0, x.shape[1], 3),
        torch.eye(*x.shape),
    )


def windows(x: Any) -> Any:
    """For a length of 1 the windows are 1, whatever their formulas say."""
    n = x.shape[0]
    return (
        torch.hann_window(n),
        torch.blackman_window(n),
        torch.bartlett_window(n, periodic=False),
        torch.kaiser_window(n + 1),
    )


def centred(x: Any) -> Any:
    return (
        x - x.mean(0, keepdim=True),
        functional.pad(x, (0, 6 - x.shape[1])),
        torch.cat([x, x[:1], torch.zeros(1, x.shape[1])]),
    )


def broadcast(x: Any, y: Any) -> Any:
    return x + y, (x * y).sum() * (x + y).shape[0], torch.where(x > 1, x, y)


def broadcast_all(x: Any, y: Any) -> Any:
    first, second = torch.broadcast_tensors(x, y)
    return first * 2, second.shape


def broadcast_product(x: Any, y: Any) -> Any:
    return x @ y


# ------------------------------------------------------------------------------------- sizes as keys
@functools.lru_cache
def _kept_under(rows: int, columns: int) -> list[int]:
    return [rows, columns, rows + columns]


def cache_by_sizes(x: Any) -> Any:
    rows, columns, total = _kept_under(x.shape[0], x.shape[1])
    return x.reshape(columns, rows) * total


def dictionary_by_shape(x: Any) -> Any:
    known = {x.shape: x.shape[0] * 2, (x.shape[1], 7): 5}
    return x * known[tuple(x.shape)] + known[(x.shape[1], 7)]


def set_of_sizes(x: Any) -> Any:
    return x * len({x.shape[0], x.shape[1], 2})


def key_or_else(x: Any) -> Any:
    try:
        return x * {x.shape[0]: x.shape[0]}[x.shape[0]]
    except TypeError:
        # The object has no hash.
        return x * x.shape[0]


def computed_axes(x: Any) -> Any:
    # This axis exists for every size.
    last = min(1, x.shape[1] + 1)
    return (
        x.unbind(last),
        x.chunk(2, last),
        x.split(1, dim=last),
        x[:, :, None].squeeze(last + 1),
        x.sum(last),
    )


def one_variable(x: Any) -> Any:
    return torch.cov(x, correction=0), (x * 2).cov(correction=0)


def median_of_nothing(x: Any) -> Any:
    return x.median(), (x * 2).nanmedian()


def vectors_or_matrices(a: Any, b: Any) -> Any:
    """Solve for one vector for each matrix if the sizes allow that, otherwise for one matrix."""
    n = a.shape[-1]
    return torch.linalg.solve(torch.eye(n) + a / a.numel(), b), torch.linalg.solve_ex(2 * torch.eye(n) + a, b)


def counted_differences(x: Any) -> Any:
    heights = torch.cumulative_trapezoid(x, dim=0)
    return torch.zeros(x.diff(n=2).shape), x.diff(dim=0).shape[0] + x.sum(), heights.shape[0] + x.sum()


_SQUEEZED = {
    ((2, 3), (2, 3)),
    ((1, 3), (2, 3)),
    ((2, 1), (2, 3)),
    ((2, 3), (1, 1)),
    ((1, 1), (1, 1)),
    ((4, 1), (1, 5)),
}
_CALLS = {
    "broadcast": _pairs(
        ((3,), (3,)), ((3,), (1,)), ((1,), (3,)), ((1,), (1,)), ((4,), (4,)), ((0,), (1,)), ((1,), (0,))
    ),
    "broadcast_all": _pairs(*sorted(_SQUEEZED, reverse=True)),
    "broadcast_product": _pairs(
        ((2, 3, 4), (2, 4, 3)), ((1, 3, 4), (2, 4, 3)), ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (1, 4, 1))
    ),
    "vectors_or_matrices": _pairs(
        ((2, 3, 3), (3, 3)),
        ((3, 3, 3), (3, 3)),
        ((2, 3, 3), (2, 3)),
        ((2, 4, 4), (4, 4)),
        ((4, 4, 4), (4, 4)),
    ),
    **dict.fromkeys(
        (
            "pieces",
            "squeezed",
            "steps",
            "ranges",
            "truth",
            "shapes_together",
            "memory",
            "sum_times",
            "halves_up",
            "windows",
            "median_of_nothing",
            "counted_differences",
        ),
        _EMPTY_TOO,
    ),
}
_FUNCTIONS = [
    value
    for name, value in list(globals().items())
    if callable(value) and value.__module__ == __name__ and not name.startswith("_")
]
PROGRAMS = [Program(f.__name__, lambda f=f: f, _CALLS.get(f.__name__, _TWO)) for f in _FUNCTIONS]
