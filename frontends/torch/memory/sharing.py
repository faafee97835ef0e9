"""Memory that arguments share with each other and with what a function makes of them: where it is written to, later calls must be alike."""

from __future__ import annotations

from typing import Any

from ....assumptions import DisjointMemory, SameArray
from ....assumptions.overlap import overlap
from ....assumptions.same_array import NO_ARRAY
from ....errors import TracingError
from ....ir.aliases import Aliases
from ....ir.graph import Graph
from ....ir.node import Value
from .trace import MemoryTrace


def note_aliases(capture: MemoryTrace) -> None:
    """Which arrays from outside lie in memory that is written to through another one: elsewhere they are two, which is an error where the
    graph runs there, and noted where it runs in torch, for it may be written for others later."""
    graph = capture.recorder.graph
    owners = capture.written.owners()
    shared = capture.memory.shared_with(owners, capture.input_tensors[capture.count_call_inputs :]) if owners else []
    if not shared:
        return
    problem = f"{graph.name} writes to memory that two of its arrays share (a weight and its .data, say)"
    if not capture.for_torch:
        capture.kept_views.ask([*shared, *owners], capture.weights)
        raise TracingError(
            f"{problem}, which cannot be recorded as one array and views of it (none of them has all of it in row-major order and with its "
            "type and gradient, or they stand in one list); keep one array, and take the others of it inside the function"
        )
    problem = (
        f"{problem}, and was recorded for torch; record it for the other framework from the start, or take views of one of them inside "
        "the function"
    )
    graph.demand(source_only=problem)
    graph.shared_memory = tuple(value for tensor in shared if (value := capture.recorder.find(tensor)) is not None)


def note_sharing(capture: MemoryTrace, graph: Graph) -> None:
    """Assumes which inputs are one object, and that written inputs share memory with no other."""
    given = list(map(id, capture.input_tensors))
    same = SameArray(tuple(given.index(number) if capture.input_tensors[i] is not None else NO_ARRAY for i, number in enumerate(given)))
    graph.assume(same)
    if capture.count_call_inputs != len(graph.inputs):
        graph.call_inputs = capture.count_call_inputs
    written_to = Aliases(graph).written
    if written_to.isdisjoint(graph.inputs):
        capture.layouts.rely_on_copies(graph)
        return
    apart, places = same.apart(), [index for index, value in enumerate(graph.inputs) if value in written_to]
    graph.assume(DisjointMemory(tuple(apart), tuple(same.firsts[index] for index in places)))
    capture.layouts.rely_on_copies(graph)
    tensors = [tensor for index in apart if (tensor := capture.input_tensors[index]) is not None]
    written = [apart.index(same.firsts[index]) for index in places]
    if overlap(tensors, written):
        raise TracingError(f"{graph.name} writes to {_words([graph.inputs[index].name for index in apart], tensors, written)}")


def _words(names: list[str], tensors: list[Any], written: list[int]) -> str:
    """The message of the error: which written arrays share memory, with which others, and what to do."""
    for one in written:
        if overlap([tensors[one]], [0]):
            return (
                f"{names[one]}, whose elements share memory with each other (expand, unfold), which cannot be recorded; pass a copy of it"
            )
        for other, tensor in enumerate(tensors):
            if other != one and overlap([tensors[one], tensor], [0]):
                return (
                    f"{names[one]}, which shares memory with another argument, {names[other]}, which cannot be recorded; pass one of them "
                    "and take the other of it inside the function, or pass a copy"
                )
    raise AssertionError("no two of them share memory")


def same_outputs(graph: Graph) -> tuple[int, ...]:
    """Of each output the first that is the same object, for the user's objects that are left to hold them: equal arrays of another
    framework may be one, and are still two."""
    first: dict[Any, int] = {}
    return tuple(first.setdefault(item, place) if isinstance(item, Value) else place for place, item in enumerate(graph.outputs))
