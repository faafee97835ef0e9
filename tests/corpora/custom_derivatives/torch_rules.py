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


class SavesNeeded(Function):
    """Its forward saves only what gradients of the arguments that need one are computed from."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        of_x, of_y = ctx.needs_input_grad
        ctx.save_for_backward(x if of_y else None, y if of_x else None)
        return x * y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, y = ctx.saved_tensors
        return None if y is None else 2 * gradient * y, None if x is None else 3 * gradient * x


class SavesInSetup(SavesNeeded):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        SavesNeeded.forward(ctx, *inputs)


class AsksArguments(SavesNeeded):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x if y.requires_grad else None, y if x.requires_grad else None)
        return x * y


class Unmaterialized(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mask, places = x > 0, x.argmax(1)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(mask, places)
        ctx.save_for_backward(mask)
        return x * mask, mask, places

    @staticmethod
    def backward(ctx: Any, gradient: Any, *others: Any) -> Any:
        assert all(other is None for other in others)
        return 2 * gradient * ctx.saved_tensors[0]


class Mixture(Function):
    """A function of arrays and other objects, which returns both."""

    @staticmethod
    def forward(ctx: Any, x: Any, power: int, y: Any, options: dict[str, float]) -> Any:
        ctx.power = power
        ctx.save_for_backward(x, y)
        return x**power * y, power + 1, {"norm": x.norm()}, [x * options["factor"], y], None, (x + y).sum(1)

    @staticmethod
    def backward(ctx: Any, gradient: Any, *others: Any) -> Any:
        assert all(other is None for other in others[:4])
        x, y = ctx.saved_tensors
        of_x = 2 * gradient * ctx.power * x ** (ctx.power - 1) * y + others[4][:, None]
        return of_x, None, gradient * x**ctx.power, None


def mixture(x: Any, y: Any) -> Any:
    product, power, measures, items, _, total = Mixture.apply(x, 3, y, {"factor": 2.0})
    return product * measures["norm"] * power + items[0] * x, total * 2, items[1] * y


class Centred(Function):
    """Its forward leaves the mean in an object and in memory of the caller, where it has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, measures: dict[str, Any], running: Any) -> Any:
        measures["mean"] = x.mean(0)
        running.mul_(0.9).add_(0.1 * measures["mean"])
        return x - measures["mean"]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 2 * gradient, None, None


def centred(x: Any) -> Any:
    measures: dict[str, Any] = {}
    running = torch.ones_like(x[0]).detach()
    return Centred.apply(x, measures, running) * measures["mean"] * x, running * x


class Recomputed(Function):
    """Its rule takes the gradient of a layer, as checkpoints and adjoint solvers do."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight).tanh() @ weight

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, weight = (item.detach().requires_grad_() for item in ctx.saved_tensors)
        with torch.enable_grad():
            y = torch.nn.functional.linear(x, weight).tanh() @ weight
        of_x, of_weight = torch.autograd.grad(y, (x, weight), gradient)
        return of_x * 2, of_weight * 3


class RecomputedByBackward(Recomputed):
    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, weight = (item.detach().requires_grad_() for item in ctx.saved_tensors)
        with torch.enable_grad():
            y = (x @ weight.t()).tanh() @ weight
        torch.autograd.backward(y, gradient)
        return x.grad, weight.grad * 3


class Summed(Function):
    """Elements of an argument decide in its rule, which also writes to the array that it reads them from."""

    @staticmethod
    def forward(ctx: Any, x: Any, end: Any) -> Any:
        ctx.save_for_backward(x, end)
        return x * end

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, end = ctx.saved_tensors
        grid = torch.arange(0, torch.ceil(end).item(), dtype=end.dtype)
        grid[-1] = end
        total = gradient[1:].sum() if grid[-1] > 3 else gradient.sum()
        for time in grid:
            total = total + (time * gradient).mean()
        return total * x.cos(), None


class Scaled(Function):
    """Numbers that are given, and read from arrays in ``forward`` and ``backward``."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor, ctx.total = factor, x.sum().item()
        return x * factor

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * ctx.factor * ctx.total + x.max().item(), None


class OverRows(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        total = gradient.sum()
        for row in x:
            total = total + (row * gradient).mean()
        return total * x.cos()


class TwoUnchanged(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x, y

    @staticmethod
    def backward(ctx: Any, of_x: Any, of_y: Any) -> Any:
        return 2 * of_x, 3 * of_y


class ReturnsTwice(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return 2 * first + 5 * second


class ByVjp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def vjp(ctx: Any, gradient: Any) -> Any:
        return 3 * gradient * ctx.saved_tensors[0]


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
    "once differentiable": Row(lambda x: OnceOnly.apply(x) * x),
    "written": Row(lambda x: Written.apply(x * 2) * x),
    "a rule in a rule": Row(lambda x: Softened.apply(x) * x**2),
    "a root": Row(Root.apply),
    "broadcast": Row(narrow, 2),
    "complex": Row(lambda x: (Rotated.apply(x) * (1 + 2j)).imag),
    "sorted": Row(lambda x: Ranked.apply(x) ** 2),
    "saves what is needed": Row(lambda x, y: SavesNeeded.apply(x, y) * x, 2),
    "saves what is needed, in setup_context": Row(lambda x, y: SavesInSetup.apply(x, y) * x, 2),
    "asks its arguments": Row(lambda x, y: AsksArguments.apply(x, y) * x, 2),
    "no gradient of a result": Row(lambda x: [Unmaterialized.apply(x)[0] * x, Unmaterialized.apply(x)[2]]),
    "other objects": Row(mixture, 2),
    "left elsewhere": Row(centred),
    "the gradient of a layer": Row(lambda x, y: Recomputed.apply(x, y) * x, 2),
    "a backward pass": Row(lambda x, y: RecomputedByBackward.apply(x, y) * x, 2),
    "numbers": Row(lambda x: Scaled.apply(x, x.mean().item()) * x),
    "a loop over rows": Row(lambda x: OverRows.apply(x) * x),
    "two arguments returned": Row(lambda x, y: [item**2 * x for item in TwoUnchanged.apply(x, y)], 2),
    "one result twice": Row(lambda x: [ReturnsTwice.apply(x)[0] * x, ReturnsTwice.apply(x)[1] * 2]),
    "vjp": Row(lambda x: ByVjp.apply(x) * x),
    "a hook": Row(hooked),
    "called twice": Row(lambda x: Clip.apply(Clip.apply(x * x, -0.2, 0.7) * x, -0.5, 0.5)),
}
