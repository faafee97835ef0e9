"""Operands that have to be known (a size, an axis, a bound), and that a function computes from elements: what they held while recording.

Where a row cannot take such an operand as an array, the graph is tied to these elements, by a guard: other ones are another variant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import Guard, Value
from ...ops.dtypes import is_floating
from ...tracing import Recorder
from ..read_numbers import rounding_of
from .held import Held

_MOST = 64  # elements


@dataclass(frozen=True, slots=True)
class Elements:
    """What operands of a call held, by their place, and the places of those that other calls may give other elements."""

    held: dict[int, Any] = field(default_factory=dict)
    varying: frozenset[int] = frozenset()

    def mapped(self, function: Callable[[Any], Any]) -> Elements:
        """The same: elements are no values."""
        return self


def elements_of(recorder: Recorder, operands: Sequence[Held], places: Sequence[int]) -> Elements | None:
    """What the operands at these places held, as far as they are arrays of few numbers.

    None inside of loops and branches, where they may be others in each step.
    """
    if recorder.in_block:
        return None
    found = {place: operands[place] for place in places if isinstance(operands[place], Held) and _is_told(recorder, operands[place])}
    varying = frozenset(place for place, held in found.items() if recorder.varies(held.item))
    return Elements({place: held.seen.numpy().tolist() for place, held in found.items()}, varying) if found else None


def _is_told(recorder: Recorder, held: Held) -> bool:
    return isinstance(held.item, Value) and np.size(held.seen) <= _MOST and not recorder.is_random(held.item)


def tied(b: Any, elements: Elements, place: int, operand: Value) -> Any:
    """The operand at a place as numbers, which it has to be in each call of the graph."""
    held = elements.held[place]
    if place in elements.varying:
        b.graph.guards.append(Guard(operand, held, b.origin, rounding_of(b, operand) if is_floating(operand.dtype) else 0.0))
    return _nested(held)


def _nested(rows: Any) -> Any:
    return tuple(map(_nested, rows)) if isinstance(rows, list) else rows
