"""Programs with ``lax.cond`` and ``lax.switch``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .table import Program, floats, number, positive, whole


def out_of_range(x: Any, index: Any) -> Any:
    """JAX clamps the index to the nearest branch."""
    return lax.switch(index, [lambda x: x, lambda x: x + 1, lambda x: x * x], x)


def unused_operands(x: Any, y: Any, flag: Any) -> Any:
    return lax.cond(flag > 0, lambda x, y: x * 2, lambda x, y: y, x, y)


def swapped(x: Any, y: Any, flag: Any) -> Any:
    return lax.cond(flag > 0, lambda x, y: (x, y), lambda x, y: (y, x), x, y)


def numbers(x: Any, flag: Any) -> Any:
    return lax.cond(flag > 0, lambda: (1.0, 2, True), lambda: (x.sum(), 3, False))


def constants(x: Any, flag: Any) -> Any:
    return x * lax.cond(flag > 0, lambda: 1.5, lambda: 2.5)


def tree(x: Any, flag: Any) -> Any:
    return lax.cond(
        flag > 0,
        lambda x: {"a": x, "b": [x.sum(), (x > 0, None)]},
        lambda x: {"a": -x, "b": [x.max(), (x < 0, None)]},
        x,
    )


def one_branch(x: Any, index: Any) -> Any:
    return lax.switch(index, [lambda x: x * 3], x)


def under_vmap(x: Any) -> Any:
    return jax.vmap(lambda row: lax.cond(row[0] > 0, lambda r: r * 2, jnp.abs, row))(x)


def switch_under_vmap(x: Any, kinds: Any) -> Any:
    return jax.vmap(lambda kind, row: lax.switch(kind, [jnp.sin, lambda r: r * r, lambda r: r], row))(
        kinds, x
    )


def root_of_zero(x: Any, flag: Any) -> Any:
    """The branch that is not taken has an infinite derivative, which must not reach the gradient."""
    return lax.cond(flag > 0, jnp.sqrt, lambda y: y * 2, x)


def no_results(x: Any, flag: Any) -> Any:
    lax.cond(flag > 0, lambda: None, lambda: None)
    return x + 1


def chain(x: Any) -> Any:
    kind = lax.cond(x.sum() > 0, lambda: 0, lambda: 2)
    y = lax.switch(kind, [lambda: x * 2, lambda: x, lambda: x - 1])
    return lax.cond(y.max() > 1, lambda: y / y.max(), lambda: y), kind


def of_a_flag(x: Any, flag: Any) -> Any:
    return lax.cond(flag, lambda: x.astype(jnp.int8), lambda: jnp.ones_like(x, jnp.int8))


def big_branches(x: Any, flag: Any) -> Any:
    """Each branch has several lines, whose variables have the same names in both branches."""

    def one(x: Any) -> Any:
        y = jnp.sin(x)
        z = y.sum()
        return y / (1 + z * z), z

    def other(x: Any) -> Any:
        y = jnp.cos(x)
        z = y.mean()
        return y * z, jnp.exp(z)

    return lax.cond(flag > 0, one, other, x)


def product_in_branch(x: Any, w: Any, flag: Any) -> Any:
    return lax.cond(flag > 0, lambda: jax.nn.relu(x @ w), lambda: jax.nn.softmax(x @ w))


def sizes_in_branch(x: Any, flag: Any) -> Any:
    return lax.cond(flag > 0, lambda: jnp.float32(x.shape[0]) * x[0], lambda: x[-1] / x.shape[0])


def platform(x: Any) -> Any:
    return lax.platform_dependent(x, cpu=lambda x: x * 2, default=lambda x: x * 2)


_FLAGS = ((3, 1), (4, -1), (2, 1))
_CALLS = tuple((floats(n), number(f)) for n, f in _FLAGS)
_TWO = tuple((floats(n), floats(n, seed=1), number(f)) for n, f in _FLAGS)

PROGRAMS = {
    "switch out of range": Program(
        out_of_range, tuple((floats(n), number(i, "int32")) for n, i in ((3, 1), (4, -5), (2, 9), (3, 0)))
    ),
    "unused operands": Program(unused_operands, _TWO),
    "results that are arguments": Program(swapped, _TWO),
    "numbers": Program(numbers, _CALLS),
    "constants": Program(constants, _CALLS),
    "tree of a branch": Program(tree, _CALLS),
    "one branch": Program(one_branch, tuple((floats(n), number(i, "int32")) for n, i in ((3, 0), (4, 2)))),
    "cond under vmap": Program(under_vmap, ((floats(4, 3),), (floats(6, 2),))),
    "switch under vmap": Program(
        switch_under_vmap, tuple((floats(n, 3), whole(n, low=-1, high=4)) for n in (4, 7))
    ),
    "root of zero": Program(root_of_zero, tuple((positive(n) * (f > 0), number(f)) for n, f in _FLAGS)),
    "no results": Program(no_results, _CALLS),
    "chain": Program(chain, ((floats(3),), (-positive(4),), (positive(5) * 3,))),
    "flag": Program(
        of_a_flag, tuple((whole(n), number(f, "bool")) for n, f in ((3, True), (4, False))), "none"
    ),
    "big branches": Program(big_branches, _CALLS),
    "product in a branch": Program(
        product_in_branch, tuple((floats(n, 3), floats(3, 2), number(f)) for n, f in _FLAGS)
    ),
    "sizes in a branch": Program(sizes_in_branch, _CALLS),
    "platform": Program(platform, ((floats(3),), (floats(4),))),
}
