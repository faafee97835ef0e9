"""Control flow by ``tf.cond``, ``tf.switch_case`` and ``tf.while_loop``; custom derivatives, collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ir.node import Node, Region, Value
from ....ops.collectives import REDUCTIONS
from ...common.structured import (
    Derivative,
    Loop,
    Scope,
    arguments,
    associative_scan_by,
    bare,
    call,
    checkpointed,
    function,
    names_of,
    tuple_text,
    with_placeholders,
    write_call_to,
    write_strong_zero,
)
from .table import rows


def _scan(scope: Scope, node: Node) -> None:
    loop, params, count = Loop.of(scope, node), node.params, node.params["carried"]
    stacked = node.outputs[count:]

    def results(made: Sequence[str]) -> str:
        return f"{tuple_text(made[:count])}, {tuple_text(made[count:])}" if stacked else tuple_text(made)

    name, captured = _write_iteration(scope, node, loop, results)
    specs = [tuple_text([_write_spec(scope, node, value) for value in stacked])] if stacked else []
    # Results may take the names of operands that nothing reads later.
    scope.release(node)
    made = scope.name(node)
    length = repr(scope.literal(params["length"]))
    options = ["reverse=True"] * params["reverse"] + [f"captured={tuple_text(captured)}"] * bool(captured)
    body = f"run_again({name})" if params["checkpoint"] else name
    given = ", ".join([body, tuple_text(loop.state), tuple_text(loop.sequences), length, *specs, *options])
    if stacked:
        state = tuple_text(made[:count]) if count else "_"
        scope.line(f"{state}, {tuple_text(made[count:])} = scan({given})")
    else:
        scope.line(f"{bare(made) if count > 1 else tuple_text(made)} = iterate({given})")
    scope.free([name])


def _write_iteration(
    scope: Scope, node: Node, loop: Loop, results: Callable[[Sequence[str]], str]
) -> tuple[str, list[str]]:
    """Write the function of one iteration, and return its name and the captured arrays that it takes."""
    own = len(loop.state) + len(loop.sequences)
    if node.params["checkpoint"]:
        name, operands = checkpointed(scope, node, results)
        return name, operands[own:]
    (body,) = node.regions
    inputs = names_of(scope, body, own)
    inside = scope.write_inner(body, inputs, loop.captured, is_assigning=True)
    name = function(scope, body.name, inputs, inside, results(inside.outputs))
    inside.free()
    scope.free(inputs)
    return name, []


def _write_spec(scope: Scope, node: Node, value: Value) -> str:
    shape = None if node.record is not None and node.params["length"] != 0 else scope.literal(value.shape[1:])
    return f"({shape!r}, {scope.dialect.dtype_text(value.dtype)})"


def _while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    state = names_of(scope, body, len(loop.state))
    asked = scope.write_inner(condition, state, loop.captured)
    goes_on = function(scope, condition.name, state, asked, asked.outputs[0])
    asked.free()
    step = scope.write_inner(body, state, loop.captured, is_assigning=True)
    name = function(scope, body.name, state, step, tuple_text(step.outputs))
    step.free()
    scope.free(state)
    scope.release(node)
    made = scope.name(node)
    scope.line(f"{tuple_text(made)} = while_loop({goes_on}, {name}, {tuple_text(loop.state)})")
    scope.free([name, goes_on])


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    names = [_thunk(scope, region, captured) for region in node.regions]
    scope.release(node)
    made = scope.name(node)
    if index.dtype == "bool":
        scope.line(f"{tuple_text(made)} = tf.cond({chosen}, {names[1]}, {names[0]})")
    else:
        scope.line(f"{tuple_text(made)} = tf.switch_case(tf.cast({chosen}, tf.int32), [{', '.join(names)}])")
    scope.free(names)


def _thunk(scope: Scope, region: Region, captured: Sequence[Any]) -> str:
    inside = scope.write_inner(region, [], captured)
    name = function(
        scope, region.name, [], inside, tuple_text([f"tf.identity({text})" for text in inside.outputs])
    )
    inside.free()
    return name


def _call(scope: Scope, node: Node) -> None:
    if node.params.get("strong_zero"):
        return write_strong_zero(scope, node)
    if not node.params["checkpoint"]:
        return call(scope, node)
    name, operands = checkpointed(scope, node, tuple_text)
    scope.line(f"{tuple_text(scope.name(node))} = run_again({name})({', '.join(operands)})")
    return scope.free([name])


rows.structure(
    {
        "associative_scan": associative_scan_by("associative_scan"),
        "branch": _branch,
        "call": _call,
        "scan": _scan,
        "while_loop": _while_loop,
    }
)


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    name = scope.define(
        derivative.function.name, lambda scope, name: _write_definition(scope, name, derivative)
    )
    write_call_to(scope, node, name, len(node.outputs))


def _write_definition(scope: Scope, name: str, derivative: Derivative) -> None:
    """Write the ``tf.custom_gradient`` function ``name``, which returns results and a gradient function."""
    operands = arguments(scope, derivative.operands)
    scope.line("@tf.custom_gradient")
    with scope.indented(f"def {name}({', '.join(operands)}):"):
        count = len(derivative.has_given)
        forward = scope.write_separately(derivative.forward or derivative.function, operands)
        # The gradient may read names of the forward pass, so they are not freed.
        scope.take(forward)
        outputs = forward.outputs
        residuals = [_bind_residual(scope, text) for text in outputs[count:]]
        gradient, cotangents, results = (
            scope.new("gradient"),
            arguments(scope, derivative.given),
            arguments(scope, derivative.results),
        )
        rule = scope.write_separately(derivative.rule, [*results, *residuals, *cotangents, *operands])
        scope.line("")
        given = _distinct(scope, [*with_placeholders(cotangents, derivative.has_given)])
        with scope.indented(f"def {gradient}({bare(given)}):"):
            # The results are recomputed, so that their own derivatives follow the rule.
            if any(map(rule.reads, results)):
                scope.line(f"{bare(results)} = {name}({bare(operands)})")
            scope.take(rule)
            scope.line(f"return {tuple_text(derivative.of_operands(rule.outputs))}")
        scope.line("")
        results = [f"tf.identity({text})" if text in operands else text for text in outputs[:count]]
        scope.line(f"return {results[0] if len(results) == 1 else tuple_text(results)}, {gradient}")


def _bind_residual(scope: Scope, text: str) -> str:
    if text.isidentifier():
        return text
    name = scope.new("residual")
    scope.line(f"{name} = {text}")
    return name


def _distinct(scope: Scope, names: list[str]) -> list[str]:
    return [scope.new("unused") if name == "_" else name for name in names]


rows.structure({"custom_derivative": _custom_derivative})


rows.table(
    {name: f"parallel.{name}({{x}}, {{axis_name}})" for name in (*REDUCTIONS, "all_gather")},
    unused={"size": "the axis has as many devices"},
)
rows.table(
    {
        "axis_index": "parallel.axis_index({axis_name})",
        "axis_indices": "tf.range(parallel.axis_size({axis_name}))",
    }
)
