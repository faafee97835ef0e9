"""Reads traced graphs: operations become nodes, and calls, variables and shape arithmetic are resolved.

Operations whose shapes are not known beforehand are run on the arrays of the recorded call.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.util import tf_stack

from ...errors import UnsupportedOperation
from ...forwarding import forwards
from ...ir.builder import Body, close
from ...ir.node import CallRecord, Instruction, Node, Origin, Value
from ...ops.collectives import RECORDED_DEVICES
from ...ops.registry import get
from ...recording import Recorder
from ...sizes import Size
from ..common.lifter import CALLS
from . import known_numbers as of_shapes
from .evaluation import PASSES_ON, Evaluator, called_graph, handle_number, is_call, is_repeatable
from .known_numbers import as_known_array, nested, recorded_elements, source_of
from .lazy_results import lazy_result
from .lifting.driver import static_places
from .names import CONVERT, RAW, dtype_name, is_users, row_key
from .operations import attributes_of, declaration_of, in_order, layer_of_parameter, layer_path, origin_of
from .variables import TensorValue, VariableWeights, spec_of

# ------------------------------------------------------------------------------------------------ collectives
# Collectives in a recorded function: marked TensorFlow operations, which the reader records as collectives.
#
# A recorded function runs on one device. It sees ``RECORDED_DEVICES`` devices with equal arrays.

_MARK = "_graph_compiler_collective"


def collective(name: str, x: Any, axis_name: str) -> Any:
    """Return a tensor whose operation is marked, so that the reader records it as a collective."""
    if name in ("axis_index", "axis_indices"):
        kept = tf.constant(0) if name == "axis_index" else tf.range(RECORDED_DEVICES)
        return _mark(_with_unknown_size(kept), name, axis_name)
    return _exchange(x, name, axis_name)


def _exchange(x: Any, name: str, axis_name: str) -> Any:
    @tf.custom_gradient
    def exchanged(x: Any) -> Any:
        found = (
            _with_unknown_size(tf.stack([x] * RECORDED_DEVICES), x.shape)
            if name == "all_gather"
            else tf.identity(x)
        )
        return found, lambda cotangent: _transpose(cotangent, name, axis_name)

    return _mark(exchanged(x), name, axis_name)


@forwards
def _transpose(cotangent: Any, name: str, axis_name: str) -> Any:
    if name == "all_gather":
        return tf.gather(_exchange(cotangent, "psum", axis_name), collective("axis_index", None, axis_name))
    if name in ("psum", "pmean"):
        return _exchange(cotangent, name, axis_name)
    raise TypeError(
        "parallel.pmax and pmin have no gradient, as in JAX; take transforms.stop_gradient of what "
        "they are given"
    )


def _with_unknown_size(array: Any, rest: Any = ()) -> Any:
    # With an unknown size, the number of devices of the recording does not become a constant.
    shape = [None, *rest] if array.shape.rank else []
    return tf.raw_ops.PlaceholderWithDefault(input=array, shape=shape)


def _mark(tensor: Any, name: str, axis_name: str) -> Any:
    tensor.op._set_attr(_MARK, tf.compat.v1.AttrValue(s=f"{name} {axis_name}".encode()))
    return tensor


# Reading an attribute of every operation takes as long as lifting it, so only these types are checked.
_MARKED = ("IdentityN", "PlaceholderWithDefault")


def read_collective(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue] | None:
    """Record the collective that an operation is marked as, and return its results, or None."""
    if operation.type not in _MARKED:
        return None
    try:
        name, _, axis_name = operation.get_attr(_MARK).decode().partition(" ")
    except ValueError:
        return None
    # An ``IdentityN`` with a custom gradient also has the arguments of the function as outputs, so the
    # operands follow the result.
    inputs = tuple(map(reader.value, operands[1:]))
    found = reader.call(
        CALLS + name, inputs, {"axis_name": axis_name}, [operands[0].seen], reader.origin(operation)
    )
    return [*found, *operands[1:]]


# ----------------------------------------------------------------------------------------------------- reader
# TensorFlow itself maps lines of such files to the user's.
_GENERATED_FILE = "__autograph_generated_file"
Line = tuple[str, int, Instruction]


class LineNotingGraph(FuncGraph):
    """Traced graph that notes the lines of the user's code that create operations.

    lines: file, line and instruction of the user's code, by the id of the operation.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lines: dict[int, Line] = {}
        # Operations with a known line share one stack, because extracting and searching one for each takes a
        # tenth of the conversion.
        self._stack = tf_stack.extract_stack()
        # The thread that is making an operation whose line is noted.
        self._noting = 0

    # TensorFlow removes its own frames from the traceback of an error raised here for the user's code.
    @forwards
    def _create_op_internal(self, *args: Any, **kwargs: Any) -> Any:
        line = _users_line()
        if line is None:
            return super()._create_op_internal(*args, **kwargs)
        before, self._noting = self._noting, threading.get_ident()
        try:
            operation = super()._create_op_internal(*args, **kwargs)
        finally:
            self._noting = before
        self.lines[id(operation)] = line
        return operation

    def stack_patch(self) -> tuple[Any, str, Any]:
        """Return a patch of ``tf_stack.extract_stack``: the holder, the name and the replacement.

        The replacement returns one shared stack for operations whose line is noted, which saves time.
        """
        before = tf_stack.extract_stack

        def extract_stack(stacklevel: int = 1) -> Any:
            return self._stack if self._noting == threading.get_ident() else before(stacklevel + 1)

        return tf_stack, "extract_stack", extract_stack


