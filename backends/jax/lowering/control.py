"""Writers of control flow by ``lax.scan``, ``lax.while_loop``, ``lax.cond`` and ``lax.switch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.node import Node, Region, Value, values_in
from ....ops.collectives import REDUCTIONS
from ....ops.dtypes import is_complex, is_inexact
from ....passes.cleanup.constants import FILLS
from ....sizes import Size
from ...common.structured import (
    Derivative,
    Loop,
    Scope,
    arguments,
    bare,
    call,
    checkpointed,
    insert_region,
    names_of,
    packed,
    tuple_text,
    with_placeholders,
    write_call_to,
    write_strong_zero,
)
from .table import rows


def _scan(scope: Scope, node: Node) -> None:
    (body,), loop, params = node.regions, Loop.of(scope, node), node.params
    count = len(loop.state)
    _fill_like_operands(scope, node, count)
    state, elements = names_of(scope, body, count), names_of(scope, body, len(loop.sequences), count)
    # ``lax.map`` has neither a carry nor a direction.
    is_map = not state and elements and not params["reverse"] and not params["checkpoint"]
    parts = [elements] if is_map else [state, elements]
    name = _step(scope, body, parts, loop.captured, 0 if is_map else count)
    scope.free([*state, *elements])
    # Results may take the names of operands that nothing reads later.
    scope.release(node)
    made = scope.name(node)
    if is_map:
        scope.line(f"{packed(made)} = lax.map({name}, {packed(loop.sequences)})")
    else:
        step = f"jax.checkpoint({name})" if params["checkpoint"] else name
        length = f", length={scope.literal(params['length'])!r}" if not elements else ""
        reverse = ", reverse=True" if params["reverse"] else ""
        targets = f"{_targets(made[:count])}, {_targets(made[count:])}"
        start, sequences = packed(loop.state), packed(loop.sequences)
        scope.line(f"{targets} = lax.scan({step}, {start}, {sequences}{length}{reverse})")
    scope.free([name] if loop.captured else [])


def _step(scope: Scope, body: Region, parts: list[list[str]], captured: Sequence[Any], count: int) -> str:
    """Write the function of an iteration, and return its name.

    ``parts`` has the names of the inputs for each argument. The first ``count`` outputs are the carry.
    """
    inputs = [name for part in parts for name in part]

    def result(inside: Any) -> str:
        carried = [packed(inside.outputs[:count])] if len(parts) > 1 else []
        return ", ".join([*carried, packed(inside.outputs[count:])])

    if captured:
        inside = scope.write_inner(body, inputs, captured, is_assigning=True)
        name = _function(scope, body.name, parts, inside, result(inside))
        inside.free()
        return name

    # JAX caches compiled loops by their function, so a function without captures is defined at module level.
    def write(module: Scope, name: str) -> None:
        own = [[module.new(wanted) for wanted in part] for part in parts]
        apart = module.write_separately(body, [name for part in own for name in part])
        _define(module, name, own, apart, result(apart), ("carry", "element"))

    return scope.define(body.name, write)


def _fill_like_operands(scope: Scope, node: Node, count: int) -> None:
    """Write ``zeros_like`` or ``full_like`` of an operand for fills of the initial carry that may need it.

    Inside ``shard_map``, such a fill varies over the same mesh axes as the operand.
    """
    # The mesh axes over which an array varies are part of its type there, which a carry must keep.
    fills: dict[Value, Node] = {}
    constants: set[Value] = set()
    carries: dict[Value, list[Node]] = {}
    for each in scope.nodes:
        if constants.issuperset(values_in(each.inputs)):
            constants.update(each.outputs)
            fills.update(dict.fromkeys(each.outputs, each) if each.op in FILLS else {})
        for item in values_in(each.inputs[: each.params["carried"]]) if each.op in _LOOPS else ():
            carries.setdefault(item, []).append(each)
    operands = [*node.inputs[count:], *node.inputs[:count]]
    operands = [item for item in operands if isinstance(item, Value) and item not in constants]
    # A loop that was recorded in JAX keeps the carry of its source.
    if not operands or node.record is not None:
        return
    for item in values_in(node.inputs[:count]):
        # A scalar that is an integer is taken for a counter, which is the same on all devices.
        is_data = is_inexact(item.dtype) or item.ndim > 0
        if item in fills and is_data and carries[item][0] is node:
            scope.drop(item, len(carries.pop(item)))
            # An operand with an axis of the same size is divided among devices as the constant has to be.
            like = next((each for each in operands if _shares_size(each, item)), operands[0])
            filled = _filled_like(scope, scope.dialect.clipped(fills.pop(item)), like)
            scope.line(f"{scope.text[item]} = {filled}")


_LOOPS = ("scan", "while_loop")


def _shares_size(one: Value, other: Value) -> bool:
    return not {dim for dim in one.shape if isinstance(dim, Size)}.isdisjoint(other.shape)


def _filled_like(scope: Scope, node: Node, like: Value) -> str:
    options = [] if like.dtype == node.params["dtype"] else [scope.dialect.dtype_text(node.params["dtype"])]
    options.append(f"shape={scope.literal(node.params['shape'])!r}")
    fill = repr(scope.literal(node.params.get("fill_value", 1.0)))
    name, given = ("zeros_like", []) if node.op == "zeros" or fill in ("0", "0.0") else ("full_like", [fill])
    return f"jnp.{name}({', '.join([repr(scope.literal(like)), *given, *options])})"


def _while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    _fill_like_operands(scope, node, len(loop.state))
    state = names_of(scope, body, len(loop.state))
    asked = scope.write_inner(condition, state, loop.captured)
    # A carry of several arrays is unpacked on a line of its own, so it needs a function with a name.
    expression = asked.expression() if len(state) == 1 else None
    goes_on = (
        f"lambda {state[0]}: {expression}"
        if expression
        else _function(scope, condition.name, [state], asked, asked.outputs[0])
    )
    asked.free()
    step = scope.write_inner(body, state, loop.captured, is_assigning=True)
    name = _function(scope, body.name, [state], step, packed(step.outputs))
    step.free()
    scope.free(state)
    scope.release(node)
    made = scope.name(node)
    has_floats = any(is_inexact(item.dtype) for item in node.inputs[: len(loop.state)])
    most = node.params.get("most") if has_floats else None
    operands = ", ".join([goes_on, name, packed(loop.state)])
    written = (
        f"lax.while_loop({operands})"
        if most is None
        else f"bounded_while({operands}, {scope.literal(most)!r})"
    )
    scope.line(f"{_targets(made).strip('()')} = {written}")
    scope.free([name, *([] if expression else [goes_on])])


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    names = [_thunk(scope, region, captured) for region in node.regions]
    scope.release(node)
    made = scope.name(node)
    if index.dtype == "bool":
        scope.line(f"{_targets(made).strip('()')} = lax.cond({chosen}, {names[1]}, {names[0]})")
    else:
        scope.line(f"{_targets(made).strip('()')} = lax.switch({chosen}, [{', '.join(names)}])")
    scope.free(name for name in names if name.isidentifier())


def _thunk(scope: Scope, region: Region, captured: Sequence[object]) -> str:
    inside = scope.write_inner(region, [], captured)
    expression = inside.expression()
    name = (
        f"lambda: {expression}"
        if expression
        else _function(scope, region.name, [], inside, packed(inside.outputs))
    )
    inside.free()
    return name


def _associative_scan(scope: Scope, node: Node) -> None:
    (combine,), count, params = node.regions, node.params["sequences"], node.params
    left, right = names_of(scope, combine, count), names_of(scope, combine, count, count)
    inside = scope.write_inner(combine, [*left, *right], node.inputs[count:])
    expression = inside.expression()
    if expression:
        name = f"lambda {left[0]}, {right[0]}: {expression}"
    else:
        name = _function(
            scope, combine.name, [left, right], inside, packed(inside.outputs), ("left", "right")
        )
    inside.free()
    scope.free([*left, *right])
    made = scope.name(node)
    sequences = packed([repr(scope.literal(item)) for item in node.inputs[:count]])
    options = [f"axis={params['axis']}"] * bool(params["axis"]) + ["reverse=True"] * params["reverse"]
    scope.line(
        f"{_targets(made).strip('()')} = lax.associative_scan({', '.join([name, sequences, *options])})"
    )
    scope.free([] if expression else [name])


def _call(scope: Scope, node: Node) -> None:
    if node.params.get("strong_zero"):
        return write_strong_zero(scope, node)
    if not node.params["checkpoint"]:
        return call(scope, node)
    name, operands = checkpointed(scope, node, packed)
    scope.line(f"{_targets(scope.name(node)).strip('()')} = jax.checkpoint({name})({', '.join(operands)})")
    return scope.free([name])


def _function(
    scope: Scope,
    wanted: str,
    parts: list[list[str]],
    inside: object,
    result: str,
    packs_of: Sequence[str] = ("carry", "element"),
) -> str:
    """Write a nested function around the lines of ``inside``, and return its name.

    parts: one list of names for each argument. Several names are the items of a tuple argument, and an
        empty list is an unused argument.
    packs_of: for each of ``parts``, the name to use if it becomes a tuple argument.
    """
    name = scope.new(wanted)
    scope.blank()
    _define(scope, name, parts, inside, result, packs_of)
    scope.blank()
    return name


def _define(
    scope: Scope, name: str, parts: list[list[str]], inside: object, result: str, packs_of: Sequence[str]
) -> None:
    packs = [scope.new(pack) if len(part) > 1 else "" for pack, part in zip(packs_of, parts)]
    arguments = [
        pack or (part[0] if part else "_" * (place + 1))
        for place, (pack, part) in enumerate(zip(packs, parts))
    ]
    with scope.indented(f"def {name}({', '.join(arguments)}):"):
        for pack, part in zip(packs, parts):
            if pack:
                scope.line(f"{', '.join(part)} = {pack}")
        scope.take(inside)  # type: ignore[arg-type]
        scope.line(f"return {result}")
    scope.free(pack for pack in packs if pack)


def _targets(names: Sequence[str]) -> str:
    return "_" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})"


rows.structure({"associative_scan": _associative_scan})
rows.structure({"branch": _branch, "call": _call, "scan": _scan, "while_loop": _while_loop})


def _custom_derivative(scope: Scope, node: Node) -> None:
    derivative = Derivative.of(node)
    write, suffixes = (
        (_jvp, ("_rule",)) if node.params["kind"] == "jvp" else (_vjp, ("_forward", "_backward"))
    )
    name = scope.define(
        derivative.function.name, lambda scope, name: write(scope, name, derivative), suffixes
    )
    write_call_to(scope, node, name, len(node.outputs))


def _jvp(scope: Scope, name: str, derivative: Derivative) -> None:
    _rule_function(scope, "jax.custom_jvp", name, derivative)
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
    _rule_function(scope, "jax.custom_vjp", name, derivative)
    rule = derivative.written_rule(scope)
    held = rule.used(derivative.operands, derivative.results, derivative.residuals)
    operands = arguments(scope, derivative.operands)
    with scope.indented(f"def {name}_forward({', '.join(operands)}):"):
        results, kept = _forward(scope, name, derivative, operands, held)
        scope.line(f"return {_result(results)}, {tuple_text(kept)}")
    scope.free({*operands, *(text for text in results if text.isidentifier())})
    scope.line("")
    scope.line("")
    cotangents = [*with_placeholders(rule.named(derivative.given), derivative.has_given)]
    several = len(cotangents) > 1
    one = cotangents[0] if cotangents[0] != "_" else "cotangent"
    with scope.indented(
        f"def {name}_backward({'residuals' if held else '_'}, {'cotangents' if several else one}):"
    ):
        _unpacked(scope, rule.named(held), "residuals")
        if several:
            _unpacked(scope, cotangents, "cotangents")
        for value in rule.used(derivative.given):
            # JAX's convention for complex gradients is the conjugate.
            if is_complex(value.dtype):
                scope.line(f"{rule.names[value]} = {rule.names[value]}.conj()")
        scope.take(rule.inside)
        outputs = rule.inside.outputs
        values = [derivative.operands[place] for place in derivative.differentiated]
        gradients = [
            f"jnp.conj({text})" if is_complex(value.dtype) else text for text, value in zip(outputs, values)
        ]
        scope.line(f"return {tuple_text(derivative.of_operands(gradients))}")
    scope.line("")
    scope.line("")
    scope.line(f"{name}.defvjp({name}_forward, {name}_backward)")


def _rule_function(scope: Scope, decorator: str, name: str, derivative: Derivative) -> None:
    operands = arguments(scope, derivative.operands)
    scope.line(f"@{decorator}")
    with scope.indented(f"def {name}({', '.join(operands)}):"):
        scope.line(f"return {_result(insert_region(scope, derivative.function, operands))}")
    scope.free(operands)
    scope.line("")
    scope.line("")


def _forward(
    scope: Scope, name: str, derivative: Derivative, operands: list[str], held: Sequence[Value]
) -> tuple[list[str], list[str]]:
    """Write the forward pass of a VJP rule. Return the texts of its results, and of the values ``held``."""
    known = dict(zip(derivative.operands, operands))
    count = len(derivative.has_given)
    outputs = insert_region(scope, derivative.forward, operands) if derivative.forward is not None else []
    known.update(zip(derivative.residuals, outputs[count:]))
    results = outputs[:count]
    # The function called by name has the derivative of the rule, so saved results must come from it.
    if not results or any(value in held for value in derivative.results):
        results = arguments(scope, derivative.results)
        scope.line(f"{bare(results)} = {name}({', '.join(operands)})")
        known.update(zip(derivative.results, results))
    return results, [known[value] for value in held]


def _unpacked(scope: Scope, names: Sequence[str], text: str) -> None:
    if any(name != "_" for name in names):
        scope.line(f"({bare(names)},) = {text}" if len(names) == 1 else f"{bare(names)} = {text}")


def _result(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else tuple_text(texts)


rows.structure({"custom_derivative": _custom_derivative})


rows.table(
    {name: f"parallel.{name}({{x}}, {{axis_name}})" for name in (*REDUCTIONS, "all_gather")},
    unused={"size": "the axis has as many devices"},
)
rows.table(
    {
        "axis_index": "parallel.axis_index({axis_name})",
        "axis_indices": "jnp.arange(parallel.axis_size({axis_name}), dtype=jnp.int32)",
    }
)
rows.table({"sharding_hint": "parallel.hint({x}, {layout})"})
