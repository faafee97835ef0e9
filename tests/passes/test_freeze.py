"""Tests of freezing: parameters become constants with their current values, except those that are written to."""

from __future__ import annotations

from functools import partial

from graph_compiler.passes.cleanup.constants import freeze

from .graphs import Recording, after


def test_weights_become_constants_of_the_same_values() -> None:
    made = Recording()
    x, weight, bias = made.input("x"), made.parameter("weight"), made.parameter("bias")
    graph = made.returning(made.call("add", made.call("mul", x, weight), bias))
    frozen = after(partial(freeze, arrays={"weight": "W", "bias": "B"}), graph)
    assert not frozen.parameters and frozen.constants == {"weight": (weight, "W"), "bias": (bias, "B")}
    assert frozen.nodes == graph.nodes


def test_what_a_call_writes_to_stays_a_parameter() -> None:
    made = Recording()
    x, count, view_of = made.input("x"), made.parameter("count"), made.parameter("table")
    row = made.call("getitem", view_of, views={0: view_of})
    made.call("add_", count, makes=0, writes=(count,))
    made.call("fill_", row, makes=0, writes=(row,))
    frozen = after(
        partial(freeze, arrays={"count": "C", "table": "T"}), made.returning(made.call("add", x, count))
    )
    assert list(frozen.parameters) == ["count", "table"] and not frozen.constants


def test_weights_that_are_not_given_stay() -> None:
    made = Recording()
    graph = made.returning(made.call("mul", made.input("x"), made.parameter("weight")))
    assert after(partial(freeze, arrays={}), graph) is graph


def test_a_constant_of_the_same_name_is_kept() -> None:
    made = Recording()
    x, weight = made.input("x"), made.parameter("scale")
    constant = made.constant("scale", "C")
    graph = made.returning(made.call("add", made.call("mul", x, weight), constant))
    frozen = after(partial(freeze, arrays={"scale": "W"}), graph)
    assert dict(frozen.constants.values()) == {constant: "C", weight: "W"}
