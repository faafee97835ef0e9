"""Programs whose loops carry pytrees, Python numbers, random keys, or arrays of various dtypes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .table import Program, each, floats, number, positive, whole


class Moments(NamedTuple):
    count: Any
    mean: Any
    squares: Any


def welford(rows: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        moments, (largest, seen) = held["moments"], held["others"]
        count = moments.count + 1
        mean = moments.mean + (row - moments.mean) / count
        squares = moments.squares + (row - moments.mean) * (row - mean)
        return {
            "moments": Moments(count, mean, squares),
            "others": (jnp.maximum(largest, row.max()), seen + 1),
        }, {"mean": mean}

    zeros = jnp.zeros_like(rows[0])
    return lax.scan(
        step,
        {"moments": Moments(0.0, zeros, zeros), "others": (jnp.float32(-9.0).astype(rows.dtype), 0)},
        rows,
    )


def total(rows: Any, start: Any) -> Any:
    return lax.scan(lambda held, row: (held + row, held * row), start, rows)


def returns(rewards: Any, discount: Any) -> Any:
    return lax.scan(
        lambda after, reward: ((reward + discount * after), reward + discount * after),
        0.0 * rewards[0],
        rewards,
        reverse=True,
    )


def without_rows(x: Any) -> Any:
    def step(held: Any, _: Any) -> Any:
        return 0.9 * held + jnp.sin(held), held.sum()

    return lax.scan(step, x, None, length=x.shape[0])


def captured(rows: Any, into: Any, onto: Any, bias: Any) -> Any:
    def step(hidden: Any, row: Any) -> Any:
        hidden = jnp.tanh(row @ into + hidden @ onto + bias)
        return hidden, (hidden, bias)

    return lax.scan(step, jnp.zeros(onto.shape[0], rows.dtype), rows)


def drawn(rows: Any, seed: Any) -> Any:
    def step(key: Any, row: Any) -> Any:
        key, own = jax.random.split(key)
        return key, row + jax.random.normal(own, row.shape, row.dtype)

    key, noisy = lax.scan(step, jax.random.key(seed), rows)
    return noisy, jax.random.uniform(key, dtype=rows.dtype)


def keys_as_rows(rows: Any, seed: Any) -> Any:
    keys = jax.random.split(jax.random.key(seed), 4)
    return lax.scan(
        lambda held, key: (
            held * 0.5 + jax.random.bernoulli(key, 0.5, held.shape),
            jax.random.randint(key, (), 0, 9),
        ),
        rows,
        keys,
    )


def numbers_of_python(x: Any) -> Any:
    return lax.fori_loop(
        0, 5, lambda i, held: (held[0] + 1, held[1] * 0.5 + x.sum() * i, not_if(held[2])), (0, 1.0, True)
    )


def not_if(flag: Any) -> Any:
    return jnp.logical_not(flag)


def counts(x: Any) -> Any:
    def step(held: Any, item: Any) -> Any:
        many, ever, best = held
        return (many + (item > 2), ever | (item == 7), jnp.maximum(best, item.astype(jnp.int8))), (
            ever,
            many.astype(jnp.uint8),
        )

    return lax.scan(step, (0, False, jnp.int8(-5)), x)


def xorshift(words: Any) -> Any:
    def step(state: Any, word: Any) -> Any:
        state = state ^ word
        state = state ^ (state << jnp.uint32(13))
        state = state ^ (state >> jnp.uint32(17))
        state = state ^ (state << jnp.uint32(5))
        return state, state

    return lax.scan(step, jnp.uint32(2463534242), words)


def half(rows: Any) -> Any:
    return lax.scan(
        lambda held, row: (held * jnp.asarray(0.5, rows.dtype) + row, held), jnp.zeros_like(rows[0]), rows
    )


def mandelbrot(points: Any) -> Any:
    def steps(point: Any) -> Any:
        def body(held: Any) -> Any:
            return held[0] * held[0] + point, held[1] + 1

        return lax.while_loop(lambda held: (jnp.abs(held[0]) < 2) & (held[1] < 20), body, (0j * point, 0))[1]

    return jax.vmap(steps)(points)


def rotated(points: Any, turns: Any) -> Any:
    return lax.scan(
        lambda held, turn: (held * jnp.exp(1j * turn.astype(points.dtype)), jnp.real(held)), points, turns
    )


def weak(rows: Any) -> Any:
    """The carry begins as a Python number and takes the dtype of the rows."""
    return lax.scan(lambda held, row: (held + row.sum(), held * 2), 0.0, rows)


def weak_integer(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, held: held + x[i], 0)


def keys_in_a_while(x: Any, most: Any) -> Any:
    def body(held: Any) -> Any:
        key, total, count = held
        key, own = jax.random.split(key)
        return key, total + jax.random.uniform(own, dtype=x.dtype), count + 1

    _, total, count = lax.while_loop(lambda held: held[1] < most, body, (jax.random.key(7), 0.0 * most, 0))
    return x * total, count


def fibonacci(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, held: (held[1], held[0] + held[1]), (x, x + 1))


def rotated_names(x: Any) -> Any:
    return lax.scan(lambda held, row: ((held[2], held[0], held[1] + row), held[0]), (x[0], x[1], x[0] * 2), x)


def row_as_carry(rows: Any) -> Any:
    """The result is a row of the argument, and must not share storage with it."""
    return lax.scan(lambda before, row: (row, row - before), rows[0], rows)


def captured_as_carry(rows: Any, other: Any) -> Any:
    return lax.scan(lambda before, row: (other, before + row), rows[0], rows)


def nothing_changes(rows: Any) -> Any:
    last, out = lax.scan(lambda held, row: (held, row), rows[0], rows)
    return last, out, lax.fori_loop(0, rows.shape[0], lambda i, held: held, rows)


def twice_the_same(rows: Any) -> Any:
    start = rows[0]
    (a, b), outs = lax.scan(
        lambda held, row: ((held[0] + row, held[1] * row), (row, row)), (start, start), rows
    )
    return a, b, outs, start


def no_outputs(rows: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.maximum(held, row), None), rows[0], rows)[0]


def no_carry(rows: Any) -> Any:
    return lax.scan(lambda _, row: (None, {"a": row * 2, "b": (row.sum(), row > 0)}), None, rows)[1]


def empty_trees(rows: Any) -> Any:
    return lax.scan(
        lambda held, row: ({"a": held["a"] + row, "none": None, "empty": ()}, ()),
        {"a": rows[0], "none": None, "empty": ()},
        rows,
    )


def unused_rows(rows: Any) -> Any:
    return lax.scan(lambda held, row: (held * 0.5, None), rows.sum(), (rows, rows * 2))[0]


def counter_alone(x: Any) -> Any:
    return x + lax.fori_loop(0, x.shape[0], lambda i, held: held + i, 0)


PROGRAMS = {
    "tree carry": Program(welford, each(floats, (4, 3), (7, 2), (1, 3))),
    "zero steps": Program(total, tuple((floats(n, 3), floats(3)) for n in (3, 0, 1, 6))),
    "always zero steps": Program(total, tuple((floats(0, n), floats(n)) for n in (3, 5))),
    "reverse": Program(returns, tuple((floats(n), number(0.9)) for n in (5, 1, 9))),
    "without rows": Program(without_rows, each(floats, (4,), (1,), (9,))),
    "captured weights": Program(
        captured,
        tuple((floats(n, i), floats(i, h), floats(h, h), floats(h)) for n, i, h in ((4, 2, 3), (6, 3, 2))),
    ),
    "random draws": Program(drawn, tuple((floats(n, 3), whole(high=99, seed=n)) for n in (4, 6))),
    "keys as rows": Program(keys_as_rows, tuple((floats(n), whole(high=99, seed=n)) for n in (3, 5))),
    "numbers of Python": Program(numbers_of_python, each(floats, (4,), (6,))),
    "integers and truth values": Program(counts, each(whole, (6,), (3,), (11,)), "none"),
    "uint32": Program(xorshift, tuple((whole(n, high=2**31, dtype="uint32"),) for n in (4, 9)), "none"),
    "float16": Program(half, tuple((floats(n, 3, dtype="float16"),) for n in (4, 7)), "none"),
    "bfloat16": Program(half, tuple((jnp.asarray(floats(n, 3), "bfloat16"),) for n in (4, 7)), "none"),
    "complex in a while": Program(
        mandelbrot, tuple(((floats(n) + 1j * floats(n, seed=3)).astype("complex64"),) for n in (6, 9)), "none"
    ),
    "complex in a scan": Program(
        rotated,
        tuple(((floats(2) + 1j * floats(2, seed=3)).astype("complex64"), floats(n)) for n in (6, 9)),
        "none",
    ),
    "weak type": Program(weak, each(floats, (4, 2), (6, 3))),
    "weak type of halves": Program(weak, tuple((floats(n, 2, dtype="float16"),) for n in (4, 7)), "none"),
    "weak integer": Program(weak_integer, ((whole(4),), (whole(9),)), "none"),
    "keys in a while": Program(
        keys_in_a_while,
        tuple((floats(n), number(most)) for n, most in ((3, 2.0), (4, 0.3), (2, 6.0))),
        "forward",
    ),
    "changing places": Program(fibonacci, each(floats, (4,), (7,), (1,))),
    "three change places": Program(rotated_names, each(floats, (4, 2), (7, 3))),
    "a row as carry": Program(row_as_carry, each(floats, (4, 2), (7, 3))),
    "captured as carry": Program(captured_as_carry, tuple((floats(n, 3), floats(3)) for n in (4, 6))),
    "nothing changes": Program(nothing_changes, each(floats, (4, 2), (7, 3))),
    "twice the same": Program(twice_the_same, each(floats, (4, 2), (7, 3))),
    "no outputs": Program(no_outputs, each(floats, (4, 2), (7, 3))),
    "no carry": Program(no_carry, each(floats, (4, 2), (7, 3))),
    "empty trees": Program(empty_trees, each(floats, (4, 2), (7, 3))),
    "unused rows": Program(unused_rows, each(positive, (4, 2), (7, 3))),
    "a counter alone": Program(counter_alone, each(floats, (4,), (7,))),
}
