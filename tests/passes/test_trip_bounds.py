"""Tests of upper bounds of the trip count of a ``while_loop``."""

from __future__ import annotations

from functools import partial
from typing import Any

from graph_compiler.ir import Graph
from graph_compiler.passes import trip_bounds
from tests.support.graph_text import arrays_for

from .rows import Row, check, rows

SIZES = ({}, {"n": 8}, {"n": 1}, {"n": 0})


def given(graph: Graph, sizes: dict[str, int]) -> list[Any]:
    return [
        array if value.name != "k" else array * 0 + 3
        for value, array in zip(graph.inputs, arrays_for(graph, **sizes))
    ]


def loop(name: str, text: str, most: str | None = None, **params: Any) -> Row:
    """Return a row whose loop has the bound ``most`` after the pass; ``text`` replaces ``$``."""
    sizes = params.pop("sizes", SIZES)
    values = {
        "type": "int64",
        "start": "0",
        "step": "add(i, 1)",
        "holds": "less(i, n)",
        "state": "multiply(s, 0.5)",
        **params,
    }
    template = """
    start = full(shape=(), fill_value={start}, dtype='{type}')
    def condition(i, s): return {holds}
    def body(i, s): return {step}, {state}
    """.format(**values)
    before = template + (text or "")
    return Row(
        name,
        before + "\n    last, s = while_loop([start, x], condition, body)\n    return s",
        None
        if most is None
        else before + f"\n    last, s = while_loop([start, x], condition, body, most={most})\n    return s",
        sizes,
        given,
    )


row = partial(loop, text="")


@rows(
    row("up to a size", most="n"),
    row("from a number", start="2", most="n - 2"),
    row("up to a size itself", holds="less_equal(i, n)", most="n + 1"),
    row("the other way round", holds="greater(n, i)", most="n"),
    row("by twos", step="add(i, 2)", most="-(-n // 2)"),
    row("down", start="n", step="subtract(i, 1)", holds="greater(i, 0)", most="n"),
    row("down to zero itself", start="n", step="subtract(i, 1)", holds="greater_equal(i, 0)", most="n + 1"),
    row("asked of the next number", holds="less(add(i, 1), n)", most="n - 1"),
    row("and something else", holds="logical_and(less(i, n), greater(sum(s), -100.0))", most="n"),
    row("not what is over", holds="logical_not(greater_equal(i, n))", most="n"),
    row("neither of two", holds="logical_not(logical_or(greater_equal(i, n), less(sum(s), -100.0)))", most="n"),
    row("numbers of 32 bits", type="int32", most="n"),
    row("the lesser of two starts", most="n - 1", start="1"),
    # ------------------------------------------------------------------------------ what stays
    row("or something else", holds="logical_or(less(i, n), less(i, k))", sizes=SIZES[:2]),
    row("a number that does not grow", step="add(i, k)", sizes=SIZES[:2]),
    row("a number that grows away", start="-1", step="subtract(i, 1)", holds="logical_and(less(i, n), greater(i, -5))",
        most="4", sizes=SIZES[:2]),
    row("an argument", holds="less(i, k)"),
    row("a limit that moves", holds="less(i, astype(max(s), dtype='int64'))", sizes=SIZES[:3]),
    row("a loop without floats", state="s", holds="less(i, n)", most="n"),
    # A step may jump over the greatest number of the type, and goes on below the limit.
    row("a number that may wrap around", type="int8", step="add(i, 100)", holds="less(i, 120)"),
    row("a start that has wrapped around", type="int8", start="0", step="add(i, 1)", holds="less(i, n)"),
    row("a number that wraps around before it is cast", type="int8",
        holds="logical_and(less(astype(i, dtype='int64'), 300), greater(sum(s), 0.01))", sizes=SIZES[:2]),
    row("a start that wraps around when it is cast", type="int32", start="300", holds="less(astype(i, dtype='int8'), 60)",
        sizes=SIZES[:2]),
    row("a cast that holds all numbers", type="int32", holds="less(astype(i, dtype='int64'), 300)", most="300",
        sizes=SIZES[:2]),
    row("a number without a sign that goes below zero", type="uint8", start="4", step="subtract(i, 3)",
        holds="greater_equal(i, 1)"),
    row("a number without a sign that does not", type="uint8", start="3", step="subtract(i, 1)", holds="greater(i, 0)", most="3"),
    given="x: float32[n]; k: int64",
)  # fmt: skip
def test_trip_bounds(row: Row) -> None:
    check(trip_bounds, row)


@rows(
    Row("a start that was cast to a type that does not hold it", """
        start = astype(full(shape=(), fill_value=300, dtype='int32'), dtype='int8')
        def condition(i, s): return less(i, 60)
        def body(i, s): return add(i, 1), multiply(s, 0.5)
        last, s = while_loop([start, x], condition, body)
        return s
        """),
    Row("a start below the least number of the type", """
        start = subtract(full(shape=(), fill_value=0, dtype='uint8'), 1)
        def condition(i, s): return greater(i, 250)
        def body(i, s): return subtract(i, 1), multiply(s, 0.5)
        last, s = while_loop([start, x], condition, body)
        return s
        """),
    Row("one of two starts", """
        start = where(greater(sum(x), 0.0), full(shape=(), fill_value=1, dtype='int64'), 3)
        def condition(i, s): return less(i, n)
        def body(i, s): return add(i, 1), multiply(s, 0.5)
        last, s = while_loop([start, x], condition, body)
        return s
        """, """
        start = where(greater(sum(x), 0.0), full(shape=(), fill_value=1, dtype='int64'), 3)
        def condition(i, s): return less(i, n)
        def body(i, s): return add(i, 1), multiply(s, 0.5)
        last, s = while_loop([start, x], condition, body, most=n - min(1, 3))
        return s
        """),
    Row("inside of another loop, from the number of its step", """
        start = full(shape=(), fill_value=0, dtype='int64')
        def step(j, s, row):
            def condition(i, t): return less(i, 4)
            def body(i, t): return add(i, 1), multiply(t, 0.5)
            last, t = while_loop([j, s], condition, body)
            return add(j, 1), add(t, row)
        j, s = scan([start, sum(x)], [x], step, length=n)
        return s
        """, """
        start = full(shape=(), fill_value=0, dtype='int64')
        def step(j, s, row):
            def condition(i, t): return less(i, 4)
            def body(i, t): return add(i, 1), multiply(t, 0.5)
            last, t = while_loop([j, s], condition, body, most=4)
            return add(j, 1), add(t, row)
        j, s = scan([start, sum(x)], [x], step, length=n)
        return s
        """),
    given="x: float32[n]",
)  # fmt: skip
def test_starts(row: Row) -> None:
    check(trip_bounds, row)
