"""``torch.autograd.Function``s with one or two array arguments. Some rules differ from the true derivative,
so that a lost rule is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Row(NamedTuple):
    """A function with ``count`` arguments."""

    function: Callable[..., Any]
    count: int = 1
    twice: bool = True


class Clip(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, low: float, high: float) -> Any:
        ctx.bounds = low, high
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.clamp(*ctx.bounds), None, None


class ByNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient / gradient.norm().clamp(min=1.0)


class LogSumExp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        peak = x.max(-1, keepdim=True).values
        exps = (x - peak).exp()
        y = (exps.sum(-1, keepdim=True).log() + peak).squeeze(-1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, y = ctx.saved_tensors
        return (x - y[..., None]).exp() * gradient[..., None]


class Normal(Function):
    """It stores intermediate arrays, some as attributes, which torch treats as constants in a second
    derivative.
    """

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mean, ctx.scale = x.mean(0), 1 / (x.var(0, unbiased=False) + 1).sqrt()
        normal = (x - mean) * ctx.scale
        ctx.save_for_backward(normal)
        return normal * 1

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (normal,) = ctx.saved_tensors
        return (gradient - gradient.mean(0) - normal * (gradient * normal).mean(0)) * ctx.scale


class Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        ctx.save_for_backward(x, weight, bias)
        y = x.mm(weight.t())
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, weight, bias = ctx.saved_tensors
        of_x = 2 * gradient.mm(weight) if ctx.needs_input_grad[0] else None
        of_weight = 3 * gradient.t().mm(x) if ctx.needs_input_grad[1] else None
        return of_x, of_weight, None if bias is None else gradient.sum(0)


class TwoResults(Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, (x + y).sum(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        x, y = ctx.saved_tensors
        of_x = torch.zeros_like(x)
        if first is not None:
            of_x = of_x + 3 * first * y
        if second is not None:
            of_x = of_x + second[:, None] * x
        return of_x, None if first is None else first * x.sin()


class Places(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        found, places = x.max(1)
        least = x.min(1).values
        ctx.mark_non_differentiable(places, least)
        ctx.save_for_backward(places, x)
        return found, places, least

    @staticmethod
    def backward(ctx: Any, gradient: Any, *_: Any) -> Any:
        places, x = ctx.saved_tensors
        return torch.zeros_like(x).scatter(1, places[:, None], 2 * gradient[:, None])


class OnceOnly(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return (gradient * x).cumsum(0)


class Written(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.clone()
        y[y < 0] = 0
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        changed = gradient.clone()
        changed[x < 0] = 0.1
        changed[0] += gradient.sum(0)
        return changed.mul_(2)


class Softened(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return Clip.apply(gradient, -0.5, 0.5) * (1 - torch.tanh(x) ** 2)


class Root(Function):
    @staticmethod
    def forward(ctx: Any, p: Any) -> Any:
        z = torch.zeros_like(p)
        for _ in range(50):
            z = torch.cos(z) * 0.5 + p * 0.1
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (z,) = ctx.saved_tensors
        total = gradient
        for _ in range(50):
            total = gradient - 0.5 * torch.sin(z) * total
        return total * 0.1


class Narrow(Function):
    """Its gradients have another dtype and shape than the argument, to which torch converts them."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, scale = ctx.saved_tensors
        return gradient * scale, (gradient * x).sum(0, keepdim=True)


class Rotated(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.exp(1j * x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return (torch.conj(2j * torch.exp(1j * x)) * gradient).real


class Ranked(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        order = x.argsort(dim=0, stable=True)
        ctx.save_for_backward(order)
        return x.gather(0, order)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (order,) = ctx.saved_tensors
        return torch.zeros_like(gradient).scatter(0, order, gradient * 2)


class Masked(Function):
    """Its rule selects rows by a mask, whose number varies from call to call."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        changed = gradient.clone()
        changed[x < 0] *= 0.1
        return changed


def hooked(x: Any) -> Any:
    y = x * 3
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient.clamp(max=0.5) * 2)
    return y * y


def narrow(x: Any, y: Any) -> Any:
    return Narrow.apply(x, y[:1])


ROWS: dict[str, Row] = {
    "clipped": Row(lambda x: Clip.apply(x**3, -0.5, 0.5) * x),
    "scaled by a norm": Row(lambda x: ByNorm.apply(x * 3) * x),
    "log-sum-exp": Row(lambda x: LogSumExp.apply(x) ** 2),
    "intermediate arrays": Row(lambda x: Normal.apply(x) * x),
    "linear": Row(lambda x, y: Linear.apply(x, y[:2]).sin(), 2),
    "linear with a bias": Row(lambda x, y: Linear.apply(x, y[:2], y[0, :2]).sin(), 2),
    "two results": Row(lambda x, y: [item * 2 for item in TwoResults.apply(x, y)], 2),
    "one of two results": Row(lambda x, y: TwoResults.apply(x, y)[1] ** 2, 2),
    "integers as a result": Row(
        lambda x: [Places.apply(x)[0] * Places.apply(x)[2] * x[:, 0], Places.apply(x)[1]]
    ),
    "once differentiable": Row(lambda x: OnceOnly.apply(x) * x, twice=False),
    "written": Row(lambda x: Written.apply(x * 2) * x),
    "a rule in a rule": Row(lambda x: Softened.apply(x) * x**2),
    "a root": Row(Root.apply),
    "broadcast": Row(narrow, 2),
    "complex": Row(lambda x: (Rotated.apply(x) * (1 + 2j)).imag),
    "sorted": Row(lambda x: Ranked.apply(x) ** 2),
    "a hook": Row(hooked),
    "called twice": Row(lambda x: Clip.apply(Clip.apply(x * x, -0.2, 0.7) * x, -0.5, 0.5)),
}
