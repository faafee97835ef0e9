"""Python loops in the functions that NumPy, JAX and torch share as ``xp``.

``u`` is a row of floats, ``xs`` has more such rows than there are iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 20
Loop = Callable[[Any, Any, Any], Any]


# ------------------------------------------------------------------------------------- what is carried
def damped(xp: Any, u: Any, xs: Any) -> Any:
    for _ in range(STEPS):
        u = u * 0.9 + 0.1
    return u


def with_invariant(xp: Any, u: Any, xs: Any) -> Any:
    w = xp.tanh(xs[0])
    for _ in range(STEPS):
        u = xp.tanh(u * w + xs[1])
    return u


def leapfrog(xp: Any, u: Any, xs: Any) -> Any:
    before = u * 0.5
    for _ in range(STEPS):
        u, before = 1.5 * u - 0.6 * before, u
    return u, before


def three_back(xp: Any, u: Any, xs: Any) -> Any:
    a, b, c = u, u + 1, u * 2
    for _ in range(STEPS):
        a, b, c = b, c, 0.3 * a - 0.2 * b + 0.1 * c
    return a, b, c


def pair(xp: Any, u: Any, xs: Any) -> Any:
    v = xs[0]
    for _ in range(STEPS):
        u, v = u - 0.1 * v, v + 0.1 * u
    return u, v


def predator(xp: Any, u: Any, xs: Any) -> Any:
    x, y = xp.exp(-u * u), xp.exp(-xs[0] * xs[0])
    for _ in range(STEPS):
        dx = x * (1 - y) * 0.05
        dy = y * (x - 1) * 0.05
        x, y = x + dx, y + dy
    return x * y


def helper_called(xp: Any, u: Any, xs: Any) -> Any:
    def step(h: Any) -> Any:
        return xp.sin(h) + 0.5 * xp.cos(h)

    for _ in range(STEPS):
        u = step(u)
    return u


def power_iteration(xp: Any, u: Any, xs: Any) -> Any:
    m = xs.T @ xs
    for _ in range(STEPS):
        u = m @ u
        u = u / xp.sqrt((u * u).sum())
    return u


def first_step_apart(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        if t == 0:
            u = xp.exp(-u * u)
        u = u * 0.7 + 0.2
    return u


def two_loops(xp: Any, u: Any, xs: Any) -> Any:
    for _ in range(STEPS):
        u = xp.sin(u) + 0.1
    v = u * 2
    for _ in range(STEPS):
        v = v * 0.5 + u
    return u, v


def same_loop_twice(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for start in (u, xs[0]):
        h = start
        for _ in range(STEPS):
            h = h * 0.8 + 0.1
        made.append(h)
    return made[0] - made[1]


def last_of_a_step(xp: Any, u: Any, xs: Any) -> Any:
    loss = u
    for _ in range(STEPS):
        loss = (u * u).sum()
        u = u - 0.1 * u * loss
    return u, loss


# ------------------------------------------------------------------------------------- rows that are taken
def summed_rows(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = u * 0.5 + xs[t]
    return u


def every_other_row(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(0, STEPS, 1):
        u = u * 0.5 + xs[t + 2] * xs[t]
    return u


def rows_from_the_end(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = xp.sin(u) + xs[t - STEPS]
    return u


def parts_of_rows(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = u * 0.5 + xs[t, 1:].sum() + xs[t, 0]
    return u


def exponential_average(xp: Any, u: Any, xs: Any) -> Any:
    h, rate = u, 0.3
    for t in range(STEPS):
        h = rate * xs[t] + (1 - rate) * h
    return h


def recurrent_cell(xp: Any, u: Any, xs: Any) -> Any:
    w = xs.T @ xs * 0.01
    h = u
    for t in range(STEPS):
        h = xp.tanh(xs[t] @ w + h @ w)
    return h.sum()


# ------------------------------------------------------------------------------------- what each step gives
def trajectory(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for _ in range(STEPS):
        u = u * 0.9 + 0.1
        made.append(u)
    return xp.stack(made)


def trajectory_and_last(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for t in range(STEPS):
        u = xp.tanh(u + xs[t])
        made.append(u * 2)
    return u, xp.stack(made)


def two_trajectories(xp: Any, u: Any, xs: Any) -> Any:
    ones, others = [], []
    for t in range(STEPS):
        u = xp.sin(u) * xs[t]
        ones.append(u)
        others.append(u.sum())
    return xp.stack(ones), xp.stack(others)


def mapped(xp: Any, u: Any, xs: Any) -> Any:
    return xp.stack([xp.tanh(xs[t]) * u for t in range(STEPS)])


# ------------------------------------------------------------------------------------- loops in loops
def nested(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        for _ in range(STEPS):
            u = u * 0.9 + 0.01
        u = u + xs[t]
    return u


def short_inside(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        for _ in range(2):
            u = u * 0.9 + 0.01
        u = u + xs[t]
    return u


def nested_rows(xp: Any, u: Any, xs: Any) -> Any:
    total = u
    for i in range(STEPS):
        for j in range(3):
            total = total + xs[i, j] * 0.1
    return total


# ------------------------------------------------------------------------------------- numbers that count
def times_the_step(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = xp.sin(u) + t
    return u


def columns(xp: Any, u: Any, xs: Any) -> Any:
    m = xs @ xs.T
    h = m[0]
    for t in range(STEPS):
        h = h * 0.5 + m[:, t] * 0.01
    return h


def times(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = u * 0.9 + xp.sin(u * (t * 0.13))
    return u


def numbers_of_steps(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = xp.sin(u) * 0.5 + t * t
    return u


def rows_written(xp: Any, u: Any, xs: Any) -> Any:
    out = xs * 0
    for t in range(STEPS):
        u = xp.sin(u) + 0.1
        out[t] = u
    return out


def from_the_first_on(xp: Any, u: Any, xs: Any) -> Any:
    made = [u]
    for t in range(STEPS):
        made.append(xp.tanh(made[-1] + xs[t]))
    return xp.stack(made)


def end_to_end(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for t in range(STEPS):
        u = xp.tanh(u + xs[t])
        made.append(u)
    return (xp.cat if hasattr(xp, "cat") else xp.concatenate)(made)


def windows(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(STEPS):
        u = xp.sin(u) + xs[t : t + 3].sum()
    return u


def all_the_way_back(xp: Any, u: Any, xs: Any) -> Any:
    """Each iteration uses all earlier rows, through running sums."""
    made = [u]
    for _ in range(6):
        made.append(sum(made[1:], made[0]) * 0.5)
    return made[-1]


EVERYWHERE: dict[str, Loop] = {
    loop.__name__: loop
    for loop in (
        damped, with_invariant, leapfrog, three_back, pair, predator, helper_called, power_iteration, first_step_apart, two_loops,
        same_loop_twice, last_of_a_step, summed_rows, every_other_row, rows_from_the_end, parts_of_rows, exponential_average,
        recurrent_cell, trajectory, trajectory_and_last, two_trajectories, mapped, nested, short_inside, nested_rows,
    )
}  # fmt: skip
"""Loops in the calls of each framework, too."""

ACROSS: dict[str, Loop] = {
    loop.__name__: loop
    for loop in (
        times_the_step, columns, windows, all_the_way_back, times, numbers_of_steps, from_the_first_on, end_to_end,
    )
}  # fmt: skip
"""Loops in canonical operations only: written for another framework."""


# ------------------------------------------------------------------------------------- loops that are none
def two_kinds_of_steps(xp: Any, u: Any, xs: Any) -> Any:
    """Two kinds of iterations alternate by the Thue-Morse sequence, which never repeats a part three times in
    a row.
    """
    for t in range(STEPS):
        u = xp.sin(u) if bin(t).count("1") % 2 else xp.cos(u)
    return u


def uneven_rows(xp: Any, u: Any, xs: Any) -> Any:
    for t in range(6):
        u = u * 0.5 + xs[t * t % 7]
    return u


def from_the_middle(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for _ in range(6):
        u = xp.sin(u)
        made.append(u * 2)
    total = made[3] * 0
    for place in (5, 1, 0, 3, 2, 4):
        total = total * made[place] + 1
    return total


def stacked_out_of_order(xp: Any, u: Any, xs: Any) -> Any:
    made = []
    for t in range(6):
        made.append(xp.sin(xs[t]))
    return xp.stack([made[place] for place in (1, 0, 2, 3, 5, 4)])


def growing(xp: Any, u: Any, xs: Any) -> Any:
    """The array in each iteration is longer than the one before."""
    total = u.sum()
    for t in range(1, 7):
        total = total * 0.5 + xs[:t].sum()
    return total


def crossing_the_end(xp: Any, u: Any, xs: Any) -> Any:
    """The rows -3 to 2 are not the rows of any slice."""
    for t in range(6):
        u = u * 0.5 + xs[t - 3]
    return u


NEVER: dict[str, Loop] = {
    loop.__name__: loop
    for loop in (
        two_kinds_of_steps, uneven_rows, from_the_middle, stacked_out_of_order, growing,
        crossing_the_end,
    )
}  # fmt: skip
"""Repetitions that no loop of the graph can stand for, but for parts of them."""
