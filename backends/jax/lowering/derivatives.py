"""Functions with a derivative rule of their own: ``jax.custom_jvp`` and ``jax.custom_vjp``."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.node import Node, Value
from ....ops.dtypes import is_complex
from ...derivatives import Derivative, arguments, bare, called, chosen, lines_of, tuple_of
from ...structured import Scope
from .table import rows


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    write, suffixes = (_jvp, ("_rule",)) if node.params["kind"] == "jvp" else (_vjp, ("_forward", "_backward"))
    name = scope.define(derivative.function.name, lambda scope, name: write(scope, name, derivative), suffixes)
    called(scope, node, name, len(node.outputs))


def _jvp(scope: Scope, name: str, derivative: Derivative) -> None:
    _function(scope, "jax.custom_jvp", name, derivative)
    rule = derivative.written_rule(scope)
    with scope.indented(f"def {name}_rule(primals, tangents):"):
        places = dict(zip(derivative.differentiated, rule.named(derivative.given)))
        _unpacked(scope, rule.named(derivative.operands), "primals")
        _unpacked(scope, [places.get(place, "_") for place in range(len(derivative.operands))], "tangents")
        scope.take(rule.inside)
        outputs, count = rule.inside.outputs, len(derivative.has_given)
        scope.line(f"return {_result(outputs[:count])}, {_result(outputs[count:])}")
    scope.line("")
    scope.line("")
    scope.line(f"{name}.defjvp({name}_rule)")


def _vjp(scope: Scope, name: str, derivative: Derivative) -> None:
    _function(scope, "jax.custom_vjp", name, derivative)
    rule = derivative.written_rule(scope)
    held = rule.used(derivative.operands, derivative.results, derivative.residuals)
    operands = arguments(scope, derivative.operands)
    with scope.indented(f"def {name}_forward({', '.join(operands)}):"):
        results, kept = _forward(scope, name, derivative, operands, held)
        scope.line(f"return {_result(results)}, {tuple_of(kept)}")
    scope.free({*operands, *(text for text in results if text.isidentifier())})
    scope.line("")
    scope.line("")
    cotangents = [*chosen(rule.named(derivative.given), derivative.has_given)]
    several = len(cotangents) > 1
    one = cotangents[0] if cotangents[0] != "_" else "cotangent"
    with scope.indented(f"def {name}_backward({'residuals' if held else '_'}, {'cotangents' if several else one}):"):
        _unpacked(scope, rule.named(held), "residuals")
        if several:
            _unpacked(scope, cotangents, "cotangents")
        for value in rule.used(derivative.given):
            if is_complex(value.dtype):  # JAX's convention is the conjugate
                scope.line(f"{rule.names[value]} = {rule.names[value]}.conj()")
        scope.take(rule.inside)
        outputs = rule.inside.outputs
        values = [derivative.operands[place] for place in derivative.differentiated]
        gradients = [f"jnp.conj({text})" if is_complex(value.dtype) else text for text, value in zip(outputs, values)]
        scope.line(f"return {tuple_of(derivative.of_operands(gradients))}")
    scope.line("")
    scope.line("")
    scope.line(f"{name}.defvjp({name}_forward, {name}_backward)")


def _function(scope: Scope, decorator: str, name: str, derivative: Derivative) -> None:
    operands = arguments(scope, derivative.operands)
    scope.line(f"@{decorator}")
    with scope.indented(f"def {name}({', '.join(operands)}):"):
        scope.line(f"return {_result(lines_of(scope, derivative.function, operands))}")
    scope.free(operands)
    scope.line("")
    scope.line("")


def _forward(scope: Scope, name: str, derivative: Derivative, operands: list[str], held: Sequence[Value]) -> tuple[list[str], list[str]]:
    """The results in the forward function, and what is held of them, the operands and what is computed besides."""
    known = dict(zip(derivative.operands, operands))
    count = len(derivative.has_given)
    outputs = lines_of(scope, derivative.forward, operands) if derivative.forward is not None else []
    known.update(zip(derivative.residuals, outputs[count:]))
    results = outputs[:count]
    if not results or any(value in held for value in derivative.results):  # whose own derivative is that of the rule
        results = arguments(scope, derivative.results)
        scope.line(f"{bare(results)} = {name}({', '.join(operands)})")
        known.update(zip(derivative.results, results))
    return results, [known[value] for value in held]


def _unpacked(scope: Scope, names: Sequence[str], text: str) -> None:
    if any(name != "_" for name in names):
        scope.line(f"({bare(names)},) = {text}" if len(names) == 1 else f"{bare(names)} = {text}")


def _result(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else tuple_of(texts)


rows.structure({"custom_derivative": _custom_derivative})
