"""Reads traced graphs of TensorFlow: each operation becomes a node, and what only moves values about (calls,
variables, shapes) is followed.

Their results have the shapes of the recording: of some it is known beforehand (:mod:`.made_later`), the
others are run as they are read, on the arrays of the call.
"""

from __future__ import annotations

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
from ...ir.node import CallRecord, Origin, Value
from ...recording import Recorder
from ...sizes import Size
from . import collectives
from . import known_numbers as of_shapes
from .counting import behind
from .dtypes import dtype_name
from .evaluation import PASSES_ON, Evaluator, called, handle_number, is_call, is_repeatable
from .folders import is_users
from .known_numbers import elements_of, known, nested
from .lifting.driver import static_places
from .made_later import made_later
from .names import CONVERT, RAW, row_key
from .operations import attributes_of, declared, in_order, layer_path, origin_of
from .variables import Held, Weights, spec_of

_WRITTEN_ANEW = "__autograph_generated_file"  # TensorFlow knows which lines of the user's these stand for
Line = tuple[str, int]


class NotingGraph(FuncGraph):
    """A traced graph whose operations have one stack of calls, that of the trace: to take the stack of each,
    and to look through it afterwards, is a tenth of a conversion. What the errors of a recording tell is the
    user's line, which is noted instead.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lines: dict[
            int, Line
        ] = {}  # of the user's, by the identity of the operation that was made there
        self._stack = tf_stack.extract_stack()
        self._noting = 0  # the thread that makes an operation whose line is noted

    # TensorFlow takes its own frames out of the traceback of what it raises here for a call of the user's
    # code.
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

    def place(self) -> tuple[Any, str, Any]:
        """What stands for TensorFlow's own look at the stack while this graph is made."""
        before = tf_stack.extract_stack

        def extract_stack(stacklevel: int = 1) -> Any:
            return self._stack if self._noting == threading.get_ident() else before(stacklevel + 1)

        return tf_stack, "extract_stack", extract_stack


