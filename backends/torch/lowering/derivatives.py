"""Functions with a derivative rule of their own: classes of ``torch.autograd.Function`` in the module, which ``torch.compile`` and ``torch.func`` take."""

from __future__ import annotations

from ....ir.node import Node
from ...derivatives import Derivative, arguments, bare, called, chosen, lines_of, tuple_of
from ...structured import Scope
from .table import rows


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    wanted = "".join(f"{part[:1].upper()}{part[1:]}" for part in derivative.function.name.split("_"))
    name = scope.define(wanted, lambda scope, name: _definition(scope, name, derivative))
    called(scope, node, f"{name}.apply", len(node.outputs) + len(derivative.residuals))


def _definition(scope: Scope, name: str, derivative: Derivative) -> None:
    with scope.indented(f"class {name}(torch.autograd.Function):"):
        scope.line("generate_vmap_rule = True")
        _method_forward(scope, derivative)
        _method_setup(scope, derivative)
        _method_backward(scope, name, derivative)


def _method_forward(scope: Scope, derivative: Derivative) -> None:
    operands = arguments(scope, derivative.operands)
    _begin(scope)
    with scope.indented(f"def forward({bare(operands)}):"):
        outputs = lines_of(scope, derivative.forward or derivative.function, operands)
        scope.line(f"return {bare([f'{text}.clone()' if text in operands else text for text in outputs])}")
    scope.free(operands)


def _method_setup(scope: Scope, derivative: Derivative) -> None:
    """What the rule uses is saved. Residuals are results for torch, of no derivative."""
    operands, results = arguments(scope, derivative.operands), arguments(scope, [*derivative.results, *derivative.residuals])
    names = dict(zip([*derivative.operands, *derivative.results, *derivative.residuals], [*operands, *results]))
    held = [names[value] for value in _held(derivative)]
    residuals = results[len(derivative.results) :]
    _begin(scope)
    with scope.indented("def setup_context(ctx, inputs, output):"):
        _unpacked(scope, [name if name in held else "_" for name in operands], "inputs")
        if len(results) == 1 and results[0] in held:
            scope.line(f"{results[0]} = output")
        elif len(results) > 1:
            _unpacked(scope, [name if name in held or name in residuals else "_" for name in results], "output")
        if residuals:
            scope.line(f"ctx.mark_non_differentiable({bare(residuals)})")
        scope.line(f"ctx.save_for_backward({bare(held)})")
    scope.free([*operands, *results])


def _method_backward(scope: Scope, name: str, derivative: Derivative) -> None:
    held = _held(derivative)
    cotangents, names = arguments(scope, derivative.given), dict(zip(held, arguments(scope, held)))
    given = [*chosen(cotangents, derivative.has_given), *["_"] * len(derivative.residuals)]
    given = [scope.new("unused") if text == "_" and given.count("_") > 1 else text for text in given]
    _begin(scope)
    with scope.indented(f"def backward(ctx, {bare(given)}):"):
        _unpacked(scope, list(names.values()), "ctx.saved_tensors")
        if used := derivative.used(derivative.residuals):
            scope.line("if torch.is_grad_enabled():  # for derivatives of derivatives, as functions of the operands")
            targets = [*["_"] * len(derivative.results), *(names[value] if value in used else "_" for value in derivative.residuals)]
            operands = [names.get(value, "None") for value in derivative.operands]
            scope.line(f"    {bare(targets)} = {name}.forward({bare(operands)})")
        inputs = [names.get(value, "_") for value in (*derivative.results, *derivative.residuals)]
        outputs = lines_of(scope, derivative.rule, [*inputs, *cotangents, *(names.get(value, "_") for value in derivative.operands)])
        scope.line(f"return {bare(derivative.of_operands(outputs))}")


def _held(derivative: Derivative) -> list:
    """What is saved of the operands, results and residuals; all operands where residuals may have to be computed again."""
    residuals = derivative.used(derivative.residuals)
    operands = derivative.operands if residuals else derivative.used(derivative.operands)
    return [*operands, *derivative.used(derivative.results), *residuals]


def _begin(scope: Scope) -> None:
    scope.line("")
    scope.line("@staticmethod")


def _unpacked(scope: Scope, names: list[str], text: str) -> None:
    if any(name != "_" for name in names):
        scope.line(f"({bare(names)},) = {text}" if len(names) == 1 else f"{bare(names)} = {text}")


rows.structure({"custom_derivative": _custom_derivative})
