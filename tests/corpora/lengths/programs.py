"""Programs with loops of symbolic length, and similar ones that must be recorded for each length.

``x`` has rows of three floats between 0 and 1, ``n`` is an integer, ``xp`` is NumPy or torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any, Any, int], Any]


# ---------------------------------------------------------------------------- an argument says how many steps
def damped(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.9 + 0.1
    return x


def stencil(xp: Any, x: Any, n: int) -> Any:
    u = x[:, 0] * 1.0
    for _ in range(n):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
    return u


def periodic_stencil(xp: Any, x: Any, n: int) -> Any:
    u = x[:, 1]
    for _ in range(n):
        flux = 0.3 * (xp.roll(u, 1) - u)
        u = u + flux - xp.roll(flux, -1)
    return u


def leapfrog(xp: Any, x: Any, n: int) -> Any:
    now, before = x, x * 0.5
    for _ in range(n):
        now, before = 1.5 * now - 0.6 * before, now
    return now, before


def timed(xp: Any, x: Any, n: int) -> Any:
    for step in range(n):
        x = x + 0.01 * step * xp.cos(x)
    return x


def by_halves(xp: Any, x: Any, n: int) -> Any:
    for k in range(1, 2 * n + 1, 2):
        x = x / 2 + k
    return x


def power_iteration(xp: Any, x: Any, n: int) -> Any:
    m, v = x.T @ x, x[0] + 1
    for _ in range(n):
        v = m @ v
        v = v / xp.sqrt((v * v).sum())
    return v


def euler(xp: Any, x: Any, n: int) -> Any:
    def slope(y: Any, t: Any) -> Any:
        return -y * (1 + t)

    y, h = x, 0.05
    for i in range(n):
        y = y + h * slope(y, i * h)
    return y


def runge_kutta(xp: Any, x: Any, n: int) -> Any:
    state = (x, x * 0)
    for _ in range(n):
        p, v = state
        a = -xp.sin(p)
        state = (p + 0.1 * (v + 0.05 * a), v + 0.1 * a)
    return state[0] + state[1]


def mandelbrot(xp: Any, x: Any, n: int) -> Any:
    c = x - 0.5
    z, count = c * 0, c * 0
    for _ in range(n):
        inside = xp.abs(z) < 2
        count = count + inside
        z = xp.where(inside, z * z + c, z)
    return count


def two_lengths(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        for _ in range(x.shape[0]):
            x = x * 0.99 + 0.001
    return x


# ------------------------------------------------------------------------------- an array says how many steps
def summed(xp: Any, x: Any, n: int) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total = total + x[i].sum() * i
    return total


def prefix_sums(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    for i in range(1, len(y)):
        y[i] = y[i] + y[i - 1]
    return y


def averaged_rows(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for row in x:
        h = 0.7 * h + 0.3 * row
    return h


def numbered_rows(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for k, row in enumerate(x):
        h = h + row * k
    return h


def paired_rows(xp: Any, x: Any, n: int) -> Any:
    h, y = x[0] * 0, x * x
    for a, b in zip(x, y):
        h = h * 0.5 + a * b
    return h


def numbered_pairs(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for k, (a, j) in enumerate(zip(x, range(len(x)))):
        h = h + a * (k + 2 * j)
    return h


def backwards(xp: Any, x: Any, n: int) -> Any:
    h = x[0]
    for k in range(len(x) - 1, -1, -1):
        h = h * 0.5 + x[k]
    return h


def turned_round(xp: Any, x: Any, n: int) -> Any:
    h = x[0]
    for k in reversed(range(len(x))):
        h = h * x[k] + 0.5
    return h


def every_other(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for k in range(0, len(x), 2):
        h = h + x[k]
    return h


def pair_sums(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            h = h + xp.tanh(x[i] - x[j]) * x[j]
    return h


def matrix_product(xp: Any, x: Any, n: int) -> Any:
    g = x @ x.T * 0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            g[i, j] = (x[i] * x[j]).sum()
    return g


def recurrent_cell(xp: Any, x: Any, n: int) -> Any:
    w, h = x.T @ x * 0.01, x[0]
    for t in range(x.shape[0]):
        gate = xp.tanh(x[t] @ w + h @ w)
        h = gate * h + (1 - gate) * x[t]
    return h


def last_part(xp: Any, x: Any, n: int) -> Any:
    u, r = x[0], x[0]
    for row in x:
        r = row - u * 0.5
        u = u + 0.1 * r
    return u, r


# -------------------------------------------------------------------------------- elements say how many steps
def newton(xp: Any, x: Any, n: int) -> Any:
    a = x * 40 * n + 1
    y = a
    while xp.abs(y * y - a).max() > 0.01:
        y = 0.5 * (y + a / y)
    return y


def newton_with_error(xp: Any, x: Any, n: int) -> Any:
    a = x * 10 * n + 2
    y, error = a, a.max()
    while error > 0.01:
        new = 0.5 * (y + a / y)
        error = xp.abs(new - y).max()
        y = new
    return y


def halved(xp: Any, x: Any, n: int) -> Any:
    y = x * 100.0 * n
    while y.sum() > 1:
        y[:] = y * 0.5
    return y


def newton_between(xp: Any, x: Any, n: int) -> Any:
    y = x.sum() * 40 * n
    while 1 < y * y < 1e9:
        y = y * 0.5
    return y


def two_conditions(xp: Any, x: Any, n: int) -> Any:
    # One of them ends the loop for many rows, the other for few.
    y, left = x * 100.0 * n, x.sum() * 0 + 12
    while y.sum() > 1 and left > 0:
        y, left = y * 0.5, left - 1
    return y, left


def conditions_turned(xp: Any, x: Any, n: int) -> Any:
    y, left = x * 100.0 * n, x.sum() * 0 + 12
    while left > 0 and y.sum() > 1:
        y, left = y * 0.5, left - 1
    return y, left


def three_conditions(xp: Any, x: Any, n: int) -> Any:
    y, z = x * 100.0 * n, x.sum() * 0
    while y.sum() > 1 and not z > 12 and xp.isfinite(y).all():
        y, z = y * 0.6, z + 1
    return y, z


def one_of_two_turned(xp: Any, x: Any, n: int) -> Any:
    y, left = x * 100.0 * n, x.sum() * 0 + 3
    while left > 0 or not y.sum() < 1:
        y, left = y * 0.6, left - 1
    return y, left


def until(xp: Any, x: Any, n: int) -> Any:
    y, done = x * 100.0 * n, x.sum() < 0
    while not done:
        y = y * 0.5
        done = y.sum() < 1
    return y


def flags_of_both_kinds(xp: Any, x: Any, n: int) -> Any:
    y, more, done = x * 100.0 * n, x.sum() >= 0, x.sum() < 0
    while more and not done:
        y = y * 0.5
        more, done = y.max() > 1, y.sum() < 1
    return y


# ------------------------------------------------------------------------------------- traps
def second_exit(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1.5
        if x.sum() > 100:
            break
    return x


def early_return(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1.5
        if x.max() > 60:
            return x * 0
    return x


def counter(xp: Any, x: Any, n: int) -> Any:
    count = 0
    for _ in range(n):
        count += 1  # noqa: SIM113
        x = x + count
    return x


def counter_behind(xp: Any, x: Any, n: int) -> Any:
    count = 0
    for _ in range(n):
        count += 1
        x = x + 1
    return x * count


def number_asked(xp: Any, x: Any, n: int) -> Any:
    for i in range(n):
        if i == 20:
            x = x * 0
        x = x + 1
    return x


def number_asked_elsewhere(xp: Any, x: Any, n: int) -> Any:
    def late(i: int) -> bool:
        return i > 20

    for i in range(n):
        x = x + (2 if late(i) else 1)
    return x


def number_behind(xp: Any, x: Any, n: int) -> Any:
    i = 0
    for i in range(n):  # noqa: B007
        x = x * 0.9
    return x + i


def list_that_grows(xp: Any, x: Any, n: int) -> Any:
    made = [x]
    for _ in range(n):
        made.append(made[-1] * 0.9)
    return xp.stack(made)


def list_of_two(xp: Any, x: Any, n: int) -> Any:
    kept = [x, x * 0.5]
    for _ in range(n):
        kept[0], kept[1] = kept[1], kept[0] * 0.5 + kept[1]
    return kept[0]


def state_in_a_default(xp: Any, x: Any, n: int) -> Any:
    def step(y: Any, seen: list[int] = []) -> Any:  # noqa: B006
        seen.append(1)
        return y * 2 if len(seen) > 20 else y + 1

    for _ in range(n):
        x = step(x)
    return x


def state_in_an_object(xp: Any, x: Any, n: int) -> Any:
    class Counter:
        count = 0

        def step(self, y: Any) -> Any:
            self.count += 1
            return y * 2 if self.count > 20 else y + 1

    own = Counter()
    for _ in range(n):
        x = own.step(x)
    return x


def state_in_an_iterator(xp: Any, x: Any, n: int) -> Any:
    factors = iter([1.0] * 20 + [2.0] * 1000)
    for _ in range(n):
        x = x * next(factors)
    return x


def state_in_a_closure(xp: Any, x: Any, n: int) -> Any:
    seen = {"count": 0}

    def step(y: Any) -> Any:
        seen["count"] += 1
        return y * 2 if seen["count"] > 20 else y + 1

    for _ in range(n):
        x = step(x)
    return x


COUNTS, NAMES = [0], ["first"]


def state_in_a_given_list(xp: Any, x: Any, n: int) -> Any:
    def step(counts: list[int]) -> None:
        counts[0] += 1

    COUNTS[0] = 0
    for _ in range(n):
        step(COUNTS)
        x = x + 1
    return x * COUNTS[0]


def state_in_a_list_of_two_names(xp: Any, x: Any, n: int) -> Any:
    del NAMES[1:]
    for _ in range(n):
        names = NAMES
        names += ["next"]
        x = x + 1
    return x * len(NAMES)


def capped_counter(xp: Any, x: Any, n: int) -> Any:
    left = 20
    for _ in range(n):
        left = max(left - 1, 0)
        x = x + 1 if left else x * 0
    return x


def flag_that_turns(xp: Any, x: Any, n: int) -> Any:
    is_first = True
    for _ in range(n):
        x = x * 2 if is_first else x + 1
        is_first = False
    return x


def else_behind(xp: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + 1
    else:  # noqa: PLW0120
        x = x * 2
    return x


def shape_that_changes(xp: Any, x: Any, n: int) -> Any:
    y = x[:, 0]
    for _ in range(n):
        y = xp.stack([y, y])[0] + y[:1]
    return y


def swapped_buffers(xp: Any, x: Any, n: int) -> Any:
    a, b = x * 1.0, x * 2.0
    for _ in range(n):
        b[:] = a * 0.5 + b
        a, b = b, a
    return a


def view_that_is_written(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    first = y[0]
    for _ in range(n):
        y[:] = y * 0.5
        first[:] = first + 1
    return y


def flag_of_before(xp: Any, x: Any, n: int) -> Any:
    now, before = x.sum() > 0, x.sum() > 0
    for _ in range(n):
        x = x - 0.2
        now, before = x.sum() > 0, now
        if now:
            x = x * 1.1
    return x, before


def rounds_with_a_limit(xp: Any, x: Any, n: int) -> Any:
    a, k = x * 10 + 1, 0
    y = a
    while xp.abs(y * y - a).max() > 0.01 and k < n:
        y, k = 0.5 * (y + a / y), k + 1
    return y


def rounds_counted(xp: Any, x: Any, n: int) -> Any:
    y, k = x * 100.0 * n, 0
    while y.sum() > 1:
        y, k = y * 0.5, k + 1
    return y * k


def one_of_two(xp: Any, x: Any, n: int) -> Any:
    y, left = x * 100.0 * n, x.sum() * 0 + 8
    while y.sum() > 1 or left > 0:
        y, left = y * 0.6, left - 1
    return y, left


def either_from_the_first(xp: Any, x: Any, n: int) -> Any:
    a, b, c = x[0, 0] * 0 - 1, x[0, 0] * 0 + 1, x[0, 0] * 0 + n
    k = x[0, 0] * 0
    while a > 0 or b > 0:
        a, b, c, k = b, c, k * 0 - 1, k + 1
    return a, b, c, k


def any_of_many(xp: Any, x: Any, n: int) -> Any:
    y, k = x.sum() * 10, x.sum() * 0
    while y > 5 or k < 3 or (y > 1 and k < 9):
        y, k = y * 0.7, k + 1
    return y, k


def one_of_numbers(xp: Any, x: Any, n: int) -> Any:
    y, k = x.sum() * 10, 0
    while y > 5 or k < n:
        y, k = y * 0.7, k + 1
    return y


def row_that_is_found(xp: Any, x: Any, n: int) -> Any:
    sums, k = x.sum(1), x.sum() * 0
    while k < x.shape[0] and sums[int(k)] < 2:
        k = k + 1
    return k


def flag_that_is_written(xp: Any, x: Any, n: int) -> Any:
    y, flags = x * 10.0 * n, x[:1, 0] >= 0
    flag = flags[0]
    while flag.all():
        y = y * 0.5
        flags[:] = y.sum() > 1
        flag = flags[0]
    return y


def left_and_begun_again(xp: Any, x: Any, n: int) -> Any:
    y = x * 2.0**n
    for _ in (1, 2, 3, 4):
        while y.sum() > 4:
            y = y * 0.5
            break
    return y


def left_by_a_number(xp: Any, x: Any, n: int) -> Any:
    y, z = x * 2.0**n, x.sum()
    for _ in (1, 2, 3):
        k = 0
        while y.sum() > 4 and k < 2:
            y, k = y * 0.5, k + 1
        z = z + y.sum()
    return y, z


def number_before_a_row(xp: Any, x: Any, n: int) -> Any:
    y = x.sum() * 2.0**n
    while 0 < n < 100 < y:
        y = y * 0.5
    return y


def rotated(xp: Any, x: Any, n: int) -> Any:
    a, b, c = x[0, 0] + 0, x[0, 0] + 1, x[0, 0] + 2
    while a < b < c:
        a, b, c = b, c, a
    return a, b, c


def compared_lists(xp: Any, x: Any, n: int) -> Any:
    y = x.sum() * 0 + n
    while [y > 3] != [x.sum() < 0]:
        y = y - 1
    return y


def no_first_step(xp: Any, x: Any, n: int) -> Any:
    y = x * 2.0**n
    while y.sum() > 40 and y.sum() > 30:
        y = y * 0.5
    return y


def array_of_two_names(xp: Any, x: Any, n: int) -> Any:
    """Without iterations both variables are the same array."""
    y = x * 1
    z = y
    for _ in range(n):
        z = z * 0.5 + x
    z[0] = 3
    return y, z


def first_name_written(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    z = y
    for _ in range(n):
        z = z * 0.5 + x
    y[0] = 3
    return y, z


def view_of_what_is_written(xp: Any, x: Any, n: int) -> Any:
    z = x * 1
    rest = z[:1]
    for _ in range(n):
        z = z * 0.5 + x
    z[0] = 3
    return rest * 2


def view_that_sees_a_write(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    z = y[:2]
    for _ in range(n):
        z = z * 0.5
    rows = z[:1]
    y[0] = 3
    return rows * 2, y


def written_in_the_outer_step(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    z = y
    for i in range(x.shape[0]):
        for _ in range(n):
            z = z * 0.5 + x
        z[i] = z[i] * 0.5 + i
    return y, z


COUNTED: dict[str, Program] = {
    each.__name__: each
    for each in (
        damped, stencil, periodic_stencil, leapfrog, timed, by_halves, power_iteration, euler, runge_kutta, mandelbrot, two_lengths,
        list_of_two, flag_that_turns, shape_that_changes,
    )
}  # fmt: skip
"""One recording serves all sizes and numbers but 0 and 1."""

SIZED: dict[str, Program] = {
    each.__name__: each
    for each in (
        summed, prefix_sums, averaged_rows, numbered_rows, paired_rows, numbered_pairs, backwards, turned_round, every_other, pair_sums,
        matrix_product, recurrent_cell, last_part, newton, newton_with_error, halved, newton_between,
        two_conditions, conditions_turned, three_conditions, one_of_two_turned, until, flags_of_both_kinds,
    )
}  # fmt: skip
"""One recording serves all sizes and elements."""

WHILE = frozenset(
    {
        "newton",
        "newton_with_error",
        "halved",
        "newton_between",
        "two_conditions",
        "conditions_turned",
        "three_conditions",
        "one_of_two_turned",
        "until",
        "flags_of_both_kinds",
    }
)
"""Elements say how many steps there are: JAX has gradients of these from the beginning to the end."""


# ---------------------------------------------------------------------------------- numbers that pass 32 bits
def hashed_columns(xp: Any, x: Any, n: int) -> Any:
    h = x[:, 0]
    for i in range(n):
        h = h * 0.5 + x[:, (i * 1103515245 // 65536) % 3]
    return h


def cubes(xp: Any, x: Any, n: int) -> Any:
    h = x[0]
    for i in range(n):
        h = h + i * i * i * 1e-9
    return h


RIGHT: dict[str, Program] = {
    each.__name__: each
    for each in (
        second_exit, early_return, counter, counter_behind, number_asked, number_asked_elsewhere, number_behind, list_that_grows,
        state_in_a_default, state_in_an_object, state_in_an_iterator, state_in_a_closure,
        state_in_a_given_list, state_in_a_list_of_two_names, capped_counter, else_behind, swapped_buffers,
        view_that_is_written, flag_of_before, rounds_with_a_limit, rounds_counted,
        one_of_two, either_from_the_first, any_of_many, one_of_numbers, row_that_is_found, flag_that_is_written, left_and_begun_again, left_by_a_number, number_before_a_row,
        rotated, compared_lists, no_first_step, hashed_columns, cubes, array_of_two_names, first_name_written,
        written_in_the_outer_step, view_of_what_is_written, view_that_sees_a_write,
    )
}  # fmt: skip
"""What may be recorded again, and is right."""
