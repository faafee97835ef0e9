"""Functions with a derivative rule of their own: ``tf.custom_gradient``."""

from __future__ import annotations

from ....ir.node import Node
from ...derivatives import Derivative, arguments, bare, called, chosen, tuple_of
from ...structured import Scope
from .table import rows


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    name = scope.define(derivative.function.name, lambda scope, name: _definition(scope, name, derivative))
    called(scope, node, name, len(node.outputs))


def _definition(scope: Scope, name: str, derivative: Derivative) -> None:
    """A function that gives the results, and the function that gives the gradients of the operands, which reads what it needs of the outer
    one."""
    operands = arguments(scope, derivative.operands)
    scope.line("@tf.custom_gradient")
    with scope.indented(f"def {name}({', '.join(operands)}):"):
        count = len(derivative.has_given)
        forward = scope.apart(derivative.forward or derivative.function, operands)
        scope.take(forward)  # its names stay in use: the gradient may read them
        outputs = forward.outputs
        residuals = [_kept(scope, text) for text in outputs[count:]]
        gradient, cotangents, results = scope.new("gradient"), arguments(scope, derivative.given), arguments(scope, derivative.results)
        rule = scope.apart(derivative.rule, [*results, *residuals, *cotangents, *operands])
        scope.line("")
        with scope.indented(f"def {gradient}({bare(_distinct(scope, [*chosen(cotangents, derivative.has_given)]))}):"):
            if any(map(rule.reads, results)):  # computed again, so that their own derivative is that of the rule
                scope.line(f"{bare(results)} = {name}({bare(operands)})")
            scope.take(rule)
            scope.line(f"return {tuple_of(derivative.of_operands(rule.outputs))}")
        scope.line("")
        results = [f"tf.identity({text})" if text in operands else text for text in outputs[:count]]
        scope.line(f"return {results[0] if len(results) == 1 else tuple_of(results)}, {gradient}")


def _kept(scope: Scope, text: str) -> str:
    """A name that stays as it is inside of the gradient."""
    if text.isidentifier():
        return text
    name = scope.new("residual")
    scope.line(f"{name} = {text}")
    return name


def _distinct(scope: Scope, names: list[str]) -> list[str]:
    return [scope.new("unused") if name == "_" else name for name in names]


rows.structure({"custom_derivative": _custom_derivative})
