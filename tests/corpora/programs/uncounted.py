"""Programs that write to tensors without increasing torch's version counter: fused optimisers, gradient
scalers, quantisation observers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(rows: int, shift: float = 0.0) -> Callable[[], tuple[Any, ...]]:
    return lambda: ((torch.arange(rows * 3.0).reshape(rows, 3) * 5 % 13 - 6) / 4 + shift,)


_CALLS = (_x(2), _x(2, 0.1), _x(4), _x(2, 0.2))
_WITHOUT_ROWS = {ELSEWHERE: "cannot be translated"}


def _trained(
    optimiser: Callable[..., torch.optim.Optimizer], scaled: bool = False, **options: Any
) -> Callable[[], Any]:
    """Return a maker of functions that make a step of an optimiser and return everything that it changes."""

    def make() -> Any:
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        steps = optimiser(model.parameters(), **options)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2, enabled=scaled)

        def function(x: Any) -> Any:
            steps.zero_grad()
            loss = (model(x) ** 2).mean()
            scaler.scale(loss).backward()
            scaler.step(steps)
            scaler.update()
            return (
                loss.detach(),
                [weight.detach().clone() for weight in model.parameters()],
                scaler.scale(torch.ones(())),
            )

        return function

    return make


def _observed() -> Any:
    on, held = (
        torch.ones(1, dtype=torch.int32),
        [torch.zeros(1), torch.zeros(1), torch.ones(1), torch.zeros(1, dtype=torch.int32)],
    )

    def function(x: Any) -> Any:
        quantised = torch.fused_moving_avg_obs_fake_quant(x, on, on, *held, 0.1, 0, 255, 0)
        return quantised, [item.clone() for item in held]

    return function


PROGRAMS = [
    Program("fused_adam", _trained(torch.optim.Adam, fused=True, lr=0.1), _CALLS, _WITHOUT_ROWS),
    Program("fused_sgd", _trained(torch.optim.SGD, fused=True, lr=0.1, momentum=0.9), _CALLS, _WITHOUT_ROWS),
    Program("fused_adagrad", _trained(torch.optim.Adagrad, fused=True, lr=0.1), _CALLS, _WITHOUT_ROWS),
    Program("scaled", _trained(torch.optim.SGD, scaled=True, lr=0.1), _CALLS, _WITHOUT_ROWS),
    Program("observed", _observed, _CALLS, _WITHOUT_ROWS),
]
