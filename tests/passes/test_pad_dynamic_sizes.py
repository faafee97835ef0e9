"""Tests of data-dependent sizes in static targets: rows are padded to an upper bound until they are combined."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from graph_compiler.ir import Graph
from graph_compiler.passes import pad_dynamic_sizes

from .rows import Row, check, rows

GIVEN = "x: float32[n, 4]; v: float32[n]; i: int64[n]; y: float32[7]; m: bool[n]; z: float32[k, 4]"
FOUND = """
places = argwhere(m, size=n, fill_value=0)
count = count_nonzero(m)
valid = less(arange(stop=n, dtype='int64'), count)
column = getitem(places, key=((None, None, 1), 0))
place = where(valid, column, take(concat(zeros(shape=(1,), dtype='int64'), column, axis=0), count, axis=0))
"""


def arrays(graph: Graph, sizes: dict[str, int]) -> list[Any]:
    """Return arrays whose mask selects some, all or no rows, some of them with equal indices; the other
    arrays have random sizes.
    """
    rng, size = np.random.default_rng(0), sizes.get("n", 5)
    mask = {5: [1, 1, 0, 1, 0], 8: [1] * 8, 4: [0] * 4, 0: []}[size]
    places = np.array([3, 1, 0, 3, 2, 3, 1, 1])[:size]
    x, v, y = rng.uniform(0.5, 2, (size, 4)), rng.uniform(0.5, 2, size), rng.uniform(1, 2, 7)
    given = {
        "x": x,
        "v": v,
        "i": places,
        "y": y,
        "m": np.array(mask),
        "z": rng.uniform(1, 2, (sizes.get("k", 3), 4)),
    }
    return [given[value.name].astype(value.dtype) for value in graph.inputs]


SIZES: list[dict[str, int]] = [{}, {"n": 8, "k": 2}, {"n": 4}, {"n": 0}]


def padded(name: str, before: str, after: str | None = None, sizes: list[dict[str, int]] = SIZES) -> Row:
    return Row(name, before, after if after is None else FOUND + textwrap.dedent(after), sizes, arrays)


@rows(
    padded("a sum", "return sum(multiply(boolean_mask(x, m, axis=0, hint=3), 2.0), axis=0)",
           "return sum(where(reshape(valid, shape=(n, 1)), multiply(gather_nd(x, place, axes=(0,)), 2.0), 0), axis=0)"),
    padded("a product", "return prod(boolean_mask(v, m, axis=0, hint=3))",
           "return prod(where(valid, gather_nd(v, place, axes=(0,)), 1))"),
    padded("a mean", "return mean(boolean_mask(x, m, axis=0, hint=3))", """
        total = sum(where(reshape(valid, shape=(n, 1)), gather_nd(x, place, axes=(0,)), 0))
        return divide(total, astype(multiply(count, 4), dtype='float32'))
        """),
    padded("all and any", "r = greater(boolean_mask(v, m, axis=0, hint=3), 1.0); return all(r), any(r)", """
        r = greater(gather_nd(v, place, axes=(0,)), 1.0)
        return all(where(valid, r, True)), any(where(valid, r, False))
        """),
    padded("places that are added to", """
        p, = nonzero(m, hint=3)
        return scatter_nd(y, gather_nd(v, p, axes=(0,)), gather_nd(i, p, axes=(0,)), axes=(0,), reduce='sum')
        """, """
        return scatter_nd(y, where(valid, gather_nd(v, place, axes=(0,)), 0), gather_nd(i, place, axes=(0,)), axes=(0,), reduce='sum')
        """),
    padded("places that are written to, the last row last", """
        p, = nonzero(m, hint=3)
        return scatter_nd(y, gather_nd(v, p, axes=(0,)), gather_nd(i, p, axes=(0,)), axes=(0,))
        """, """
        row = gather_nd(v, place, axes=(0,)); to = gather_nd(i, place, axes=(0,))
        return scatter_nd(y, where(greater(count, 0), row, gather_nd(y, to, axes=(0,))), to, axes=(0,))
        """),
    padded("a slope that may be infinite", "return sum(log(boolean_mask(v, m, axis=0, hint=3)))", """
        row = where(greater(count, 0), gather_nd(v, place, axes=(0,)), 1.0)
        return sum(where(valid, log(row), 0))
        """),
    padded("a number of rows", "r = boolean_mask(x, m, axis=0, hint=3); return add(sum(r), full(shape=(), fill_value=r.shape[0] * 4, "
           "dtype='float32'))", """
        r = gather_nd(x, place, axes=(0,))
        total = sum(where(reshape(valid, shape=(n, 1)), r, 0))
        return add(total, astype(multiply(count, 4), dtype='float32'))
        """),
    padded("a guard on how many there are",
           "r = boolean_mask(x, m, axis=0, hint=3); guard(ge(r.shape[0], 1)); return getitem(r, key=(-1,))", """
        row = take(gather_nd(x, place, axes=(0,)), maximum(add(count, -1), 0), axis=0)
        guard(greater_equal(count_nonzero(m), 1))
        return row
        """, SIZES[:2]),
    padded("one number that is written to all places", """
        p, = nonzero(m, hint=3)
        return scatter_nd(y, 2.0, gather_nd(i, p, axes=(0,)), axes=(0,))
        """, """
        to = gather_nd(i, place, axes=(0,))
        return scatter_nd(y, where(greater(count, 0), 2.0, gather_nd(y, to, axes=(0,))), to, axes=(0,))
        """),
    padded("one row that is added to all places", """
        p, = nonzero(m, hint=3)
        return scatter_nd(z, getitem(x, key=((0, 1, 1),)), p, axes=(0,), reduce='sum')
        """, """
        row = where(reshape(valid, shape=(n, 1)), getitem(x, key=((0, 1, 1),)), 0)
        return scatter_nd(z, row, place, axes=(0,), reduce='sum')
        """, [{"n": 5, "k": 6}]),
    padded("rows that fill the places of a mask", "return masked_scatter(v, m, negative(boolean_mask(v, m, axis=0, hint=3)))",
           "return masked_scatter(v, m, negative(gather_nd(v, place, axes=(0,))))"),
    padded("an element of the first row", "r = boolean_mask(x, m, axis=0, hint=3); return getitem(r, key=(0, 1))",
           "r = gather_nd(x, place, axes=(0,)); return getitem(r, key=(0, 1))", SIZES[:2]),
    padded("labels of the rows", """
        t = boolean_mask(minimum(i, 3), m, axis=0, hint=3)
        return cross_entropy(boolean_mask(x, m, axis=0, hint=3), t, None, reduction='sum')
        """, """
        t = gather_nd(minimum(i, 3), place, axes=(0,))
        return cross_entropy(gather_nd(x, place, axes=(0,)), where(valid, t, -100), None, reduction='sum')
        """),
    padded("rows side by side", "r = boolean_mask(x, m, axis=0, hint=3); return sum(concat(r, negative(r), axis=1), axis=0)", """
        r = gather_nd(x, place, axes=(0,))
        return sum(where(reshape(valid, shape=(n, 1)), concat(r, negative(r), axis=1), 0), axis=0)
        """),
    # ------------------------------------------------------------------------------ what stays
    padded("a reshape that mixes rows", "r = boolean_mask(x, m, axis=0, hint=3); return sum(reshape(r, shape=(4, r.shape[0])), axis=1)"),
    padded("some rows", "return sum(getitem(boolean_mask(x, m, axis=0, hint=3), key=((0, 1, 1),)))", sizes=SIZES[:2]),
    padded("a half of how many there are",
           "r = boolean_mask(v, m, axis=0, hint=3); return full(shape=(), fill_value=r.shape[0], dtype='float16'), sum(r)"),
    padded("an element of the last axis of a row", "return getitem(boolean_mask(x, m, axis=0, hint=3), key=((None, None, 1), 1))"),
    padded("losses of the rows", """
        t = boolean_mask(minimum(i, 3), m, axis=0, hint=3)
        return sum(cross_entropy(boolean_mask(x, m, axis=0, hint=3), t, None, reduction='none'))
        """),
    padded("a mask that is found under itself", """
        r = boolean_mask(greater(v, 1.0), m, axis=0, hint=3)
        return sum(masked_scatter(boolean_mask(v, m, axis=0, hint=3), r, y))
        """),
    padded("how many another mask finds", "r = boolean_mask(v, m, axis=0, hint=3); guard(ge(r.shape[0] // n, 0)); return sum(r)",
           sizes=SIZES[:2]),
    padded("a result", "return negative(boolean_mask(x, m, axis=0, hint=3))"),
    padded("a size that is a result", "r = boolean_mask(v, m, axis=0, hint=3); return sum(r), r.shape[0]"),
    padded("a sort of the rows", "return sum(sort(boolean_mask(v, m, axis=0, hint=3), axis=0))"),
    padded("a running sum of the rows", "return sum(cumulative_sum(boolean_mask(v, m, axis=0, hint=3), axis=0))"),
    padded("rows against rows", "r = boolean_mask(x, m, axis=0, hint=3); return sum(matmul(r, permute_dims(r, axes=(1, 0))))"),
    padded("a product that sums over the rows",
           "r = boolean_mask(x, m, axis=0, hint=3); return sum(matmul(permute_dims(r, axes=(1, 0)), r))"),
    padded("rows that are joined with others", "return sum(concat(boolean_mask(x, m, axis=0, hint=3), z, axis=0))"),
    padded("the greatest row", "return max(boolean_mask(concat(v, y, axis=0), greater(concat(v, y, axis=0), 0.5), axis=0, hint=3))"),
    padded("rows of two masks in one array", """
        r = boolean_mask(x, m, axis=0, hint=3); s = boolean_mask(x, greater(v, 1.0), axis=0, hint=3)
        return sum(matmul(r, permute_dims(s, axes=(1, 0))))
        """),
    padded("a product over places that are written", """
        p, = nonzero(m, hint=3)
        return scatter_nd(y, gather_nd(v, p, axes=(0,)), gather_nd(i, p, axes=(0,)), axes=(0,), reduce='prod')
        """),
    padded("a half that holds no count", "return mean(astype(boolean_mask(v, m, axis=0, hint=3), dtype='float16'))"),
    given=GIVEN,
)  # fmt: skip
def test_pad_dynamic_sizes(row: Row) -> None:
    check(pad_dynamic_sizes, row)