def _users_line() -> Line | None:
    """The innermost line of the user's that runs; None where there is none, or it was written anew by
    AutoGraph.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return (
        None
        if frame is None or _WRITTEN_ANEW in frame.f_code.co_filename
        else (frame.f_code.co_filename, frame.f_lineno)
    )


ORDERS = 2  # of derivatives that are followed: a rule may use the function that it is the rule of
_PLAIN = CallRecord()
Handler = Callable[["Reader", Any, Sequence[Held]], Sequence[Held]]


@dataclass
class _Progress:
    """The operations of a graph that were ``read``, by their identities: the ``first`` ones all. So were as
    many captures as ``captured`` says.
    """

    read: set[int] = field(default_factory=set)
    first: int = 0
    captured: int = 0


class Reader:
    """Appends the operations of traced graphs to the nodes of a recorder.

    ``layers`` are the names of Keras' layers.
    """

    def __init__(
        self,
        recorder: Recorder,
        weights: Weights,
        handlers: Mapping[str, Handler],
        layers: Iterable[str] = (),
    ) -> None:
        self.recorder, self.weights, self.handlers, self.layers = (
            recorder,
            weights,
            handlers,
            frozenset(layers),
        )
        self.around = Origin()  # of the call that is read at the moment
        self.orders = ORDERS  # of derivatives that rules are followed for
        self.is_hypothetical = (
            False  # whether what is read is not run on the arrays of the call: a branch that is not taken
        )
        self.held: dict[int, Held] = {}  # by the identity of the tensor
        self.variables: dict[int, Held] = {}  # what the variables hold, by the number of their handle
        self.assigned: dict[int, str] = {}  # number of the handle -> name, of variables that were assigned
        self.wanted: set[int] = set()  # the identities of tensors that a function gives to what has called it
        self.evaluator = Evaluator(_Seen(self.variables))
        self._read: defaultdict[int, _Progress] = defaultdict(_Progress)  # by the identity of the graph

    # ------------------------------------------------------------------------------ graphs
    def read(self, graph: Any, given: Mapping[int, Held]) -> None:
        """The operations of a graph that were not read yet.

        ``given`` are its inputs, by the identity of the tensor.
        """
        self.held.update(given)
        progress = self._read[id(graph)]  # Python asks for shapes as often as there are layers
        self._take_captures(graph, progress)
        operations = graph.get_operations()
        for operation in in_order(operations[progress.first :], progress.read):
            if not (operation.outputs and id(operation.outputs[0]) in self.held):
                self._operation(operation)
        progress.first = len(operations)

    def results(self, graph: Any, arguments: Sequence[Held]) -> list[Held]:
        return self.values_of(graph, dict(zip(map(id, graph.inputs), arguments)), graph.outputs)

    def values_of(self, graph: Any, given: Mapping[int, Held], tensors: Sequence[Any]) -> list[Held]:
        """What tensors of another graph are, of which some are ``given`` by their identity."""
        outside, self.held = self.held, {}
        self.wanted.update(id(behind(tensor)) for tensor in tensors)
        self._read.pop(id(graph), None)
        try:
            self.read(graph, given)
            return [self.held[id(tensor)] for tensor in tensors]
        finally:
            self.held = outside

    @contextmanager
    def hypothetically(self, is_so: bool = True) -> Iterator[None]:
        """Inside of the block what is read is not run on the arrays of the call, where ``is_so``: it may fail
        on them.
        """
        before, self.is_hypothetical = self.is_hypothetical, self.is_hypothetical or is_so
        try:
            yield
        finally:
            self.is_hypothetical = before

    def _take_captures(self, graph: Any, progress: _Progress) -> None:
        """Arrays and variables of the outside that a graph has come to refer to."""
        outside, inside = (
            graph.external_captures,
            graph.internal_captures,
        )  # ``captures`` are put together anew for each
        fresh, progress.captured = zip(outside[progress.captured :], inside[progress.captured :]), len(inside)
        for outer, inner in fresh:
            if id(inner) in self.held:
                continue
            if id(outer) in self.held:
                self.held[id(inner)] = self.held[id(outer)]
            else:
                self.held[id(inner)] = (
                    self._handle(outer, graph) if outer.dtype == tf.resource else self.constant(outer)
                )

    def _handle(self, handle: Any, graph: Any) -> Held:
        """The handle of a variable, which becomes a parameter."""
        number = handle_number(handle)
        if (
            number not in self.variables
            and (name := self.weights.name_of(handle, _watched(graph))) is not None
        ):
            variable = self.weights.variables[name]
            array = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
            self.variables[number] = Held(self.recorder.add_parameter(name, array, spec_of(array)), array)
        return Held(None, handle)

    def constant(self, array: Any) -> Held:
        """An array that is always the same: as numbers where it is short."""
        dtype, elements = dtype_name(array.dtype), array.numpy() if hasattr(array, "numpy") else array
        if dtype in ("string", "variant", "resource"):
            return Held(None, array)
        if of_shapes.is_few(dtype, int(np.size(elements)), np.ndim(elements)):
            return Held(
                known(np.asarray(elements).tolist()).reshape(np.shape(elements)), tf.convert_to_tensor(array)
            )
        found = self.recorder.find(array) if isinstance(array, tf.Tensor) else None
        return Held(
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
        if (exchanged := collectives.read(self, operation, operands)) is not None:
            found: Sequence[Held] = exchanged
        elif is_call(operation):
            found = self._called(operation, operands)
        elif operation.type in PASSES_ON:
            found = operands[: len(operation.outputs)]
        else:
            found = (
                self.computed(operation, operands) if handler is None else handler(self, operation, operands)
            )
        self.held.update(zip(map(id, operation.outputs), found))

    def _read_again(self, tensor: Any) -> None:
        """An output that a gradient has added to an operation since that was read, as Python asked for its
        result: it is read once more.
        """
        operation = tensor.op
        if id(tensor) in self.held or id(operation) not in self._read[id(operation.graph)].read:
            return
        if not is_repeatable(operation):
            raise UnsupportedOperation(
                f"{operation.type}: Python reads a result of it before a gradient is taken through it, which has to run it once more, "
                f"and it assigns variables or draws random numbers. Read the number after the gradient\n    {self.origin(operation)}"
            )
        for given in operation.inputs:
            self._read_again(given)
            if id(given) not in self.held:
                self._read[id(operation.graph)].read.add(id(given.op))
                self._operation(given.op)
        self._operation(operation)

    def _called(self, operation: Any, operands: Sequence[Held]) -> list[Held]:
        around, self.around = self.around, self.origin(operation)
        try:
            graph = called(operation)  # gradients may have added outputs since it was called
            return self.values_of(
                graph, dict(zip(map(id, graph.inputs), operands)), graph.outputs[: len(operation.outputs)]
            )
        finally:
            self.around = around

    def computed(self, operation: Any, operands: Sequence[Held]) -> list[Held]:
        """An operation on arrays, or on what is known of shapes. What gives no array (a list that only
        gradients need) is followed, not recorded.
        """
        attributes = attributes_of(operation)
        if any(
            kind in operation.type for kind in _WAITS
        ):  # it is not run: a queue that is empty would never answer
            raise UnsupportedOperation(_no_array(operation, operation.inputs[0], self.origin(operation)))
        if any(
            one.item is None and handle_number(one.seen) in self.variables for one in operands
        ):  # it is not run either
            raise UnsupportedOperation(
                f"{operation.type}: a kernel of TensorFlow's own that reads or writes a variable; compute with what the variable holds, "
                f"and assign the result\n    {self.origin(operation)}"
            )
        seen = self.seen(operation, operands)
        arrays = [operand.item for operand in operands if isinstance(operand.item, np.ndarray)]
        if (
            len(arrays) == len(operands)
            and of_shapes.takes_integers(operation.type, attributes)
            and of_shapes.fits(operation.type, arrays)
        ):
            found = of_shapes.computed(operation.type, arrays, attributes, self._decide(operation)) or ()
            whole = [of_shapes.in_range(array, dtype_name(one.dtype)) for array, one in zip(found, seen)]
            if found and all(array is not None for array in whole):
                return [Held(*pair) for pair in zip(whole, seen)]
        if (number := self._between(operation, operands)) is not None:
            return [Held(known(number), seen[0])]
        if operation.outputs and not any(is_numeric(tensor.dtype) for tensor in operation.outputs):
            return [Held(None, array) for array in seen]
        for tensor, operand in zip(operation.inputs, operands):
            if not isinstance(operand.item, (Value, np.ndarray)):
                raise UnsupportedOperation(_no_array(operation, tensor, self.origin(operation)))
        return self.node(operation, _grouped(operation, operands), attributes, seen)

    def _between(self, operation: Any, operands: Sequence[Held]) -> Any:
        """The number that ``min(number, max(least, x))`` is where ``least`` is as large: a length that is
        both least and most.
        """
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
    ) -> list[Held]:
        """A node for an operation, of operands and lists of them; arrays that are known stand in it as
        numbers.
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
            random=declared(operation).is_stateful, extra=elements_of(self.recorder, operands, static)
        )
        return self.call(f"{RAW}{operation.type}", inputs, attributes, seen, self.origin(operation), record)

    def call(
        self, op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], seen: Sequence[Any], origin: Origin,
        record: CallRecord = _PLAIN,
    ) -> list[Held]:  # fmt: skip
        """A node that gives arrays of these shapes; ``record`` has what else is noted of it."""
        name = op.rpartition(".")[2].lower()
        outputs = self.recorder.new_values(
            [(_NAMES.get(name, name), array, spec_of(array)) for array in seen]
        )
        result = outputs[0] if len(outputs) == 1 else outputs
        self.recorder.add_call(
            op, inputs, attributes, origin, outputs, replace(record, key=op.rpartition(".")[2], result=result)
        )
        return [Held(*pair) for pair in zip(outputs, seen)]

    def _operand(self, held: Held) -> Any:
        is_empty = isinstance(held.item, np.ndarray) and held.item.ndim > 1 and not held.item.size
        return self.value(held) if is_empty else as_operand(held.item)

    def value(self, held: Held) -> Value:
        """What is held as an array: numbers become one."""
        if isinstance(held.item, Value):
            return held.item
        if not isinstance(held.item, np.ndarray):
            raise UnsupportedOperation(
                f"{what_is(held.seen)} have no counterpart in other frameworks, and are no result of a graph"
            )
        if not held.item.size:
            return self.recorder.add_constant("constant", held.seen, spec_of(held.seen))
        made = self.call(
            CONVERT, (nested(held.item),), {"dtype": dtype_name(held.made.dtype)}, [held.seen], self.around
        )
        assert isinstance(made[0].item, Value)
        return made[0].item

    def seen(self, operation: Any, operands: Sequence[Held]) -> list[Any]:
        """What the operation gives on the arrays of the call.

        Where it fails in a branch or step that these do not take (a row of an array without rows): what it
        gives for arrays with elements, or zeros.
        """
        if (later := made_later(operation, operands)) is not None:
            return [later]
        arrays = [operand.seen for operand in operands]
        try:
            return list(self.evaluator.operation(operation, arrays))
        except tf.errors.InvalidArgumentError:
            if not self.is_hypothetical or any(tensor.shape.rank is None for tensor in operation.outputs):
                raise
        try:
            return list(self.evaluator.operation(operation, list(map(_with_elements, arrays))))
        except tf.errors.InvalidArgumentError:
            return [_of_nobody(tensor, arrays) for tensor in operation.outputs]

    def origin(self, operation: Any) -> Origin:
        origin = origin_of(operation, self.around)
        return replace(origin, module=layer_path(origin.module, self.layers)) if origin.module else origin


