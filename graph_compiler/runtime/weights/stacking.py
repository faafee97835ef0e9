"""Weights of layers that a program reads stacked, stacked once: until one of them changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...codegen import Program
from ...codegen.layers import HELPER, Stack
from ...contracts import Live
from ...ir.graph import Graph

_NONE: Mapping[str, Any] = {}


class StackedWeights:
    """Called, the weights of the moment as a program with ``stacks`` takes them: stacked, and those that are
    stacked left out.

    ``written`` are the buffers whose arrays calls replace.
    """

    def __init__(
        self, parameters: Live, stacks: Sequence[Stack], stacked: Callable[..., Any], written: Iterable[str]
    ) -> None:
        self._parameters, self._stacks, self._stacked, self._written = (
            parameters,
            stacks,
            stacked,
            tuple(written),
        )
        self._left_out = {name for stack in stacks for name in stack.names()}
        self._held: tuple[Mapping[str, Any], dict[str, Any]] = _NONE, {}

    def __call__(self) -> Mapping[str, Any]:
        now, (seen, made) = self._parameters(), self._held
        if now is not seen:
            made = {name: array for name, array in now.items() if name not in self._left_out}
            made.update((stack.together(), self._stacked(now, *stack)) for stack in self._stacks)
            self._held = now, made
        made.update((name, now[name]) for name in self._written)
        return made


def as_read(
    parameters: Live, program: Program, graph: Graph, flat: Callable[..., Any]
) -> Callable[[], Mapping[str, Any]]:
    """What gives the weights as the ``flat`` function of a program reads them: ``parameters`` itself where
    none are stacked.
    """
    if not program.stacks:
        return parameters
    written = (effect.target for effect in graph.effects if effect.kind == "buffer")
    return StackedWeights(parameters, program.stacks, inspect.unwrap(flat).__globals__[HELPER], written)


def captured(parameters: Live, program: Program, flat: Callable[..., Any]) -> Callable[..., Any] | None:
    """The ``flat`` function for a compiler that reads the weights itself: without the argument for them.

    None where it does not.
    """
    if program.stacks or program.arguments[:1] != ("parameters",) or not parameters.is_captured:
        return None

    def reading(*others: Any) -> Any:
        return flat(parameters(), *others)

    reading.__name__ = flat.__name__
    return reading
