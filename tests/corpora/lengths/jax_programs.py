"""Uncompiled JAX programs with loops of symbolic length, and similar ones that must be recorded for each
length.

``x`` has rows of three floats between 0 and 1, ``n`` is an integer, ``xp`` is ``jax.numpy``.
"""

from __future__ import annotations

from typing import Any

import pytest

from .programs import Program

jax = pytest.importorskip("jax")


# ------------------------------------------------------------------------------ one recording for all lengths
def prefix_sums_at(xp: Any, x: Any, n: int) -> Any:
    y = x
    for i in range(1, x.shape[0]):
        y = y.at[i].add(y[i - 1])
    return y


def history(xp: Any, x: Any, n: int) -> Any:
    out, h = xp.zeros_like(x), xp.zeros(3)
    for i, row in enumerate(x):
        h = 0.9 * h + xp.tanh(row)
        out = out.at[i].set(h)
    return out


def stencil_at(xp: Any, x: Any, n: int) -> Any:
    u = x[:, 0]
    for _ in range(n):
        u = u.at[1:-1].set(0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2]))
    return u


def gradient_descent(xp: Any, x: Any, n: int) -> Any:
    slope = jax.grad(lambda w: ((x @ w - x.sum(1)) ** 2).mean())
    w = xp.zeros(3)
    for _ in range(n):
        w = w - 0.1 * slope(w)
    return w


def momentum(xp: Any, x: Any, n: int) -> Any:
    def loss(w: Any) -> Any:
        return ((x @ w - 1.0) ** 2).mean()

    w, v = xp.ones(3), xp.zeros(3)
    for _ in range(n):
        value, g = jax.value_and_grad(loss)(w)
        v = 0.9 * v + g
        w = w - 0.05 * v / (1.0 + value)
    return {"w": w, "v": v}


def mapped_steps(xp: Any, x: Any, n: int) -> Any:
    for k in range(n):
        x = jax.vmap(lambda row: row / (1.0 + (row * row).sum()))(x) + 0.01 * k
    return x


