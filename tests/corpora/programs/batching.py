"""Programs with ``torch.vmap``, whose batching rules compute sizes that stay symbolic if they can be
inferred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

from .table import Program


def _x(*shape: int) -> Callable[[], tuple[torch.Tensor]]:
    return lambda: (torch.linspace(-2, 3, torch.Size(shape).numel()).reshape(shape),)


def indices(x: Any) -> Any:
    """Nest ``vmap`` over a function of four indices, as transformers builds masks."""
    rows, columns = x.shape

    def mask(b: Any, h: Any, q: Any, k: Any) -> Any:
        return b.new_ones((), dtype=torch.bool) & (k <= q) & (k > q - 3) & (x[b, k] > 0)

    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        mask = torch.vmap(mask, in_dims=dims)
    with TransformGetItemToIndex():
        return mask(torch.arange(rows), torch.arange(1), torch.arange(columns), torch.arange(columns))


def independent_of_the_level(x: Any) -> Any:
    return torch.vmap(lambda row: x.sum(0))(x), torch.vmap(lambda row: x.sum(0, keepdim=True))(x)


def nested(x: Any) -> Any:
    return torch.vmap(lambda row: torch.vmap(lambda other: row * other.sum() - 3)(x))(x)


def other_axes(x: Any) -> Any:
    return torch.vmap(
        lambda a: torch.vmap(lambda b: a * b.sum(), in_dims=1, out_dims=1)(x), in_dims=1, out_dims=2
    )(x)


def axes_of_one(x: Any) -> Any:
    return torch.vmap(lambda row: row[None] * row[:, None] - 1)(x)


def triangles(x: Any) -> Any:
    return torch.vmap(lambda row: torch.tril(row[:, None] * row))(x)


def products(x: Any) -> Any:
    return torch.vmap(lambda row: row @ x.mT)(x)


def out_of_sizes(x: Any) -> Any:
    return torch.vmap(
        lambda row: (
            row.new_ones(row.shape) * row / row.shape[0],
            row.reshape(row.shape[0], 1),
            row[None].expand(x.shape),
        )
    )(x)


def out_of_numbers(x: Any) -> Any:
    return torch.vmap(lambda row: (row.new_zeros(3) + row.sum(), row[0] + row[-1], row.sum().expand(4)))(x)


def joined(x: Any) -> Any:
    return torch.vmap(
        lambda row: (torch.cat([row, x[0]]), torch.stack([row, x[0]]), torch.where(row > 0, row, x[0]))
    )(x)


# These are recorded once if no two sizes are equal and none is 1.
_OPEN = (
    indices,
    nested,
    other_axes,
    axes_of_one,
    triangles,
)
_TIED = (independent_of_the_level, products, out_of_sizes, out_of_numbers, joined)
_CALLS = {
    "oblong": (_x(3, 4), _x(2, 4), _x(3, 5), _x(5, 2)),
    "square": (_x(3, 3), _x(4, 3), _x(3, 5)),
    "ones": (_x(1, 1), _x(1, 3), _x(4, 1), _x(2, 3)),
}
PROGRAMS = [
    Program(
        f"{function.__name__} {shape}",
        lambda function=function: function,
        calls,
        variants=1 if function in _OPEN and shape == "oblong" else None,
    )
    for function in (*_OPEN, *_TIED)
    for shape, calls in _CALLS.items()
]
