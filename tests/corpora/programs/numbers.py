"""Programs that read numbers from tensors: one recording serves all numbers unless Python has to know them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from .guards import one
from .table import Program

_FLOATS = one([1.0, 2.0, 3.5], [2.5, -1.0, 4.25], [-3.0, 0.5, 0.25], [1.5, 7.0])
_WHOLE = tuple(
    lambda row=row: (torch.tensor(row),) for row in ([1, 5, 3], [2, 8, 3], [4, 6, 7, 1], [3, 9, 1])
)
_SAME_LENGTH = one([1.0, 2.0, 3.5], [2.5, -1.0, 4.25], [-3.0, 0.5, 0.25])


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -4.0, 2.0]))

    def forward(self, x: Any) -> Any:
        return x * self.weight.abs().max().item()


class LastLoss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = 1.0

    def forward(self, x: Any) -> Any:
        scaled = x * self.last
        self.last = x.sum().item() + 0.5 * self.last
        return scaled


def in_place(x: Any) -> Any:
    scale = x.max().item()
    x.mul_(2.0).add_(scale)
    x[0] = scale
    return x.sum() - scale


def read_before_a_write(x: Any) -> Any:
    y = x * 2
    before = y[0].item()
    y.zero_()
    return y + before, y[0].item() - before


def without_gradient(x: Any) -> Any:
    return torch.func.grad(lambda y: (y * y).sum())(x) * x.sum().item()


def kinds_of_types(x: Any) -> Any:
    number, count = x.max().item(), x.argmax().item()
    whole = torch.arange(3)
    halves = x.half()
    return (
        whole * number,
        whole * count,
        whole / count if count else whole,
        halves * number,
        x.double() * number,
        x.sum() * number,
        whole * 2 + count,
    )


def arithmetic(x: Any) -> Any:
    a, b = x[0].item(), x[1].item()
    return (
        x * (a + b),
        x - (a - 2 * b),
        x + a / (b + 10),
        x * (-a),
        x + abs(b),
        x * (a * a) ** 2,
        a + 1,
        3 - a,
        a * b,
    )


def arithmetic_of_whole(n: Any) -> Any:
    a, b = n[0].item(), n[1].item()
    return n * (a + b), n - a * 3, n + b // a, n + b % a, n / a, n * (b - a) ** 2, a + b, b // a, b % a, b / a


def divides_floats(x: Any) -> Any:
    a = abs(x.sum().item())
    return x * (a // 0.1), a % 0.3, 7 // (a + 1), 7.5 % (a + 1)


def powers(x: Any) -> Any:
    a = x.abs().max().item()
    return x * a**0.5, a**2, 2**a, a**-1


def functions_of_numbers(x: Any) -> Any:
    a = abs(x.sum().item())
    return x * math.sqrt(a), math.exp(-a), math.log(a + 1), math.log2(a + 1) + math.sin(a), x * math.cos(a)


def converted(x: Any) -> Any:
    return x * float(x.max()), x + float(x.argmax().item()), float(x.min().item()) * x, int("7"), float(2)


def weighted(x: Any) -> Any:
    added = torch.addcdiv(torch.addcmul(x, x, x, value=x[1].item()), x, x.abs() + 1, value=x[0].item())
    return torch.lerp(x, x + 1, x[0].item()), added, torch.addmv(x, torch.diag(x), x, alpha=x[0].item())


def picked(n: Any) -> Any:
    place = n.argmax().item()
    return n[place] * 2, n[-1 - place], torch.stack([n, n * 2])[1:, place], torch.stack([n, n * 3])[1, place]


def picked_and_written(n: Any) -> Any:
    doubled = n * 2
    doubled[n.argmin().item()].add_(5)
    return doubled


_ONE_RECORDING: dict[str, Callable[[Any], Any]] = {
    "scale": lambda x: x * x.max().item(),
    "scale_from_the_left": lambda x: x.max().item() * x + 1,
    "divisor": lambda x: x / x.abs().max().item() - x.mean().item(),
    "divided": lambda x: x.abs().max().item() / (x + 10),
    "alpha": lambda x: torch.add(x, x, alpha=x.max().item()) - torch.sub(x, 1, alpha=x.min().item()),
    "bounds": lambda x: x.clamp(x.mean().item(), x.mean().item() + 1) + x.clamp(min=x[0].item()),
    "filled": lambda x: (
        torch.full((2,), x.max().item())
        + x.new_full((2,), x[0].item())
        + torch.full_like(x[:2], x.sum().item())
    ),
    "fill_masked": lambda x: x.masked_fill(x > 1, x.min().item()),
    "where": lambda x: torch.where(x > 0, x, x.min().item()),
    "compared_by_element": lambda x: x[None] > x.mean().item(),
    "tensor_of_numbers": lambda x: torch.tensor([x[0].item(), 2.0]) * torch.tensor(x[1].item()),
    "returned": lambda x: (x.max().item(), {"first": x[0].item()}, x.argmax().item()),
    "computed_and_returned": lambda x: [x.max().item() * 2 - 1, -x[0].item()],
    "in_place": in_place,
    "read_before_a_write": read_before_a_write,
    "kinds_of_types": kinds_of_types,
    "arithmetic": arithmetic,
    "divides_floats": divides_floats,
    "powers": powers,
    "functions_of_numbers": functions_of_numbers,
    "weighted": weighted,
    "double": lambda x: x * x.double().sum().item(),
    "of_half": lambda x: x * x.half().sum().item(),
    "infinite_or_not": lambda x: x if x[0].item() == math.inf or x[1].item() == -math.inf else x * 2,
    "passes_for_a_number": lambda x: x * 2 if isinstance(x.max().item(), numbers.Real) else x * 3,
    "in_a_message": lambda x: torch._check(x.shape[0] > 1, lambda: f"{x[0].item()}") or x + 1,
}
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "converted": converted,
    "converted_to_whole": lambda x: x * int(x.max()) + int(x.mean().item() * 1.5) - int(x.argmax()),
    "divided_by_a_whole_number": lambda x: x / (int(x.argmax()) + 1),
}
_LISTS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: [x * number for number in x.tolist()],
    "sum_of_a_list": lambda x: x + sum(x.tolist()),
    "list_returned": lambda x: x.tolist(),
    "nested_list": lambda x: x[None].repeat(2, 1).tolist()[1],
    "tensor_of_a_list": lambda x: torch.tensor(x.tolist()) * 2,
}
_OF_WHOLE: dict[str, Callable[[Any], Any]] = {
    "picked": picked,
    "picked_and_written": picked_and_written,
    "whole_factor": lambda n: n * n.max().item() + n.sum().item(),
    "arithmetic_of_whole": arithmetic_of_whole,
    "whole_and_float": lambda n: n * (n.max().item() * 0.5),
}


def _made(function: Callable[[Any], Any]) -> Callable[[], Callable[[Any], Any]]:
    return lambda: function


# ----------------------------------------------------------------------------------- where Python has to know
def by_comparison(x: Any) -> Any:
    return x * 2 if x.mean().item() > 1.0 else x - 1


def by_several(x: Any) -> Any:
    scale = x.sum().item()
    if scale > 5:
        return x / scale
    return x * scale if scale != 0 else x


def by_zero(x: Any) -> Any:
    try:
        return x * (1 / x[0].item())
    except ZeroDivisionError:
        return x - 1


def by_negative(x: Any) -> Any:
    root = x[0].item() ** 0.5
    return x * 2 if isinstance(root, complex) else x * root


def steps(n: Any) -> Any:
    total = torch.zeros(())
    for step in range(n.max().item()):
        total = total + step
    return total + n.sum()


def rounded(x: Any) -> Any:
    return x * int(x.max().item())


def as_key(n: Any) -> Any:
    return n * {0: 10, 1: 20, 2: 30}[n.argmax().item()]


def as_text(x: Any) -> Any:
    return x * len(f"{x.max().item():.3f}")


def differentiated(x: Any) -> Any:
    x = x.detach().requires_grad_()
    scale = x.max().item()
    return torch.autograd.grad((x * x * scale).sum(), x)[0]


def transformed(x: Any) -> Any:
    scale = x.max().item()
    return torch.func.grad(lambda y: (y * y * scale).sum())(x), torch.vmap(lambda y: y * scale)(x)


def inside_of_a_transform(x: Any) -> Any:
    return torch.func.grad(lambda y: (y * y.detach().max().item()).sum())(x)


def rounded_to_digits(x: Any) -> Any:
    return x * round(x.max().item(), 1), round(x.min().item())


def roots(x: Any) -> Any:
    try:
        return x * math.sqrt(x[0].item())
    except ValueError:
        return x - 1


def not_a_number(x: Any) -> Any:
    return x * 2 if math.isnan(x[0].item()) or math.isinf(x[1].item()) else x * x[1].item()


def picked_outside(n: Any) -> Any:
    try:
        return n[n.min().item()] * 2
    except IndexError:
        return n - 1


def large(n: Any) -> Any:
    a = n[0].item()
    return a**20, a**5, n * float(a**3)


def sliced(n: Any) -> Any:
    most = n.min().item()
    return n[:most], n[most:]


def sized(n: Any) -> Any:
    return torch.zeros(n.min().item(), 2) + 1, torch.arange(n.min().item())


def padded(n: Any) -> Any:
    return functional.pad(n, (0, n.min().item()))


_DECIDED: dict[Callable[[Any], Any], tuple[Any, int | None]] = {
    by_comparison: (one([1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 1.0], [-1.0, 0.5]), 2),
    by_several: (one([1.0, 2.0], [3.0, 4.0], [0.5, 1.0], [0.0, 0.0], [7.0, 8.0]), 3),
    by_zero: (one([0.0, 1.0], [2.0, 1.0], [4.0, 3.0], [0.0, 2.0]), 2),
    by_negative: (one([4.0, 1.0], [9.0, 1.0], [-4.0, 1.0], [2.25, 0.0]), 2),
    steps: (_WHOLE, None),
    rounded: (one([1.0, 2.25], [1.5, 2.75], [3.0, 1.0]), 1),
    rounded_to_digits: (one([1.0, 2.26], [1.5, 2.75], [1.0, 2.25]), None),
    roots: (one([-1.0, 1.0], [4.0, 1.0], [9.0, 2.0], [-2.0, 3.0]), 3),
    not_a_number: (one([1.0, 2.0], [3.0, 4.0], [math.nan, 1.0], [math.nan, 2.0], [0.0, math.inf]), 3),
    as_key: (_WHOLE, 2),
    as_text: (one([1.0, 2.0], [2.5, 1.0], [1.0, 20.0]), None),
    differentiated: (_SAME_LENGTH, 1),
    transformed: (_SAME_LENGTH, 3),
    inside_of_a_transform: (_SAME_LENGTH, 3),
    picked_outside: (
        tuple(lambda row=row: (torch.tensor(row),) for row in ([1, 2], [0, 5], [7, 9], [-2, 3], [-3, 1])),
        3,
    ),
    large: (tuple(lambda row=row: (torch.tensor(row),) for row in ([1, 2], [2, 5], [3, 1], [9, 4])), None),
    sliced: (_WHOLE, None),
    sized: (_WHOLE, None),
    padded: (_WHOLE, None),
}

PROGRAMS = [
    *(Program(name, _made(function), _FLOATS, variants=1) for name, function in _ONE_RECORDING.items()),
    *(Program(name, _made(function), _FLOATS, variants=1) for name, function in _CONVERTED.items()),
    *(Program(name, _made(function), _SAME_LENGTH, variants=1) for name, function in _LISTS.items()),
    *(Program(name, _made(function), _WHOLE, variants=1) for name, function in _OF_WHOLE.items()),
    *(
        Program(function.__name__, _made(function), calls, variants=variants)
        for function, (calls, variants) in _DECIDED.items()
    ),
    Program("number_of_a_weight", Scaled, _SAME_LENGTH, variants=1),
    Program("number_kept", LastLoss, _FLOATS, variants=None),
    Program("without_gradient", _made(without_gradient), _SAME_LENGTH, variants=1),
]
