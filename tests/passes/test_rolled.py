"""Tests of the pass that turns repeated operations into a loop."""

from __future__ import annotations

from graph_compiler.passes.repeats.to_scan import rolled

from .rows import Row, check, rows

SIZES = ({}, {"n": 8, "m": 4}, {"n": 1, "m": 4})
GIVEN = "x: float32[m, n]; y: float32[n]; i: int32[n]; z: float64[n]"


def steps(name: str, before: str, after: str | None = None) -> Row:
    return Row(name, before, after, SIZES)


@rows(
    steps("what goes from one to the next", "a = tanh(multiply(y, 2.0)); b = tanh(multiply(a, 2.0)); return tanh(multiply(b, 2.0))", """
        def body(a): return tanh(multiply(a, 2.0))
        return scan([y], [], body, length=3)
        """),
    steps("rows one after the other, and results that are stacked", """
        a = add(multiply(y, 0.5), getitem(x, key=(0,)))
        b = add(multiply(a, 0.5), getitem(x, key=(1,)))
        c = add(multiply(b, 0.5), getitem(x, key=(2,)))
        return stack(a, b, c, axis=0), c
        """, """
        def body(a, row):
            made = add(multiply(a, 0.5), row)
            return made, made
        last, stacked = scan([y], [getitem(x, key=((0, 3, 1),))], body, length=3)
        return stacked, last
        """),
    steps("every other row, of which a part is read", """
        a = add(y, getitem(x, key=(-4, (0, 1, 1)))); b = add(a, getitem(x, key=(-3, (0, 1, 1))))
        return add(b, getitem(x, key=(-2, (0, 1, 1))))
        """, """
        def body(a, row): return add(a, getitem(row, key=((0, 1, 1),)))
        return scan([y], [getitem(x, key=((-4, -1, 1),))], body, length=3)
        """),
    steps("what only the last step returns", """
        a = multiply(y, 0.5); b = tanh(a); c = multiply(b, 0.5); d = tanh(c); e = multiply(d, 0.5); f = tanh(e)
        return f, e
        """, """
        def body(a, half): made = multiply(a, 0.5); return tanh(made), made
        unread = zeros(shape=(n,), dtype='float32')
        last, half = scan([y, unread], [], body, length=3)
        return last, half
        """),
    steps("what two steps before have made", """
        a = add(multiply(y, 0.5), y); b = add(multiply(a, 0.5), y); c = add(multiply(b, 0.5), a)
        d = add(multiply(c, 0.5), b); return add(multiply(d, 0.5), c)
        """, """
        def body(last, before): return add(multiply(last, 0.5), before), last
        last, before = scan([y, y], [], body, length=5)
        return last
        """),
    steps("floats that grow evenly", "a = multiply(tanh(y), 2.0); b = multiply(tanh(a), 3.0); return multiply(tanh(b), 4.0)", """
        def body(a, step): return multiply(tanh(a), step)
        return scan([y], [arange(start=2, stop=5, step=1, dtype='float32')], body, length=3)
        """),
    Row("an index behind a size with factors", """
        a = tanh(add(y, sum(getitem(x, key=((0, (n + 1) * (m - 2), 1), 0)))))
        b = tanh(add(a, sum(getitem(x, key=((0, (n + 1) * (m - 2), 1), 2)))))
        return tanh(add(b, sum(getitem(x, key=((0, (n + 1) * (m - 2), 1), 4)))))
        """, """
        def body(a, step):
            return tanh(add(a, sum(getitem(x, key=((0, (n + 1) * (m - 2), 1), 2 * item(step))))))
        return scan([y], [arange(start=0, stop=3, step=1, dtype='int32')], body, length=3)
        """, ({}, {"n": 8, "m": 4}, {"n": 5, "m": 2})),
    steps("an index behind a bool", """
        a = tanh(setitem(x, True, key=(0,))); b = tanh(setitem(a, True, key=(1,)))
        return tanh(setitem(b, True, key=(2,)))
        """, """
        def body(a, step): return tanh(setitem(a, True, key=(item(step),)))
        return scan([x], [arange(start=0, stop=3, step=1, dtype='int32')], body, length=3)
        """),
    steps("any floats", "a = multiply(tanh(y), 1.5); b = multiply(tanh(a), 0.1); return multiply(tanh(b), 4.0)", """
        def body(a, step): return multiply(tanh(a), step)
        return scan([y], [asarray(data=(1.5, 0.1, 4.0), dtype='float32')], body, length=3)
        """),
    steps("a zero with a sign", "a = add(divide(1.0, y), divide(y, -0.0)); b = add(divide(1.0, a), divide(a, 1.0 + 1.0)); "
          "return add(divide(1.0, b), divide(b, 4.0))", """
        def body(a, step): return add(divide(1.0, a), divide(a, step))
        return scan([y], [asarray(data=(-0.0, 2.0, 4.0), dtype='float32')], body, length=3)
        """),
    steps("an index as a result", """
        a = tanh(y); c = where(greater(a, 0.1), 0, i); b = tanh(a); d = where(greater(b, 0.1), 1, c)
        e = tanh(b); return where(greater(e, 0.1), 2, d), e
        """, """
        def body(a, c, step):
            b = tanh(a)
            return b, where(greater(b, 0.1), step, c)
        last, found = scan([y, i], [arange(start=0, stop=3, step=1, dtype='int32')], body, length=3)
        return found, last
        """),
    steps("an index that is compared", """
        a = add(y, astype(less(i, 3), dtype='float32')); b = add(a, astype(less(i, 5), dtype='float32'))
        return add(b, astype(less(i, 7), dtype='float32'))
        """, """
        def body(a, step): return add(a, astype(less(i, step), dtype='float32'))
        return scan([y], [arange(start=3, stop=9, step=2, dtype='int32')], body, length=3)
        """),
    steps("a last step without what nothing reads", """
        m = less(abs(y), 2.0); c = where(m, multiply(y, 2.0), y); j = where(m, add(i, 1), i)
        n = less(abs(c), 2.0); d = where(n, multiply(c, 2.0), c); k = where(n, add(j, 1), j)
        o = less(abs(d), 2.0); e = where(o, multiply(d, 2.0), d); l = where(o, add(k, 1), k)
        p = less(abs(e), 2.0); return where(p, add(l, 1), l)
        """, """
        def body(c, j):
            m = less(abs(c), 2.0)
            return where(m, multiply(c, 2.0), c), where(m, add(j, 1), j)
        last, counts = scan([y, i], [], body, length=4)
        return counts
        """),
    steps("a last step without a root, whose derivative could be infinite", """
        t = add(z, z); a = subtract(sqrt(z), 1.0); u = add(t, a); b = subtract(sqrt(a), 1.0); v = add(u, b)
        c = subtract(sqrt(b), 1.0); return add(v, c)
        """, """
        def body(t, a): return add(t, a), subtract(sqrt(a), 1.0)
        sums, last = scan([z, z], [], body, length=3)
        return add(sums, last)
        """),
    steps("elements that a mask selects", """
        m = less(abs(y), 2.0); a = boolean_mask(y, m, axis=0, hint=8); c = masked_scatter(y, m, multiply(a, a))
        n = less(abs(c), 2.0); b = boolean_mask(c, n, axis=0, hint=5); d = masked_scatter(c, n, multiply(b, b))
        o = less(abs(d), 2.0); e = boolean_mask(d, o, axis=0, hint=1); return masked_scatter(d, o, multiply(e, e))
        """, """
        def body(c):
            m = less(abs(c), 2.0)
            a = boolean_mask(c, m, axis=0, hint=1)
            return masked_scatter(c, m, multiply(a, a))
        return scan([y], [], body, length=3)
        """),
    steps("elements that a mask selects in a branch", """
        def otherwise(c): return c
        def then(c):
            a = boolean_mask(c, less(c, 2.0), axis=0, hint=8); return masked_scatter(c, less(c, 2.0), multiply(a, a))
        c = branch(any(less(y, 2.0)), [y], otherwise, then)
        def then(c):
            a = boolean_mask(c, less(c, 2.0), axis=0, hint=5); return masked_scatter(c, less(c, 2.0), multiply(a, a))
        d = branch(any(less(c, 2.0)), [c], otherwise, then)
        def then(c):
            a = boolean_mask(c, less(c, 2.0), axis=0, hint=1); return masked_scatter(c, less(c, 2.0), multiply(a, a))
        return branch(any(less(d, 2.0)), [d], otherwise, then)
        """, """
        def otherwise(c): return c
        def then(c):
            a = boolean_mask(c, less(c, 2.0), axis=0, hint=1); return masked_scatter(c, less(c, 2.0), multiply(a, a))
        def body(c): return branch(any(less(c, 2.0)), [c], otherwise, then)
        return scan([y], [], body, length=3)
        """),
    steps("only some of the steps fit", """
        a = tanh(multiply(y, 2.0)); b = tanh(multiply(a, 2.0)); c = tanh(multiply(b, 2.0)); d = sin(multiply(c, 2.0))
        return d
        """, """
        def body(a): return tanh(multiply(a, 2.0))
        return sin(multiply(scan([y], [], body, length=3), 2.0))
        """),
    # ------------------------------------------------------------------------------ what stays
    steps("two steps", "a = tanh(multiply(y, 2.0)); return tanh(multiply(a, 2.0))"),
    steps("other operations", "a = tanh(multiply(y, 2.0)); b = sin(multiply(a, 2.0)); return cos(multiply(b, 2.0))"),
    steps("other parameters", "a = flip(cumulative_sum(x, axis=0), axis=(0,)); b = flip(cumulative_sum(a, axis=1), axis=(0,)); "
          "return flip(cumulative_sum(b, axis=0), axis=(0,))"),
    steps("a parameter that counts", "return roll(tanh(roll(tanh(roll(tanh(x), shift=(1,), axis=(0,))), shift=(2,), axis=(0,))), "
          "shift=(3,), axis=(0,))"),
    steps("selected elements that are read in the next step", """
        a = boolean_mask(y, less(y, 2.0), axis=0, hint=8); b = boolean_mask(a, less(a, 1.0), axis=0, hint=8)
        c = boolean_mask(b, less(b, 0.5), axis=0, hint=8); return boolean_mask(c, less(c, 0.2), axis=0, hint=8)
        """),
    steps("steps of which all are read", "a = tanh(multiply(y, 2.0)); b = tanh(multiply(a, 2.0)); c = tanh(multiply(b, 2.0)); "
          "return a, b, c"),
    steps("whole numbers that do not grow evenly", "a = multiply(add(i, 1), i); b = multiply(add(a, 5), i); "
          "return multiply(add(b, 6), i)"),
    *[
        steps(f"a last step that lacks an integer {op}, which could fail", f"""
            j = add(abs(i), 1); c = negative(i); t = add(i, c)
            d = {op}(c, j); u = add(t, d); e = {op}(d, j); v = add(u, e); f = {op}(e, j); return add(v, f)
            """, f"""
            j = add(abs(i), 1); c = negative(i)
            def body(t, c): return add(t, c), {op}(c, j)
            total, last = scan([i, c], [], body, length=3)
            return add(total, last)
            """)
        for op in ("floor_divide", "remainder")
    ],
    steps("numbers up to the largest one of a dtype", "a = negative(maximum(i, 2147483645)); b = negative(maximum(a, 2147483646)); "
          "return negative(maximum(b, 2147483647))", """
        def body(a, step): return negative(maximum(a, step))
        return scan([i], [asarray(data=(2147483645, 2147483646, 2147483647), dtype='int32')], body, length=3)
        """),
    steps("numbers beyond the dtype that they are compared with", """
        a = add(i, astype(less(i, 4000000000), dtype='int32')); b = add(a, astype(less(a, 4000000001), dtype='int32'))
        return add(b, astype(less(b, 4000000002), dtype='int32'))
        """),
    steps("numbers of an operation of several dtypes", "a = tanh(pow(y, 2.0)); b = tanh(pow(a, 3.0)); return tanh(pow(b, 4.0))"),
    steps("sizes that change", "a = concat(tanh(y), y, axis=0); b = concat(tanh(a), y, axis=0); return concat(tanh(b), y, axis=0)"),
    steps("random numbers", """
        k = random_key(seed=3)
        a = add(y, random_uniform(k, shape=(n,), dtype='float32', low=0.0, high=1.0))
        b = add(a, random_uniform(k, shape=(n,), dtype='float32', low=0.0, high=1.0))
        return add(b, random_uniform(k, shape=(n,), dtype='float32', low=0.0, high=1.0))
        """),
    steps("rows in another order", """
        a = add(multiply(y, 0.5), getitem(x, key=(0,))); b = add(multiply(a, 0.5), getitem(x, key=(2,)))
        return add(multiply(b, 0.5), getitem(x, key=(1,)))
        """),
    steps("rows from both ends", """
        a = add(multiply(y, 0.5), getitem(x, key=(-1,))); b = add(multiply(a, 0.5), getitem(x, key=(0,)))
        return add(multiply(b, 0.5), getitem(x, key=(1,)))
        """),
    steps("what is made in between", """
        a = tanh(multiply(y, 2.0)); b = tanh(multiply(a, 2.0)); w = sum(b); c = tanh(multiply(b, w))
        return c
        """),
    given=GIVEN,
)  # fmt: skip
def test_rolled(row: Row) -> None:
    check(rolled(3), row)


def test_as_many_steps_as_the_target_asks_for() -> None:
    row = steps(
        "three",
        f"{GIVEN}; a = tanh(multiply(y, 2.0)); b = tanh(multiply(a, 2.0)); return tanh(multiply(b, 2.0))",
    )
    check(rolled(4), row)