def _users_line() -> Line | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return (
        None
        if frame is None or _GENERATED_FILE in frame.f_code.co_filename
        else (frame.f_code.co_filename, frame.f_lineno, Instruction(frame.f_code, frame.f_lasti))
    )


# A custom gradient may call the function that it belongs to, so rules are followed to this order only.
ORDERS = 2
_PLAIN = CallRecord()
Handler = Callable[["GraphReader", Any, Sequence[TensorValue]], Sequence[TensorValue]]


@dataclass
class _ReadProgress:
    """Progress of reading one graph.

    read: ids of the operations that the reader has reached.
    first: number of leading operations to skip.
    captured: number of captures to skip.
    """

    read: set[int] = field(default_factory=set)
    first: int = 0
    captured: int = 0


class GraphReader:
    """Reader that appends the operations of traced graphs to a recorder.

    handlers: functions that read the operations of one type, by that type.
    layers: the names of the Keras layers.
    """

    def __init__(
        self,
        recorder: Recorder,
        weights: VariableWeights,
        handlers: Mapping[str, Handler],
        layers: Iterable[str] = (),
    ) -> None:
        self.recorder, self.weights, self.handlers, self.layers = (
            recorder,
            weights,
            handlers,
            frozenset(layers),
        )
        # Paths of layers by their scopes in the graphs.
        self.paths: dict[str, str] = {}
        # Origin of the call whose graph is being read.
        self.around = Origin()
        # Orders of custom gradients that are still followed.
        self.orders = ORDERS
        # True inside of a branch that is not taken, or a loop without an iteration.
        self.is_hypothetical = False
        # Results in the graph that is being read, by the id of the tensor.
        self.held: dict[int, TensorValue] = {}
        # The tables ``held`` of the graphs around the one that is being read.
        self.enclosing: list[dict[int, TensorValue]] = []
        # Values of the variables, by handle number.
        self.variables: dict[int, TensorValue] = {}
        # Names of the variables that were assigned, by handle number.
        self.assigned: dict[int, str] = {}
        # Ids of the tensors that called functions return.
        self.wanted: set[int] = set()
        self.evaluator = Evaluator(_ArrayView(self.variables))
        # How far each graph was read, by the id of the graph.
        self._read: defaultdict[int, _ReadProgress] = defaultdict(_ReadProgress)

    # ------------------------------------------------------------------------------ graphs
    def read(self, graph: Any, given: Mapping[int, TensorValue]) -> None:
        """Read the operations of ``graph`` that were not read yet, and store their results in ``held``.

        ``given`` has values of inputs, by the id of the tensor.
        """
        self.held.update(given)
        # A graph is read again for each shape that Python asks for, so only new operations are looked at.
        progress = self._read[id(graph)]
        self._take_captures(graph, progress)
        operations = graph.get_operations()
        for operation in in_order(operations[progress.first :], progress.read):
            # The placeholders of inputs and captures are held already.
            if not (operation.outputs and id(operation.outputs[0]) in self.held):
                self._operation(operation)
        progress.first = len(operations)

    def results(self, graph: Any, arguments: Sequence[TensorValue]) -> list[TensorValue]:
        return self.values_of(graph, dict(zip(map(id, graph.inputs), arguments)), graph.outputs)

    def values_of(
        self, graph: Any, given: Mapping[int, TensorValue], tensors: Sequence[Any]
    ) -> list[TensorValue]:
        """Read a graph from its start, and return the ``TensorValue`` of each of ``tensors``.

        ``given`` has the values of its inputs, by the id of the tensor.
        """
        # The same tensors have other values in each call of a function.
        self.enclosing.append(self.held)
        self.held = {}
        self.wanted.update(id(source_of(tensor)) for tensor in tensors)
        # A function may be called several times, with other operands each time.
        self._read.pop(id(graph), None)
        try:
            self.read(graph, given)
            return [self.held[id(tensor)] for tensor in tensors]
        finally:
            self.held = self.enclosing.pop()

    def found(self, tensor: Any) -> TensorValue | None:
        """Return the ``TensorValue`` of ``tensor`` in the current graph or an enclosing one, or None."""
        for held in (self.held, *reversed(self.enclosing)):
            if id(tensor) in held:
                return held[id(tensor)]
        # A gradient rule captures tensors of any outer graph, also those that this graph captured after its
        # captures were read.
        if not isinstance(getattr(tensor, "graph", None), FuncGraph):
            return None
        outer = next((outer for outer, inner in tensor.graph.captures if inner is tensor), None)
        return None if outer is None else self.found(outer)

    @contextmanager
    def hypothetically(self, is_so: bool = True) -> Iterator[None]:
        """Treat operations read in this context as ones that the recorded call does not run, if ``is_so``."""
        before, self.is_hypothetical = self.is_hypothetical, self.is_hypothetical or is_so
        try:
            yield
        finally:
            self.is_hypothetical = before

    def _take_captures(self, graph: Any, progress: _ReadProgress) -> None:
        # ``graph.captures`` would build a new list of pairs for each access.
        outside, inside = graph.external_captures, graph.internal_captures
        fresh, progress.captured = zip(outside[progress.captured :], inside[progress.captured :]), len(inside)
        for outer, inner in fresh:
            if id(inner) in self.held:
                continue
            if (held := self.found(outer)) is None:
                held = self._handle(outer, graph) if outer.dtype == tf.resource else self.constant(outer)
            self.held[id(inner)] = held
            name = self.weights.name_of(outer, ()) if outer.dtype == tf.resource else None
            if name is not None and (layer := layer_of_parameter(inner.op.name, name)) is not None:
                self.paths.setdefault(*layer)

    def _handle(self, handle: Any, graph: Any) -> TensorValue:
        """Return the ``TensorValue`` of a resource handle; its ``item`` is None.

        Add a parameter to the graph if the handle is that of a known variable and has none yet.
        """
        number = handle_number(handle)
        if (
            number not in self.variables
            and (name := self.weights.name_of(handle, _watched_variables(graph))) is not None
        ):
            variable = self.weights.variables[name]
            # ``read_value`` would add a copy of the array.
            array = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
            self.variables[number] = TensorValue(
                self.recorder.add_parameter(name, array, spec_of(array)), array
            )
        return TensorValue(None, handle)

    def constant(self, array: Any) -> TensorValue:
        """Return the ``TensorValue`` of ``array``, for which a constant may be added to the graph."""
        dtype, elements = dtype_name(array.dtype), array.numpy() if hasattr(array, "numpy") else array
        if dtype in ("string", "variant", "resource"):
            return TensorValue(None, array)
        if of_shapes.is_few(dtype, int(np.size(elements)), np.ndim(elements)):
            return TensorValue(
                as_known_array(np.asarray(elements).tolist()).reshape(np.shape(elements)),
                tf.convert_to_tensor(array),
            )
        found = self.recorder.find(array) if isinstance(array, tf.Tensor) else None
        return TensorValue(
            found or self.recorder.add_constant("constant", tf.convert_to_tensor(array), spec_of(array)),
            tf.convert_to_tensor(array),
        )

    # ------------------------------------------------------------------------------ operations
    def _operation(self, operation: Any) -> None:
        for tensor in operation.inputs:
            self._read_again(tensor)
        operands, handler = (
            [self.held[id(tensor)] for tensor in operation.inputs],
            self.handlers.get(operation.type),
        )
        # The operation of a collective is an ordinary one with a mark, so this comes first.
        if (exchanged := read_collective(self, operation, operands)) is not None:
            found: Sequence[TensorValue] = exchanged
        elif is_call(operation):
            found = self._call_graph(operation, operands)
        elif operation.type in PASSES_ON:
            found = operands[: len(operation.outputs)]
        else:
            found = (
                self.compute(operation, operands) if handler is None else handler(self, operation, operands)
            )
        self.held.update(zip(map(id, operation.outputs), found))

    def _read_again(self, tensor: Any) -> None:
        """Read the operation of ``tensor`` again if a gradient has added this output since it was read.

        Raise ``UnsupportedOperation`` if it cannot be run again.
        """
        operation = tensor.op
        if id(tensor) in self.held or id(operation) not in self._read[id(operation.graph)].read:
            return
        if not is_repeatable(operation):
            raise UnsupportedOperation(
                f"{operation.type}: Python reads a result of it before a gradient is taken through it, "
                "which has to run it once more, "
                "and it assigns variables or draws random numbers. Read the number after the "
                f"gradient\n    {self.origin(operation)}"
            )
        for given in operation.inputs:
            self._read_again(given)
            if id(given) not in self.held:
                self._read[id(operation.graph)].read.add(id(given.op))
                self._operation(given.op)
        self._operation(operation)

    def _call_graph(self, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
        # Operations that the function's library code has added have no line of the user's, so they get that
        # of the call.
        around, self.around = self.around, self.origin(operation)
        try:
            # Gradients may have added outputs to the function after this call of it.
            graph = called_graph(operation)
            return self.values_of(
                graph, dict(zip(map(id, graph.inputs), operands)), graph.outputs[: len(operation.outputs)]
            )
        finally:
            self.around = around

    def compute(self, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
        """Compute or record an operation, and return its results.

        Raise ``UnsupportedOperation`` if the operation cannot be recorded.
        """
        attributes = attributes_of(operation)
        # Such an operation is not run, because it may wait forever (an empty queue).
        if any(kind in operation.type for kind in _WAITS):
            raise UnsupportedOperation(_no_array(operation, operation.inputs[0], self.origin(operation)))
        # The kernel may change the user's variable, so it is not run either.
        if any(one.item is None and handle_number(one.seen) in self.variables for one in operands):
            raise UnsupportedOperation(
                f"{operation.type}: a kernel of TensorFlow's own that reads or writes a variable; "
                "compute with what the variable holds, "
                f"and assign the result\n    {self.origin(operation)}"
            )
        seen = self.concrete_results(operation, operands)
        arrays = [operand.item for operand in operands if isinstance(operand.item, np.ndarray)]
        if (
            len(arrays) == len(operands)
            and of_shapes.takes_integers(operation.type, attributes)
            and of_shapes.fits(operation.type, arrays)
        ):
            found = of_shapes.computed(operation.type, arrays, attributes, self._decide(operation)) or ()
            # Integers of TensorFlow wrap around, Python's do not.
            whole = [of_shapes.in_range(array, dtype_name(one.dtype)) for array, one in zip(found, seen)]
            if found and all(array is not None for array in whole):
                return [TensorValue(*pair) for pair in zip(whole, seen)]
        if (number := self._clamped_number(operation, operands)) is not None:
            return [TensorValue(as_known_array(number), seen[0])]
        if operation.outputs and not any(is_numeric(tensor.dtype) for tensor in operation.outputs):
            return [TensorValue(None, array) for array in seen]
        for tensor, operand in zip(operation.inputs, operands):
            if not isinstance(operand.item, (Value, np.ndarray)):
                raise UnsupportedOperation(_no_array(operation, tensor, self.origin(operation)))
        return self.node(operation, _group_operands(operation, operands), attributes, seen)

    def _clamped_number(self, operation: Any, operands: Sequence[TensorValue]) -> Any:
        """Return ``n`` for a scalar ``min(n, max(least, x))`` of integers with ``n <= least``, or None."""
        if operation.type != "Minimum" or operation.outputs[0].shape.rank != 0:
            return None
        (number, other) = (
            (operands[0].item, operands[1].item)
            if isinstance(operands[0].item, np.ndarray)
            else (operands[1].item, operands[0].item)
        )
        made = self.recorder.maker(other) if isinstance(other, Value) else None
        if made is None or row_key(made.op) != "Maximum" or not isinstance(number, np.ndarray):
            return None
        least, limit = [item for item in made.inputs if isinstance(item, int)], number.item()
        return limit if least and isinstance(limit, int) and least[0] >= limit else None

    def _decide(self, operation: Any) -> Callable[[Size], Any]:
        return lambda size: self.recorder.decide_size(size, self.origin(operation))

    def node(
        self, operation: Any, operands: Sequence[Any], attributes: dict[str, Any], seen: Sequence[Any]
    ) -> list[TensorValue]:
        """Append a node for an operation and return its results, whose arrays while recording are ``seen``.

        An operand is a ``TensorValue`` or a list of these.
        """
        static = static_places(operation.type)
        inputs = tuple(
            tuple(map(self._operand, item))
            if isinstance(item, list)
            else as_operand(item.item)
            if place in static
            else self._operand(item)
            for place, item in enumerate(operands)
        )
        record = CallRecord(
            random=declaration_of(operation).is_stateful,
            extra=recorded_elements(self.recorder, operands, static),
        )
        return self.call(f"{RAW}{operation.type}", inputs, attributes, seen, self.origin(operation), record)

    def call(
        self, op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], seen: Sequence[Any],
        origin: Origin, record: CallRecord = _PLAIN,
    ) -> list[TensorValue]:  # fmt: skip
        """Append a call of ``op`` and return its results, whose arrays while recording are ``seen``."""
        name = op.rpartition(".")[2].lower()
        outputs = self.recorder.new_values(
            [(_NAMES.get(name, _VERSION.sub("", name)), array, spec_of(array)) for array in seen]
        )
        result = outputs[0] if len(outputs) == 1 else outputs
        self.recorder.add_call(
            op, inputs, attributes, origin, outputs, replace(record, key=op.rpartition(".")[2], result=result)
        )
        return [TensorValue(*pair) for pair in zip(outputs, seen)]

    def _operand(self, held: TensorValue) -> Any:
        is_empty = isinstance(held.item, np.ndarray) and held.item.ndim > 1 and not held.item.size
        return self.value(held) if is_empty else as_operand(held.item)

    def value(self, held: TensorValue) -> Value:
        """Return ``held`` as a value; known numbers are added to the graph as an array.

        Raise ``UnsupportedOperation`` if ``held`` is neither a value nor known numbers.
        """
        if isinstance(held.item, Value):
            return held.item
        if not isinstance(held.item, np.ndarray):
            raise UnsupportedOperation(
                f"{describe(held.seen)} have no counterpart in other frameworks, and are no result of a graph"
            )
        # Nested tuples cannot express the shape of an empty array.
        if not held.item.size:
            return self.recorder.add_constant("constant", held.seen, spec_of(held.seen))
        made = self.call(
            CONVERT, (nested(held.item),), {"dtype": dtype_name(held.made.dtype)}, [held.seen], self.around
        )
        assert isinstance(made[0].item, Value)
        return made[0].item

    def concrete_results(self, operation: Any, operands: Sequence[TensorValue]) -> list[Any]:
        """Return the arrays that the results of an operation have while recording.

        An array may be a ``LazyArray``. Under :meth:`hypothetically`, arrays may be made up.
        """
        if (later := lazy_result(operation, operands)) is not None:
            return [later]
        arrays = [operand.seen for operand in operands]
        try:
            return list(self.evaluator.operation(operation, arrays))
        except tf.errors.InvalidArgumentError:
            if not self.is_hypothetical or any(tensor.shape.rank is None for tensor in operation.outputs):
                raise
        try:
            # An operation that reads a row of an array without rows may succeed on an array with rows.
            return list(self.evaluator.operation(operation, list(map(_with_elements, arrays))))
        except tf.errors.InvalidArgumentError:
            return [_placeholder_result(tensor, arrays) for tensor in operation.outputs]

    def origin(self, operation: Any) -> Origin:
        origin = origin_of(operation, self.around)
        return (
            replace(origin, module=layer_path(origin.module, self.layers, self.paths))
            if origin.module
            else origin
        )


def _with_elements(array: Any) -> Any:
    is_empty = isinstance(array, tf.Tensor) and is_numeric(array.dtype) and 0 in array.shape
    return tf.zeros([size or 1 for size in array.shape], array.dtype) if is_empty else array


def _placeholder_result(tensor: Any, arrays: Sequence[Any]) -> Any:
    if tensor.dtype == tf.variant:
        return next(array for array in arrays if array.dtype == tf.variant)
    return tf.zeros([size or 1 for size in tensor.shape.as_list()], tensor.dtype)


class _ArrayView:
    def __init__(self, held: dict[int, TensorValue]) -> None:
        self._held = held

    def __getitem__(self, number: int) -> Any:
        return self._held[number].seen

    def __setitem__(self, number: int, array: Any) -> None:
        self._held[number] = TensorValue(self._held[number].item, array)


_WAITS = (
    "QueueEnqueue",
    "QueueDequeue",
    "QueueSize",
    "QueueIsClosed",
    "QueueClose",
    "Stage",
    "Barrier",
    "Mutex",
)


def as_operand(item: Any) -> Any:
    return nested(item) if isinstance(item, np.ndarray) else item


# Version of an operation at the end of its name, such as ``AddV2``.
_VERSION = re.compile(r"v\d$")
_NAMES = {
    "selectv2": "where",
    "convert_to_tensor": "number",
}


def is_numeric(dtype: tf.DType) -> bool:
    return (
        bool(dtype.is_numpy_compatible)
        and dtype not in (tf.string, tf.resource, tf.variant)
        and not dtype.is_quantized
    )


def describe(tensor: Any) -> str:
    what = {
        tf.string: "texts",
        tf.resource: "tables, queues or iterators",
        tf.variant: "sets of tensors (ragged, sparse, datasets)",
    }
    return what.get(tensor.dtype, f"arrays of {tensor.dtype.name}")


def _no_array(operation: Any, tensor: Any, origin: Origin) -> str:
    return (
        f"{operation.type}: {describe(tensor)} have no counterpart in other frameworks; compute with "
        "dense arrays of numbers, and do the "
        f"rest before\n    {origin}"
    )


def _group_operands(operation: Any, items: Sequence[Any]) -> list[Any]:
    """Group flat operands by declared argument: the operands of a list argument become one list."""
    rest, grouped = iter(items), list[Any]()
    for argument in declaration_of(operation).input_arg:
        if argument.number_attr:
            grouped.append([next(rest) for _ in range(operation.get_attr(argument.number_attr))])
        elif argument.type_list_attr:
            grouped.append([next(rest) for _ in operation.get_attr(argument.type_list_attr)])
        else:
            grouped.append(next(rest))
    return grouped


def _watched_variables(graph: Any) -> Iterator[Any]:
    yield from graph.variables
    yield from graph._watched_variables
    for function in graph._functions.values():
        if function.graph:
            yield from _watched_variables(function.graph)


# ----------------------------------------------------------------------------------------------------- blocks
# Reading a traced graph into a block, and adding the node that runs such blocks.


class TracedBlock:
    """Block of the nodes that ``run`` adds to the recorder. The constructor calls ``run``.

    When ``run`` has returned, the variables that the reader knew before are restored, so code outside of the
    block does not see its assignments.

    nodes: the nodes of the block.
    results: what ``run`` returned.
    variables: new values of variables that the block changed, by handle number.
    names: names of such variables, by handle number.
    """

    def __init__(
        self, reader: GraphReader, inputs: Sequence[Value], run: Callable[[], list[TensorValue]]
    ) -> None:
        self.reader = reader
        before, assigned = dict(reader.variables), dict(reader.assigned)
        with reader.recorder.block(inputs) as self.nodes:
            self.results = run()
        changed = {
            number: held
            for number, held in reader.variables.items()
            if number in before and held is not before[number]
        }
        self.variables, self.names = (
            changed,
            {number: reader.assigned[number] for number in changed if number in reader.assigned},
        )
        # Other branches, and the code after the block, must not see the assignments of this block.
        reader.variables.update(before)
        reader.assigned.clear()
        reader.assigned.update(assigned)

    @property
    def assigned(self) -> list[int]:
        return list(self.variables)

    def closed(self, results: Sequence[TensorValue]) -> tuple[list[Node], list[Value]]:
        # Known numbers among the results become arrays, by calls that belong to the block.
        with self.reader.recorder.block(()) as more:
            outputs = [self.reader.value(held) for held in results]
        return [*self.nodes, *more], outputs


@dataclass
class BlockNode:
    """Builder of the node with regions that replaces one operation of a traced graph."""

    reader: GraphReader
    operation: Any

    def add(
        self,
        op: str,
        operands: Sequence[Value],
        bodies: Sequence[Body],
        like: Sequence[TensorValue],
        **params: Any,
    ) -> list[TensorValue]:
        """Append the node for ``op`` and return its results, with the specs and arrays of ``like``.

        Values of enclosing blocks that the bodies read become further operands.
        """
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        names = [value.name for value in bodies[-1].inputs[: params.get("carried", 0)]]
        wishes = [*names, *["outputs" if op == "scan" else op] * len(like)]
        outputs = self.reader.recorder.new_values(
            [(name, one.seen, one.spec) for name, one in zip(wishes, like)]
        )
        origin, record = self.reader.origin(self.operation), CallRecord(op, result=outputs)
        self.reader.recorder.add_call(op, (*operands, *captured), whole, origin, outputs, record, regions)
        return [TensorValue(value, one.seen) for value, one in zip(outputs, like)]

    def with_assigned(
        self, found: Sequence[TensorValue], assigned: Sequence[int], blocks: Sequence[TracedBlock]
    ) -> list[TensorValue]:
        """Store the last results of ``found`` in the variables ``assigned``, and return the others."""
        own = len(found) - len(assigned)
        names = {number: name for block in blocks for number, name in block.names.items()}
        for number, held in zip(assigned, found[own:]):
            self.reader.variables[number], self.reader.assigned[number] = held, names[number]
        return list(found[:own])
