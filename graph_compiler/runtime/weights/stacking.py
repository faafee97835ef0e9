"""Weights of equal layers, stacked for programs that loop over the layers."""

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
    """Callable that returns the current weights by name, with the weights of equal layers stacked.

    The stacked arrays are cached until a weight is replaced. All calls return the same dict until then.

    written: names of buffers that calls replace.
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
        # The weights are the same mapping until one of them is replaced.
        if now is not seen:
            made = {name: array for name, array in now.items() if name not in self._left_out}
            made.update((stack.together(), self._stacked(now, *stack)) for stack in self._stacks)
            self._held = now, made
        # Calls replace these buffers without replacing the mapping.
        made.update((name, now[name]) for name in self._written)
        return made


def weights_reader(
    parameters: Live, program: Program, graph: Graph, flat: Callable[..., Any]
) -> Callable[[], Mapping[str, Any]]:
    if not program.stacks:
        return parameters
    written = (effect.target for effect in graph.effects if effect.kind == "buffer")
    # ``Target.placed`` may have wrapped the function, whose globals hold the helper.
    return StackedWeights(parameters, program.stacks, inspect.unwrap(flat).__globals__[HELPER], written)


def with_captured_weights(
    parameters: Live, program: Program, flat: Callable[..., Any]
) -> Callable[..., Any] | None:
    """Return the flat function with its weights read inside, for a compiler that captures them.

    Return None if the weights are stacked, come not first among the arguments, or cannot be captured.
    """
    if program.stacks or program.arguments[:1] != ("parameters",) or not parameters.is_captured:
        return None

    def reading(*others: Any) -> Any:
        return flat(parameters(), *others)

    reading.__name__ = flat.__name__
    return reading
