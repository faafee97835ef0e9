"""Programs with Python decisions on sizes and elements; each call must take its own branch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .table import ELSEWHERE, Program


def one(*rows: Any) -> Any:
    return tuple(lambda row=row: (torch.tensor(row, dtype=torch.float32),) for row in rows)


_SIGNS = one([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [-1.0, -2.0, -3.0], [1.0, -2.0], [5.0, 1.0, -1.0, 2.0])


def sign_branch(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x - 1


def item_scale(x: Any) -> Any:
    return x * x[0].item()


def item_class(x: Any) -> Any:
    return x * x[0].item() if type(x[0].item()) is float else x


def tolist_sum(x: Any) -> Any:
    return x + sum(x.tolist())


def int_index(x: Any) -> Any:
    return x[: int(x.abs().max())]


def bool_and(x: Any) -> Any:
    return x * 2 if bool((x > 0).all()) and x.shape[0] > 2 else x


def while_halving(x: Any) -> Any:
    steps = 0
    while x.abs().max() > 1:
        x = x / 2
        steps += 1
    return x, steps


def while_size(x: Any) -> Any:
    n = x.shape[0]
    while n > 1:
        x = x + n
        n //= 2
    return x


def length(x: Any) -> Any:
    return x / len(x)


def iteration(x: Any) -> Any:
    total = torch.zeros(())
    for row in x:
        total = total * 0.5 + row
    return total


def enumerated(x: Any) -> Any:
    return sum(i * row for i, row in enumerate(x))


def nonzero(x: Any) -> Any:
    return torch.nonzero(x > 0)


def where_one(x: Any) -> Any:
    return x[torch.where(x > 0)[0]]


def mask(x: Any) -> Any:
    return x[x > 0].sum() + x[x > 0].shape[0]


def mask_result(x: Any) -> Any:
    y = x[x > 0]
    return y * y.numel()


def sorted_elements(x: Any) -> Any:
    return torch.stack(sorted(x))


def max_elements(x: Any) -> Any:
    return max(x), min(x)


def asserts(x: Any) -> Any:
    assert x.sum() < 100, "too large"
    return x + 1


def tries(x: Any) -> Any:
    try:
        return x.reshape(3, 1)
    except RuntimeError:
        return x.reshape(1, -1)


def tries_matmul(x: Any) -> Any:
    try:
        return x @ torch.ones(3)
    except RuntimeError:
        return x.sum() * 10


def tries_index(x: Any) -> Any:
    try:
        return x[3] * 2
    except IndexError:
        return x[0]


def tries_broadcast(x: Any) -> Any:
    try:
        return x + torch.ones(3)
    except RuntimeError:
        return x


def tries_value(x: Any) -> Any:
    try:
        return torch.linalg.cholesky(torch.diag(x))
    except RuntimeError:
        return x


def tries_index_of_elements(x: Any) -> Any:
    try:
        return x[x.abs().long()]
    except IndexError:
        return x * 10


def unique(x: Any) -> Any:
    return torch.unique(x.round())


def in_operator(x: Any) -> Any:
    return x + 1 if 2.0 in x else x - 1


def equal(x: Any) -> Any:
    return x * 2 if torch.equal(x, x.abs()) else x * 3


def allclose(x: Any) -> Any:
    return x * 2 if torch.allclose(x, x.abs()) else x * 3


def index_by_tensor(x: Any) -> Any:
    i = x.argmax()
    return x[i], x[: i + 1]


def range_of_tensor(x: Any) -> Any:
    return sum((x * i for i in range(int(x.argmax()) + 1)), torch.zeros(()))


def fstring(x: Any) -> Any:
    return {f"size {x.shape[0]}": x}


def fstring_value(x: Any) -> Any:
    return {f"{x[0]:.1f}": x}


def string(x: Any) -> Any:
    return x * len(str(x))


def repr_length(x: Any) -> Any:
    return x * len(repr(x.sum()))


def formatted(x: Any) -> Any:
    return x * len(f"{x.sum().item()}")


def size_compare(x: Any) -> Any:
    return x * 2 if x.shape[0] > 3 else x * 3


def size_equal(x: Any) -> Any:
    return x + 1 if x.shape == (3,) else x - 1


def size_dict(x: Any) -> Any:
    return x * {2: 10, 3: 20, 4: 30}[x.shape[0]]


def size_string(x: Any) -> Any:
    return x * int(str(x.shape[0]))


def size_list(x: Any) -> Any:
    return x * [1, 2, 3, 4, 5, 6][x.shape[0]]


def size_math(x: Any) -> Any:
    import math

    return (
        x * math.sqrt(x.shape[0]) + math.ceil(x.shape[0] / 2) + math.log(x.size(0)) + math.gcd(x.shape[0], 2)
    )


def size_numpy(x: Any) -> Any:
    import numpy as np

    return x * float(np.sqrt(x.shape[0])) + float(np.prod(x.shape))


def size_float(x: Any) -> Any:
    return x / float(x.shape[0]) * round(x.shape[0] / 3)


def size_min(x: Any) -> Any:
    return x[: min(2, x.shape[0])] * max(x.shape[0], 3)


def size_tensor(x: Any) -> Any:
    return x * torch.tensor(x.shape[0]) + torch.tensor([x.shape[0], 1]).sum() + torch.as_tensor(x.shape).sum()


def size_returned(x: Any) -> Any:
    return x, x.shape[0], x.shape, x.numel(), list(x.shape)


def size_isinstance(x: Any) -> Any:
    return x * 2 if isinstance(x.shape[0], int) else x


def size_type(x: Any) -> Any:
    return x * 2 if type(x.shape[0]) is int else x


def size_torch_size(x: Any) -> Any:
    return torch.ones(x.shape) + torch.zeros(torch.Size([x.shape[0]])) + x.new_ones(x.size())


def size_slice(x: Any) -> Any:
    return x[: x.shape[0] // 2], x[x.shape[0] // 2 :], x[-x.shape[0] + 1 :]


def size_arange(x: Any) -> Any:
    return torch.arange(x.shape[0]) + torch.linspace(0, 1, x.shape[0]) + x


def chunks(x: Any) -> Any:
    return [part.sum() for part in x.split(2)]


def contiguous_branch(x: Any) -> Any:
    return x * 2 if x.is_contiguous() else x * 3


def stride_branch(x: Any) -> Any:
    return x * x.stride(0)


def data_pointer(x: Any) -> Any:
    return x * 2 if x.data_ptr() == (x + 1).data_ptr() else x * 3


def same_object(x: Any) -> Any:
    return x * 2 if x is x.contiguous() else x * 3


def negative_zero(x: Any) -> Any:
    return x * 2 if str(x[0].item()) == "-0.0" else x * 3


def nan_branch(x: Any) -> Any:
    return x.nan_to_num() if x.isnan().any() else x * 2


def nan_item(x: Any) -> Any:
    v = x[0].item()
    return x * 2 if v != v else x * 3


def complex_item(x: Any) -> Any:
    return x * abs(complex(x[0]))


def switch(x: Any) -> Any:
    return [torch.sin, torch.cos, torch.tanh, torch.exp][int(x.argmax()) % 4](x)


def nested(x: Any) -> Any:
    if x.sum() > 0:
        x = x * 2
        if x.max() > 5:
            return x - 5
        return x
    return -x


def write_then_branch(x: Any) -> Any:
    x.mul_(2)
    return x + 1 if x.sum() > 0 else x - 1


def branch_then_write(x: Any) -> Any:
    if x[0] > 0:
        x.add_(1)
    else:
        x.zero_()
    return x.sum()


def any_of(x: Any) -> Any:
    return x * 2 if any(x > 2) else x


def sequence_bool(x: Any) -> Any:
    return x * 2 if not x.shape[0] == 2 else -x  # noqa: SIM201


def topk_size(x: Any) -> Any:
    return x.topk(min(2, x.shape[0]))


def item_in_list(x: Any) -> Any:
    return torch.tensor([x[0].item(), 2.0]) * x[0]


def from_tolist(x: Any) -> Any:
    return torch.tensor(x.tolist()) + 1


def new_tensor(x: Any) -> Any:
    return torch.as_tensor(x) + x.new_tensor([1.0])


def tensor_of_tensors(x: Any) -> Any:
    return torch.tensor([x[0], x[1]]) * 2


def repeat_interleave(x: Any) -> Any:
    return x.repeat_interleave(x.abs().long())


def bincount(x: Any) -> Any:
    return torch.bincount(x.abs().long())


def one_hot(x: Any) -> Any:
    return torch.nn.functional.one_hot(x.abs().long())


def split_by_values(x: Any) -> Any:
    return x.split([1, x.shape[0] - 1])


def dynamic_arange(x: Any) -> Any:
    return torch.arange(int(x.abs().max()))


def dynamic_full(x: Any) -> Any:
    return torch.full((2,), x[0].item())


def dynamic_fill(x: Any) -> Any:
    return torch.full((2,), x[0]) if False else torch.zeros(2).fill_(x[0])


def hashing(x: Any) -> Any:
    return {x: 1}[x] * x


def number_is_contained(x: Any) -> Any:
    return x * 2 if 2.0 in x[:, [0, -1]] else x + 1


def tensor_is_contained(x: Any) -> Any:
    return x * 2 if x.new_tensor(5.0) in x else x + 1


def unpack(x: Any) -> Any:
    first, *rest = x
    return first + sum(rest)


def reversed_rows(x: Any) -> Any:
    return torch.stack(list(reversed(x)))


def zipped(x: Any) -> Any:
    return torch.stack([a * b for a, b in zip(x, x.flip(0))])


def is_tensor_bool(x: Any) -> Any:
    return x * 2 if x[0] else x * 3


def comparison_chain(x: Any) -> Any:
    return x * 2 if 0 < x[0] < 2 else x * 3


def empty(x: Any) -> Any:
    return x[x > 100].sum() if x[x > 100].numel() else x


def size_sum_as_factor(x: Any) -> Any:
    return x * (x.shape[0] + 1) - x / (2 * x.shape[0] + x.ndim)


def size_sum_as_exponent(x: Any) -> Any:
    return x ** (x.shape[0] - 1) - (x.shape[0] - 4)


def size_as_divisor(x: Any) -> Any:
    return x * (0.5 / x.shape[0]) + 2.0 // x.shape[0] + x.shape[0] % 1.5


def size_difference_as_factor(x: Any) -> Any:
    return x * ((x.shape[0] + 1) // 2 - (x.shape[0] + 2) // 3)


def functions_of_sizes(x: Any) -> Any:
    half, most = torch.sym_int(x.shape[0] / 2), torch.sym_max(x.shape[0], 2)
    return x * half + most - torch.sym_float(x.shape[0]) * 0.25 + torch.sym_min(x.shape[0], 3)


def empty_size(x: Any) -> Any:
    y = x[x > 2]
    return y.mean() if y.shape[0] > 0 else torch.zeros(())


_SPECIAL = {
    "nan_branch": one([1.0, 2.0], [float("nan"), 2.0], [float("inf"), 1.0]),
    "nan_item": one([float("nan"), 1.0], [float("nan"), 2.0], [3.0, 2.0]),
    "negative_zero": one([0.0, 1.0], [-0.0, 1.0]),
    "data_pointer": _SIGNS,
    "tries_index_of_elements": one([1.0, 0.0, 2.0], [1.0, 2.0, 5.0]),
}
# One variant where the number is among the elements and one where it is not, whatever the other elements are.
_CONTAINING = ([[1.0, 5.0, 2.0]], [[2.0, 5.0, 5.0]], [[3.0, 0.0, 3.0]], [[0.0, 4.0, 1.0], [1.0, 7.0, 0.0]])
_CONTAINED = ("number_is_contained", "tensor_is_contained")
_PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and name not in ("one", *_CONTAINED)
]
_STRIDED = (
    lambda: (torch.arange(6.0).reshape(2, 3),),
    lambda: (torch.arange(6.0).reshape(3, 2).t(),),
    lambda: (torch.arange(12.0).reshape(4, 3)[::2],),
)
_TWO_AXES = {"contiguous_branch", "stride_branch", "same_object"}
_FOREIGN = dict.fromkeys(("torch", ELSEWHERE), "hands the memory of a tensor")
_ERRORS = {"data_pointer": _FOREIGN, "stride_branch": {ELSEWHERE: "not contiguous"}}
LIMITATIONS = {
    (
        "tries_index_of_elements",
        "jax",
    ): "jax takes the last element where an index is too large and torch raises",
}
PROGRAMS = [
    Program(
        f.__name__,
        lambda f=f: f,
        _STRIDED if f.__name__ in _TWO_AXES else _SPECIAL.get(f.__name__, _SIGNS),
        _ERRORS.get(f.__name__, {}),
    )
    for f in _PROGRAMS
]
PROGRAMS += [
    Program(f.__name__, lambda f=f: f, tuple(lambda x=x: (torch.tensor(x),) for x in _CONTAINING), variants=2)
    for f in (number_is_contained, tensor_is_contained)
]

_TAKEN_AS_NUMBERS: dict[str, Any] = {
    "interpolate": lambda x, n: functional.interpolate(x[None, None], size=(n[0], n[1] + 1), mode="bilinear"),
    "adaptive_pool": lambda x, n: functional.adaptive_avg_pool2d(x[None], (n[0], n[1])),
    "max_pool": lambda x, n: functional.max_pool2d(x[None], n[0], stride=n[1]),
    "unfold": lambda x, n: x.unfold(0, n[0], 1),
    "diag": lambda x, n: torch.diag(x, n[0] - 1),
    "cat_axis": lambda x, n: torch.cat([x, x], n[0] - 2),
    "one_hot": lambda x, n: functional.one_hot(n, n[0] + 2) * x.sum(),
}
_COUNTS = tuple(
    lambda n=n, size=size: (torch.arange(float(size * 5)).reshape(size, 5), torch.tensor(n))
    for n, size in (([2, 3], 5), ([2, 3], 4), ([3, 2], 5))
)
PROGRAMS += [
    Program(f"number_for_{name}", lambda f=f: f, _COUNTS, variants=2) for name, f in _TAKEN_AS_NUMBERS.items()
]
