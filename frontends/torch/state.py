"""State outside of the arguments that a function changes: buffers become effects, anything else that matters is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...errors import TracingError
from ...ir.graph import Effect, Graph, Value
from ...tracing.world import MISSING, Change, World
from ...trees import iterate_structure
from .parameters import Weights
from .sizes import is_symbolic

_NUMBERS = (bool, int, float, complex)


class State:
    """What the function can reach before a recording."""

    def __init__(self, weights: Weights) -> None:
        for name, root in weights.roots():
            if isinstance(root, Iterator) and not isinstance(root, torch.Tensor):
                raise TracingError(
                    f"{name} is an iterator outside of the recorded function: what the function takes from it cannot be recorded. Pass it as an argument"
                )
        self._weights = weights
        self._world = World(weights.roots())

    def finish(self, capture: Any) -> None:
        """Effects for replaced buffers; ``TracingError`` where other state would be lost. Everything is put back."""
        changes = list(self._world.changes())
        self._world.restore()
        depending: set[Value] | None = None
        for change in changes:
            if self._is_buffer(change):
                self._effect(capture, change)
                continue
            depending = _depending(capture.recorder.graph) if depending is None else depending
            if _matters(capture, change, depending):
                raise TracingError(
                    f"{capture.recorder.graph.name} changes {change.where}[{change.key!r}] while it is recorded ({_text(change.before)} -> {_text(change.now)}): "
                    "such state is not seen by the graph, so later calls would go wrong. Make it a buffer (register_buffer), or pass it in and return it"
                )

    def restore(self) -> None:
        """Puts everything back, after a recording that failed."""
        self._world.restore()

    def _is_buffer(self, change: Change) -> bool:
        was, now = change.before, change.now
        return (
            isinstance(was, torch.Tensor)
            and isinstance(now, torch.Tensor)
            and self._weights.name_of(was) is not None
            and change.where.endswith(("_buffers", "_parameters"))
        )

    def _effect(self, capture: Any, change: Change) -> None:
        name = self._weights.name_of(change.before) or ""
        if not self._weights.is_persistent(name):
            raise TracingError(
                f"{capture.recorder.graph.name} replaces the non-persistent buffer {name}; write to it in place, or make it persistent"
            )
        if tuple(change.before.shape) != tuple(change.now.shape) or change.before.dtype != change.now.dtype:
            raise TracingError(f"{capture.recorder.graph.name} replaces the buffer {name} by one of another shape or dtype")
        capture.recorder.graph.effects.append(Effect("buffer", name, capture.value(change.now)))


def _matters(capture: Any, change: Change, depending: set[Value]) -> bool:
    """Whether the next call of the original would see something else. A cache that is filled anew at each call does not matter."""
    was, now = change.before, change.now
    if isinstance(now, torch.Tensor):
        value = capture.recorder.find(now)
        return value is not None and (value in depending or capture.recorder.base_of(value) in depending)
    if is_symbolic(now) or is_symbolic(was):
        return False
    if isinstance(now, _NUMBERS) or isinstance(was, _NUMBERS):
        return was is not None and was != now
    return was is MISSING and type(change.key) is int or now is MISSING


def _depending(graph: Graph) -> set[Value]:
    """Values that depend on elements of inputs, not only on sizes."""
    found: set[Value] = set(graph.inputs)
    for node in graph.nodes:
        elements = {item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Value)}
        if elements & found:
            found.update(node.outputs)
            found.update(node.facts.get("writes", ()))
    return found


def _text(item: Any) -> str:
    return "nothing" if item is MISSING else "a tensor" if isinstance(item, torch.Tensor) else repr(item)[:60]
