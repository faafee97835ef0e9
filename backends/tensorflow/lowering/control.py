"""Control flow: functions for ``tf.while_loop``, ``tf.cond``, ``tf.switch_case``, and for ``scan``, a helper made of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.block import Region
from ....ir.node import Node
from ...structured import Inside, Loop, Scope, names_of
from .table import rows


def _scan(scope: Scope, node: Node) -> None:
    (body,), loop, params = node.regions, Loop.of(scope, node), node.params
    count = len(loop.state)
    state, elements = names_of(scope, body, count), names_of(scope, body, len(loop.sequences), count)
    inside = scope.inside(body, [*state, *elements], loop.captured)
    name = _function(scope, body.name, [*state, *elements], inside, f"{_tuple(inside.outputs[:count])}, {_tuple(inside.outputs[count:])}")
    inside.free()
    scope.free([*state, *elements])
    specs = _tuple([_spec(scope, value.shape[1:], value.dtype) for value in node.outputs[count:]])
    made = scope.name(node)
    length = repr(scope.literal(params["length"]))
    options = [f"{option}=True" for option in ("reverse", "checkpoint") if params[option]]
    call = ", ".join([name, _tuple(loop.state), _tuple(loop.sequences), length, specs, *options])
    scope.line(f"{_tuple(made[:count]) if count else '_'}, {_tuple(made[count:]) if made[count:] else '_'} = scan({call})")
    scope.free([name])


def _spec(scope: Scope, shape: tuple[Any, ...], dtype: str) -> str:
    return f"({scope.literal(shape)!r}, {scope.dialect.dtype_text(dtype)})"


def _while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    state = names_of(scope, body, len(loop.state))
    asked = scope.inside(condition, state, loop.captured)
    goes_on = _function(scope, condition.name, state, asked, asked.outputs[0])
    asked.free()
    step = scope.inside(body, state, loop.captured)
    name = _function(scope, body.name, state, step, _tuple(step.outputs))
    step.free()
    scope.free(state)
    made = scope.name(node)
    scope.line(f"{_tuple(made)} = while_loop({goes_on}, {name}, {_tuple(loop.state)})")
    scope.free([name, goes_on])


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    names = [_thunk(scope, region, captured) for region in node.regions]
    made = scope.name(node)
    if index.dtype == "bool":
        scope.line(f"{_tuple(made)} = tf.cond({chosen}, {names[1]}, {names[0]})")
    else:
        scope.line(f"{_tuple(made)} = tf.switch_case(tf.cast({chosen}, tf.int32), [{', '.join(names)}])")
    scope.free(names)


def _thunk(scope: Scope, region: Region, captured: Sequence[Any]) -> str:
    inside = scope.inside(region, [], captured)
    name = _function(scope, region.name, [], inside, _tuple([f"tf.identity({text})" for text in inside.outputs]))
    inside.free()
    return name


def _call(scope: Scope, node: Node) -> None:
    (body,) = node.regions
    inside = scope.inside(body, [], node.inputs)
    scope.take(inside)
    made = scope.name(node)
    scope.line(f"{', '.join(made)} = {', '.join(inside.outputs)}")
    inside.free()


def _function(scope: Scope, wanted: str, arguments: Sequence[str], inside: Inside, result: str) -> str:
    name = scope.new(wanted)
    scope.blank()
    with scope.indented(f"def {name}({', '.join(arguments)}):"):
        scope.take(inside)
        scope.line(f"return {result}")
    scope.blank()
    return name


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


rows.structure({"branch": _branch, "call": _call, "scan": _scan, "while_loop": _while_loop})
