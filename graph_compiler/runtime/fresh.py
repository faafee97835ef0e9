"""Arguments like those that a variant was recorded with, made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.graph import Value
from ..trees import call_of
from .variant import Recorded, Variant


def recorded_inputs(recorded: Recorded) -> list[Value]:
    """The inputs that are arguments; what is kept from call to call is read where it is."""
    return recorded.graph.inputs[: recorded.graph.notes.get("call_inputs")]


def fresh_leaves(recorded: Recorded, checking: Any, sizes: Mapping[int, int], seed: int) -> list[Any]:
    """Random arrays of the recorded dtypes and ranks, with elements from the ranges that were seen, and ``sizes`` in the place of others; numbers as recorded."""
    numbers, ranges = recorded.graph.notes.get("call_numbers", {}), iter(recorded.ranges)
    return [
        numbers[value]
        if value in numbers
        else checking.fresh(tuple(sizes.get(size, size) for size in value.spec.hints), value.dtype, next(ranges), seed * 100 + i)
        for i, value in enumerate(recorded_inputs(recorded))
    ]


def fresh_call(variant: Variant, checking: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of the original that are like those of a variant, at the sizes of its recording."""
    assert variant.recording is not None
    return call_of(variant.graph.input_tree, fresh_leaves(variant.recording, checking, {}, 0))
