"""Branches of a traced graph as nodes that run blocks: ``If`` and ``Case`` of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.closing import Body
from ...ir.node import Node, Value, values_in
from ...sizes import Size
from ...trees import iterate_structure
from .assertions import asserts_alone
from .blocks import Block, BlockNode
from .evaluation import BRANCHES, branches_of, place_of_branch
from .held import Held
from .intermediates import intermediate_of, taken_by
from .known_numbers import nested
from .lifting.driver import static_places
from .list_arrays import Arrays
from .lists import Unfilled, filled
from .loop_state_roles import is_changed, static_row_shape
from .names import row_key
from .reader import Handler, Reader


def branch(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``If`` and ``Case``. An index that is known chooses while recording; variables that one branch assigns are results of all."""
    index, *given = operands
    graphs = branches_of(operation)
    if isinstance(index.item, np.ndarray) and not _differs_between_iterations(reader, index):
        number = place_of_branch(operation, _decided(reader, operation, index))
        found = reader.results(graphs[number], [taken_by(held, number) for held in given])
        return [_handed_out(reader, graphs, given, place, held) for place, held in enumerate(found)]
    if asserts_alone(graphs):
        return reader.results(graphs[0], given)
    given = [_as_array(reader, operation, held, [graph.inputs[number] for graph in graphs]) for number, held in enumerate(given)]
    node, place = BlockNode(reader, operation), place_of_branch(operation, index.seen)
    bodies = [
        Block(reader, [], _read(reader, graph, [taken_by(held, number) for held in given], number == place))
        for number, graph in enumerate(graphs)
    ]
    assigned = list(dict.fromkeys(number for body in bodies for number in body.assigned))
    names = ["otherwise", "then"] if len(graphs) == 2 and "If" in operation.type else [f"branch_{place}" for place in range(len(graphs))]
    outputs = [[*body.results, *(body.variables.get(number, reader.variables[number]) for number in assigned)] for body in bodies]
    taken = outputs[place]
    chosen = [place for place, held in enumerate(taken) if _is_array(held)]
    if any([results[number].spec for number in chosen] != [taken[number].spec for number in chosen] for results in outputs):
        return _chosen_now(reader, operation, index, given)
    closed = [Body(name, (), *body.closed([results[place] for place in chosen])) for name, body, results in zip(names, bodies, outputs)]
    made = iter(
        node.made("branch", [reader.value(_inside(reader, operation, index, len(graphs)))], closed, [taken[place] for place in chosen])
    )
    found = [next(made) if place in chosen else _handed_out(reader, graphs, given, place, held) for place, held in enumerate(taken)]
    return node.with_assigned(found, assigned, bodies)


def _differs_between_iterations(reader: Reader, index: Held) -> bool:
    """Return True if an index over sizes reads one that elements decide inside of a loop or branch: each iteration may find other ones."""
    sizes = [item for item in index.item.ravel() if isinstance(item, Size)]
    sources = {symbol.source for size in sizes for symbol in size.symbols()}
    return any(reader.recorder.is_inside(source) and _is_counted(reader, source) for source in sources)


def _is_counted(reader: Reader, value: Value) -> bool:
    """Return True if elements decide how many elements a value of an open block has: an operation that leads to it finds elements."""
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


def _inside(reader: Reader, operation: Any, index: Held, count: int) -> Held:
    """The index of a branch that there is: ``Case`` runs the last one for all others."""
    if "If" in operation.type:
        return index
    arrays, seen = Arrays(reader, operation), index.seen
    is_above = arrays.call("GreaterEqual", [index, 0], {"T": "int32"}, seen >= 0)
    is_below = arrays.call("Less", [index, count], {"T": "int32"}, seen < count)
    is_inside = arrays.call("LogicalAnd", [is_above, is_below], {}, (seen >= 0) & (seen < count))
    return arrays.call("SelectV2", [is_inside, index, count - 1], {"T": "int32"}, tf.where(is_inside.seen, seen, count - 1))


def _chosen_now(reader: Reader, operation: Any, index: Held, given: Sequence[Held]) -> list[Held]:
    """The results of the branch that is taken now, where branches give other shapes: which one it is is a guard."""
    origin, place = reader.origin(operation), place_of_branch(operation, index.seen)
    if reader.recorder.in_block:
        raise UnsupportedOperation(
            f"{operation.type}: the branches give arrays of other shapes, inside of a loop or a branch\n    {origin}"
        )
    reader.recorder.decide_value(reader.value(index), index.seen.numpy().tolist(), origin)
    found = reader.results(branches_of(operation)[place], [taken_by(held, place) for held in given])
    return [_handed_out(reader, branches_of(operation), given, number, held) for number, held in enumerate(found)]


def _as_array(reader: Reader, operation: Any, held: Held, tensors: Sequence[Any]) -> Held:
    """A list that a branch writes to, as an array."""
    if not isinstance(held.item, Unfilled) or not any(map(is_changed, tensors)):
        return held
    shape = next((found for tensor in tensors if (found := static_row_shape(tensor)) is not None), None)
    return filled(Arrays(reader, operation), held, shape)


def _read(reader: Reader, graph: Any, given: Sequence[Held], is_taken: bool) -> Callable[[], list[Held]]:
    def read() -> list[Held]:
        with reader.hypothetically(not is_taken):
            return reader.results(graph, given)

    return read


def _decided(reader: Reader, operation: Any, index: Held) -> Any:
    """The branch of an index that is computed from sizes, as a guard."""
    item = nested(index.item)
    return reader.recorder.decide_size(item, reader.origin(operation)) if hasattr(item, "hint") else item


def _handed_out(reader: Reader, graphs: Sequence[Any], given: Sequence[Held], place: int, held: Held) -> Held:
    """What is no array: where a gradient reads it, how it is computed again."""
    kept = intermediate_of(reader, graphs, given, place) if place < len(graphs[0].outputs) else None
    return held if kept is None else Held(kept, held.seen)


def _is_array(held: Held) -> bool:
    return isinstance(held.item, (Value, np.ndarray))


# Operations that give as many elements as they find. Others do so where an operand that tells the shape is computed from elements.
_FIND = frozenset({
    "Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "DynamicPartition", "NonMaxSuppressionV3",
    "NonMaxSuppressionV4", "NonMaxSuppressionV5",
})  # fmt: skip

READ: dict[str, Handler] = dict.fromkeys(BRANCHES, branch)
