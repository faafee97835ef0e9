"""Forward intermediates of a branch that its gradient reads, passed by TensorFlow as ``Optional``.

The forward branch is read again inside of the gradient's branch, from the same operands and variables. So
no output is needed whose shape only one branch knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import UnsupportedOperation
from .evaluation import is_repeatable
from .reader import GraphReader, Handler
from .variables import TensorValue

_FULL = "OptionalFromValue"
# Second derivatives read operations with this name.
_OF_GRADIENT = f"{_FULL}_grad"


@dataclass(frozen=True)
class Intermediate:
    """Arrays that a branch has computed and its gradient reads, described so that they can be computed again.

    graphs: the graph of each branch.
    given: the operands of the branches.
    variables: what the variables held before the branch.
    tensors: for each branch, the tensors that it passes to the gradient.
    branch: the branch whose gradient reads them; None if it is not known yet.
    """

    graphs: Sequence[Any]
    given: Sequence[TensorValue]
    variables: dict[int, TensorValue]
    tensors: Sequence[Sequence[Any]]
    branch: int | None = None


def intermediate_of(
    reader: GraphReader, graphs: Sequence[Any], given: Sequence[TensorValue], place: int
) -> Intermediate | None:
    """Return the intermediates in output ``place`` of the branches, or None if no branch passes any there."""
    makers = [_maker(graph.outputs[place]) for graph in graphs]
    if not any(operation.type == _FULL for operation in makers):
        return None
    tensors = [list(operation.inputs) if operation.type == _FULL else [] for operation in makers]
    return Intermediate(graphs, given, dict(reader.variables), tensors)


def select_branch(held: TensorValue, branch: int) -> TensorValue:
    """Return ``held`` with ``branch`` filled in if it is an intermediate without one; otherwise unchanged."""
    item = held.item
    return (
        TensorValue(replace(item, branch=branch), held.seen)
        if isinstance(item, Intermediate) and item.branch is None
        else held
    )


def _maker(tensor: Any) -> Any:
    operation = tensor.op
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    return operation


def _recompute(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    """Lift ``OptionalGetValue`` of an intermediate: compute its arrays again.

    Raise ``UnsupportedOperation`` in second derivatives and for a branch that cannot be run twice. An
    ``Optional`` of the user's code is computed like any operation.
    """
    kept = operands[0].item
    if not isinstance(kept, Intermediate) or kept.branch is None:
        if _OF_GRADIENT not in operation.name:
            return reader.compute(operation, operands)
        raise UnsupportedOperation(
            "a derivative of a derivative goes through a branch (tf.cond, or an if of a tf.function); "
            "choose between the two results with "
            "tf.where, or take one of the derivatives outside of the function\n    "
            f"{reader.origin(operation)}"
        )
    graph = kept.graphs[kept.branch]
    if not all(is_repeatable(inner) for inner in graph.get_operations()):
        raise UnsupportedOperation(
            "a gradient is taken through a branch that assigns variables or draws random numbers, and "
            "would have to be run twice\n    "
            f"{reader.origin(operation)}"
        )
    before = dict(reader.variables)
    # The branch must find the variables as they were before it ran.
    reader.variables.update(kept.variables)
    try:
        return reader.values_of(
            graph, dict(zip(map(id, graph.inputs), kept.given)), kept.tensors[kept.branch]
        )
    finally:
        reader.variables.update(before)


READ: dict[str, Handler] = {"OptionalGetValue": _recompute}
