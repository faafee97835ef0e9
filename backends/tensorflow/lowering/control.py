"""Control flow: functions for ``tf.while_loop``, ``tf.cond``, ``tf.switch_case``, and for ``scan``, a helper made of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.block import Region
from ....ir.node import Node
from ...structured import Loop, Scope, associative_scan_by, function, names_of, tuple_text
from .table import rows


def _scan(scope: Scope, node: Node) -> None:
    (body,), loop, params = node.regions, Loop.of(scope, node), node.params
    count = len(loop.state)
    state, elements = names_of(scope, body, count), names_of(scope, body, len(loop.sequences), count)
    inside = scope.inside(body, [*state, *elements], loop.captured)
    name = function(scope, body.name, [*state, *elements], inside, f"{tuple_text(inside.outputs[:count])}, {tuple_text(inside.outputs[count:])}")
    inside.free()
    scope.free([*state, *elements])
    specs = tuple_text([_spec(scope, value.shape[1:], value.dtype) for value in node.outputs[count:]])
    made = scope.name(node)
    length = repr(scope.literal(params["length"]))
    options = [f"{option}=True" for option in ("reverse", "checkpoint") if params[option]]
    call = ", ".join([name, tuple_text(loop.state), tuple_text(loop.sequences), length, specs, *options])
    scope.line(f"{tuple_text(made[:count]) if count else '_'}, {tuple_text(made[count:]) if made[count:] else '_'} = scan({call})")
    scope.free([name])


def _spec(scope: Scope, shape: tuple[Any, ...], dtype: str) -> str:
    return f"({scope.literal(shape)!r}, {scope.dialect.dtype_text(dtype)})"


def _while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    state = names_of(scope, body, len(loop.state))
    asked = scope.inside(condition, state, loop.captured)
    goes_on = function(scope, condition.name, state, asked, asked.outputs[0])
    asked.free()
    step = scope.inside(body, state, loop.captured)
    name = function(scope, body.name, state, step, tuple_text(step.outputs))
    step.free()
    scope.free(state)
    made = scope.name(node)
    scope.line(f"{tuple_text(made)} = while_loop({goes_on}, {name}, {tuple_text(loop.state)})")
    scope.free([name, goes_on])


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    names = [_thunk(scope, region, captured) for region in node.regions]
    made = scope.name(node)
    if index.dtype == "bool":
        scope.line(f"{tuple_text(made)} = tf.cond({chosen}, {names[1]}, {names[0]})")
    else:
        scope.line(f"{tuple_text(made)} = tf.switch_case(tf.cast({chosen}, tf.int32), [{', '.join(names)}])")
    scope.free(names)


def _thunk(scope: Scope, region: Region, captured: Sequence[Any]) -> str:
    inside = scope.inside(region, [], captured)
    name = function(scope, region.name, [], inside, tuple_text([f"tf.identity({text})" for text in inside.outputs]))
    inside.free()
    return name


def _call(scope: Scope, node: Node) -> None:
    (body,) = node.regions
    inside = scope.inside(body, [], node.inputs)
    scope.take(inside)
    made = scope.name(node)
    scope.line(f"{', '.join(made)} = {', '.join(inside.outputs)}")
    inside.free()


rows.structure({"associative_scan": associative_scan_by("associative_scan"), "branch": _branch, "call": _call, "scan": _scan, "while_loop": _while_loop})
