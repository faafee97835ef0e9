"""Gradients that a recorded function finds and leaves: on weights they are state, on its arguments they are put back, and refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from ....assumptions.input_fact import fact_of
from ....errors import TracingError
from ....ir.node import Origin
from ....tracing.environment.conjunction import EnvironmentGuard
from ....tracing.reach.world import Held
from ....tracing.state.places import Place
from ..compat import no_torch_function
from ..state.parameters import Weights


class _Found(NamedTuple):
    """What autograd kept on a tensor before the recording."""

    tensor: torch.Tensor
    grad: torch.Tensor | None
    wanted: bool

    @classmethod
    def of(cls, tensor: torch.Tensor) -> _Found:
        return cls(tensor, tensor.grad, tensor.requires_grad)

    def restore(self) -> None:
        if _grad(self.tensor) is not self.grad:
            self.tensor.grad = self.grad
        if self.tensor.is_leaf and self.tensor.requires_grad is not self.wanted:
            self.tensor.requires_grad_(self.wanted)


class Gradients:
    """What every ``.grad`` within reach was before the recording."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._before: dict[int, _Found] = {}
        for tensor in weights.trained():
            self._before[id(tensor)] = _Found.of(tensor)
        self.last: Origin | None = None  # where a backward pass was begun
        self._asked: dict[tuple[int, str], EnvironmentGuard] = {}
        self._followed: set[int] = set()  # tensors whose gradients are looked after as state,
        self._placed: set[int] = set()  # and those of them whose gradients are inputs

    def follow(self, gradients: Iterable[Held], places: Iterable[Place]) -> None:
        """What holds ``gradients`` that may become state, and the ``places`` that are known to be."""
        self._followed = {id(held.item) for held in gradients}
        self._placed = {id(place.held.item) for place in places} & self._followed

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether the gradient of a tensor is an input of the graph."""
        return id(tensor) in self._placed

    def fact(self, given: Any, fact: str) -> Any:
        """A fact of an input, as the function has found it: its gradient may be another one by now."""
        before = self._before.get(id(given))
        if before is None or fact not in ("has_grad", "requires_grad"):
            return fact_of(given, fact)
        return before.wanted if fact == "requires_grad" else before.grad is not None

    def add(self, tensor: torch.Tensor) -> None:
        """A tensor from outside, before anything can have been done with it."""
        if id(tensor) in self._before:
            return
        with no_torch_function():
            if tensor.is_leaf:
                self._before[id(tensor)] = _Found.of(tensor)

    def asked(self, tensor: torch.Tensor, key: str) -> None:
        """The function has asked this of a captured tensor."""
        path = self._weights.name_of(tensor)
        held = None if path is None else self._weights.holder_of(path)
        with no_torch_function():
            before, name = self._before.get(id(tensor)), key.strip("_")
            known = {} if before is None else {"grad": before.grad, "requires_grad": before.wanted}
            found = known[name] if name in known else getattr(tensor, key)
            self._asked.setdefault((id(tensor), key), _fact_of_captured(tensor, held, key, found))

    def facts(self) -> list[EnvironmentGuard]:
        """What was asked of captured tensors is answered as it was."""
        return list(self._asked.values())

    def came_with(self, tensor: torch.Tensor, gradient: torch.Tensor) -> bool:
        """Whether this is the gradient that an argument had before the recording."""
        return any(found.tensor is tensor and found.grad is gradient for found in self._before.values())

    def restore(self) -> None:
        """Puts all back."""
        for found in self._before.values():
            if id(found.tensor) not in self._followed:
                found.restore()

    def check(self, name: str) -> None:
        """``TracingError`` where one has changed: the graph would not do the same at its calls."""
        for found in self._before.values():
            if id(found.tensor) in self._followed or _grad(found.tensor) is found.grad:
                continue
            raise TracingError(
                f"{self.last or name} leaves gradients on its arguments, or on tensors that nothing holds (by backward), which a graph "
                "cannot do; compute them with torch.autograd.grad and return them"
            )


def _grad(tensor: torch.Tensor) -> torch.Tensor | None:
    """``tensor.grad``; of an array that a write has given a history, None, without torch's warning that there is none."""
    return tensor.grad if tensor.is_leaf else None


def _fact_of_captured(tensor: torch.Tensor, held: Any, key: str, found: Any) -> EnvironmentGuard:
    """The tensor that is captured (``held``: the dict of its module and its key there, or None) has the gradient, the need of one, or the
    device that was ``found``."""
    name, relation = key.strip("_"), "==" if isinstance(found, torch.device) else "is"
    place, objects = ("{}", (tensor,)) if held is None else ("{}[{}]", held)
    return EnvironmentGuard(f"{place}.{name} {relation} {{}}", (*objects, found), f"{name} of a captured tensor")
