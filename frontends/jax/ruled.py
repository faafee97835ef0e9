"""Calls of functions with a derivative rule of their own as nodes: the forward computation, and operations that carry its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from ...ir.node import Origin, Value
from .names import REFUSE_GRADIENT, WITH_GRADIENT
from .rules import Rule, name_of, rule_of

if TYPE_CHECKING:
    from .equations import Reader

ORDERS = 2  # of derivatives that are followed: a rule may use the function that it is the rule of


def ruled(reader: Reader, equation: Any, values: list[Any], operands: list[Any]) -> list[Any]:
    """The results of a call, whose ``values`` are known, with the derivative that its rule gives."""
    rule = rule_of(equation, [place for place, item in enumerate(operands) if isinstance(item, Value)])
    if not rule.results or not rule.sources:
        return values
    origin = reader.origin(equation, name_of(equation)[0])
    nodes = _Nodes(reader, equation, origin, [operands[place] for place in rule.sources])
    if reader.orders == 0:
        return nodes.refused(rule, values, f"the derivative of order {ORDERS + 1} is asked for")
    if rule.problem:
        return nodes.refused(rule, values, rule.problem)
    return nodes.by_slopes(rule, values, operands) if rule.slopes is not None else nodes.by_tangents(rule, values, operands)


class _Nodes:
    """Writes the nodes of one call."""

    def __init__(self, reader: Reader, equation: Any, origin: Origin, sources: list[Value]) -> None:
        self.reader, self.equation, self.origin, self.sources = reader, equation, origin, sources

    def refused(self, rule: Rule, values: list[Any], why: str) -> list[Any]:
        """The results, of which no derivative may be taken."""
        message = self._message(why)
        return [self._refusing(item, place, message) if place in rule.results else item for place, item in enumerate(values)]

    def by_slopes(self, rule: Rule, values: list[Any], operands: list[Any]) -> list[Any]:
        """The results with a slope for each of their sources."""
        slopes = self.reader.derivative(self.equation, rule.slopes, operands)
        found = list(values)
        for place in rule.results:
            pairs = [(operands[source], slope) for (result, source), slope in zip(rule.pairs, slopes) if result == place]
            found[place] = self._with_slopes(values[place], pairs, place)
        return found

    def by_tangents(self, rule: Rule, values: list[Any], operands: list[Any]) -> list[Any]:
        """The results with the gradients of their tangents, computed from tangents that are 0. Of these no further derivative is known."""
        tangents = [self._tangent(operands[place], self.equation.invars[place].aval) for place in rule.sources]
        of_results = self.reader.derivative(self.equation, rule.tangents, [*tangents, *operands], orders=None)
        message = self._message("its second derivative is asked for, and the rule does more than multiply element by element")
        found = list(values)
        for place, tangent in zip(rule.results, of_results):
            ones = self._filled(self.equation.outvars[place].aval, values[place], 1)
            slope = self._made(REFUSE_GRADIENT, (ones, *self.sources), place, message=message)
            found[place] = self._made(WITH_GRADIENT, (values[place], tangent, slope), place)
        return found

    def _with_slopes(self, value: Any, pairs: list[tuple[Any, Any]], place: int) -> Any:
        if not pairs:
            return self._computed(jax.lax.stop_gradient, self.equation.outvars[place].aval, value)
        return self._made(WITH_GRADIENT, (value, *(item for pair in pairs for item in pair)), place)

    def _tangent(self, source: Value, aval: Any) -> Any:
        """Zeros through which gradients go on to a source as they are."""
        inputs = self._filled(aval, source, 0), source, self._filled(aval, source, 1)
        return self.reader.made(WITH_GRADIENT, inputs, {}, self.origin, aval)

    def _filled(self, aval: Any, like: Any, number: int) -> Any:
        return self._computed(lambda array: jax.numpy.full_like(array, number), aval, like)

    def _computed(self, function: Callable[[Any], Any], aval: Any, item: Any) -> Any:
        program = jax.make_jaxpr(function)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        return self.reader.derivative(self.equation, program, [item])[0]

    def _refusing(self, value: Any, place: int, message: str) -> Any:
        return self._made(REFUSE_GRADIENT, (value, *self.sources), place, message=message)

    def _made(self, op: str, inputs: Sequence[Any], place: int, **params: Any) -> Value:
        return self.reader.made(op, tuple(inputs), params, self.origin, self.equation.outvars[place].aval)

    def _message(self, why: str) -> str:
        name, written = name_of(self.equation)
        kind = "custom_jvp" if self.equation.primitive.name == "custom_jvp_call" else "custom_vjp"
        line = f"{self.origin.file}:{self.origin.line}" if self.origin.file else written
        return (
            f"a gradient is taken through the call of {name} at {Path(line).name}, which has a derivative rule of its own (jax.{kind}) that the graph does not follow: {why}. "
            "Take the gradient in JAX, of the original, or write the rule with operations that are linear in the tangents or cotangents"
        )


__all__ = ["ORDERS", "ruled"]
