"""Programs with nested loops and branches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .table import Program, each, floats, number, positive, whole


def scan_of_scan(matrix: Any) -> Any:
    def outer(total: Any, row: Any) -> Any:
        inner, seen = lax.scan(lambda held, item: (jnp.tanh(held + item), held * item), total, row)
        return inner, (seen, inner)

    return lax.scan(outer, matrix[0, 0], matrix)


def product_by_hand(a: Any, b: Any) -> Any:
    def row(i: Any, out: Any) -> Any:
        def column(j: Any, out: Any) -> Any:
            return out.at[i, j].set(jnp.dot(a[i], b[:, j]))

        return lax.fori_loop(0, b.shape[1], column, out)

    return lax.fori_loop(0, a.shape[0], row, jnp.zeros((a.shape[0], b.shape[1]), a.dtype))


def while_in_scan(rows: Any) -> Any:
    def step(count: Any, row: Any) -> Any:
        small, many = lax.while_loop(
            lambda held: jnp.abs(held[0]).sum() > 1, lambda held: (held[0] * 0.5, held[1] + 1), (row, 0)
        )
        return count + many, small

    return lax.scan(step, 0, rows)


def scan_in_while(rows: Any, most: Any) -> Any:
    def body(held: Any) -> Any:
        x, count = held
        x, _ = lax.scan(lambda x, row: (x + jnp.abs(row) * 0.1, None), x, rows)
        return x, count + 1

    return lax.while_loop(lambda held: held[0].sum() < most, body, (jnp.abs(rows[0]) + 0.1, 0))


def cond_in_scan(rows: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        held = lax.cond(row.sum() > 0, lambda: held + row, lambda: held * 0.5)
        return held, held.mean()

    return lax.scan(step, jnp.zeros_like(rows[0]), rows)


def scan_in_cond(rows: Any, flag: Any) -> Any:
    return lax.cond(
        flag > 0,
        lambda rows: lax.scan(lambda held, row: (held + row, held * row), rows[0], rows),
        lambda rows: (rows[-1], rows * 2),
        rows,
    )


def deep(rows: Any, flag: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        held = lax.cond(
            row.sum() > 0,
            lambda held: lax.while_loop(lambda x: jnp.abs(x).sum() > 1, lambda x: x * 0.7, held + row),
            lambda held: held - row,
            held,
        )
        return held, held

    return lax.cond(flag > 0, lambda: lax.scan(step, rows[0], rows)[1], lambda: rows)


def switch_in_loop(kinds: Any, x: Any) -> Any:
    branches = [lambda y: y + 1, lambda y: y * 1.5, jnp.sin, lambda y: y]
    return lax.fori_loop(0, kinds.shape[0], lambda i, y: lax.switch(kinds[i], branches, y), x)


def cond_in_cond(x: Any, a: Any, b: Any) -> Any:
    return lax.cond(
        a > 0,
        lambda: lax.cond(b > 0, lambda: x * 2, lambda: x * 3),
        lambda: lax.cond(b > 0, lambda: jnp.exp(x), lambda: x),
    )


def three_loops(cube: Any) -> Any:
    return lax.scan(
        lambda t, plane: (
            lax.scan(lambda t, row: (lax.scan(lambda t, x: (jnp.sin(t) + x, None), t, row)[0], t), t, plane)[
                0
            ],
            t,
        ),
        cube[0, 0, 0],
        cube,
    )


def early_stop(rows: Any, most: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        total, stopped = held
        total = lax.cond(stopped, lambda t, r: t, lambda t, r: t + jnp.abs(r), total, row)
        return (total, stopped | (total > most)), stopped

    return lax.scan(step, (0.0 * most, False), rows)


def mapped(rows: Any) -> Any:
    return lax.map(lambda row: lax.cond(row[0] > 0, jnp.sum, lambda row: (row * row).sum(), row), rows)


def mapped_in_map(cube: Any) -> Any:
    return lax.map(lambda plane: lax.map(lambda row: (row - row.mean(), row.max()), plane), cube)


@jax.jit
def _named(held: Any, row: Any) -> Any:
    return jnp.tanh(held) * row


def nested_jit(rows: Any) -> Any:
    @jax.jit
    def run(rows: Any) -> Any:
        return lax.scan(lambda held, row: (_named(held, row), jax.jit(lambda x: x + 1)(held)), rows[0], rows)

    return run(rows), run(rows * 2)[0]


def bubble_sort(x: Any) -> Any:
    def swap(j: Any, x: Any) -> Any:
        a, b = x[j], x[j + 1]
        return x.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

    return lax.fori_loop(0, x.shape[0], lambda i, x: lax.fori_loop(0, x.shape[0] - 1, swap, x), x)


def edit_distance(a: Any, b: Any) -> Any:
    def row(before: Any, letter: Any) -> Any:
        cost = jnp.minimum(before[1:] + 1, before[:-1] + (b != letter))

        def item(left: Any, given: Any) -> Any:
            found = jnp.minimum(left + 1, given)
            return found, found

        first = before[0] + 1
        _, rest = lax.scan(item, first, cost)
        return jnp.concatenate([first[None], rest]), None

    return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[0][-1]


def stencil(x: Any) -> Any:
    return lax.fori_loop(1, x.shape[0] - 1, lambda i, y: y.at[i].set((y[i - 1] + x[i] + x[i + 1]) / 3), x)


def windows(x: Any) -> Any:
    def step(held: Any, start: Any) -> Any:
        window = lax.dynamic_slice(x, (start,), (3,))
        return held + window.sum(), window.max()

    return lax.scan(step, 0.0 * x[0], jnp.arange(x.shape[0] - 2))


def newton(x: Any) -> Any:
    def goes_on(held: Any) -> Any:
        y, before, count = held
        return (jnp.max(jnp.abs(y - before)) > 1e-4) & (count < 20) & ~jnp.isnan(y).any()

    y, _, count = lax.while_loop(
        goes_on, lambda held: (0.5 * (held[0] + x / held[0]), held[0], held[2] + 1), (x + 1, x, 0)
    )
    return y, count


def bounded_newton(x: Any) -> Any:
    return lax.fori_loop(
        0, 12, lambda i, y: jnp.where(jnp.abs(y * y - x) < 1e-6, y, 0.5 * (y + x / y)), x + 1
    )


def bisection(low: Any, high: Any) -> Any:
    def body(held: Any) -> Any:
        low, high = held
        middle = (low + high) / 2
        return lax.cond(jnp.cos(middle) - middle > 0, lambda: (middle, high), lambda: (low, middle))

    return lax.while_loop(lambda held: held[1] - held[0] > 1e-3, body, (low, high))


def gcd(a: Any, b: Any) -> Any:
    return lax.while_loop(lambda pair: pair[1] != 0, lambda pair: (pair[1], pair[0] % pair[1]), (a, b))[0]


def collatz(x: Any) -> Any:
    def steps(n: Any) -> Any:
        step = lambda held: (jnp.where(held[0] % 2 == 0, held[0] // 2, 3 * held[0] + 1), held[1] + 1)  # noqa: E731
        return lax.while_loop(lambda held: held[0] > 1, step, (n, 0))[1]

    return jax.vmap(steps)(x)


def power_iteration(matrix: Any) -> Any:
    symmetric = matrix + matrix.T

    def step(i: Any, v: Any) -> Any:
        v = symmetric @ v
        return v / jnp.linalg.norm(v)

    return lax.fori_loop(0, 6, step, jnp.ones(matrix.shape[0], matrix.dtype))


def no_steps_of_while(x: Any) -> Any:
    return lax.while_loop(lambda y: y.sum() < -1e6, lambda y: y - 1, x)


def loop_twice(x: Any) -> Any:
    """Two successive loops have bodies with the same variable names."""
    body = lambda i, y: y * 0.5 + i  # noqa: E731
    return lax.fori_loop(0, 3, body, lax.fori_loop(0, x.shape[0], body, x))


_PAIRS = ((4, 3), (6, 2), (1, 5))
PROGRAMS = {
    "scan of scan": Program(scan_of_scan, each(floats, *_PAIRS)),
    "loop in loop": Program(product_by_hand, ((floats(2, 3), floats(3, 4)), (floats(3, 2), floats(2, 1)))),
    "while in scan": Program(while_in_scan, tuple((floats(n, 3, scale=3.0),) for n in (3, 5)), "forward"),
    "scan in while": Program(
        scan_in_while,
        tuple((floats(n, 3), number(most)) for n, most in ((3, 4.0), (5, 0.0), (2, 9.0))),
        "forward",
    ),
    "cond in scan": Program(cond_in_scan, each(floats, *_PAIRS)),
    "scan in cond": Program(
        scan_in_cond, tuple((floats(n, 3), number(f)) for n, f in ((3, 1), (5, -1), (2, 1)))
    ),
    "deep": Program(deep, tuple((floats(n, 3), number(f)) for n, f in ((3, 1), (5, -1), (6, 1))), "forward"),
    "switch in loop": Program(switch_in_loop, tuple((whole(n, low=-1, high=6), floats(3)) for n in (5, 9))),
    "cond in cond": Program(
        cond_in_cond,
        tuple((floats(3), number(a), number(b)) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))),
    ),
    "three loops": Program(three_loops, each(floats, (2, 3, 4), (3, 2, 2))),
    "early stop": Program(
        early_stop, tuple((floats(n), number(most)) for n, most in ((6, 2.0), (8, 0.1), (3, 99.0)))
    ),
    "map with a branch": Program(mapped, each(floats, *_PAIRS)),
    "map in map": Program(mapped_in_map, each(floats, (2, 3, 4), (3, 2, 2))),
    "nested jit": Program(nested_jit, each(floats, *_PAIRS)),
    "bubble sort": Program(bubble_sort, each(floats, (4,), (6,))),
    "edit distance": Program(
        edit_distance,
        tuple((whole(n, high=3), whole(m, high=3, seed=1)) for n, m in ((4, 5), (6, 2))),
        "none",
    ),
    "stencil": Program(stencil, each(floats, (5,), (8,))),
    "windows": Program(windows, each(floats, (5,), (8,))),
    "newton": Program(newton, each(positive, (3,), (5,)), "forward"),
    "bounded newton": Program(bounded_newton, each(positive, (3,), (5,))),
    "bisection": Program(
        bisection, ((number(0), number(1)), (number(-2), number(3)), (number(0), number(0))), "forward"
    ),
    "gcd": Program(
        gcd,
        tuple((number(a, "int32"), number(b, "int32")) for a, b in ((12, 18), (7, 0), (1071, 462))),
        "none",
    ),
    "while under vmap": Program(collatz, ((whole(4, low=1, high=30),), (whole(6, low=1, high=9),)), "none"),
    "power iteration": Program(power_iteration, each(positive, (3, 3), (4, 4))),
    "no steps of a while": Program(no_steps_of_while, each(floats, (3,), (4,)), "forward"),
    "two loops": Program(loop_twice, each(floats, (3,), (4,))),
}
