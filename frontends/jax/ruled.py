"""Calls of functions with a derivative rule of their own as nodes: ``custom_derivative``, whose regions are the function and its rule.

Written for JAX, rules of forward mode stay so; other targets get reverse mode. The value of a call is that of the function, not of its
forward function, for no target but JAX knows beforehand whether a gradient will be taken; where both are computed alike
(:mod:`.value_numbers`), they are computed once. Before, a rule had to show that it multiplies element by element: its slopes were computed
also where nobody took a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from ...ir.closing import Body, close
from ...ir.node import Node, Value, values_in
from ...ir.record import CallRecord
from ...ops.registry import ArraySpec, get
from ...sizes import Size, expression_of
from ...tracing.faults import is_fault
from .control_flow import names_of_arguments
from .names import REFUSE_GRADIENT
from .rules import Rule, has_derivative, name_of, rule_of
from .value_numbers import ValueNumbers

if TYPE_CHECKING:
    from .equations import Reader

ORDERS = 2  # of derivatives that are followed: a rule may use the function that it is the rule of


def ruled(reader: Reader, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> list[Any]:
    """The results of a call, with the derivative that its rule gives; where the rule cannot be traced, of no derivative."""
    call = Call(reader, equation, inner, operands)
    if reader.orders is None:
        return call.inlined()
    call.refuse_closed_over()
    if reader.orders == 0:
        return call.refused(f"the derivative of order {ORDERS + 1} is asked for")
    # JAX alone has both modes, and a custom_vjp has reverse mode alone
    is_forward = not reader.as_words and not equation.primitive.name.startswith("custom_vjp_call")
    try:
        rule = rule_of(equation, [place for place in call.arrays if reader.has_tangent(operands[place])], is_forward)
    # The rule is the user's code, and may do or refuse anything.
    except Exception as problem:
        if is_fault(problem):
            raise
        reason = f"{type(problem).__name__}: {problem}".strip().splitlines()[0]
        return call.refused(f"it cannot be traced ({reason})")
    if not rule.results or not rule.sources:
        return call.inlined()
    return call.forward_mode(rule, rule.tangents) if rule.tangents is not None else call.reverse_mode(rule)


class Call:
    """Writes the node of one call. Its operands are the arrays among those of the equation; numbers stand inside of the regions."""

    def __init__(self, reader: Reader, equation: Any, inner: ClosedJaxpr, operands: list[Any]) -> None:
        self.reader, self.equation, self.inner, self.operands = reader, equation, inner, list(operands)
        self.results = [var.aval for var in equation.outvars]
        self.arrays = [place for place, item in enumerate(operands) if isinstance(item, Value)]
        self.origin = reader.origin(equation, name_of(equation)[0])
        name = name_of(equation)[0].rpartition(".")[2]
        self.name = name if name.isidentifier() else "function"

    def refuse_closed_over(self) -> None:
        """Refuse gradients of what the function closes over, where that depends on arguments: the rule says nothing of them."""
        message = self._message("it is taken with respect to an array that the function closes over; pass it as an argument")
        for place in self.arrays:
            item, aval = self.operands[place], self.equation.invars[place].aval
            if place < self.equation.params.get("num_consts", 0) and has_derivative(aval) and not self.reader.is_constant(item):
                self.operands[place] = self.reader.made(REFUSE_GRADIENT, (item, item), {"message": message}, self.origin, aval)

    def inlined(self) -> list[Any]:
        """The results alone."""
        return self.reader.inlined(self.equation, self.inner, self.operands)

    def kept(self) -> list[Any]:
        """The call itself: the node ``call``, whose region is the function."""
        body = self._function(self.reader.orders)
        for value, place in zip(body.inputs, self.arrays):  # sizes of the outside that the function reads are those of its own arguments
            shape = tuple(map(expression_of, self.equation.invars[place].aval.shape))
            value.spec = ArraySpec((*shape, *value.shape[len(shape) :]), value.dtype)
        made = self._append("call", [body], dict(get("call").params))
        for value in self.reader.nodes[-1].regions[0].block.inputs:
            value.spec = ArraySpec(value.spec.hints, value.dtype)
        return made

    def refused(self, why: str) -> list[Any]:
        """The results, of which no derivative may be taken."""
        values, sources = self.inlined(), [self.operands[place] for place in self.arrays]
        message = self._message(why)
        for place, aval in enumerate(self.results):
            if has_derivative(aval) and sources:
                inputs = (values[place], *sources)
                values[place] = self.reader.made(REFUSE_GRADIENT, inputs, {"message": message}, self.origin, aval)
        return values

    def forward_mode(self, rule: Rule, tangents: ClosedJaxpr) -> list[Any]:
        """The node whose rule maps tangents."""
        given = self._inputs("tangent", [self.equation.invars[place].aval for place in rule.sources])
        inputs, operands = self._operands()
        avals = [*self.results, *(self.results[place] for place in rule.results)]
        arguments = [*given, *operands]
        body = self._body("rule", [*given, *inputs], lambda: self.reader.read(tangents, arguments), avals, self._less())
        return self._node([self._function(), body], rule, kind="jvp")

    def reverse_mode(self, rule: Rule) -> list[Any]:
        """The node whose rule maps cotangents. What the rule needs of the forward function are operands, and residuals that it computes."""
        assert rule.forward is not None and rule.backward is not None
        function, (forward, needed) = self._function(), self._forward(rule.forward)
        residuals = dict(
            zip(forward.outputs[len(self.results) :], [Value("residual", item.spec) for item in forward.outputs[len(self.results) :]])
        )
        inputs, _ = self._operands()
        known = {**dict(zip(forward.inputs, inputs)), **residuals}
        cotangents = self._inputs("cotangent", [self.results[place] for place in rule.results])
        taken = [*self._inputs("result", self.results), *residuals.values(), *cotangents, *inputs]
        arguments = [*(known.get(item, item) if isinstance(item, Value) else item for item in needed), *cotangents]
        avals, backward = [self.equation.invars[place].aval for place in rule.sources], rule.backward
        body = self._body("rule", taken, lambda: self.reader.read(backward, arguments), avals, self._less())
        bodies = [function, forward, body] if residuals else [function, body]
        return self._node(bodies, rule, kind="vjp", residuals=len(residuals))

    # ------------------------------------------------------------------------------ bodies
    def _function(self, orders: int | None = None) -> Body:
        """The function. Of one that has a rule, nobody takes a derivative of the code."""
        inputs, operands = self._operands()
        return self._body("", inputs, lambda: self.reader.read(self.inner, operands), self.results, orders)

    def _forward(self, program: ClosedJaxpr) -> tuple[Body, list[Any]]:
        """The forward function, and what the rule needs of it, in its values. It gives the results, and each residual that it computes
        once.

        Its results are those of the function. Where these are computed otherwise, both programs are in it: a target does not know
        beforehand whether a gradient will be taken.
        """
        inputs, operands = self._operands()
        needed: list[Any] = []

        def read() -> list[Any]:
            results = self.reader.read(self.inner, operands)
            found = self.reader.read(program, operands)
            needed[:], found = found[len(results) :], found[: len(results)]
            made = {value for node in self.reader.nodes for value in node.outputs}
            residuals = dict.fromkeys(item for item in needed if isinstance(item, Value) and item in made)
            behind = {value for node in _contributing(self.reader.nodes, residuals) for value in node.outputs}
            if any(item in behind for item in found if isinstance(item, Value)) and self._are_alike(inputs, results, found):
                results = found
            return [*results, *residuals]

        return self._body("forward", inputs, read, self.results, self._less()), needed

    def _are_alike(self, inputs: Sequence[Value], results: Sequence[Any], others: Sequence[Any]) -> bool:
        """Whether both are computed in the same way."""
        numbers = ValueNumbers()
        numbers.follow(inputs, [("input", place) for place in range(len(inputs))], self.reader.nodes)
        return list(map(numbers.of, results)) == list(map(numbers.of, others))

    def _less(self) -> int | None:
        return None if self.reader.orders is None else self.reader.orders - 1

    def _operands(self) -> tuple[list[Value], list[Any]]:
        """New values for the arrays among the operands, and all operands with these."""
        names = names_of_arguments(self.inner, len(self.operands))
        inputs = {place: self._input(names[place], self.equation.invars[place].aval) for place in self.arrays}
        self.reader.stands_for.update((value, self.operands[place]) for place, value in inputs.items())
        return list(inputs.values()), [inputs.get(place, item) for place, item in enumerate(self.operands)]

    def _inputs(self, name: str, avals: Sequence[Any]) -> list[Value]:
        return [self._input(name, aval) for aval in avals]

    def _input(self, name: str, aval: Any) -> Value:
        return Value(name, self.reader.spec(aval))

    def _body(self, name: str, inputs: Sequence[Value], read: Callable[[], list[Any]], avals: Sequence[Any], orders: int | None) -> Body:
        """What ``read`` appends, as a block. Outputs are arrays of these types; there may be more of them."""
        reader = self.reader
        before = reader.nodes, reader.around, reader.orders, reader.checks
        reader.nodes, reader.around, reader.orders, reader.checks = [], self.origin, orders, False
        try:
            found = read()
            outputs = [*map(self._array, found, avals), *found[len(avals) :]]
            nodes = _contributing(reader.nodes, outputs)
        finally:
            reader.nodes, reader.around, reader.orders, reader.checks = before
        return Body(f"{self.name}_{name}".rstrip("_"), tuple(inputs), tuple(nodes), tuple(outputs))

    def _array(self, item: Any, aval: Any) -> Value:
        if isinstance(item, Value):
            return item
        number = item if isinstance(item, Size) else np.asarray(item).astype(aval.dtype)[()]
        return self.reader.made("jax.numpy.asarray", (number,), {}, self.origin, aval)

    def _node(self, bodies: Sequence[Body], rule: Rule, kind: str, residuals: int = 0) -> list[Any]:
        places = tuple(self.arrays.index(place) for place in rule.sources)
        return self._append("custom_derivative", bodies, {"kind": kind, "differentiated": places, "residuals": residuals})

    def _append(self, op: str, bodies: Sequence[Body], params: dict[str, Any]) -> list[Any]:
        regions, captured = close(*bodies)
        outputs = tuple(self._inputs(self.name, self.results))
        inputs = (*(self.operands[place] for place in self.arrays), *captured)
        self.reader.append(Node(op, inputs, params, self.origin, outputs, CallRecord(op, result=outputs), regions))
        return list(outputs)

    def _message(self, why: str) -> str:
        name, written = name_of(self.equation)
        kind = "custom_jvp" if self.equation.primitive.name == "custom_jvp_call" else "custom_vjp"
        line = f"{self.origin.file}:{self.origin.line}" if self.origin.file else written
        return (
            f"a gradient is taken through the call of {name} at {Path(line).name}, which has a derivative rule of its own (jax.{kind}) "
            f"that the graph does not follow: {why}. Take the gradient in JAX, of the original"
        )


def _contributing(nodes: Sequence[Node], outputs: Iterable[Any]) -> list[Node]:
    """The nodes without those that the outputs do not need; calls of a traced program do nothing but give results."""
    needed = set(values_in(list(outputs)))
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.uses)
    return kept[::-1]
