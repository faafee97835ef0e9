"""Functions with a derivative rule of their own: classes of ``torch.autograd.Function`` in the module, which ``torch.compile`` and
``torch.func`` take."""

from __future__ import annotations

from ....ir.block import Region
from ....ir.node import Node, Value
from ...derivatives import Derivative, Rule, arguments, bare, called, chosen, lines_of
from ...structured import Scope
from .table import rows

_MAY_RETURN_OPERAND = frozenset({"astype", "broadcast_to", "conj", "real", "reshape"})


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    wanted = "".join(f"{part[:1].upper()}{part[1:]}" for part in derivative.function.name.split("_"))
    name = scope.define(wanted, lambda scope, name: _definition(scope, name, derivative))
    called(scope, node, f"{name}.apply", len(node.outputs) + len(derivative.residuals))


def _definition(scope: Scope, name: str, derivative: Derivative) -> None:
    rule = derivative.written_rule(scope)
    with scope.indented(f"class {name}(torch.autograd.Function):"):
        scope.line("generate_vmap_rule = True")
        _method_forward(scope, derivative)
        _method_setup(scope, derivative, rule)
        _method_backward(scope, name, derivative, rule)


def _method_forward(scope: Scope, derivative: Derivative) -> None:
    operands = arguments(scope, derivative.operands)
    _begin(scope)
    with scope.indented(f"def forward({bare(operands)}):"):
        region = derivative.forward or derivative.function
        outputs = lines_of(scope, region, operands)
        scope.line(f"return {bare(_distinct_results(region, operands, outputs))}")
    scope.free(operands)


def _distinct_results(region: Region, operands: list[str], outputs: list[str]) -> list[str]:
    """Return the texts of results, none of which is an operand or another result: torch can save neither for the backward pass."""
    makers = {value: node for node in region.block.nodes for value in node.outputs}
    before, texts = list(operands), []
    for text, value in zip(outputs, region.block.outputs):
        maker = makers.get(value) if isinstance(value, Value) else None
        if text in before:
            texts.append(f"{text}.clone()")
        elif maker is not None and (maker.regions or maker.op in _MAY_RETURN_OPERAND):
            texts.append(f"{text}.clone() if any({text} is given for given in ({bare(before)},)) else {text}")
        else:
            texts.append(text)
        before.append(text)
    return texts


def _method_setup(scope: Scope, derivative: Derivative, rule: Rule) -> None:
    """What the rule uses is saved. Residuals are results for torch, of no derivative."""
    values = [*derivative.operands, *derivative.results, *derivative.residuals]
    names = dict(zip(values, arguments(scope, values)))
    held = [names[value] for value in _held(derivative, rule)]
    residuals = [names[value] for value in derivative.residuals]
    _begin(scope)
    with scope.indented("def setup_context(ctx, inputs, output):"):
        _unpacked(scope, [name if name in held else "_" for name in map(names.__getitem__, derivative.operands)], "inputs")
        results = [names[value] for value in (*derivative.results, *derivative.residuals)]
        if len(results) == 1 and results[0] in held:
            scope.line(f"{results[0]} = output")
        elif len(results) > 1:
            _unpacked(scope, [name if name in held or name in residuals else "_" for name in results], "output")
        if residuals:
            scope.line(f"ctx.mark_non_differentiable({bare(residuals)})")
        if held or not residuals:
            scope.line(f"ctx.save_for_backward({bare(held)})")
    scope.free(names.values())


def _method_backward(scope: Scope, name: str, derivative: Derivative, rule: Rule) -> None:
    held = _held(derivative, rule)
    given = [*chosen(rule.named(derivative.given), derivative.has_given), *["_"] * len(derivative.residuals)]
    _begin(scope)
    with scope.indented(f"def backward(ctx, {bare(_distinct(scope, given))}):"):
        _unpacked(scope, [rule.names[value] for value in held], "ctx.saved_tensors")
        if rule.used(derivative.residuals):
            scope.line("if torch.is_grad_enabled():  # for derivatives of derivatives, as functions of the operands")
            targets = [*["_"] * len(derivative.results), *rule.named(derivative.residuals)]
            scope.line(f"    {bare(targets)} = {name}.forward({bare([rule.names[value] for value in derivative.operands])})")
        scope.take(rule.inside)
        scope.line(f"return {bare(derivative.of_operands(rule.inside.outputs))}")


def _held(derivative: Derivative, rule: Rule) -> list[Value]:
    """What is saved of the operands, results and residuals; all operands where residuals may have to be computed again."""
    residuals = rule.used(derivative.residuals)
    operands = derivative.operands if residuals else rule.used(derivative.operands)
    return [*operands, *rule.used(derivative.results), *residuals]


def _distinct(scope: Scope, names: list[str]) -> list[str]:
    """Names of arguments, of which several may be unused."""
    return [scope.new("unused") if name == "_" and names.count("_") > 1 else name for name in names]


def _begin(scope: Scope) -> None:
    scope.line("")
    scope.line("@staticmethod")


def _unpacked(scope: Scope, names: list[str], text: str) -> None:
    if any(name != "_" for name in names):
        scope.line(f"({bare(names)},) = {text}" if len(names) == 1 else f"{bare(names)} = {text}")


rows.structure({"custom_derivative": _custom_derivative})
