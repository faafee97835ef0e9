"""Functions with a derivative rule of their own: ``tf.custom_gradient``."""

from __future__ import annotations

from ....ir.node import Node
from ...derivatives import Derivative, arguments, bare, called, chosen, lines_of, tuple_of
from ...structured import Scope
from .table import rows


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    name = scope.define(derivative.function.name, lambda scope, name: _definition(scope, name, derivative))
    called(scope, node, name, len(node.outputs))


def _definition(scope: Scope, name: str, derivative: Derivative) -> None:
    """A function that gives the results, and the function that gives the gradients of the operands, which reads what it needs of the outer one."""
    operands = arguments(scope, derivative.operands)
    scope.line("@tf.custom_gradient")
    with scope.indented(f"def {name}({', '.join(operands)}):"):
        count = len(derivative.has_given)
        outputs = lines_of(scope, derivative.forward or derivative.function, operands)
        residuals = [_kept(scope, text) for text in outputs[count:]]
        gradient, cotangents = scope.new("gradient"), arguments(scope, derivative.given)
        scope.line("")
        with scope.indented(f"def {gradient}({bare(_distinct(scope, [*chosen(cotangents, derivative.has_given)]))}):"):
            results = arguments(scope, derivative.results)
            if derivative.used(derivative.results):  # computed again, so that their own derivative is that of the rule
                scope.line(f"{bare(results)} = {name}({bare(operands)})")
            made = lines_of(scope, derivative.rule, [*results, *residuals, *cotangents, *operands])
            scope.line(f"return {tuple_of(derivative.of_operands(made))}")
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
