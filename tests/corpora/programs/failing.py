"""Programs that catch an exception of some calls, which a torch graph may notice only halfway through its
run.
"""

from __future__ import annotations

from typing import Any

import torch

from .table import Program


def _x(*shape: int) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6).reshape(shape) / 4


def product_or_other(a: Any, b: Any) -> Any:
    try:
        return a @ b
    except RuntimeError:
        return a @ b.T
    finally:
        a.add_(1)


def sum_in_place(a: Any, b: Any) -> Any:
    try:
        a += b
    except RuntimeError:
        a -= 1
    return a * 2


def leaf_in_place(x: Any) -> Any:
    try:
        x.add_(1)
    except RuntimeError:
        return x * 3
    return x * 2


def gradient_or_none(x: Any) -> Any:
    try:
        return torch.autograd.grad((x * x).sum(), x)[0]
    except RuntimeError:
        return x - 1


def _needing(*needs: bool) -> Any:
    return tuple(lambda need=need: (_x(2, 3).requires_grad_(need),) for need in needs)


_PAIRS = tuple(
    lambda a=a, b=b: (_x(*a), _x(*b))
    for a, b in [((2, 3), (3, 2)), ((2, 3), (2, 3)), ((2, 2), (2, 2)), ((3, 2), (4, 2))]
)
_SUMS = tuple(
    lambda a=a, b=b: (_x(*a), _x(*b))
    for a, b in [((2, 3), (2, 3)), ((1, 3), (2, 3)), ((4, 3), (4, 3)), ((4, 3), (1, 3)), ((1, 3), (1, 3))]
)
PROGRAMS = [
    Program("product_or_other", lambda: product_or_other, _PAIRS),
    Program("sum_in_place", lambda: sum_in_place, _SUMS),
    Program("leaf_in_place", lambda: leaf_in_place, _needing(False, True, False)),
    Program("leaf_in_place_first", lambda: leaf_in_place, _needing(True, False, True)),
    Program("no_gradient", lambda: gradient_or_none, _needing(False, True, False)),
    # In other frameworks arrays do not tell whether they require a gradient.
    Program("gradient", lambda: gradient_or_none, _needing(True, False, True), targets=("torch",)),
]
