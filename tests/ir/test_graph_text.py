"""Tests of graphs read from text, compared with those of a builder."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from graph_compiler.errors import InvalidGraph, UnknownOperation
from graph_compiler.ir import Builder, Graph
from graph_compiler.ops import ArraySpec
from tests.passes.rows import numbers
from tests.support import graph_text
from tests.support.graph_text import arrays_for, read, written

LOOP = """
x: float32[n, 4]
w: float32[4] = parameter
c: float32[4] = [1, 2, 3, 4]
def step(state, row):
    total = add(multiply(state, w), row)
    return total, sum(total, axis=0)
state = full(shape=(4,), fill_value=0.0, dtype='float32')
last, sums = scan([state], [x], step, length=n)
guard(ge(n, 2))
effect("argument", 0, multiply(x, 2.0))
return last, sums, max(n, 3)
"""


def test_the_example_of_the_documentation() -> None:
    assert doctest.testmod(graph_text).failed == 0


def test_declarations_regions_guards_and_effects() -> None:
    assert written(read(LOOP)).splitlines() == [
        "graph f (canonical): %x: float32[x.shape[0], 4]",
        "   %state: float32[4] = full(shape=(4,), fill_value=0.0, dtype='float32')",
        "   %last: float32[4], %sums: float32[x.shape[0]] = scan(%state, %x, %w, carried=1, sequences=1, length=x.shape[0], "
        "reverse=False, checkpoint=False)",
        "       step(%state: float32[4], %row: float32[4], %w: float32[4]):",
        "           %multiply: float32[4] = multiply(%state, %w)",
        "           %total: float32[4] = add(%multiply, %row)",
        "           %sum: float32[] = sum(%total, axis=0, dtype=None, keepdims=False)",
        "           return (%total, %sum)",
        "   %multiply: float32[x.shape[0], 4] = multiply(%x, 2.0)",
        "   return (%last, %sums, max(x.shape[0], 3))",
        "   parameter %w: float32[4]",
        "   constant %c: float32[4] = [1.0, 2.0, 3.0, 4.0]",
        "   guard x.shape[0] >= 2 is True",
        "   effect argument 0 = %multiply",
    ]


def test_the_same_graph_as_a_builder_writes() -> None:
    graph = Graph("f", "canonical")
    build = Builder(graph)
    x = build.input("x", ArraySpec((5,), "float32"))
    graph.outputs = [build.take(x, build.arange(start=0, stop=x.shape[0], step=1, dtype="int64"), axis=0)]
    assert written(
        read("x: float32[n]; return take(x, arange(start=0, stop=n, step=1, dtype='int64'), axis=0)")
    ) == written(graph)


def test_other_sizes_and_all_operations_that_run_blocks() -> None:
    graph = read("""
        x: float32[n]
        def more(left, right): return add(left, right)
        def is_left(i, total): return less(i, 3)
        def step(i, total): return add(i, 1), multiply(total, 2.0)
        def yes(total): return negative(total)
        def no(total): return abs(total)
        sums = associative_scan([x], more)
        zero = full(shape=(), fill_value=0, dtype='int32')
        count, total = while_loop([zero, sum(sums)], is_left, step)
        return branch(greater(total, 0.0), [total], no, yes), sums
    """)
    for size in (5, 2):
        (x,) = arrays_for(graph, n=size)
        found, sums = numbers(graph, x)
        assert x.shape == (size,)
        np.testing.assert_allclose(sums, np.cumsum(x), rtol=1e-5)
        np.testing.assert_allclose(found, -np.cumsum(x).sum() * 8, rtol=1e-5)


@pytest.mark.parametrize(("text", "error"), [
    ("x: float32[n]; return sinus(x)", NameError),
    ("x: float32[n]; return sum(x, axes=0)", UnknownOperation),
    ("x: float32[n]; return add(x, x, x)", InvalidGraph),
])  # fmt: skip
def test_what_no_graph_is_is_an_error(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(text)
