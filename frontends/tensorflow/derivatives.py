"""Lifting of functions with ``tf.custom_gradient`` to ``custom_derivative`` nodes.

A traced graph has the operations of the function, followed by an ``IdentityN`` over the results and the
arguments, whose gradient is the custom rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from ...ir.builder import Body
from ...ir.node import Value
from ...ops.control import has_derivative
from ...recording.faults import is_fault
from .evaluation import record_on_tapes
from .names import REFUSE_GRADIENT
from .reader import ORDERS, BlockNode, GraphReader, Handler, TracedBlock
from .variables import TensorValue

_KIND = "_gradient_op_type"


def identity(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> Sequence[TensorValue]:
    try:
        name = operation.get_attr(_KIND).decode()
    # TensorFlow raises this for an attribute that is not set.
    except ValueError:
        return operands
    arrays = [reader.value(operand) for operand in operands]
    if reader.orders == 0:
        return _refuse_gradient(
            reader, operation, operands, arrays, f"the derivative of order {ORDERS + 1} is asked for"
        )
    try:
        rule, cotangents, gradients = _trace_rule(operation, name)
    # The rule is the user's code, or that of a loaded function which did not keep it.
    except Exception as problem:
        if is_fault(problem):
            raise
        return _refuse_gradient(reader, operation, operands, arrays, f"it cannot be traced: {problem}")
    # The results of the function come first and have no gradients. Its arguments follow.
    count = next((place for place, gradient in enumerate(gradients) if gradient is not None), len(gradients))
    sources = [
        place
        for place, gradient in enumerate(gradients)
        if gradient is not None and has_derivative(arrays[place].spec)
    ]
    return (
        _CustomGradientCall(reader, operation, operands, arrays).node(
            rule, cotangents, gradients, count, sources
        )
        if sources
        else operands
    )


def _trace_rule(operation: Any, name: str) -> tuple[Any, list[Any], list[Any]]:
    """Trace the gradient rule registered as ``name``. Return its graph, cotangents and gradients."""
    rule_of = ops.gradient_registry.lookup(name)
    with operation.graph.as_default():
        rule = FuncGraph("rule")
        # The rule may open gradient tapes itself.
        with rule.as_default(), record_on_tapes():
            cotangents = [
                tf.compat.v1.placeholder(tensor.dtype, tensor.shape) for tensor in operation.outputs
            ]
            gradients = [
                None if one is None else tf.convert_to_tensor(one) for one in rule_of(operation, *cotangents)
            ]
    return rule, cotangents, gradients


def _refuse_gradient(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue], arrays: Sequence[Value], why: str
) -> list[TensorValue]:
    origin = reader.origin(operation)
    message = (
        f"a gradient is taken through a function with a rule of its own at {origin.file}:{origin.line}, "
        "which the graph does not follow "
        f"({why})"
    )
    params = {"message": " ".join(message.split())}
    return [
        reader.call(REFUSE_GRADIENT, (value,), params, [held.seen], origin)[0]
        if has_derivative(value.spec)
        else held
        for value, held in zip(arrays, operands)
    ]


class _CustomGradientCall:
    """Builder of the ``custom_derivative`` node for one ``IdentityN`` that has a custom gradient."""

    def __init__(
        self, reader: GraphReader, operation: Any, operands: Sequence[TensorValue], arrays: Sequence[Value]
    ) -> None:
        self.reader, self.operation, self.operands, self.arrays = reader, operation, operands, arrays

    def node(
        self, rule: Any, cotangents: Sequence[Any], gradients: Sequence[Any], count: int, sources: list[int]
    ) -> list[TensorValue]:
        """Append the node, and return its results, then the operands after the first ``count``.

        ``sources`` are the indices of the differentiated operands.
        """
        results = self.operands[:count]
        # A region reads only its own inputs, so the function and the rule have separate ones.
        function = self._inputs("x", self.arrays)
        whole = self._inputs("x", self.arrays)
        given = [
            Value("cotangent", value.spec) for value in self.arrays[:count] if has_derivative(value.spec)
        ]
        taken = [*self._inputs("result", self.arrays[:count]), *given, *whole]
        derivatives = [place for place in range(count) if has_derivative(self.arrays[place].spec)]
        held = {
            id(cotangents[place]): TensorValue(value, self.operands[place].seen)
            for place, value in zip(derivatives, given)
        }
        # Results without a derivative, such as integers, have no cotangent in the node.
        held.update((id(tensor), self._zeros(tensor)) for tensor in cotangents if id(tensor) not in held)
        block = TracedBlock(
            self.reader, taken, lambda: self._read(rule, held, [gradients[place] for place in sources])
        )
        bodies = [
            Body("function", function, (), function[:count]),
            Body("function_rule", taken, *block.closed(block.results)),
        ]
        params = {"kind": "vjp", "differentiated": tuple(sources), "residuals": 0}
        made = BlockNode(self.reader, self.operation).add(
            "custom_derivative", self.arrays, bodies, results, **params
        )
        return [*made, *self.operands[count:]]

    def _read(self, rule: Any, held: dict[int, TensorValue], wanted: Sequence[Any]) -> list[TensorValue]:
        reader = self.reader
        outside = {
            id(inner): found for outer, inner in rule.captures if (found := reader.found(outer)) is not None
        }
        reader.orders -= 1
        try:
            return reader.values_of(rule, {**outside, **held}, wanted)
        finally:
            reader.orders += 1

    def _inputs(self, name: str, like: Sequence[Value]) -> list[Value]:
        return [Value(name, value.spec) for value in like]

    def _zeros(self, tensor: Any) -> TensorValue:
        return TensorValue(None, tf.zeros([size or 1 for size in tensor.shape.as_list()], tensor.dtype))


READ: dict[str, Handler] = {"IdentityN": identity}
