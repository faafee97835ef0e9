"""Tests of dead code elimination: what contributes to no result is removed; what advances a generator or
writes to visible memory stays.
"""

from __future__ import annotations

from typing import Any

from graph_compiler.ir import Effect, Guard, Origin, Region
from graph_compiler.ir.node import Block
from graph_compiler.passes import dce

from .graphs import SPEC, Recording, after, canonical, ops_of


def test_what_nothing_uses() -> None:
    def write(b: Any, x: Any, y: Any) -> Any:
        b.exp(b.negative(x))
        return b.sin(x)

    pruned = after(dce, canonical(write, SPEC, SPEC))
    assert ops_of(pruned) == ["sin"]
    assert [value.name for value in pruned.inputs] == ["x0", "x1"]


def test_sources_that_nothing_uses() -> None:
    made = Recording()
    x, weight, _, table, _ = (
        made.input("x"), made.parameter("weight"), made.parameter("unused"), made.constant("table"), made.constant("idle"),
    )  # fmt: skip
    pruned = after(dce, made.returning(made.call("add", x, weight), made.call("add", x, table)))
    assert list(pruned.parameters) == ["weight"] and list(pruned.constants) == ["table"]


def test_what_guards_and_effects_need() -> None:
    made = Recording()
    x = made.input("x")
    seen, left, _ = made.call("isfinite", x), made.call("exp", x), made.call("cos", x)
    made.graph.guards.append(Guard(seen, True, Origin()))
    made.graph.effects.append(Effect("argument", 0, left))
    assert ops_of(after(dce, made.returning(x))) == ["isfinite", "exp"]


def test_writes_stay_where_their_memory_is_looked_at() -> None:
    made = Recording()
    x = made.input("x")
    kept, dropped = made.call("clone", x), made.call("clone", x)
    part = made.call("getitem", kept, views={0: kept})
    made.call("fill_", part, makes=0, writes=(part,))
    made.call("zero_", dropped, makes=0, writes=(dropped,))
    made.call("add_", x, makes=0, writes=(x,))
    assert ops_of(after(dce, made.returning(kept))) == ["clone", "getitem", "fill_", "add_"]


def test_draws_stay() -> None:
    made = Recording()
    x = made.input("x")
    made.call("rand", random=True)
    made.call("zeros")
    assert ops_of(after(dce, made.returning(x))) == ["rand"]


def test_in_regions() -> None:
    inner = canonical(lambda b, x, y: (b.exp(y), b.sin(x))[1:], SPEC, SPEC).block
    made = Recording()
    x = made.input("x")
    result = made.call("loop", x, x)
    (node,) = made.graph.nodes
    made.graph.nodes = [_with_region(node, inner)]
    pruned = after(dce, made.returning(result))
    assert ops_of(pruned) == ["loop"]
    block = pruned.nodes[0].regions[0].block
    assert ops_of(block) == ["sin"] and block.inputs == inner.inputs
    assert ops_of(made.graph.nodes[0].regions[0].block) == ["exp", "sin"]


def _with_region(node: Any, block: Block) -> Any:
    import dataclasses

    return dataclasses.replace(node, regions=(Region("body", block, {}),))
