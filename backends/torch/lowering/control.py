"""Control flow as Python statements, custom derivatives and collectives in torch.

The blocks of two-way branches, and of ``while`` loops without in-place writes, are functions, because
``torch.compile`` requires them for statements that depend on elements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ....ir.node import Node, Region, Value
from ....ops.collectives import REDUCTIONS
from ....sizes import Size, hints
from ....trees import iterate_structure
from ...common.statements import Lists, branch, scan_with, while_loop
from ...common.structured import (
    Derivative,
    Loop,
    Rule,
    Scope,
    arguments,
    assigned,
    associative_scan_by,
    bare,
    call,
    checkpointed,
    insert_region,
    names_of,
    with_checkpointed_step,
    with_placeholders,
    write_call_to,
    write_strong_zero,
)
from .table import rows

_COMPILED = "torch.compiler.is_compiling()"


class _StackedTensors(Lists):
    """Writer that collects the outputs of a loop in lists and stacks these after the loop."""

    def end(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for value, name in zip(node.outputs[node.params["carried"] :], outputs):
            stacked = f"torch.stack({name}[::-1])" if node.params["reverse"] else f"torch.stack({name})"
            is_filled = isinstance(node.params["length"], int) and node.params["length"] > 0
            if not is_filled:
                # A recorded call has the sizes that were recorded.
                shape = hints(value.shape[1:]) if node.record is not None else value.shape[1:]
                empty = f"torch.empty({scope.literal((0, *shape))!r}, dtype=torch.{value.dtype})"
                stacked = f"{stacked} if {name} else {empty}"
            scope.line(f"{name} = {stacked}")


def _loop_header(scope: Scope, node: Node, loop: Loop, names: list[str]) -> tuple[str, list[str]]:
    if not names:
        return f"for _ in range({scope.literal(node.params['length'])!r}):", []
    sequences = [f"{sequence}.flip(0)" if node.params["reverse"] else sequence for sequence in loop.sequences]
    rows_of = sequences[0] if len(names) == 1 else f"zip({', '.join(sequences)})"
    return f"for {', '.join(names)} in {rows_of}:", []


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    # torch.cond supports two branches only.
    if index.dtype != "bool":
        branch(scope, node)
        return
    chosen = repr(scope.literal(index))
    otherwise, then = (_write_function(scope, region, [], captured) for region in node.regions)
    made = ", ".join(scope.name(node))
    with scope.indented(f"if {_COMPILED}:"):
        scope.line(f"{made} = torch.cond({chosen}, {then}, {otherwise})")
    with scope.indented("else:"):
        scope.line(f"{made} = {then}() if {chosen} else {otherwise}()")
    scope.free([then, otherwise])


def _while_loop(scope: Scope, node: Node) -> None:
    # Functions would write to copies of memory that an iteration writes to.
    if node.writes:
        while_loop(scope, node)
        return
    (condition, body), loop = node.regions, Loop.of(scope, node)
    inner = names_of(scope, body, len(loop.state))
    goes_on, step = (_write_function(scope, region, inner, loop.captured) for region in (condition, body))
    scope.free(inner)
    made = scope.name_carry(node, body, is_statement=False)
    scope.text.update(zip(node.outputs, made))
    state, comma = ", ".join(made), "," if len(made) == 1 else ""
    assigned(scope, made, loop.state)
    with scope.indented(f"if {_COMPILED}:"):
        scope.line(
            f"{state}{comma} = torch._higher_order_ops.while_loop({goes_on}, {step}, ({state}{comma}))"
        )
    with scope.indented("else:"), scope.indented(f"while {goes_on}({state}):"):
        scope.line(f"{state} = {step}({state})")
    scope.free([goes_on, step])


def _associative_scan(scope: Scope, node: Node) -> None:
    associative_scan_by("associative_scan" if node.record is None else "generic_associative_scan")(
        scope, node
    )


def _call(scope: Scope, node: Node) -> None:
    if node.params.get("strong_zero"):
        return write_strong_zero(scope, node)
    if not node.params["checkpoint"]:
        return call(scope, node)
    name, operands = checkpointed(scope, node, ", ".join)
    scope.line(f"{', '.join(scope.name(node))} = run_again({', '.join([name, *operands])})")
    return scope.free([name])


def _scan(scope: Scope, node: Node) -> None:
    scan_with(_loop_header, _StackedTensors())(
        scope, with_checkpointed_step(node) if node.params["checkpoint"] else node
    )


def _write_function(scope: Scope, region: Region, inputs: Sequence[str], captured: Sequence[Any]) -> str:
    """Write ``region`` as a nested function with the parameters ``inputs``, and return its name."""
    # `torch.cond` and `while_loop` require results without aliases, so other results are copied.
    inside = scope.write_inner(region, inputs, captured, is_assigning=True)
    made = {value for node in region.block.nodes for value in node.outputs}
    outputs: dict[Value, str] = {}
    results = []
    for value, text in zip(region.block.outputs, inside.outputs):
        results.append(text if value in made and value not in outputs else f"{text}.clone()")
        outputs[value] = text
    name = scope.new(region.name)
    scope.blank()
    with scope.indented(f"def {name}({', '.join(inputs)}):"):
        scope.take(inside)
        scope.line(f"return {', '.join(results)}")
    scope.blank()
    inside.free()
    return name


rows.structure({"associative_scan": _associative_scan})
rows.structure({"branch": _branch, "call": _call, "scan": _scan, "while_loop": _while_loop})


_MAY_RETURN_OPERAND = frozenset({"astype", "broadcast_to", "conj", "real", "reshape"})


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    wanted = "".join(f"{part[:1].upper()}{part[1:]}" for part in derivative.function.name.split("_"))
    name = scope.define(wanted, lambda scope, name: _write_definition(scope, name, derivative, node.views))
    write_call_to(scope, node, f"{name}.apply", len(node.outputs) + len(derivative.residuals))


def _write_definition(scope: Scope, name: str, derivative: Derivative, views: Collection[int]) -> None:
    rule = derivative.written_rule(scope)
    with scope.indented(f"class {name}(torch.autograd.Function):"):
        scope.line("generate_vmap_rule = True")
        _method_forward(scope, derivative, views, _saved_values(derivative, rule))
        _method_setup(scope, derivative, rule)
        _method_backward(scope, name, derivative, rule)


def _method_forward(
    scope: Scope, derivative: Derivative, views: Collection[int], saved: Collection[Value]
) -> None:
    operands = arguments(scope, derivative.operands)
    _begin_method(scope)
    with scope.indented(f"def forward({bare(operands)}):"):
        region = derivative.forward or derivative.function
        outputs = insert_region(scope, region, operands)
        results = (*derivative.results, *derivative.residuals)
        places = {place for place, value in enumerate(results) if value in saved}
        scope.line(f"return {bare(_distinct_results(region, operands, outputs, views, places))}")
    scope.free(operands)


def _distinct_results(
    region: Region, operands: list[str], outputs: list[str], views: Collection[int], saved: Collection[int]
) -> list[str]:
    # torch cannot save an operand that is returned for the backward pass.
    makers = {value: node for node in region.block.nodes for value in node.outputs}
    before, texts = list(operands), []
    for place, (text, value) in enumerate(zip(outputs, region.block.outputs)):
        maker = makers.get(value) if isinstance(value, Value) else None
        if place in views:
            texts.append(f"{text}.view_as({text})" if text in before and place in saved else text)
        elif text in before:
            texts.append(f"{text}.clone()")
        elif maker is not None and (maker.regions or maker.op in _MAY_RETURN_OPERAND):
            texts.append(f"{text}.clone() if any({text} is given for given in ({bare(before)},)) else {text}")
        else:
            texts.append(text)
        before.append(text)
    return texts


def _method_setup(scope: Scope, derivative: Derivative, rule: Rule) -> None:
    values = [*derivative.operands, *derivative.results, *derivative.residuals]
    names = dict(zip(values, arguments(scope, values)))
    held = [names[value] for value in _saved_values(derivative, rule)]
    residuals = [names[value] for value in derivative.residuals]
    _begin_method(scope)
    with scope.indented("def setup_context(ctx, inputs, output):"):
        _write_unpacking(
            scope,
            [name if name in held else "_" for name in map(names.__getitem__, derivative.operands)],
            "inputs",
        )
        results = [names[value] for value in (*derivative.results, *derivative.residuals)]
        if len(results) == 1 and results[0] in held:
            scope.line(f"{results[0]} = output")
        elif len(results) > 1:
            _write_unpacking(
                scope, [name if name in held or name in residuals else "_" for name in results], "output"
            )
        if residuals:
            scope.line(f"ctx.mark_non_differentiable({bare(residuals)})")
        numbers, tensors = _divided(derivative, rule)
        if tensors or not (residuals or numbers):
            scope.line(f"ctx.save_for_backward({bare([names[value] for value in tensors])})")
        if numbers:
            scope.line(f"ctx.numbers = ({bare([names[value] for value in numbers])},)")
    scope.free(names.values())


def _method_backward(scope: Scope, name: str, derivative: Derivative, rule: Rule) -> None:
    numbers, tensors = _divided(derivative, rule)
    cotangents = with_placeholders(rule.named(derivative.given), derivative.has_given)
    given = [*cotangents, *["_"] * len(derivative.residuals)]
    _begin_method(scope)
    with scope.indented(f"def backward(ctx, {bare(_distinct(scope, given))}):"):
        _write_unpacking(scope, [rule.names[value] for value in tensors], "ctx.saved_tensors")
        _write_unpacking(scope, [rule.names[value] for value in numbers], "ctx.numbers")
        if rule.used(derivative.residuals):
            scope.line(
                "if torch.is_grad_enabled():  # for derivatives of derivatives, as functions of the operands"
            )
            targets = [*["_"] * len(derivative.results), *rule.named(derivative.residuals)]
            scope.line(
                f"    {bare(targets)} = "
                f"{name}.forward({bare([rule.names[value] for value in derivative.operands])})"
            )
        scope.take(rule.inside)
        scope.line(f"return {bare(derivative.of_operands(rule.inside.outputs))}")


def _saved_values(derivative: Derivative, rule: Rule) -> list[Value]:
    residuals = rule.used(derivative.residuals)
    operands = derivative.operands if residuals else rule.used(derivative.operands)
    return [*operands, *rule.used(derivative.results), *residuals]


def _divided(derivative: Derivative, rule: Rule) -> tuple[list[Value], list[Value]]:
    """Return the values to save for the backward pass: those that are read as numbers, and the others."""
    saved, read = _saved_values(derivative, rule), _numbers_read(derivative.rule)
    return [value for value in saved if value in read], [value for value in saved if value not in read]


def _numbers_read(region: Region) -> set[Value]:
    found: set[Value] = set()
    for node in region.block.nodes:
        sizes = [item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Size)]
        symbols = [symbol for size in sizes for symbol in size.symbols()]
        found.update(symbol.source for symbol in symbols if symbol.kind in ("item", "number"))
        if node.op == "custom_derivative":
            inner = Derivative.of(node)
            read = _numbers_read(inner.rule)
            found.update(value for own, value in zip(inner.operands, node.inputs) if own in read)
    return found


def _distinct(scope: Scope, names: list[str]) -> list[str]:
    return [scope.new("unused") if name == "_" and names.count("_") > 1 else name for name in names]


def _begin_method(scope: Scope) -> None:
    scope.line("")
    scope.line("@staticmethod")


def _write_unpacking(scope: Scope, names: list[str], text: str) -> None:
    if any(name != "_" for name in names):
        scope.line(f"({bare(names)},) = {text}" if len(names) == 1 else f"{bare(names)} = {text}")


rows.structure({"custom_derivative": _custom_derivative})


rows.table(
    {name: f"parallel.{name}({{x}}, {{axis_name}})" for name in (*REDUCTIONS, "all_gather")},
    unused={"size": "the axis has as many devices"},
)
rows.table(
    {
        "axis_index": "parallel.axis_index({axis_name})",
        "axis_indices": "torch.arange(parallel.axis_size({axis_name}), dtype=torch.int32)",
    }
)
rows.table({"sharding_hint": "parallel.hint({x}, {layout})"})
