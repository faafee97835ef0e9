"""Tests of written elements that are read again, and of writes that a later one covers."""

from __future__ import annotations

from graph_compiler.passes import forward_writes

from .rows import Row, check, rows


@rows(
    Row("the place that was written", "w = setitem(x, y, key=(1,)); r = getitem(w, key=(1,)); return add(r, 1.0), w",
        "w = setitem(x, y, key=(1,)); return add(y, 1.0), w"),
    Row("a number", "w = setitem(x, 2.0, key=(1,)); r = getitem(w, key=(1,)); return add(r, y), w",
        "w = setitem(x, 2.0, key=(1,)); r = full(shape=(4,), fill_value=2.0, dtype='float32'); return add(r, y), w"),
    Row("a slice in other words", "w = setitem(x, y, key=((0, n, 1),)); return getitem(w, key=((None, None, 1),)), w",
        "w = setitem(x, y, key=((0, n, 1),)); return w, w"),
    Row("a wider place, broadcast",
        "w = setitem(x, y, key=((1, 3, 1),)); r = getitem(w, key=((1, 3, 1),)); return negative(r), w",
        "w = setitem(x, y, key=((1, 3, 1),)); r = broadcast_to(y, shape=(2, 4)); return negative(r), w"),
    Row("a write that the next one covers",
        "w = setitem(x, y, key=(1,)); r = getitem(w, key=(1,)); return setitem(w, multiply(r, 2.0), key=(1,))",
        "w = setitem(x, y, key=(1,)); return setitem(x, multiply(y, 2.0), key=(1,))"),
    Row("reads apart from it",
        "w = setitem(x, y, key=(1,)); r = getitem(w, key=(0,)); return setitem(w, multiply(r, 2.0), key=(1,))",
        "w = setitem(x, y, key=(1,)); r = getitem(x, key=(0,)); return setitem(x, multiply(r, 2.0), key=(1,))"),
    Row("a read that may be of it",
        "w = setitem(x, y, key=(item(i),)); r = getitem(w, key=(1,)); return setitem(w, multiply(r, 2.0), key=(item(i),))",
        """
        w = setitem(x, y, key=(item(i),))
        before = getitem(x, key=(1,))
        r = where(equal(full(shape=(), fill_value=1 - item(i), dtype='int64'), 0), y, before)
        return setitem(x, multiply(r, 2.0), key=(item(i),))"""),
    Row("reads behind it",
        "w = setitem(x, y, key=(1,)); r = getitem(w, key=((2, n, 1),)); return setitem(w, multiply(sum(r), y), key=(1,))",
        "w = setitem(x, y, key=(1,)); r = getitem(x, key=((2, n, 1),)); return setitem(x, multiply(sum(r), y), key=(1,))"),
    Row("a part of a column that may be of it", """
        w = setitem(x, z, key=((0, 2, 1), item(i))); r = getitem(w, key=((0, 2, 1), 1))
        return setitem(w, negative(r), key=((0, 2, 1), item(i)))
        """, """
        w = setitem(x, z, key=((0, 2, 1), item(i))); before = getitem(x, key=((0, 2, 1), 1))
        r = where(equal(full(shape=(), fill_value=1 - item(i), dtype='int64'), 0), z, before)
        return setitem(x, negative(r), key=((0, 2, 1), item(i)))
        """),
    Row("an element of one row that may be it", """
        w = setitem(x, sum(z), key=(1, item(i))); r = getitem(w, key=(1, 2))
        return setitem(w, negative(r), key=(1, item(i)))
        """, """
        total = sum(z); w = setitem(x, total, key=(1, item(i))); before = getitem(x, key=(1, 2))
        r = where(equal(full(shape=(), fill_value=2 - item(i), dtype='int64'), 0), total, before)
        return setitem(x, negative(r), key=(1, item(i)))
        """),
    # ------------------------------------------------------------------------------ what stays
    Row("a place of an array that is read elsewhere",
        "w = setitem(x, y, key=(1,)); return getitem(w, key=(1,)), getitem(w, key=((0, 3, 1),))"),
    Row("written to another array", "w = setitem(x, y, key=(1,)); return setitem(u, w, key=(1,))"),
    Row("two places", "w = setitem(x, y, key=(1,)); return setitem(w, 2.0, key=(2,))"),
    Row("all of it written to itself",
        "w = setitem(x, y, key=((None, None, 1),)); return setitem(w, w, key=((None, None, 1),))"),
    Row("another part of a column", """
        w = setitem(x, z, key=((0, 2, 1), item(i))); r = getitem(w, key=((1, 3, 1), 1))
        return setitem(w, negative(r), key=((0, 2, 1), item(i)))
        """),
    Row("a part of a row that may be it", """
        w = setitem(x, y, key=(item(i),)); r = getitem(w, key=(1, (0, 2, 1)))
        return setitem(w, sum(r), key=(item(i),))
        """),
    Row("the same place with a new axis", """
        w = setitem(x, y, key=(1,)); r = getitem(w, key=(None, 1))
        return setitem(w, sum(r), key=(1,))
        """),
    Row("another place", "w = setitem(x, y, key=(1,)); return getitem(w, key=(2,)), w"),
    Row("a place that may be it, of an array that stays", "w = setitem(x, y, key=(item(i),)); return getitem(w, key=(1,)), w"),
    Row("a part of it", "w = setitem(x, y, key=((0, 2, 1),)); return getitem(w, key=((0, 1, 1),))"),
    Row("every other element of it", "w = setitem(x, y, key=((0, 3, 2),)); return getitem(w, key=((0, 2, 1),))"),
    Row("whole numbers that a float was cast to",
        "z = full(shape=(5, 4), fill_value=0, dtype='int32'); w = setitem(z, i, key=(1,)); "
        "v = setitem(astype(w, dtype='float32'), y, key=(1,)); return getitem(v, key=(2,))"),
    Row("a result between two writes", "w = setitem(x, y, key=(1,)); return setitem(w, multiply(y, 2.0), key=(1,)), w"),
    Row("written to itself", "w = setitem(x, y, key=((0, 1, 1),)); return setitem(w, w, key=((None, None, 1),))"),
    Row("two writes behind it",
        "w = setitem(x, y, key=(1,)); return setitem(w, 1.0, key=(1,)), setitem(w, 2.0, key=(1,))"),
    Row("a read that overlaps it in between",
        "w = setitem(x, y, key=((0, 2, 1),)); r = getitem(w, key=((1, 3, 1),)); "
        "return setitem(w, multiply(r, 2.0), key=((0, 2, 1),))"),
    given="x: float32[n, 4]; y: float32[4]; z: float32[2]; u: float32[3, n, 4]; i: int32",
)  # fmt: skip
def test_forward_writes(row: Row) -> None:
    check(forward_writes, row)
