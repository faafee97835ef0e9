"""Programs that make steps of training: gradients that stay on weights, and state of optimisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .table import Program


def _x(rows: int, shift: float = 0.0) -> Callable[[], tuple[Any, ...]]:
    return lambda: ((torch.arange(rows * 3.0).reshape(rows, 3) * 5 % 13 - 6) / 4 + shift,)


_CALLS = (_x(2), _x(2, 0.1), _x(4), _x(2, 0.2))
Step = Callable[[nn.Module, torch.optim.Optimizer, torch.Tensor], None]


class Trained:
    def __init__(
        self, model: nn.Module, optimiser: Callable[..., torch.optim.Optimizer], step: Step, **options: Any
    ) -> None:
        self._model, self._step = model, step
        self._optimiser = optimiser(model.parameters(), **options)

    def __call__(self, x: Any) -> Any:
        loss = (self._model(x) ** 2).mean()
        self._step(self._model, self._optimiser, loss)
        return loss.detach()

    @property
    def groups(self) -> list[dict[str, Any]]:
        return self._optimiser.param_groups

    @property
    def weights(self) -> list[nn.Parameter]:
        return list(self._model.parameters())


class Scheduled(Trained):
    def __init__(self, schedule: Callable[[torch.optim.Optimizer], Any], **options: Any) -> None:
        super().__init__(_linear(), torch.optim.SGD, zeroed_before, **options)
        self._scheduler = schedule(self._optimiser)

    def __call__(self, x: Any) -> Any:
        loss = super().__call__(x)
        self._scheduler.step()
        return loss


def _reads(trained: Any) -> Any:
    """Return a function that makes a step and returns copies of the weights and gradients."""

    def function(x: Any) -> Any:
        loss = trained(x)
        return (
            loss,
            [weight.detach().clone() for weight in trained.weights],
            [_copy(weight.grad) for weight in trained.weights],
        )

    function.weights, function.groups = trained.weights, trained.groups
    return function


def _copy(gradient: Any) -> Any:
    return gradient if gradient is None else gradient.clone()


# ---------------------------------------------------------------------------------------------- steps
def zeroed_before(model: Any, optimiser: Any, loss: Any) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def zeroed_after(model: Any, optimiser: Any, loss: Any) -> None:
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()


def filled_with_zeros(model: Any, optimiser: Any, loss: Any) -> None:
    optimiser.zero_grad(set_to_none=False)
    loss.backward()
    optimiser.step()


def accumulated(model: Any, optimiser: Any, loss: Any) -> None:
    loss.backward()
    optimiser.step()


def clipped(model: Any, optimiser: Any, loss: Any) -> None:
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    nn.utils.clip_grad_value_(model.parameters(), 0.3)
    optimiser.step()


def assigned(model: Any, optimiser: Any, loss: Any) -> None:
    weights = list(model.parameters())
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights)):
        weight.grad = gradient * 2
    optimiser.step()


_STEPS = (zeroed_before, zeroed_after, filled_with_zeros, accumulated, clipped, assigned)


def _linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def _deep() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    model[0].bias.requires_grad_(False)
    return model


_OPTIMISERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "foreach": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "foreach": True}),
    # This keeps gradients that consist of rounding errors from being scaled to the size of others.
    "adam": (
        torch.optim.Adam,
        {"lr": 0.02, "eps": 0.1},
    ),
    "rms": (torch.optim.RMSprop, {"lr": 0.01, "centered": True, "eps": 0.1}),
}


def _drops(function: Any) -> None:
    for weight in function.weights:
        weight.grad = None


def _halves(function: Any) -> None:
    for weight in function.weights:
        weight.grad.mul_(0.5)


_TRAINS = [(f"sgd_{step.__name__}", _linear, torch.optim.SGD, step, {"lr": 0.1}) for step in _STEPS]
_TRAINS += [
    (name, _deep, optimiser, zeroed_before, options) for name, (optimiser, options) in _OPTIMISERS.items()
]
PROGRAMS = [
    Program(
        name,
        lambda model=model, optimiser=optimiser, step=step, options=options: _reads(
            Trained(model(), optimiser, step, **options)
        ),
        _CALLS,
    )
    for name, model, optimiser, step, options in _TRAINS
]
PROGRAMS.append(
    Program(
        "gradients_of_the_user",
        lambda: _reads(Trained(_linear(), torch.optim.SGD, accumulated, lr=0.1)),
        _CALLS,
        changes={1: _halves, 2: _drops, 3: _halves},
    )
)


_ALIKE = tuple(_x(2, 0.1 * number) for number in range(7))
_SCHEDULES: dict[str, tuple[Callable[[torch.optim.Optimizer], Any], int]] = {
    "exponential": (lambda optimiser: torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.8), 2),
    "in_steps": (lambda optimiser: torch.optim.lr_scheduler.StepLR(optimiser, 2, 0.5), 3),
    "warming_up": (lambda optimiser: torch.optim.lr_scheduler.LinearLR(optimiser, 0.1, total_iters=4), 3),
}


def _lowers(function: Any) -> None:
    for group in function.groups:
        group["lr"] *= 0.8


PROGRAMS += [
    Program(
        name,
        lambda schedule=schedule: _reads(Scheduled(schedule, lr=0.2, momentum=0.5)),
        _ALIKE,
        variants=variants,
    )
    for name, (schedule, variants) in _SCHEDULES.items()
]
PROGRAMS.append(
    Program(
        "rate_of_the_user",
        lambda: _reads(Trained(_linear(), torch.optim.SGD, zeroed_before, lr=0.2, momentum=0.5)),
        _ALIKE,
        changes=dict.fromkeys(range(2, 7), _lowers),
        variants=4,
    )
)


# ------------------------------------------------------------------------------- elsewhere than in optimisers
class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        loss = functional.cross_entropy(self.linear(x), torch.zeros(x.shape[0], dtype=torch.long))
        loss.backward()
        return loss.detach(), self.linear.weight.grad * 2


def _alone() -> Any:
    weight = torch.ones(3, requires_grad=True)

    def function(x: Any) -> Any:
        (x * weight).sum().backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
        return weight.detach() * 1, weight.grad * 1

    return function


PROGRAMS += [Program("backward_in_forward", Layer, _CALLS), Program("weight_alone", _alone, _CALLS)]


# ---------------------------------------------------------------------------------------------- convolutions
def _convolution(cls: type[nn.Module], *sizes: int, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        layer = cls(*sizes, **options)

        def function(x: Any) -> Any:
            x = x.detach().requires_grad_()
            return torch.autograd.grad((layer(x) ** 2).sum(), [x, *layer.parameters()])

        return function

    return make


def _images(*shapes: tuple[int, ...]) -> tuple[Callable[[], tuple[Any, ...]], ...]:
    return tuple(
        lambda shape=shape: ((torch.arange(torch.Size(shape).numel()) * 5 % 13 / 6 - 1).reshape(shape),)
        for shape in shapes
    )


PROGRAMS += [
    Program(
        "convolution_strided",
        _convolution(nn.Conv2d, 2, 4, 3, stride=2, padding=1),
        _images((2, 2, 5, 6), (1, 2, 6, 6)),
    ),
    Program(
        "convolution_in_groups",
        _convolution(nn.Conv2d, 4, 6, 3, groups=2, stride=(2, 1)),
        _images((2, 4, 6, 6), (3, 4, 8, 6)),
    ),
    Program(
        "convolution_dilated",
        _convolution(nn.Conv1d, 3, 3, 2, dilation=3, groups=3, bias=False),
        _images((2, 3, 9), (3, 3, 8)),
    ),
]
