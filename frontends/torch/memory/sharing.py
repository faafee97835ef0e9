"""Arrays that share storage with others while the function writes to one: assumptions, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ....assumptions import NO_ARRAY, DisjointMemory, SameArray, may_share_memory, overlap
from ....errors import TracingError
from ....ir.graph import Aliases, Graph
from ....ir.node import Value
from ....trees import iterate_structure
from ..basics.names import is_in_place
from ..basics.tensors import storage
from ..trace import Trace
from .memory import MemoryTrace, has_memory


def restrict_or_refuse_aliases(capture: MemoryTrace) -> None:
    """Restrict the graph to torch, or raise, if tensors from outside may overlap with a written one."""
    graph = capture.recorder.graph
    owners = capture.written.owners()
    shared = (
        capture.memory.shared_with(owners, capture.input_tensors[capture.call_input_count :])
        if owners
        else []
    )
    if not shared:
        return
    problem = f"{graph.name} writes to memory that two of its arrays share (a weight and its .data, say)"
    if not capture.for_torch:
        capture.kept_views.ask([*shared, *owners], capture.weights)
        raise TracingError(
            f"{problem}, which cannot be recorded as one array and views of it (none of them has all of it "
            "in row-major order and with its type and gradient, or they stand in one list); keep one array, "
            "and take the others of it inside the function"
        )
    problem = (
        f"{problem}, and was recorded for torch; record it for the other framework from the start, or take "
        "views of one of them inside the function"
    )
    graph.demand(source_only=problem)
    graph.shared_memory = tuple(
        value for tensor in shared if (value := capture.recorder.find(tensor)) is not None
    )


def note_sharing(capture: MemoryTrace, graph: Graph) -> None:
    """Assume which inputs are the same object, and that written inputs overlap no others.

    Raise ``TracingError`` if written inputs overlap while recording.
    """
    given = list(map(id, capture.input_tensors))
    same = SameArray(
        tuple(
            given.index(number) if capture.input_tensors[i] is not None else NO_ARRAY
            for i, number in enumerate(given)
        )
    )
    graph.assume(same)
    if capture.call_input_count != len(graph.inputs):
        graph.call_inputs = capture.call_input_count
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
        raise TracingError(
            f"{graph.name} writes to "
            f"{_overlap_message([graph.inputs[index].name for index in apart], tensors, written)}"
        )


def _overlap_message(names: list[str], tensors: list[Any], written: list[int]) -> str:
    for one in written:
        if overlap([tensors[one]], [0]):
            return (
                f"{names[one]}, whose elements share memory with each other (expand, unfold), which cannot "
                "be recorded; pass a copy of it"
            )
        for other, tensor in enumerate(tensors):
            if other != one and overlap([tensors[one], tensor], [0]):
                return (
                    f"{names[one]}, which shares memory with another argument, {names[other]}, which cannot "
                    "be recorded; pass one of them and take the other of it inside the function, or pass a "
                    "copy"
                )
    raise AssertionError("no two of them share memory")


def same_outputs(graph: Graph) -> tuple[int, ...]:
    """Return for each output the index of the first output that is the same value, or its own index."""
    first: dict[Any, int] = {}
    return tuple(
        first.setdefault(item, place) if isinstance(item, Value) else place
        for place, item in enumerate(graph.outputs)
    )


# These write one value everywhere, so the order of writes to shared memory does not matter.
_UNIFORM = frozenset({"fill_", "zero_"})


def refuse_out(capture: Trace, out: Any, operands: list[torch.Tensor]) -> None:
    """Raise ``TracingError`` if tensors passed to a call as ``out=`` cannot be recorded as its results."""
    if out is None:
        return
    for tensor in (item for item in iterate_structure(out) if isinstance(item, torch.Tensor)):
        if tuple(tensor.shape) != capture.value(tensor).spec.shape:
            raise TracingError(
                f"{capture.here()}: the array passed as out= has another shape than the result, and torch "
                "gave it that shape, which cannot be recorded; pass an array of the shape of the result, or "
                "none"
            )
        # torch reads the operand while it writes. An operand with the same elements is allowed, as in place,
        # unless its shape differs: such an array belongs to a reduction, which torch sets to 0 before it
        # reads.
        if any(
            storage(tensor) == storage(other) and may_share_memory(tensor, other)
            for other in operands
            if tensor.shape != other.shape or not _is_same(tensor, other)
        ):
            raise TracingError(
                f"{capture.here()}: the array passed as out= shares part of its memory with an operand, so "
                "the result depends on the order in which torch reads and writes; pass another array"
            )
        _refuse_repeats(capture, tensor)


def check_overlap(capture: Trace, key: str, args: tuple[Any, ...], operands: list[torch.Tensor]) -> None:
    """Restrict the graph to torch, or raise, if overlaps in memory are found to affect an in-place call."""
    if not is_in_place(key):
        return
    # torch refuses most such calls itself, but not if the memory has gaps: ``x[:, 1:] += x[:, :-1]``, ``x -=
    # x[:, :1]``.
    written = _written(capture, key, args)
    if (
        written is not None
        and has_memory(written)
        and any(_overlaps(written, other) for other in operands if other is not args[0])
    ):
        _refuse(
            capture,
            f"{capture.here()}: {capture.call} reads part of the memory that it writes to, so the result "
            "depends on the order in which torch reads and writes; read a copy (clone)",
        )
    if args and isinstance(args[0], torch.Tensor) and key not in _UNIFORM:
        _refuse_repeats(capture, args[0])


def _refuse_repeats(capture: Trace, written: torch.Tensor) -> None:
    if has_memory(written) and not written.is_contiguous() and overlap([written], [0]):
        _refuse(
            capture,
            f"{capture.here()}: {capture.call} writes to a view whose elements share memory (unfold, expand, "
            "as_strided), so the result depends on the order in which torch writes; write to the tensor "
            "that it is a view of, or to a copy (clone)",
        )


def _refuse(capture: Trace, problem: str) -> None:
    if not capture.for_torch:
        raise TracingError(problem)
    capture.recorder.graph.demand(source_only=problem)


def _written(capture: Trace, key: str, args: tuple[Any, ...]) -> torch.Tensor | None:
    """Return the tensor or view that an in-place call writes to, or None if it is unknown."""
    if key != "__setitem__":
        return args[0] if args and isinstance(args[0], torch.Tensor) else None
    if any(
        isinstance(part, (torch.Tensor, np.ndarray, list, bool))
        for part in (args[1], *iterate_structure(args[1]))
    ):
        return None
    part = capture.quietly(lambda: capture.run(torch.Tensor.__getitem__, args[:2], {}))
    return part if isinstance(part, torch.Tensor) else None


def _overlaps(written: torch.Tensor, other: torch.Tensor) -> bool:
    if not has_memory(other) or storage(other) != storage(written) or _is_same(other, written):
        return False
    return bool(np.intersect1d(_element_offsets(written), _element_offsets(other)).size)


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return _geometry(a) == _geometry(b)


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (
        tensor.data_ptr(),
        *((size, step) for size, step in zip(tensor.shape, tensor.stride()) if size != 1),
    )


def _element_offsets(tensor: torch.Tensor) -> Any:
    places = np.array(tensor.storage_offset())
    for size, step in zip(tensor.shape, tensor.stride()):
        places = np.add.outer(places, np.arange(size) * step)
    return places.reshape(-1)
