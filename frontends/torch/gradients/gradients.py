"""Gradients that a recorded function leaves on the parameters or on its arguments: put back, and refused."""

from __future__ import annotations

import torch

from ....errors import TracingError
from ..state.parameters import Weights


class Gradients:
    """What every ``.grad`` within reach was before the recording."""

    def __init__(self, weights: Weights) -> None:
        self._before = [(tensor, tensor.grad) for tensor in weights.trained()]

    def add(self, tensor: torch.Tensor) -> None:
        """An argument."""
        if tensor.is_leaf:
            self._before.append((tensor, tensor.grad))

    def restore(self) -> None:
        """Puts all back."""
        for tensor, before in self._before:
            if _grad(tensor) is not before:
                tensor.grad = before

    def check(self, name: str) -> None:
        """``TracingError`` where one has changed: the graph would not do the same at its calls."""
        if any(_grad(tensor) is not before for tensor, before in self._before):
            raise TracingError(
                f"{name} leaves gradients on parameters or arguments (by backward), which a graph cannot do; "
                "compute them with torch.autograd.grad and return them"
            )


def _grad(tensor: torch.Tensor) -> torch.Tensor | None:
    """``tensor.grad``; of an array that a write has given a history, None, without torch's warning that there is none."""
    return tensor.grad if tensor.is_leaf else None
