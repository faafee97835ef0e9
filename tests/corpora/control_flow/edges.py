"""Programs with loops and branches at the limits: indices out of bounds, overflow, branches that would fail,
colliding names, no iterations.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import Program, each, floats, number, positive, whole


def same_key(rows: Any) -> Any:
    key = jax.random.key(3)
    return lax.scan(
        lambda held, row: (held + jax.random.uniform(key, row.shape, row.dtype) * row, None), rows[0], rows
    )[0]


def folded_key(x: Any) -> Any:
    key = jax.random.key(3)
    draw = lambda i, held: held + jax.random.uniform(jax.random.fold_in(key, i), held.shape, held.dtype)  # noqa: E731
    return lax.fori_loop(0, x.shape[0], draw, x)


def key_as_carry(rows: Any, seed: Any) -> Any:
    def step(key: Any, row: Any) -> Any:
        return jax.random.fold_in(key, row.astype("int32").sum()), jax.random.bits(key)

    return lax.scan(step, jax.random.key(seed), rows)[1]


def written_outside(x: Any) -> Any:
    """JAX drops writes past the end of an axis."""
    return lax.fori_loop(0, x.shape[0] + 2, lambda i, held: held.at[i].add(1.0), x)


def sorted_rows(rows: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.sort(held + row), jnp.argsort(row)), rows[0], rows)


def quotients(a: Any, b: Any) -> Any:
    def step(held: Any, pair: Any) -> Any:
        return held + pair[0] // pair[1] + pair[0] % pair[1], lax.rem(*pair)

    return lax.scan(step, jnp.int32(0), (a, b))


def quotient_by_zero(a: Any, b: Any) -> Any:
    """The branch that is not taken would raise."""
    return lax.cond(b != 0, lambda: a // b, lambda: a)


def factor(matrix: Any, flag: Any) -> Any:
    eye = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    return lax.cond(flag > 0, lambda: jnp.linalg.cholesky(matrix @ matrix.T + eye), lambda: matrix)


def bytes_that_wrap(x: Any) -> Any:
    return lax.scan(lambda held, item: (held + item, held * 2), jnp.uint8(250), x)


def hashed(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, held: held * 31 + x[i], 7)


def seven_branches(x: Any, kind: Any) -> Any:
    return lax.switch(kind, [lambda x, k=k: x * k for k in range(7)], x)


def mixed_state(x: Any) -> Any:
    def goes_on(held: Any) -> Any:
        return (held[0] < 5) & jnp.all(held[1] < 100)

    return lax.while_loop(
        goes_on, lambda held: (held[0] + 1, held[1] * 2, held[1].max() > 3, held[3]), (0, x, False, x.sum())
    )


def constant_outputs(rows: Any) -> Any:
    return lax.scan(
        lambda held, row: (held, (1.0, rows.shape[1], jnp.arange(rows.shape[1]))), rows.sum(), rows
    )


def sizes_in_steps(rows: Any) -> Any:
    line = lambda row: jnp.linspace(0, 1, rows.shape[1], dtype=rows.dtype) * row  # noqa: E731
    return lax.scan(lambda held, row: (held + row.shape[0], line(row)), 0, rows)


def backwards_without_rows(x: Any) -> Any:
    return lax.scan(lambda held, _: (held * 1.1, held), x, None, length=x.shape[0], reverse=True)


def backwards_over_two(x: Any, y: Any) -> Any:
    return lax.scan(lambda held, row: (held + row[0] * row[1], (held, row[1])), 0.0, (x, y), reverse=True)


def branch_in_condition(x: Any) -> Any:
    return lax.while_loop(
        lambda held: lax.cond(held.sum() > 10, lambda: False, lambda: held.max() < 50),
        lambda held: held * 1.5,
        x,
    )


def scan_in_condition(x: Any) -> Any:
    total = lambda held: lax.scan(lambda sum_, item: (sum_ + item, None), 0.0, held)[0]  # noqa: E731
    return lax.while_loop(lambda held: total(held) < 20.0, lambda held: held * 1.5 + 0.1, jnp.abs(x))


def from_three(x: Any) -> Any:
    n = x.shape[0]
    return lax.fori_loop(3, n, lambda i, held: held + i, x), lax.fori_loop(n, 3, lambda i, held: held * i, x)


def ends_that_are_given(x: Any, low: Any, high: Any) -> Any:
    return lax.fori_loop(low, high, lambda i, held: held + i, x)


def names_that_collide(x: Any) -> Any:
    body, condition = x * 2, x.sum()
    out = lax.while_loop(
        lambda held: held[1] < condition, lambda held: (held[0] + body, held[1] + 100.0), (x, 0.0 * condition)
    )
    return out, body, condition


def one_after_another(x: Any) -> Any:
    outs = []
    for number_ in (1, 2, 3):
        last, x = lax.scan(lambda held, row, k=number_: (held * k + row, held), x[0] * 0, x)
        outs += [last, x]
    return outs


def while_in_scan_under_vmap(rows: Any) -> Any:
    def small(value: Any) -> Any:
        return lax.while_loop(lambda z: jnp.abs(z) > 1, lambda z: z / 2, value)

    return jax.vmap(lambda row: lax.scan(lambda held, item: (small(held + item), held), 0.0, row))(rows)


def switch_in_loop_under_vmap(x: Any, kinds: Any) -> Any:
    branches = [lambda held: held + 1, lambda held: held * 2]
    return jax.vmap(
        lambda one, kind: lax.fori_loop(0, 3, lambda _, held: lax.switch(kind, branches, held), one)
    )(x, kinds)


def without_nan(x: Any) -> Any:
    return lax.cond(jnp.isnan(x).any(), lambda: jnp.zeros_like(x), lambda: x)


def captured_rows(rows: Any) -> Any:
    return lax.scan(lambda held, row: (held * 0.1 + row @ rows.T @ rows, (held * row).sum()), rows[0], rows)


_FLAGS = ((3, 1), (2, -1))
_BYTES = tuple((whole(n, high=250, dtype="uint8"),) for n in (4, 6))
_PAIRS = tuple((whole(n, low=-9), sign * whole(n, low=1, seed=2)) for n, sign in ((4, 1), (6, -1)))

PROGRAMS = {
    "the same key in each step": Program(same_key, each(floats, (3, 2), (5, 3))),
    "folded key": Program(folded_key, each(floats, (3,), (5,))),
    "key as carry": Program(key_as_carry, tuple((floats(n, 2), number(n, "int32")) for n in (3, 5)), "none"),
    "written outside": Program(written_outside, each(floats, (3,), (5,))),
    "sorted rows": Program(sorted_rows, each(floats, (3, 4), (2, 5))),
    "quotients": Program(quotients, _PAIRS, "none"),
    "quotient by zero": Program(
        quotient_by_zero, tuple((number(7, "int32"), number(b, "int32")) for b in (2, 0)), "none"
    ),
    "factor": Program(factor, tuple((floats(n, n), number(flag)) for n, flag in _FLAGS)),
    "bytes that wrap": Program(bytes_that_wrap, _BYTES, "none"),
    "hash": Program(hashed, ((whole(4),), (whole(30),)), "none"),
    "seven branches": Program(
        seven_branches, tuple((floats(3), number(kind, "int32")) for kind in (0, 3, 6, 9, -2))
    ),
    "mixed state": Program(mixed_state, ((floats(3),), (floats(5),), (floats(2, scale=999.0),)), "forward"),
    "constant outputs": Program(constant_outputs, each(floats, (3, 2), (5, 1))),
    "sizes in steps": Program(sizes_in_steps, each(floats, (3, 4), (2, 5))),
    "backwards without rows": Program(backwards_without_rows, each(floats, (3,), (5,))),
    "backwards over two": Program(backwards_over_two, tuple((floats(n), floats(n, seed=1)) for n in (3, 5))),
    "branch in a condition": Program(branch_in_condition, ((positive(3),), (positive(2) + 3,)), "forward"),
    "scan in a condition": Program(scan_in_condition, each(floats, (3,), (5,)), "forward"),
    "from three": Program(from_three, each(floats, (5,), (6,))),
    "ends that are given": Program(
        ends_that_are_given,
        tuple((floats(3), number(a, "int32"), number(b, "int32")) for a, b in ((0, 4), (5, 2))),
        "forward",
    ),
    "names that collide": Program(names_that_collide, ((floats(3),), (positive(4) * 200,)), "forward"),
    "one after another": Program(one_after_another, each(floats, (3,), (5,))),
    "while in scan under vmap": Program(
        while_in_scan_under_vmap, tuple((floats(n, m, scale=9.0),) for n, m in ((3, 4), (2, 5))), "forward"
    ),
    "switch in loop under vmap": Program(
        switch_in_loop_under_vmap, tuple((floats(n), whole(n, low=-1, high=4)) for n in (3, 5))
    ),
    "without NaN": Program(without_nan, ((floats(3),), (np.asarray([1, np.nan], "float32"),))),
    "captured rows": Program(captured_rows, each(floats, (3, 2), (4, 3))),
}