def jitted_steps(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = _jitted(x)
    return x


@jax.jit
def _jitted(x: Any) -> Any:
    return x * 0.5 + jax.numpy.sin(x)


def heavy_ball_in_a_dict(xp: Any, x: Any, n: int) -> Any:
    state = {"p": x, "v": x * 0.0}
    for _ in range(n):
        v = state["v"] - 0.1 * state["p"]
        state = {"p": state["p"] + 0.1 * v, "v": v}
    return state


def newton_at_once(xp: Any, x: Any, n: int) -> Any:
    y = x + 1.0
    while xp.abs(y * y - x).max() > 1e-4:
        y = 0.5 * (y + x / y)
    return y


def halved_until(xp: Any, x: Any, n: int) -> Any:
    total = x.sum()
    steps = xp.zeros((), xp.int32)
    while total > 0.01:
        total, steps = total * 0.5, steps + 1
    return total, steps


def lower_sums(xp: Any, x: Any, n: int) -> Any:
    out = xp.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(i):
            out = out.at[i].add(x[j] @ x[i])
    return out


def every_pair(xp: Any, x: Any, n: int) -> Any:
    d = xp.zeros((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = d.at[i, j].set(((x[i] - x[j]) ** 2).sum())
    return d


def pairs_that_move(xp: Any, x: Any, n: int) -> Any:
    y = x
    for i in range(x.shape[0] - 1):
        y = y.at[i : i + 2].multiply(0.5)
    return y


def whole_numbers(xp: Any, x: Any, n: int) -> Any:
    counts = xp.zeros(3, xp.int32)
    for i in range(x.shape[0]):
        counts = counts + (x[i] > 0.5) * i
    return counts


def narrow_numbers(xp: Any, x: Any, n: int) -> Any:
    y = (x * 9).astype(xp.int8)
    for i in range(n):
        y = xp.where(y > i, y - 1, xp.maximum(y, i))
    return y


def half_precision(xp: Any, x: Any, n: int) -> Any:
    y = x.astype(xp.bfloat16)
    for i in range(n):
        y = y * 0.5 + i
    return y.astype(xp.float32)


def scanned_inside(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = jax.lax.scan(lambda h, row: (h * 0.9 + row, h), xp.zeros(3), x)[1]
    return x


def backwards_in_steps(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for i in range(x.shape[0] - 1, -1, -1):
        h = xp.where(x[i] > h, x[i], h * 0.9)
    return h


def side_by_side(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for k, (a, b) in enumerate(zip(x, x[::-1])):
        h = h + a * b * k
    return h


def two_buffers(xp: Any, x: Any, n: int) -> Any:
    a, b = x, x * 2.0
    for _ in range(n):
        a, b = b, 0.5 * (a + b)
    return a, b


def as_long_as_both_hold(xp: Any, x: Any, n: int) -> Any:
    total, factor = x.sum(), xp.float32(1.0)
    while total > 0.5 and factor < 50.0:
        total, factor = total * 0.6, factor * 1.5
    return total, factor


def as_long_as_one_holds(xp: Any, x: Any, n: int) -> Any:
    total, factor = x.sum(), xp.float32(1.0)
    while total > 0.5 or factor < 20.0:
        total, factor = total * 0.6, factor * 1.5
    return total, factor


def until_one_holds(xp: Any, x: Any, n: int) -> Any:
    total, factor = x.sum(), xp.float32(1.0)
    while not (total < 0.5) and not (factor > 20.0):
        total, factor = total * 0.6, factor * 1.5
    return total, factor


FOLDED: dict[str, Program] = {
    each.__name__: each
    for each in (
        prefix_sums_at, history, lower_sums, every_pair, pairs_that_move, whole_numbers, backwards_in_steps, side_by_side, newton_at_once,
        halved_until, as_long_as_both_hold, as_long_as_one_holds, until_one_holds,
    )
}  # fmt: skip
COUNTED: dict[str, Program] = {
    each.__name__: each
    for each in (
        stencil_at, gradient_descent, momentum, mapped_steps, jitted_steps, heavy_ball_in_a_dict, narrow_numbers, half_precision,
        scanned_inside, two_buffers,
    )
}  # fmt: skip


# ------------------------------------------------------------------------------------- traps
def dtype_that_changes_late(xp: Any, x: Any, n: int) -> Any:
    y = xp.zeros((), xp.int32)
    for i in range(n):
        y = y + (1 if i < 3 else 0.5)
    return y


def weak_at_first(xp: Any, x: Any, n: int) -> Any:
    y, z = 1, x.astype(xp.bfloat16)
    for _ in range(n):
        z = z * y
        y = xp.asarray(y) * 1.5
    return z.astype(xp.float32), y


def exit_by_an_element(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for row in x:
        h = h + row
        if h.sum() > 2.5:
            break
    return h


def branch_by_an_element(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for row in x:
        h = h + row if row[0] > 0.5 else h * 0.5
    return h


def counter_of_elements(xp: Any, x: Any, n: int) -> Any:
    count = 0
    for row in x:
        count += int(row[0] > 0.5)
    return x * count


def rows_in_a_list(xp: Any, x: Any, n: int) -> Any:
    rows = []
    for i in range(x.shape[0]):
        rows.append(x[i] * i)
    return xp.stack(rows)


def written_from_before(xp: Any, x: Any, n: int) -> Any:
    y = x
    for i in range(x.shape[0]):
        y = y.at[i].add(y[i - 1])
    return y


def beyond_the_end(xp: Any, x: Any, n: int) -> Any:
    y = xp.zeros(4)
    for i in range(x.shape[0]):
        y = y.at[i].set(x[i, 0])
    return y


def bounded_from_below(xp: Any, x: Any, n: int) -> Any:
    y = x
    for i in range(x.shape[0]):
        y = y.at[i].set(y[max(i - 2, 0)] + y[min(i + 1, x.shape[0] - 1)])
    return y


def rolled_by_the_step(xp: Any, x: Any, n: int) -> Any:
    h = x
    for i in range(n):
        h = h + xp.roll(x, i, axis=0)
    return h


def repeated_by_the_step(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for i in range(n):
        h = h + xp.repeat(x, i, axis=0).sum(0) + xp.arange(i).sum()
    return h


def axis_by_the_step(xp: Any, x: Any, n: int) -> Any:
    h = 0.0
    for i in range(n):
        h = h + x.sum(i % 2).max()
    return h


def slices_that_grow(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for i in range(x.shape[0]):
        h = h + x[:i].sum(0)
    return h


def rounds_of_a_while(xp: Any, x: Any, n: int) -> Any:
    rounds = 0
    while x.sum() > 0.5 and rounds < n:
        x, rounds = x * 0.6, rounds + 1
    return x * rounds


def left_early(xp: Any, x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.9
        if i == 3:
            return x * 2
    return x


def power_of_the_step(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for i in range(1, n):
        h = h + x[0] ** i + 2.0**i + x[0] / i + i // 2 + i % 3
    return h


def step_kept(xp: Any, x: Any, n: int) -> Any:
    best, at = -1.0, -1
    for i in range(x.shape[0]):
        if x[i, 0] > best:
            best, at = x[i, 0], i
    return x * at


def slope_with_state(xp: Any, x: Any, n: int) -> Any:
    seen = []

    def loss(w: Any) -> Any:
        seen.append(1)
        return (w * w).sum() * len(seen)

    w = x[0]
    for _ in range(n):
        w = w - 0.1 * jax.grad(loss)(w)
    return w


def keys_of_steps(xp: Any, x: Any, n: int) -> Any:
    key = jax.random.key(3)
    for i in range(n):
        key, own = jax.random.split(key)
        x = x + jax.random.uniform(own, (3,)) + jax.random.uniform(jax.random.fold_in(key, i), (3,))
    return x


def branch_on_the_size(xp: Any, x: Any, n: int) -> Any:
    h = xp.zeros(3)
    for i in range(x.shape[0]):
        h = h + (x[i] if x.shape[0] - i > 3 else 2 * x[i])
    return h


RIGHT: dict[str, Program] = {
    each.__name__: each
    for each in (
        dtype_that_changes_late, weak_at_first, exit_by_an_element, branch_by_an_element, counter_of_elements, rows_in_a_list,
        written_from_before, beyond_the_end, bounded_from_below, rolled_by_the_step, repeated_by_the_step, axis_by_the_step,
        slices_that_grow, rounds_of_a_while, left_early, power_of_the_step, step_kept, slope_with_state, keys_of_steps, branch_on_the_size,
    )
}  # fmt: skip
