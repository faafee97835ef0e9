"""Programs that take gradients, through layers and losses that save tensors for them, or make steps of
optimisers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from .table import ELSEWHERE, Program


def _x(*shape: int) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6.0).reshape(shape) / 4


_ROWS = (lambda: (_x(2, 3),), lambda: (_x(2, 3) + 1,), lambda: (_x(4, 3),))


def _with(make: Callable[[], nn.Module], function: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    def made() -> Any:
        torch.manual_seed(0)
        model = make()
        return lambda x: function(model, x)

    return made


def of_weights(model: Any, x: Any) -> Any:
    loss = functional.cross_entropy(model(x), torch.zeros(len(x), dtype=torch.long))
    return torch.autograd.grad(loss, list(model.parameters()))


def of_input(model: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(functional.mse_loss(model(x), torch.ones_like(x)), x)[0]


def steps_against_the_gradient(model: Any, x: Any) -> Any:
    for _ in range(2):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(model(x).pow(2).sum(), x)
        x = x - 0.1 * gradient
    return x.detach()


def penalty(model: Any, x: Any) -> Any:
    x = (x * 0.5).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return ((gradient.norm(2, 1) - 1) ** 2).mean()


def of_losses(model: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    loss = (
        functional.smooth_l1_loss(x, x.detach() * 0)
        + functional.gelu(x).sum()
        + functional.normalize(x).sum()
    )
    return torch.autograd.grad(loss + torch.einsum("ij,kj->ik", x, x).sum() + x.std(), x)[0]


def _fits(optimiser: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def fits(x: Any) -> Any:
        weight = torch.zeros(3, requires_grad=True)
        steps = optimiser([weight])
        for _ in range(2):
            steps.zero_grad()
            ((x @ weight - 1) ** 2).mean().backward()
            steps.step()
        return weight.detach()

    return fits


def _normed() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))


def _plain() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(), nn.Linear(4, 3))


def _attention() -> nn.Module:
    return nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)


def curvature(model: nn.Module, x: Any) -> Any:
    """Differentiate forward over reverse; tangents of matrix products and means begin with zeros that torch
    creates itself.
    """
    return torch.func.hessian(lambda weight: (torch.tanh(x @ weight) ** 2).mean())(
        torch.linspace(-1, 1, x.shape[-1])
    )


def by_old_vmap(x: Any) -> Any:
    return torch.autograd.functional.jacobian(torch.sin, x[0], strategy="forward-mode", vectorize=True)


PROGRAMS = [
    Program(
        "by_old_vmap",
        lambda: by_old_vmap,
        _ROWS[:1],
        dict.fromkeys(("torch", ELSEWHERE), r"inner_gradients\.py:\d+: tensors of torch's old vmap"),
    ),
    Program("curvature", _with(nn.Identity, curvature), _ROWS[:2]),
    Program("of_weights", _with(_normed, of_weights), _ROWS),
    Program("steps_against_the_gradient", _with(_plain, steps_against_the_gradient), _ROWS),
    Program("penalty", _with(_plain, penalty), _ROWS),
    Program("of_attention", _with(_attention, of_input), (lambda: (_x(2, 3, 4),), lambda: (_x(1, 5, 4),))),
    Program("of_losses", _with(nn.Identity, of_losses), _ROWS[:2]),
    Program(
        "fits_by_descent",
        lambda: _fits(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9)),
        _ROWS,
    ),
    Program("fits_by_adam", lambda: _fits(lambda weights: torch.optim.Adam(weights, lr=0.1)), _ROWS[:2]),
]
