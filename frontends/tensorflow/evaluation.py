"""Runs operations of traced graphs on concrete arrays, for shapes and for elements that Python reads.

Reads and assignments of variables go to a table that the caller provides.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, execute, record
from tensorflow.python.framework import function_def_to_graph, ops, tensor_util

from ...forwarding import forwards
from ...ir.node import Node, Value
from ...sizes import hint_of
from ...trees import map_structure
from .names import definition, row_key
from .operations import READS, WRITES, declaration_of, execution_attributes, in_order, result_of

MISSING = (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError)
# TensorFlow has no class of errors for a missing kernel, so its messages are searched.
_WORDS = re.compile(
    r"\bCPU\b(?!:)|only supports N\w+|Could not find device for node|does not support dilations"
)
_LAYOUTS = ("NCHW", "NCDHW")
_KERNELS = frozenset({
    "AvgPool", "AvgPool3D", "AvgPool3DGrad", "AvgPoolGrad", "Conv2D", "Conv2DBackpropFilter",
    "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2",
    "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput",
    "MaxPool", "MaxPool3D", "MaxPool3DGrad", "MaxPoolGrad",
})  # fmt: skip


def is_missing(problem: Exception) -> bool:
    return isinstance(problem, MISSING) and _WORDS.search(str(problem)) is not None


def run_by_xla(operation: Any, operands: Sequence[Any]) -> list[Any]:
    # XLA needs static sizes and axes, so integer operands become constants of the compiled program.
    fixed = [place for place, array in enumerate(operands) if array.dtype.is_integer]
    arrays = [array for place, array in enumerate(operands) if place not in fixed]
    attributes = {
        attribute.name: operation.node_def.attr[attribute.name]
        for attribute in definition(operation.type).attr
    }

    @tf.function(jit_compile=True, autograph=False)
    def compiled(*arrays: Any) -> list[Any]:
        rest = iter(arrays)
        given = [
            tf.constant(array.numpy(), array.dtype) if place in fixed else next(rest)
            for place, array in enumerate(operands)
        ]
        graph: Any = ops.get_default_graph()
        return list(graph._create_op_internal(operation.type, given, attrs=attributes).outputs)

    return list(compiled(*arrays))


def has_kernel(node: Node, names: Sequence[str]) -> bool:
    """Return False if TensorFlow is known to lack a kernel for the recorded call ``node``.

    ``names`` are the parameters of the raw operation, in order.
    """
    key, params = row_key(node.op), node.params
    layout, dilation = str(params.get("data_format")), max(params.get("dilations", ()), default=1)
    if key not in _KERNELS or layout not in _LAYOUTS and dilation == 1:
        return True
    kind = (key, layout, dilation > 1, *(item.dtype for item in node.inputs if isinstance(item, Value)))
    if kind not in _tried:
        given = dict(zip(names, map(_zeros, node.inputs)))
        _tried[kind] = _runs(key, {**given, **{name: params[name] for name in names if name in params}})
    return _tried[kind]


_tried: dict[tuple[Any, ...], bool] = {}


def _zeros(item: Any) -> Any:
    return tf.zeros(item.spec.hints, item.dtype) if isinstance(item, Value) else map_structure(hint_of, item)


@functools.cache
def has_grouped_gradient(dtype: str) -> bool:
    """Return True if there is a kernel in ``dtype`` for the input gradient of a grouped 2D convolution."""
    # On CPUs only oneDNN has this kernel, and only for its own dtypes, so the dtype decides.
    given = {"filter": tf.zeros((1, 1, 1, 2), dtype), "out_backprop": tf.zeros((1, 1, 1, 2), dtype)}
    return _runs(
        "Conv2DBackpropInput",
        {"input_sizes": [1, 1, 1, 2], **given, "strides": [1, 1, 1, 1], "padding": "VALID"},
    )


def _runs(key: str, given: dict[str, Any]) -> bool:
    try:
        # The trial must become part of neither a graph nor a gradient tape.
        with tf.init_scope(), record.stop_recording():
            getattr(tf.raw_ops, key)(**given)
    except MISSING as problem:
        if not is_missing(problem):
            raise
        return False
    return True


CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
LOOPS = frozenset({"While", "StatelessWhile"})
PASSES_ON = frozenset({"Identity", "PlaceholderWithDefault", "Snapshot"})
ASSIGNS = {"AssignVariableOp": None, "AssignAddVariableOp": "AddV2", "AssignSubVariableOp": "Sub"}

_ONLY_READ = frozenset({"ReadVariableOp", *READS, "Placeholder", "Assert", "PrintV2"})
# These advance the state of a generator, which is a variable.
_ADVANCES = frozenset({"RngReadAndSkip", "RngSkip"})
PHILOX = 1
# Operations that draw from a generator, and the ones that compute the same numbers from its state.
STATELESS_DRAWS = {
    "StatefulUniform": "StatelessRandomUniformV2",
    "StatefulUniformFullInt": "StatelessRandomUniformFullIntV2",
    "StatefulUniformInt": "StatelessRandomUniformIntV2",
    "StatefulStandardNormalV2": "StatelessRandomNormalV2",
    "StatefulTruncatedNormal": "StatelessTruncatedNormalV2",
}  # fmt: skip


class Variables(Protocol):
    """Protocol of a table of the arrays of variables, keyed by handle number (:func:`handle_number`)."""

    def __getitem__(self, number: int) -> Any: ...

    def __setitem__(self, number: int, array: Any) -> None: ...


class Evaluator:
    """Interpreter that runs traced graphs on concrete arrays, and reads and assigns variables in a table."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables

    @contextmanager
    def trying(self) -> Iterator[None]:
        before = self.variables
        self.variables = _VariableOverlay(before)
        try:
            yield
        finally:
            self.variables = before

    def graph(self, graph: Any, arguments: Sequence[Any]) -> list[Any]:
        held: dict[int, Any] = dict(zip(map(id, graph.inputs), arguments))
        for operation in in_order(graph.get_operations(), set()):
            # The placeholders of the inputs are given.
            if operation.outputs and id(operation.outputs[0]) in held:
                continue
            found = self.operation(operation, [held[id(tensor)] for tensor in operation.inputs])
            held.update(zip(map(id, operation.outputs), found))
        return [held[id(tensor)] for tensor in graph.outputs]

    def operation(self, operation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        kind = operation.type
        if kind in PASSES_ON or kind in ("IdentityN", "PreventGradient"):
            return operands[: len(operation.outputs)]
        if is_call(operation):
            return self.graph(called_graph(operation), operands)
        if kind in BRANCHES:
            return self.graph(branches_of(operation)[place_of_branch(operation, operands[0])], operands[1:])
        if kind in LOOPS:
            return self._loop(operation, list(operands))
        if kind in ASSIGNS:
            self.assign(kind, handle_number(operands[0]), operands[1])
            return []
        if kind in _ADVANCES:
            number = handle_number(operands[0])
            before = self.variables[number]
            self.variables[number] = advance_state(before, operands[2])
            return [before][: len(operation.outputs)]
        if kind in STATELESS_DRAWS:
            number, shape = handle_number(operands[0]), operands[2]
            before = self.variables[number]
            self.variables[number] = advance_state(before, tf.reduce_prod(shape))
            counter, key = (tf.bitcast(words, tf.uint64) for words in (before[:2], before[2:]))
            return [draw_from(operation, counter, key, shape, operands[3:])]
        if kind == "ReadVariableOp":
            return [self.variables[handle_number(operands[0])]]
        # The operation itself would write to the user's variable while the function is recorded.
        if kind in WRITES:
            number = handle_number(operands[0])
            self.variables[number] = result_of(operation, self.variables[number], operands[1:])
            return []
        if kind in READS:
            return [result_of(operation, self.variables[handle_number(operands[0])], operands[1:])]
        return [constant_of(operation)] if kind == "Const" else run_operation(operation, operands)

    def assign(self, kind: str, number: int, array: Any) -> None:
        combined = ASSIGNS[kind]
        self.variables[number] = (
            array if combined is None else getattr(tf.raw_ops, combined)(x=self.variables[number], y=array)
        )

    def _loop(self, operation: Any, state: list[Any]) -> list[Any]:
        condition, body = function_of(operation, "cond"), function_of(operation, "body")
        while bool(self.graph(condition, state)[0]):
            state = self.graph(body, state)
        return state


def advance_state(state: Any, delta: Any) -> Any:
    # TensorFlow advances the counter by 256 for each sample, however few words it needs.
    return state + tf.pad(tf.reshape(tf.cast(delta, tf.int64) * 256, [1]), [[0, 2]])


def draw_from(operation: Any, counter: Any, key: Any, shape: Any, bounds: Sequence[Any]) -> Any:
    """Return the numbers that ``operation`` of ``STATELESS_DRAWS`` draws for ``counter`` and ``key``.

    ``bounds`` is empty or has the least integer and the one after the greatest.
    """
    given = {"shape": shape, "key": key, "counter": counter, "alg": PHILOX}
    given.update(zip(("minval", "maxval"), bounds) if bounds else {"dtype": operation.get_attr("dtype")})
    return getattr(tf.raw_ops, STATELESS_DRAWS[operation.type])(**given)


class _VariableOverlay(dict[int, Any]):
    # Assignments are stored here, and other entries are found in the table below.
    def __init__(self, before: Variables) -> None:
        super().__init__()
        self._before = before

    def __missing__(self, number: int) -> Any:
        return self._before[number]


@forwards
def run_operation(operation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Run an operation eagerly, or compile it by XLA if it has no eager kernel, and return its results."""
    try:
        found = execute.quick_execute(
            operation.type,
            len(operation.outputs),
            list(operands),
            execution_attributes(operation),
            context.context(),
        )
    except MISSING as problem:
        if not is_missing(problem):
            raise
        try:
            return run_by_xla(operation, operands)
        except tf.errors.OpError:
            raise problem from None
    return found or []


def constant_of(operation: Any) -> Any:
    proto = operation.get_attr("value")
    return tf.constant(tensor_util.MakeNdarray(proto), tf.as_dtype(proto.dtype))


@contextmanager
def run_eagerly() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(tf.init_scope())
        stack.enter_context(record.stop_recording())
        yield


@contextmanager
def record_on_tapes() -> Iterator[None]:
    """Let gradient tapes record in this context even inside of :func:`run_eagerly`."""
    stopped = pywrap_tfe.TFE_Py_TapeSetIsStopped()
    if stopped:
        pywrap_tfe.TFE_Py_TapeSetRestartOnThread()
    try:
        yield
    finally:
        if stopped:
            pywrap_tfe.TFE_Py_TapeSetStopOnThread()


def handle_number(handle: Any) -> int:
    return id(handle)


def function_of(operation: Any, attribute: str) -> Any:
    return graph_of(operation.graph, operation.get_attr(attribute).name)


def bodies_of(operation: Any) -> list[Any]:
    if operation.type in LOOPS:
        return [function_of(operation, name) for name in ("cond", "body")]
    if operation.type in BRANCHES:
        return branches_of(operation)
    return [called_graph(operation)] if is_call(operation) else []


def is_repeatable(operation: Any) -> bool:
    """Return True if ``operation`` and the graphs that it calls are known to change no state."""
    bodies = bodies_of(operation)
    if bodies:
        return all(is_repeatable(inner) for graph in bodies for inner in graph.get_operations())
    return operation.type in _ONLY_READ or not declaration_of(operation).is_stateful


def branches_of(operation: Any) -> list[Any]:
    if "Case" in operation.type:
        return [graph_of(operation.graph, function.name) for function in operation.get_attr("branches")]
    return [function_of(operation, "else_branch"), function_of(operation, "then_branch")]


def place_of_branch(operation: Any, index: Any) -> int:
    """Return the index of the branch that runs for ``index``, in the list of :func:`branches_of`."""
    if "If" in operation.type:
        return int(bool(index))
    count = len(operation.get_attr("branches"))
    return int(index) if 0 <= int(index) < count else count - 1


def graph_of(graph: Any, name: str) -> Any:
    found = graph._get_function(name)
    # A function may be registered in the graph that encloses the one that calls it.
    while found is None and getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
        found = graph._get_function(name)
    return found.graph if hasattr(found, "graph") else _graph_of_definition(found, graph)


def is_call(operation: Any) -> bool:
    return operation.type in CALLS or definition(operation.type) is None


def called_graph(operation: Any) -> Any:
    return (
        function_of(operation, "f") if operation.type in CALLS else graph_of(operation.graph, operation.type)
    )


@functools.lru_cache(maxsize=64)
def _graph_of_definition(function: Any, graph: Any) -> Any:
    with graph.as_default():
        made = function_def_to_graph.function_def_to_graph(function.definition)
    for name in graph._functions:
        if made._get_function(name) is None:
            made._add_function_recursive(graph._get_function(name))
    return made
