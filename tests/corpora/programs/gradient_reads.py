"""Programs that query ``requires_grad`` or ``grad`` of tensors outside; calls with other answers need other
variants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .table import ELSEWHERE, Program


def _x(*shape: int, grad: bool = False) -> torch.Tensor:
    return (torch.arange(torch.Size(shape).numel()) * 5 % 13 - 6.0).reshape(shape).requires_grad_(grad)


_ROWS = (lambda: (_x(2, 3),), lambda: (_x(4, 3),), lambda: (_x(2, 3) + 1,))
_ARRAYS = (lambda: (_x(3),), lambda: (_x(3, grad=True),), lambda: (_x(3, grad=True) * 2,))


# ---------------------------------------------------------------------------------------------- of arguments
def asks_leaf(x: Any) -> Any:
    return x.detach() * (2 if x.is_leaf else 3)


def asks_history(x: Any) -> Any:
    return x.detach() * (2 if x.grad_fn is None else 3)


def asks_gradient(x: Any) -> Any:
    """The gradient of an argument is not part of the call, so a graph cannot see it."""
    return x.detach() * 2 if x.grad is None else x.grad


def _with_gradient() -> tuple[torch.Tensor]:
    x = _x(3, grad=True)
    x.grad = torch.ones(3)
    return (x,)


# ---------------------------------------------------------------------------------------- of what is captured
class Freezable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x)) * sum(p.numel() for p in self.parameters() if p.requires_grad)


def _holding(function: Callable[[torch.Tensor, Any], Any]) -> Callable[[], Any]:
    """Return a maker of functions ``function(held, x)`` with a captured tensor, which they have as attribute
    ``held``.
    """

    def make() -> Any:
        held = torch.ones(3, requires_grad=True)

        def program(x: Any) -> Any:
            return function(held, x)

        program.held = held  # type: ignore[attr-defined]
        return program

    return make


def _give(gradient: torch.Tensor | None) -> Callable[[Any], None]:
    def give(function: Any) -> None:
        function.held.grad = gradient

    return give


def asks_held(held: torch.Tensor, x: Any) -> Any:
    return x * 2 if held.grad is None else x + held.grad


def takes_gradient_away(held: torch.Tensor, x: Any) -> Any:
    held.grad = None
    (x * held).sum().backward()
    gradient = held.grad.clone()  # type: ignore[attr-defined]
    held.grad = None
    return gradient


class Freezing(nn.Module):
    """Freezes a layer by a call and a weight by assignment, after reading ``requires_grad`` of both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        trained = [p.numel() for p in self.parameters() if p.requires_grad]
        self.first.requires_grad_(False)
        self.second.weight.requires_grad = False
        asked = [p.requires_grad for p in self.parameters()]
        return self.second(self.first(x)) * sum(trained), asked


def alternates(held: torch.Tensor, x: Any) -> Any:
    held.requires_grad_(not held.requires_grad)
    return x * (2 if held.requires_grad else 3), held.requires_grad


def freezes_argument(x: Any) -> Any:
    was = x.requires_grad
    x.requires_grad_(False)
    return x * (2 if was else 3), x.requires_grad


def _thaw(model: Any) -> None:
    model.requires_grad_(True)


PROGRAMS = [
    Program("freezing", Freezing, (*_ROWS, *_ROWS), changes={3: _thaw}, variants=2),
    Program("alternates", _holding(alternates), (*_ROWS, *_ROWS), variants=2),
    Program("freezes_argument", lambda: freezes_argument, _ARRAYS[:2], variants=2),
    *(Program(f.__name__, lambda f=f: f, _ARRAYS) for f in (asks_leaf, asks_history)),
    Program(
        "asks_gradient",
        lambda: asks_gradient,
        (*_ARRAYS[:2], _with_gradient),
        dict.fromkeys(("torch", ELSEWHERE), "the gradient that an argument came with"),
    ),
    Program(
        "freezable",
        Freezable,
        _ROWS,
        changes={1: lambda model: model.first.requires_grad_(False)},
        variants=2,
    ),
    Program(
        "asks_held",
        _holding(asks_held),
        _ROWS,
        changes={1: _give(torch.ones(3)), 2: _give(torch.ones(3) * 2)},
    ),
    Program("takes_gradient_away", _holding(takes_gradient_away), _ROWS),
    Program(
        "leaves_gradient_on_argument",
        lambda: lambda x: x.sum().backward(),
        _ARRAYS[1:2],
        dict.fromkeys(("torch", ELSEWHERE), "leaves gradients on"),
    ),
]
