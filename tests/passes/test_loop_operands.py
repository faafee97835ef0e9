"""Tests of loop operands: arrays that iterations index become sequences and outputs of the loop."""

from __future__ import annotations

from typing import Any

from graph_compiler.ir import Graph
from graph_compiler.passes import hoist_invariants, moving_slices, replace_scalars, rows_to_operands
from tests.support.graph_text import arrays_for

from .rows import Row, check, rows

SIZES = ({}, {"n": 8}, {"n": 1}, {"n": 0})
GIVEN = "x: float32[n, 4]; y: float32[n]; c: float32[4]; k: int32; t: float32[4, n]; zero = zeros(shape=(), dtype='float32')"


def step_numbers(graph: Graph, sizes: dict[str, int]) -> list[Any]:
    given = arrays_for(graph, **sizes)
    return [array if value.name != "k" else array * 0 + 2 for value, array in zip(graph.inputs, given)]


def loop(name: str, before: str, after: str | None = None, sizes: Any = SIZES) -> Row:
    return Row(name, before, after, sizes, step_numbers)


@rows(
    loop("rows that are read", """
        def step(s, i): return add(s, getitem(x, key=(item(i),)))
        return scan([c], [arange(stop=n, dtype='int64')], step, length=n)
        """, """
        def step(s, row): return add(s, row)
        unused = arange(stop=n, dtype='int64')
        return scan([c], [x], step, length=n)
        """),
    loop("rows that are written", """
        def step(y, i): return setitem(y, multiply(getitem(x, key=(item(i), 1)), 2.0), key=(item(i),))
        return scan([y], [arange(stop=n, dtype='int64')], step, length=n)
        """, """
        def step(a): return multiply(a, 2.0)
        unused = arange(stop=n, dtype='int64')
        return scan([], [getitem(x, key=((None, None, 1), 1))], step, length=n)
        """),
    loop("the cell before", """
        def step(y, i): return setitem(y, add(getitem(y, key=(item(i) - 1,)), getitem(x, key=(item(i), 0))), key=(item(i),))
        return scan([y], [arange(start=1, stop=n, dtype='int64')], step, length=max(n - 1, 0))
        """, """
        unused = arange(start=1, stop=n, dtype='int64')
        rows = getitem(x, key=((1, max(n - 1, 0) + 1, 1), 0))
        first = getitem(concat(getitem(y, key=((0, 1, 1),)), zeros(shape=(1,), dtype='float32'), axis=0), key=(0,))
        def step(before, a):
            cell = add(before, a)
            return cell, cell
        last, cells = scan([first], [rows], step, length=max(n - 1, 0))
        return setitem(y, cells, key=((1, max(n - 1, 0) + 1, 1),))
        """, SIZES[:3]),
    loop("a cell that is written later is as it was", """
        def step(y, i): return setitem(y, add(getitem(y, key=(item(i) + 1,)), 1.0), key=(item(i),))
        return scan([y], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, """
        unused = arange(stop=n - 1, dtype='int64')
        def step(a): return add(a, 1.0)
        cells = scan([], [getitem(y, key=((1, n, 1),))], step, length=n - 1)
        return setitem(y, cells, key=((0, n - 1, 1),))
        """, SIZES[:3]),
    loop("columns that are read", """
        def step(s, i): return add(s, getitem(t, key=(1, item(i))))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """, """
        unused = arange(stop=n, dtype='int64')
        def step(s, a): return add(s, a)
        return scan([zero], [getitem(t, key=(1, (None, None, 1)))], step, length=n)
        """),
    loop("numbers that are read besides", """
        def step(s, i): return add(multiply(s, getitem(y, key=(item(i),))), astype(i, dtype='float32'))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """, """
        def step(s, i, a): return add(multiply(s, a), astype(i, dtype='float32'))
        return scan([zero], [arange(stop=n, dtype='int64'), y], step, length=n)
        """),
    loop("from the last row to the first", """
        def step(s, i): return add(multiply(s, 0.5), getitem(y, key=(item(i),)))
        return scan([zero], [arange(start=n - 1, stop=-1, step=-1, dtype='int64')], step, length=n)
        """, """
        unused = arange(start=n - 1, stop=-1, step=-1, dtype='int64')
        def step(s, a): return add(multiply(s, 0.5), a)
        return scan([zero], [y], step, length=n, reverse=True)
        """),
    loop("a diagonal", """
        def step(s, i): return add(multiply(s, 0.5), getitem(t, key=(item(i), item(i) + 1)))
        return scan([zero], [arange(stop=min(n - 1, 4), dtype='int64')], step, length=min(n - 1, 4))
        """, """
        unused = arange(stop=min(n - 1, 4), dtype='int64')
        part = getitem(t, key=((0, min(n - 1, 4), 1), (1, min(n - 1, 4) + 1, 1)))
        def step(s, a): return add(multiply(s, 0.5), a)
        return scan([zero], [diagonal(part, offset=0, axis1=0, axis2=1)], step, length=min(n - 1, 4))
        """, SIZES[:2]),
    loop("the last cell behind the loop", """
        def step(c, i): return setitem(c, add(getitem(c, key=(item(i) - 1,)), 1.0), key=(item(i),))
        cells = scan([c], [arange(start=1, stop=4, dtype='int64')], step, length=3)
        return getitem(cells, key=(3,))
        """, """
        unused = arange(start=1, stop=4, dtype='int64')
        def step(before):
            cell = add(before, 1.0)
            return cell, cell
        last, cells = scan([getitem(c, key=(0,))], [], step, length=3)
        unread = setitem(c, cells, key=((1, 4, 1),))
        return last
        """),
    loop("a part of each row", """
        def step(x, i):
            return setitem(x, add(getitem(x, key=(item(i) - 1, (0, 2, 1))), 1.0), key=(item(i), (0, 2, 1)))
        return scan([x], [arange(start=1, stop=n, dtype='int64')], step, length=n - 1)
        """, """
        unused = arange(start=1, stop=n, dtype='int64')
        none = zeros(shape=(1, 2), dtype='float32')
        first = getitem(concat(getitem(x, key=((0, 1, 1), (0, 2, 1))), none, axis=0), key=(0,))
        def step(before):
            cell = add(before, 1.0)
            return cell, cell
        last, cells = scan([first], [], step, length=n - 1)
        return setitem(x, cells, key=((1, n, 1), (0, 2, 1)))
        """, SIZES[:2]),
    # ------------------------------------------------------------------------------ what stays
    loop("every other row", """
        def step(s, i): return add(s, getitem(y, key=(item(i),)))
        return scan([zero], [arange(stop=n, step=2, dtype='int64')], step, length=(n + 1) // 2)
        """),
    loop("a multiple of the number", """
        def step(s, i): return add(s, getitem(y, key=(item(i) // 2,)))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    loop("a place that may be counted from the end", """
        def step(s, i): return add(s, getitem(y, key=(item(i) - 1,)))
        return scan([zero], [arange(start=item(k), stop=n, dtype='int64')], step, length=max(n - item(k), 0))
        """),
    loop("a loop that runs backwards", """
        def step(s, i): return add(multiply(s, 0.5), getitem(y, key=(item(i),)))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n, reverse=True)
        """),
    loop("a cell far back", """
        def step(y, i): return setitem(y, add(getitem(y, key=(item(i) - 5,)), 1.0), key=(item(i),))
        return scan([y], [arange(start=5, stop=n, dtype='int64')], step, length=max(n - 5, 0))
        """, sizes=({}, {"n": 8})),
    loop("an array of which more is read than cells", """
        def step(y, i): return setitem(y, sum(y), key=(item(i),))
        return scan([y], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    loop("cells of which one is read at a place that each step writes to", """
        def step(y, i): return setitem(y, add(getitem(y, key=(0,)), 1.0), key=(item(i),))
        return scan([y], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    given=GIVEN,
)  # fmt: skip
def test_loop_rows(row: Row) -> None:
    check(rows_to_operands, row)


@rows(
    loop("the same in all steps", """
        def step(s, a): return add(s, multiply(exp(c), a))
        return scan([c], [y], step, length=n)
        """, """
        early = exp(c)
        def step(s, a): return add(s, multiply(early, a))
        return scan([c], [y], step, length=n)
        """),
    loop("numbers of rows, which make sequences fewer", """
        def step(s, a, b): return add(s, maximum(multiply(a, b), a))
        return scan([zero], [y, getitem(x, key=((None, None, 1), 0))], step, length=n)
        """, """
        b = getitem(x, key=((None, None, 1), 0))
        def step(s, a): return add(s, a)
        return scan([zero], [maximum(multiply(y, b), y)], step, length=n)
        """),
    loop("work for each row", """
        def step(s, a): return add(s, tanh(multiply(a, 0.5)))
        return scan([zero], [y], step, length=n)
        """, """
        def step(s, a): return add(s, a)
        return scan([zero], [tanh(multiply(y, 0.5))], step, length=n)
        """),
    loop("a part that is the same, made of what is light", """
        def step(s, a): return add(s, multiply(tanh(multiply(c, full(shape=(), fill_value=2.0, dtype='float32'))), a))
        return scan([c], [y], step, length=n)
        """, """
        early = tanh(multiply(c, full(shape=(), fill_value=2.0, dtype='float32')))
        def step(s, a):
            unused = full(shape=(), fill_value=2.0, dtype='float32')
            return add(s, multiply(early, a))
        return scan([c], [y], step, length=n)
        """),
    loop("floats that are divided", """
        def step(s, a): return add(s, multiply(divide(c, 3.0), a))
        return scan([c], [y], step, length=n)
        """, """
        early = divide(c, 3.0)
        def step(s, a): return add(s, multiply(early, a))
        return scan([c], [y], step, length=n)
        """),
    loop("rows and what is the same in all steps", """
        def step(s, a): return add(s, pow(a, tanh(getitem(c, key=(0,)))))
        return scan([zero], [abs(y)], step, length=n)
        """, """
        exponent = tanh(getitem(c, key=(0,)))
        def step(s, a): return add(s, a)
        return scan([zero], [pow(abs(y), exponent)], step, length=n)
        """),
    # ------------------------------------------------------------------------------ what stays
    loop("what looks at more than one element", """
        def step(s, a): return add(s, multiply(divide(c, sum(c)), a))
        return scan([c], [y], step, length=n)
        """),
    loop("rows with the step before", """
        def step(s, a): return tanh(multiply(a, s))
        return scan([zero], [y], step, length=n)
        """),
    loop("work for each row, which is read besides", """
        def step(s, a): return add(multiply(s, a), tanh(a))
        return scan([zero], [y], step, length=n)
        """),
    loop("an instruction for each row", """
        def step(s, a): return add(s, multiply(a, 0.5))
        return scan([zero], [y], step, length=n)
        """),
    loop("what is made of a number alone", """
        def step(s, a): return multiply(add(s, a), full(shape=(4,), fill_value=2.0, dtype='float32'))
        return scan([c], [y], step, length=n)
        """),
    loop("a mask", """
        def step(s, a): return where(less(arange(stop=4, dtype='int64'), 2), add(s, a), s)
        return scan([c], [y], step, length=n)
        """),
    loop("of the step before", """
        def step(s, a): return exp(s)
        return scan([c], [y], step, length=n)
        """),
    loop("whole numbers, whose quotient may fail where there is no step", """
        def step(s, a): return add(s, floor_divide(7, k))
        return scan([k], [y], step, length=n)
        """),
    loop("the same, rounded to zero", """
        def step(s, a): return add(s, trunc_divide(7, k))
        return scan([k], [y], step, length=n)
        """),
    loop("rows of arrays", """
        def step(s, a): return add(s, tanh(a))
        return scan([c], [x], step, length=n)
        """),
    loop("a row that is read besides", """
        def step(s, a, b): return multiply(add(s, maximum(a, b)), add(a, b))
        return scan([zero], [y, getitem(x, key=((None, None, 1), 0))], step, length=n)
        """),
    given=GIVEN,
)  # fmt: skip
def test_early_values(row: Row) -> None:
    check(hoist_invariants, row)


@rows(
    loop("one place", """
        def step(c, a): return setitem(c, add(getitem(c, key=(1,)), a), key=(1,))
        return scan([c], [y], step, length=n)
        """, """
        def step(c, a): return add(c, a)
        return setitem(c, scan([getitem(c, key=(1,))], [y], step, length=n), key=(1,))
        """),
    loop("a place that an argument names, filled with a number", """
        def step(x, a): return setitem(x, 2.0, key=(item(k),))
        return scan([x], [y], step, length=n)
        """, """
        def step(x, a): return full(shape=(4,), fill_value=2.0, dtype='float32')
        return setitem(x, scan([getitem(x, key=(item(k),))], [y], step, length=n), key=(item(k),))
        """, SIZES[:2]),
    loop("one place of one of two arrays", """
        def step(c, d, a): return setitem(c, add(getitem(c, key=(1,)), a), key=(1,)), add(d, a)
        return scan([c, c], [y], step, length=n)
        """, """
        def step(c, d, a): return add(c, a), add(d, a)
        one, other = scan([getitem(c, key=(1,)), c], [y], step, length=n)
        return setitem(c, one, key=(1,)), other
        """),
    # ------------------------------------------------------------------------------ what stays
    loop("two places", """
        def step(c, a): return setitem(c, add(getitem(c, key=(2,)), a), key=(1,))
        return scan([c], [y], step, length=n)
        """),
    loop("the whole array", """
        def step(c, a): return setitem(c, add(getitem(c, key=((None, None, 1),)), a), key=((None, None, 1),))
        return scan([c], [y], step, length=n)
        """),
    loop("an array that is read elsewhere", """
        def step(c, a): return setitem(c, add(sum(c), a), key=(1,))
        return scan([c], [y], step, length=n)
        """),
    loop("a place of the step", """
        def step(y, i): return setitem(y, 1.0, key=(item(i),))
        return scan([y], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    loop("arrays that are swapped", """
        def step(c, d, a): return setitem(d, a, key=(1,)), setitem(c, a, key=(1,))
        return scan([c, negative(c)], [y], step, length=n)
        """),
    given=GIVEN,
)  # fmt: skip
def test_still_places(row: Row) -> None:
    check(replace_scalars, row)


@rows(
    loop("a window that is read", """
        def step(s, i): return add(s, sum(getitem(y, key=((item(i), item(i) + 2, 1),))))
        return scan([zero], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, """
        def step(s, i): return add(s, sum(dynamic_slice(y, item(i), axes=(0,), sizes=(2,))))
        return scan([zero], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, SIZES[:2]),
    loop("a window of a column", """
        def step(s, i): return add(s, getitem(x, key=((item(i), item(i) + 2, 1), 1)))
        return scan([zeros(shape=(2,), dtype='float32')], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, """
        def step(s, i): return add(s, dynamic_slice(getitem(x, key=((None, None, 1), 1)), item(i), axes=(0,), sizes=(2,)))
        return scan([zeros(shape=(2,), dtype='float32')], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, SIZES[:2]),
    loop("a window that is written", """
        def step(y, i): return setitem(y, 2.0, key=((item(i), item(i) + 2, 1),))
        return scan([y], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, """
        def step(y, i):
            return dynamic_update_slice(y, full(shape=(2,), fill_value=2.0, dtype='float32'), item(i), axes=(0,))
        return scan([y], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, SIZES[:2]),
    loop("every other element", """
        def step(s, i): return add(s, sum(getitem(y, key=((item(i), item(i) + 3, 2),))))
        return scan([zero], [arange(stop=n - 2, dtype='int64')], step, length=n - 2)
        """, """
        def step(s, i):
            return add(s, sum(take(y, add(multiply(arange(stop=2, dtype='int64'), 2), item(i)), axis=0)))
        return scan([zero], [arange(stop=n - 2, dtype='int64')], step, length=n - 2)
        """, SIZES[:2]),
    loop("an array that is written to a window of a column", """
        def step(x, i): return setitem(x, getitem(c, key=((0, 2, 1),)), key=((item(i), item(i) + 2, 1), 1))
        return scan([x], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, """
        def step(x, i):
            update = getitem(c, key=((0, 2, 1),))
            column = dynamic_update_slice(getitem(x, key=((None, None, 1), 1)), update, item(i), axes=(0,))
            return setitem(x, column, key=((None, None, 1), 1))
        return scan([x], [arange(stop=n - 1, dtype='int64')], step, length=n - 1)
        """, SIZES[:2]),
    loop("a window of every other element that is written", """
        def step(u, i): return setitem(u, 2.0, key=((item(i), item(i) + 3, 2), (item(i), item(i) + 2, 1)))
        return scan([multiply(x, 1.5)], [arange(stop=2, dtype='int64')], step, length=2)
        """, """
        def step(u, i):
            places = add(multiply(arange(stop=2, dtype='int64'), 2), item(i))
            update = full(shape=(2, 2), fill_value=2.0, dtype='float32')
            return scatter_nd(u, dynamic_update_slice(take(u, places, axis=0), update, item(i), axes=(1,)), places, axes=(0,))
        return scan([multiply(x, 1.5)], [arange(stop=2, dtype='int64')], step, length=2)
        """, SIZES[:2]),
    # ------------------------------------------------------------------------------ what stays
    loop("a slice from a row that an argument names", """
        def step(s, i): return add(s, sum(getitem(y, key=((item(k), item(i) + 3, 1),))))
        return scan([zero], [arange(stop=n - 2, dtype='int64')], step, length=n - 2)
        """, sizes=SIZES[:2]),
    loop("a width that changes", """
        def step(s, i): return add(s, sum(getitem(y, key=((item(i), n, 1),))))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    loop("a slice that stands still", """
        def step(s, i): return add(s, sum(getitem(y, key=((item(k), item(k) + 2, 1),))))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """, sizes=SIZES[:2]),
    loop("a single place", """
        def step(s, i): return add(s, getitem(y, key=(item(i),)))
        return scan([zero], [arange(stop=n, dtype='int64')], step, length=n)
        """),
    loop("outside of loops", "return getitem(y, key=((item(k), item(k) + 2, 1),))", sizes=SIZES[:2]),
    given=GIVEN,
)  # fmt: skip
def test_moving_slices(row: Row) -> None:
    check(moving_slices, row)
