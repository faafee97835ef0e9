"""What a gradient reads of a branch that was taken: TensorFlow hands it out as ``Optional`` outputs of an
``If`` or ``Case``.

The branch is read once more inside of the branch of the gradient, from the same operands and variables, so
that nothing has to be handed out whose shape only one branch knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import UnsupportedOperation
from .evaluation import is_repeatable
from .reader import Handler, Reader
from .variables import Held

_FULL = "OptionalFromValue"
_OF_GRADIENT = f"{_FULL}_grad"  # what the derivative of a derivative reads


@dataclass(frozen=True)
class Intermediate:
    """Arrays inside of a branch: what it was given, what variables held, and of each branch its graph and the
    tensors in it that it hands out; ``branch`` is the one whose gradient is read.
    """

    graphs: Sequence[Any]
    given: Sequence[Held]
    variables: dict[int, Held]
    tensors: Sequence[Sequence[Any]]
    branch: int | None = None


def intermediate_of(
    reader: Reader, graphs: Sequence[Any], given: Sequence[Held], place: int
) -> Intermediate | None:
    """What the output of the branches at this place hands out; None where it is no ``Optional``."""
    makers = [_maker(graph.outputs[place]) for graph in graphs]
    if not any(operation.type == _FULL for operation in makers):
        return None
    tensors = [list(operation.inputs) if operation.type == _FULL else [] for operation in makers]
    return Intermediate(graphs, given, dict(reader.variables), tensors)


def taken_by(held: Held, branch: int) -> Held:
    """What the gradient of one branch gets: of what the branches hand out, its own."""
    item = held.item
    return (
        Held(replace(item, branch=branch), held.seen)
        if isinstance(item, Intermediate) and item.branch is None
        else held
    )


def _maker(tensor: Any) -> Any:
    operation = tensor.op
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    return operation


def _value(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``OptionalGetValue``: the arrays, computed again."""
    kept = operands[0].item
    if not isinstance(kept, Intermediate) or kept.branch is None:
        if _OF_GRADIENT not in operation.name:
            return reader.computed(operation, operands)
        raise UnsupportedOperation(
            "a derivative of a derivative goes through a branch (tf.cond, or an if of a tf.function); choose between the two results with "
            f"tf.where, or take one of the derivatives outside of the function\n    {reader.origin(operation)}"
        )
    graph = kept.graphs[kept.branch]
    if not all(is_repeatable(inner) for inner in graph.get_operations()):
        raise UnsupportedOperation(
            "a gradient is taken through a branch that assigns variables or draws random numbers, and would have to be run twice\n    "
            f"{reader.origin(operation)}"
        )
    before = dict(reader.variables)
    reader.variables.update(kept.variables)
    try:
        return reader.values_of(
            graph, dict(zip(map(id, graph.inputs), kept.given)), kept.tensors[kept.branch]
        )
    finally:
        reader.variables.update(before)


READ: dict[str, Handler] = {"OptionalGetValue": _value}
