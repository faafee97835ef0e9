"""Steps of a recorded loop, and what their values are in it: made by the step, held by a variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import Signal
from ..ir.node import Node, Value
from ..ir.recorded_loop import Mark, Path


class NotEqual(Signal):
    """Steps differ in what a loop cannot give them."""


class TooShort(NotEqual):
    """Too few steps were recorded to tell."""


@dataclass(frozen=True)
class Step:
    """What was recorded of one step: its nodes, with folded loops as nodes, and those outside of inner loops. ``is_whole`` where each inner
    loop has steps enough to be one."""

    nodes: Sequence[Node]
    own: Sequence[Node]
    is_whole: bool = True

    def written(self, base_of: Callable[[Value], Value]) -> list[Value]:
        """The memory that it writes to and has not made itself, in the order in which it does."""
        made = {value for node in self.nodes for value in node.outputs}
        bases = dict.fromkeys(base_of(value) for node in self.nodes for value in node.writes)
        return [base for base in bases if base not in made]


@dataclass(frozen=True)
class Made:
    """What the step itself has made: an output of one of its nodes."""

    node: int
    output: int


def made_in(step: Sequence[Node]) -> dict[Value, Made]:
    return {value: Made(place, output) for place, node in enumerate(step) for output, value in enumerate(node.outputs)}


def slots_of(mark: Mark) -> dict[Value, list[Path]]:
    """The variables that hold each value."""
    found: dict[Value, list[Path]] = {}
    for path, held in mark.state.items():
        if isinstance(held.item, Value):
            found.setdefault(held.item, []).append(path)
    return found


def value_at(mark: Mark, path: Path) -> Value | None:
    held = mark.state.get(path)
    return held.item if held is not None and isinstance(held.item, Value) else None
