"""Arguments like those that a variant was recorded with, made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.node import Value
from ..tracing.overlap import NO_ARRAY
from ..trees import call_of
from .variant import Recorded, Variant


def recorded_inputs(recorded: Recorded) -> list[Value]:
    """The inputs that are arguments; what is kept from call to call is read where it is."""
    return recorded.graph.inputs_of_call


def fresh_leaves(recorded: Recorded, checking: Any, sizes: Mapping[int, int], seed: int) -> list[Any]:
    """Random arrays of the recorded dtypes and ranks, with elements from the ranges that were seen, and ``sizes`` in the place of others; numbers as recorded.

    What was one array is one, and all have the facts that were asked for.
    """
    notes, ranges = recorded.graph.notes, iter(recorded.ranges)
    numbers, same, facts = recorded.graph.debug.numbers, notes.get("same_inputs", ()), notes.get("input_facts", {})
    leaves: list[Any] = []
    for i, value in enumerate(recorded_inputs(recorded)):
        if value in numbers:
            leaves.append(numbers[value])
            continue
        shape = tuple(sizes.get(size, size) for size in value.spec.hints)
        own = {fact: seen[i] for fact, seen in facts.items() if i < len(seen)}
        leaf = checking.with_facts(checking.fresh(shape, value.dtype, next(ranges), seed * 100 + i), own)
        first = same[i] if i < len(same) and same[i] != NO_ARRAY else i
        leaves.append(leaves[first] if first < i else leaf)
    return leaves


def fresh_call(variant: Variant, checking: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of the original that are like those of a variant, at the sizes of its recording."""
    assert variant.recording is not None
    return call_of(variant.graph.input_tree, fresh_leaves(variant.recording, checking, {}, 0))
