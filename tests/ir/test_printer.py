"""Tests of graphs as text: a name stands for one value in each block."""

from __future__ import annotations

import re

from graph_compiler.ir import Builder, Graph, Value, to_text
from graph_compiler.ops import ArraySpec

ROWS = ArraySpec((3, 2), "float32")


def repeated() -> Graph:
    """Return a graph in which several values have the same name, and one a name that numbering generates."""
    build = Builder(Graph("f", "canonical"))
    first, second = build.input("x", ROWS), build.input("x", ArraySpec((6,), "float32"))
    made = build.add(build.add(first, 1.0), 2.0)
    state = build.argument("x", first.spec)
    body = build.body("body", [state], lambda state: (build.add(build.add(state, first), made),))
    (last,) = build.run("scan", [first], [body], carried=1, sequences=0, length=4)
    third = build.input("x_1", ROWS)
    build.graph.outputs = [last, build.reshape(second, shape=(second.shape[0], 1)), build.sin(third)]
    return build.graph


def test_values_of_one_name_are_numbered() -> None:
    assert to_text(repeated()).splitlines() == [
        "graph f (canonical): %x: float32[x.shape[0], x.shape[1]], %x_1: float32[x_1.shape[0]], "
        "%x_1_1: float32[x_1_1.shape[0], x_1_1.shape[1]]",
        "   %add: float32[x.shape[0], x.shape[1]] = add(%x, 1.0)",
        "   %add_1: float32[x.shape[0], x.shape[1]] = add(%add, 2.0)",
        "   %scan: float32[x.shape[0], x.shape[1]] = scan(%x, %x, %add_1, carried=1, sequences=0, length=4, reverse=False, "
        "checkpoint=False)",
        "       body(%x: float32[x.shape[0], x.shape[1]], %x_1: float32[x.shape[0], x.shape[1]], %add: float32[x.shape[0], x.shape[1]]):",
        "           %add_1: float32[x.shape[0], x.shape[1]] = add(%x, %x_1)",
        "           %add_2: float32[x.shape[0], x.shape[1]] = add(%add_1, %add)",
        "           return (%add_2,)",
        "   %reshape: float32[x_1.shape[0], 1] = reshape(%x_1, shape=(x_1.shape[0], 1))",
        "   %sin: float32[x_1_1.shape[0], x_1_1.shape[1]] = sin(%x_1_1)",
        "   return (%scan, %reshape, %sin)",
    ]


def test_a_value_that_nothing_makes_has_a_name_of_its_own() -> None:
    """Error messages must distinguish two values with the same name."""
    graph = repeated()
    graph.outputs = [Value("add", ROWS)]
    assert re.search(r"return \(%add_2,\)$", to_text(graph))