def _with_elements(array: Any) -> Any:
    is_empty = isinstance(array, tf.Tensor) and is_numeric(array.dtype) and 0 in array.shape
    return tf.zeros([size or 1 for size in array.shape], array.dtype) if is_empty else array


def _of_nobody(tensor: Any, arrays: Sequence[Any]) -> Any:
    if tensor.dtype == tf.variant:
        return next(array for array in arrays if array.dtype == tf.variant)
    return tf.zeros([size or 1 for size in tensor.shape.as_list()], tensor.dtype)


class _Seen:
    """The arrays in a table of what is held, as a table of arrays."""

    def __init__(self, held: dict[int, Held]) -> None:
        self._held = held

    def __getitem__(self, number: int) -> Any:
        return self._held[number].seen

    def __setitem__(self, number: int, array: Any) -> None:
        self._held[number] = Held(self._held[number].item, array)


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


_NAMES = {
    "addv2": "add",
    "concatv2": "concat",
    "gatherv2": "gathered",
    "cast": "converted",
    "selectv2": "chosen",
    "convert_to_tensor": "number",
}


def is_numeric(dtype: tf.DType) -> bool:
    """Whether arrays of this type hold numbers or truth values."""
    return (
        bool(dtype.is_numpy_compatible)
        and dtype not in (tf.string, tf.resource, tf.variant)
        and not dtype.is_quantized
    )


