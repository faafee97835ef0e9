"""Random arguments like those that a variant was recorded with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...assumptions import InputFact
from ...assumptions.same_array import first_of_each
from ...ir.node import Value
from ...trees import TypedLeaf, call_of, leaves_of
from ..recorded import VariantRecording
from ..variant import Variant


def recorded_inputs(recorded: VariantRecording) -> list[Value]:
    return recorded.graph.inputs_of_call


def synthetic_leaves(
    recorded: VariantRecording, reference: Any, sizes: Mapping[int, int], seed: int
) -> list[Any]:
    """Return random arrays of the recorded dtypes and ranks, and the recorded numbers.

    sizes: other sizes by recorded size; sizes without an entry stay.

    Values lie in the recorded ranges. Arguments that were one array stay one, and all have the properties
    that the recording assumes.
    """
    graph, ranges = recorded.graph, iter(recorded.ranges)
    kinds = leaves_of(graph.input_tree)
    numbers, firsts, facts = graph.debug.numbers, first_of_each(graph), graph.assumed(InputFact)
    leaves: list[Any] = []
    for i, value in enumerate(recorded_inputs(recorded)):
        if value in numbers:
            leaves.append(numbers[value])
            continue
        shape = tuple(sizes.get(size, size) for size in value.spec.hints)
        own = {one.fact: one.expected[i] for one in facts if i < len(one.expected)}
        leaf = reference.with_facts(reference.fresh(shape, value.dtype, next(ranges), seed * 100 + i), own)
        kind = kinds[i]
        # NumPy scalars were recorded with their class.
        leaf = kind.type(leaf) if isinstance(kind, TypedLeaf) else leaf
        # Arguments that were one array while recording stay one.
        leaves.append(leaves[firsts[i]] if firsts[i] < i else leaf)
    return leaves


def synthetic_call(variant: Variant, reference: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    assert variant.recording is not None
    return call_of(variant.graph.input_tree, synthetic_leaves(variant.recording, reference, {}, 0))
