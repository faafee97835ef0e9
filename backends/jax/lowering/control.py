"""Control flow: functions for ``lax.scan``, ``lax.while_loop``, ``lax.cond`` and ``lax.switch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.block import Region
from ....ir.node import Node, Value, values_in
from ....ops.dtypes import is_inexact
from ...structured import Loop, Scope, call, checkpointed, names_of, packed, strongly_zero
from .table import rows


def _scan(scope: Scope, node: Node) -> None:
    (body,), loop, params = node.regions, Loop.of(scope, node), node.params
    count = len(loop.state)
    state, elements = names_of(scope, body, count), names_of(scope, body, len(loop.sequences), count)
    is_map = not state and elements and not params["reverse"] and not params["checkpoint"]
    parts = [elements] if is_map else [state, elements]
    name = _step(scope, body, parts, loop.captured, 0 if is_map else count)
    scope.free([*state, *elements])
    made = scope.name(node)
    if is_map:
        scope.line(f"{packed(made)} = lax.map({name}, {packed(loop.sequences)})")
    else:
        step = f"jax.checkpoint({name})" if params["checkpoint"] else name
        length = f", length={scope.literal(params['length'])!r}" if not elements else ""
        reverse = ", reverse=True" if params["reverse"] else ""
        targets = f"{_targets(made[:count])}, {_targets(made[count:])}"
        start, sequences = packed(loop.state), packed(loop.sequences)
        start = f"varying_as({sequences}, {start})" if elements and node.record is None and _is_made(scope, node.inputs[:count]) else start
        scope.line(f"{targets} = lax.scan({step}, {start}, {sequences}{length}{reverse})")
    scope.free([name] if loop.captured else [])


def _step(scope: Scope, body: Region, parts: list[list[str]], captured: Sequence[Any], count: int) -> str:
    """The function of a step: of the module where it captures nothing, so that it is one object at each call. JAX compiles a loop once for
    each function."""
    inputs = [name for part in parts for name in part]

    def result(inside: Any) -> str:
        carried = [packed(inside.outputs[:count])] if len(parts) > 1 else []
        return ", ".join([*carried, packed(inside.outputs[count:])])

    if captured:
        inside = scope.inside(body, inputs, captured)
        name = _function(scope, body.name, parts, inside, result(inside))
        inside.free()
        return name

    def write(module: Scope, name: str) -> None:
        own = [[module.new(wanted) for wanted in part] for part in parts]
        apart = module.apart(body, [name for part in own for name in part])
        _define(module, name, own, apart, result(apart), ("carry", "element"))

    return scope.define(body.name, write)


def _is_made(scope: Scope, values: Sequence[Any]) -> bool:
    """Whether one of the values depends on nothing that is given, as zeros do: in shard_map it is the same on all devices.

    A function of JAX that is written in its own calls again begins its loops as the original does.
    """
    if not hasattr(scope.dialect.prelude, "varying_as"):
        return False
    made: set[Value] = set()
    for node in scope.nodes:
        if made.issuperset(values_in(node.inputs)):
            made.update(node.outputs)
    return any(value in made for value in values)


def _while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    state = names_of(scope, body, len(loop.state))
    asked = scope.inside(condition, state, loop.captured)
    expression = asked.expression() if len(state) == 1 else None
    goes_on = f"lambda {state[0]}: {expression}" if expression else _function(scope, condition.name, [state], asked, asked.outputs[0])
    asked.free()
    step = scope.inside(body, state, loop.captured)
    name = _function(scope, body.name, [state], step, packed(step.outputs))
    step.free()
    scope.free(state)
    made = scope.name(node)
    start, floats = packed(loop.state), [item for item in node.inputs[: len(loop.state)] if is_inexact(item.dtype)]
    most = node.params.get("most") if floats else None
    if most is not None and loop.captured and node.record is None and _is_made(scope, floats):
        start = f"varying_as({packed([repr(scope.literal(item)) for item in loop.captured])}, {start})"
    operands = ", ".join([goes_on, name, start])
    written = f"lax.while_loop({operands})" if most is None else f"bounded_while({operands}, {scope.literal(most)!r})"
    scope.line(f"{_targets(made).strip('()')} = {written}")
    scope.free([name, *([] if expression else [goes_on])])


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    names = [_thunk(scope, region, captured) for region in node.regions]
    made = scope.name(node)
    if index.dtype == "bool":
        scope.line(f"{_targets(made).strip('()')} = lax.cond({chosen}, {names[1]}, {names[0]})")
    else:
        scope.line(f"{_targets(made).strip('()')} = lax.switch({chosen}, [{', '.join(names)}])")
    scope.free(name for name in names if name.isidentifier())


def _thunk(scope: Scope, region: Region, captured: Sequence[object]) -> str:
    inside = scope.inside(region, [], captured)
    expression = inside.expression()
    name = f"lambda: {expression}" if expression else _function(scope, region.name, [], inside, packed(inside.outputs))
    inside.free()
    return name


def _associative_scan(scope: Scope, node: Node) -> None:
    (combine,), count, params = node.regions, node.params["sequences"], node.params
    left, right = names_of(scope, combine, count), names_of(scope, combine, count, count)
    inside = scope.inside(combine, [*left, *right], node.inputs[count:])
    expression = inside.expression()
    if expression:
        name = f"lambda {left[0]}, {right[0]}: {expression}"
    else:
        name = _function(scope, combine.name, [left, right], inside, packed(inside.outputs), ("left", "right"))
    inside.free()
    scope.free([*left, *right])
    made = scope.name(node)
    sequences = packed([repr(scope.literal(item)) for item in node.inputs[:count]])
    options = [f"axis={params['axis']}"] * bool(params["axis"]) + ["reverse=True"] * params["reverse"]
    scope.line(f"{_targets(made).strip('()')} = lax.associative_scan({', '.join([name, sequences, *options])})")
    scope.free([] if expression else [name])


def _call(scope: Scope, node: Node) -> None:
    if node.params.get("strong_zero"):
        return strongly_zero(scope, node)
    if not node.params["checkpoint"]:
        return call(scope, node)
    name, operands = checkpointed(scope, node, packed)
    scope.line(f"{_targets(scope.name(node)).strip('()')} = jax.checkpoint({name})({', '.join(operands)})")
    return scope.free([name])


def _function(
    scope: Scope, wanted: str, parts: list[list[str]], inside: object, result: str, packs_of: Sequence[str] = ("carry", "element")
) -> str:
    """A nested function; each of the ``parts`` of its arguments that has several names comes in one tuple, called as ``packs_of`` says."""
    name = scope.new(wanted)
    scope.blank()
    _define(scope, name, parts, inside, result, packs_of)
    scope.blank()
    return name


def _define(scope: Scope, name: str, parts: list[list[str]], inside: object, result: str, packs_of: Sequence[str]) -> None:
    packs = [scope.new(pack) if len(part) > 1 else "" for pack, part in zip(packs_of, parts)]
    arguments = [pack or (part[0] if part else "_" * (place + 1)) for place, (pack, part) in enumerate(zip(packs, parts))]
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