def what_is(tensor: Any) -> str:
    """What a tensor without numbers holds, in words."""
    what = {
        tf.string: "texts",
        tf.resource: "tables, queues or iterators",
        tf.variant: "sets of tensors (ragged, sparse, datasets)",
    }
    return what.get(tensor.dtype, f"arrays of {tensor.dtype.name}")


def _no_array(operation: Any, tensor: Any, origin: Origin) -> str:
    return (
        f"{operation.type}: {what_is(tensor)} have no counterpart in other frameworks; compute with dense arrays of numbers, and do the "
        f"rest before\n    {origin}"
    )


def _grouped(operation: Any, items: Sequence[Any]) -> list[Any]:
    """The operands in the order of the declaration, lists of operands as lists."""
    rest, grouped = iter(items), list[Any]()
    for argument in declared(operation).input_arg:
        if argument.number_attr:
            grouped.append([next(rest) for _ in range(operation.get_attr(argument.number_attr))])
        elif argument.type_list_attr:
            grouped.append([next(rest) for _ in operation.get_attr(argument.type_list_attr)])
        else:
            grouped.append(next(rest))
    return grouped


def _watched(graph: Any) -> Iterator[Any]:
    """The variables that a traced graph has read, and those of the graphs inside of it."""
    yield from graph.variables
    yield from graph._watched_variables
    for function in graph._functions.values():
        if function.graph:
            yield from _watched(function.graph)
