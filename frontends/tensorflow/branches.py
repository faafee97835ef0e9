"""Lifts ``If`` and ``Case`` to ``branch`` nodes; records what ``graph_compiler.trace`` converts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from ...errors import TracingError, UnsupportedOperation
from ...ir.builder import Body
from ...ir.node import Node, Value, values_in
from ...recording.control_flow.regions import ArrayKind, Inputs, Regions
from ...recording.control_flow.regions import Arrays as RegionArrays
from ...recording.control_flow.regions import Block as RegionBlock
from ...sizes import Size, is_symbolic
from ...trees import iterate_structure
from .bookkeeping import only_asserts
from .evaluation import BRANCHES, branches_of, is_repeatable, place_of_branch
from .known_numbers import nested
from .lifting.driver import static_places
from .lists import Arrays, PartialList, list_to_array
from .loops import is_written, static_row_shape
from .names import row_key
from .reader import BlockNode, GraphReader, Handler, TracedBlock, collective
from .sizes import symbolic
from .tracing import TensorFlowTrace
from .variables import TensorValue

# ---------------------------------------------------------------------------------------------- intermediates
# Forward intermediates of a branch that its gradient reads, passed by TensorFlow as ``Optional``.
#
# The forward branch is read again inside of the gradient's branch, from the same operands and variables. So
# no output is needed whose shape only one branch knows.

_FULL = "OptionalFromValue"
# Second derivatives read operations with this name.
_OF_GRADIENT = f"{_FULL}_grad"


@dataclass(frozen=True)
class Intermediate:
    """Arrays that a branch computes and its gradient reads, with what is needed to compute them again.

    variables: values of the variables, by handle number.
    tensors: for each branch, the tensors that it passes to the gradient.
    branch: index of the branch to compute again; None until it is selected.
    """

    graphs: Sequence[Any]
    given: Sequence[TensorValue]
    variables: dict[int, TensorValue]
    tensors: Sequence[Sequence[Any]]
    branch: int | None = None


def intermediate_of(
    reader: GraphReader, graphs: Sequence[Any], given: Sequence[TensorValue], place: int
) -> Intermediate | None:
    """Return the intermediates that branches pass to their gradient as output ``place``, or None."""
    makers = [_maker(graph.outputs[place]) for graph in graphs]
    if not any(operation.type == _FULL for operation in makers):
        return None
    tensors = [list(operation.inputs) if operation.type == _FULL else [] for operation in makers]
    return Intermediate(graphs, given, dict(reader.variables), tensors)


def select_branch(held: TensorValue, branch: int) -> TensorValue:
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


_OPTIONALS: dict[str, Handler] = {"OptionalGetValue": _recompute}


# --------------------------------------------------------------------------------------------------- branches
def branch(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    index, *given = operands
    graphs = branches_of(operation)
    if isinstance(index.item, np.ndarray) and not _differs_between_iterations(reader, index):
        number = place_of_branch(operation, _index_value(reader, operation, index))
        found = reader.results(graphs[number], [select_branch(held, number) for held in given])
        return [_with_intermediate(reader, graphs, given, place, held) for place, held in enumerate(found)]
    # An assertion may be checked without a branch.
    if only_asserts(graphs):
        return reader.results(graphs[0], given)
    given = [
        _as_array(reader, operation, held, [graph.inputs[number] for graph in graphs])
        for number, held in enumerate(given)
    ]
    node, place = BlockNode(reader, operation), place_of_branch(operation, index.seen)
    bodies = [
        TracedBlock(
            reader,
            [],
            _block_of(reader, graph, [select_branch(held, number) for held in given], number == place),
        )
        for number, graph in enumerate(graphs)
    ]
    # A variable that any branch assigns is a result of all branches; the others return its previous value.
    assigned = list(dict.fromkeys(number for body in bodies for number in body.assigned))
    outputs = [
        [*body.results, *(body.variables.get(number, reader.variables[number]) for number in assigned)]
        for body in bodies
    ]
    taken = outputs[place]
    # Only arrays can be outputs of a node.
    chosen = [place for place, held in enumerate(taken) if _is_array(held)]
    arrays = [[results[number] for number in chosen] for results in outputs]
    # The branches of a node need equal specs. Otherwise the one that is taken is recorded, under a guard.
    if any([array.spec for array in held] != [array.spec for array in arrays[place]] for held in arrays):
        return _taken_results(reader, operation, index, given)
    closed = [
        Body(name, (), *body.closed(held))
        for name, body, held in zip(_branch_names(operation, len(graphs)), bodies, arrays)
    ]
    made = iter(
        node.add(
            "branch",
            [reader.value(_clamped_index(reader, operation, index, len(graphs)))],
            closed,
            arrays[place],
        )
    )
    found = [
        next(made) if place in chosen else _with_intermediate(reader, graphs, given, place, held)
        for place, held in enumerate(taken)
    ]
    return node.with_assigned(found, assigned, bodies)


def _branch_names(operation: Any, count: int) -> list[str]:
    if count == 2 and "If" in operation.type:
        return ["otherwise", "then"]
    return [f"branch_{place}" for place in range(count)]


def _differs_between_iterations(reader: GraphReader, index: TensorValue) -> bool:
    # A guard on such a size would hold in the recorded iteration only.
    sizes = [item for item in index.item.ravel() if isinstance(item, Size)]
    sources = {symbol.source for size in sizes for symbol in size.symbols()}
    return any(
        reader.recorder.is_inside(source) and _has_data_dependent_size(reader, source) for source in sources
    )


def _has_data_dependent_size(reader: GraphReader, value: Value) -> bool:
    waiting, seen = [value], {value}
    while waiting:
        node = reader.recorder.maker(waiting.pop())
        if node is None or not any(map(reader.recorder.is_inside, node.outputs)):
            continue
        key = row_key(node.op)
        if key in _FIND or _has_computed_operand(node, key):
            return True
        waiting += [item for item in values_in(node.inputs) if item not in seen]
        seen.update(waiting)
    return False


def _has_computed_operand(node: Node, key: str) -> bool:
    given = (node.inputs[place] for place in static_places(key) if place < len(node.inputs))
    return any(isinstance(item, Value) for item in iterate_structure(tuple(given)))


def _clamped_index(reader: GraphReader, operation: Any, index: TensorValue, count: int) -> TensorValue:
    if "If" in operation.type:
        return index
    # ``Case`` runs its last branch for an index out of range.
    arrays, seen = Arrays(reader, operation), index.seen
    is_above = arrays.call("GreaterEqual", [index, 0], {"T": "int32"}, seen >= 0)
    is_below = arrays.call("Less", [index, count], {"T": "int32"}, seen < count)
    is_inside = arrays.call("LogicalAnd", [is_above, is_below], {}, (seen >= 0) & (seen < count))
    return arrays.call(
        "SelectV2", [is_inside, index, count - 1], {"T": "int32"}, tf.where(is_inside.seen, seen, count - 1)
    )


def _taken_results(
    reader: GraphReader, operation: Any, index: TensorValue, given: Sequence[TensorValue]
) -> list[TensorValue]:
    origin, place = reader.origin(operation), place_of_branch(operation, index.seen)
    # A guard inside of a loop or a branch cannot be checked.
    if reader.recorder.in_block:
        raise UnsupportedOperation(
            f"{operation.type}: the branches give arrays of other shapes, inside of a loop or a "
            f"branch\n    {origin}"
        )
    reader.recorder.decide_value(reader.value(index), index.seen.numpy().tolist(), origin)
    found = reader.results(branches_of(operation)[place], [select_branch(held, place) for held in given])
    return [
        _with_intermediate(reader, branches_of(operation), given, number, held)
        for number, held in enumerate(found)
    ]


def _as_array(reader: GraphReader, operation: Any, held: TensorValue, tensors: Sequence[Any]) -> TensorValue:
    if not isinstance(held.item, PartialList) or not any(map(is_written, tensors)):
        return held
    shape = next((found for tensor in tensors if (found := static_row_shape(tensor)) is not None), None)
    return list_to_array(Arrays(reader, operation), held, shape)


def _block_of(
    reader: GraphReader, graph: Any, given: Sequence[TensorValue], is_taken: bool
) -> Callable[[], list[TensorValue]]:
    def read() -> list[TensorValue]:
        with reader.hypothetically(not is_taken):
            return reader.results(graph, given)

    return read


def _index_value(reader: GraphReader, operation: Any, index: TensorValue) -> Any:
    item = nested(index.item)
    return reader.recorder.decide_size(item, reader.origin(operation)) if hasattr(item, "hint") else item


def _with_intermediate(
    reader: GraphReader, graphs: Sequence[Any], given: Sequence[TensorValue], place: int, held: TensorValue
) -> TensorValue:
    kept = intermediate_of(reader, graphs, given, place) if place < len(graphs[0].outputs) else None
    return held if kept is None else TensorValue(kept, held.seen)


def _is_array(held: TensorValue) -> bool:
    return isinstance(held.item, (Value, np.ndarray))


# Operations whose output size depends on the elements of their operands. The size of others may if an operand
# that states a shape is computed from elements.
_FIND = frozenset({
    "Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "DynamicPartition",
    "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
    "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps",
})  # fmt: skip

READ: dict[str, Handler] = {**dict.fromkeys(BRANCHES, branch), **_OPTIONALS}


_DTYPES = {bool: tf.bool, int: tf.int32, float: tf.float32, complex: tf.complex128}


class TensorFlowRegions(Regions):
    """Recorder of converted Python branches and loops as ``tf.cond`` and ``tf.while_loop`` of the trace."""

    # A ``TensorArray``, which grows in loops, is recorded by TensorFlow itself.
    lists_grow = False
    module, arrays = tf, (tf.Tensor, np.ndarray, np.generic)

    def __init__(self, trace: TensorFlowTrace) -> None:
        super().__init__(functools.partial(symbolic, trace), trace.decide)
        self.trace = trace

    # ------------------------------------------------------------------------------ kinds of items
    def is_open(self, item: Any) -> bool:
        if not isinstance(item, ops.SymbolicTensor):
            return False
        return item.graph is not self.trace.graph or not isinstance(
            self.trace.value_of(item).item, np.ndarray
        )

    def kind(self, item: Any) -> ArrayKind:
        if not self.is_array(item):
            return ArrayKind(
                _DTYPES[type(getattr(item, "hint", item)) if not is_symbolic(item) else int].name, (), True
            )
        if isinstance(item, ops.SymbolicTensor) and item.graph is self.trace.graph:
            return ArrayKind(item.dtype.name, tuple(self.trace.value_of(item).made.shape))
        dtype = tf.as_dtype(item.dtype)
        return ArrayKind(
            dtype.name, tuple(-1 if size is None else size for size in tf.TensorShape(item.shape))
        )

    # ------------------------------------------------------------------------------ array helpers
    def converted(self, item: Any, kind: ArrayKind) -> Any:
        if isinstance(item, tf.Tensor):
            return item if item.dtype.name == kind.dtype else tf.cast(item, kind.dtype)
        return tf.convert_to_tensor(item, tf.as_dtype(kind.dtype))

    def truth(self, item: Any) -> Any:
        item = tf.reshape(item, ()) if item.shape.rank else item
        return item if item.dtype == tf.bool else tf.not_equal(item, tf.zeros((), item.dtype))

    def where(self, truth: Any, one: Any, other: Any) -> Any:
        dtype = next(item.dtype for item in (one, other) if isinstance(item, tf.Tensor))
        return tf.where(
            truth,
            *(
                item if isinstance(item, tf.Tensor) else tf.convert_to_tensor(item, dtype)
                for item in (one, other)
            ),
        )

    def length(self, array: Any) -> Any:
        known = self.trace.length(array)
        static = tf.TensorShape(array.shape)[0] if known is None else known
        return tf.shape(array)[0] if static is None else static

    def collective(self, name: str, x: Any, **params: Any) -> Any:
        if name == "sharding_hint":
            return x
        return collective(name, x if x is None else tf.convert_to_tensor(x), **params)

    # ------------------------------------------------------------------------------ conditions
    def expect(self, truth: Any) -> None:
        tf.debugging.Assert(truth, ["an assertion of the function"])

    # ------------------------------------------------------------------------------ blocks
    def trial(self, function: RegionBlock, given: Inputs) -> None:
        graph = FuncGraph("trial")
        with self.inside(), graph.as_default():
            function(*(self._stand_in(item, kind) for item, kind in given))

    def branch(
        self, truth: Any, then: RegionBlock, otherwise: RegionBlock, names: Sequence[str]
    ) -> RegionArrays:
        # ``tf.cond`` needs at least one result in each branch.
        nothing = tf.constant(0)
        with self.inside():
            found = tf.cond(truth, lambda: [nothing, *then()], lambda: [nothing, *otherwise()])
        return list(found[1:])

    def while_loop(
        self, test: RegionBlock, body: RegionBlock, carried: RegionArrays, kinds: Sequence[ArrayKind]
    ) -> RegionArrays:
        with self.inside():
            return list(
                tf.while_loop(
                    lambda *arrays: test(*arrays)[0], lambda *arrays: list(body(*arrays)), list(carried)
                )
            )

    def scan(
        self,
        body: RegionBlock,
        carried: RegionArrays,
        kinds: Sequence[ArrayKind],
        rows: RegionArrays,
        length: Any,
        checkpoint: bool,
    ) -> RegionArrays:
        if checkpoint:
            raise TracingError(
                "checkpointing=True is not for functions of TensorFlow: use tf.recompute_grad inside "
                "of the loop"
            )
        # TensorFlow has no operation for scans, but the reader lifts a ``while_loop`` that counts to one.
        count = tf.convert_to_tensor(self.symbolic(length), tf.int32)

        def step(place: Any, *arrays: Any) -> list[Any]:
            return [place + 1, *body(*arrays, *(row[place] for row in rows))]

        with self.inside():
            return list(
                tf.while_loop(lambda place, *arrays: place < count, step, [tf.constant(0), *carried])[1:]
            )

    def _stand_in(self, item: Any, kind: ArrayKind | None) -> Any:
        shape = tf.TensorShape(item.shape) if self.is_array(item) else tf.TensorShape(())
        dtype = tf.as_dtype(item.dtype if kind is None else kind.dtype)
        return tf.compat.v1.placeholder(dtype, shape[1:] if kind is None else shape)
