"""Programs with ``jax.lax.associative_scan``: one recording for all lengths, including 0 and 1, and operators
that are not commutative.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .table import Program, each, floats, number, positive, whole


def sums(x: Any) -> Any:
    return lax.associative_scan(jnp.add, x), lax.associative_scan(jnp.maximum, x, reverse=True)


def _affine(left: Any, right: Any) -> Any:
    return left[0] * right[0], left[1] * right[0] + right[1]


def recurrence(a: Any, b: Any) -> Any:
    return lax.associative_scan(_affine, (a, b), axis=0)[1]


def other_axis(x: Any) -> Any:
    return lax.associative_scan(_affine, (jnp.cos(x), x), axis=-1), lax.associative_scan(
        _affine, (jnp.cos(x), x), axis=1, reverse=True
    )


def products(x: Any) -> Any:
    rows = [jnp.stack([jnp.cos(x), -jnp.sin(x)], -1), jnp.stack([jnp.sin(x), jnp.cos(x) + 0.5], -1)]
    return lax.associative_scan(jnp.matmul, jnp.stack(rows, -2))


def captured(x: Any, scale: Any) -> Any:
    """The operator uses an argument, a computed array and a constant, and combines arrays in a dict."""
    most = jnp.tanh(x).max(0)
    shift = np.array([0.5, -1.0], "float32")

    def together(left: Any, right: Any) -> Any:
        return {
            "y": left["y"] + right["y"],
            "most": jnp.minimum(jnp.maximum(left["most"], right["most"]), most * scale + shift.sum()),
        }

    return lax.associative_scan(together, {"y": x, "most": x * 2})


def widened(x: Any) -> Any:
    """The operator creates arrays of the size of all pairs and selects elements with ``where``."""

    def together(left: Any, right: Any) -> Any:
        ones = jnp.ones(left.shape, left.dtype) + jnp.zeros_like(right)
        return jnp.where(right > 0, left * (1 + right) + right, (left + ones) * (right + ones) - ones)

    return lax.associative_scan(together, x)


def segments(x: Any, starts: Any) -> Any:
    def together(left: Any, right: Any) -> Any:
        return left[0] | right[0], jnp.where(right[0], right[1], left[1] + right[1])

    return lax.associative_scan(together, (starts > 5, x))


def element_wise(x: Any) -> Any:
    """The operator takes single elements under ``vmap``, as in the documentation of JAX."""
    return lax.associative_scan(jax.vmap(lambda a, b: jnp.stack([a[0] * b[0], a[1] * b[0] + b[1]])), x)


def of_many(x: Any, w: Any) -> Any:
    """The scan runs under ``vmap`` along another axis than the batch; the operator uses mapped and unmapped
    arrays.
    """
    weighted = jax.vmap(
        lambda row, scale: lax.associative_scan(lambda a, b: a + b + a * b * scale * w, row),
        in_axes=(1, 0),
        out_axes=1,
    )
    return jax.vmap(lambda row: lax.associative_scan(_affine, (jnp.cos(row), row))[1])(x), weighted(x, x[0])


def in_loop(x: Any) -> Any:
    return lax.scan(
        lambda held, row: (held + lax.associative_scan(jnp.add, row * held), held), jnp.ones_like(x[0]), x
    )


def loop_inside(x: Any) -> Any:
    def together(left: Any, right: Any) -> Any:
        return lax.fori_loop(0, 2, lambda i, y: y + right * 0.5, left)

    return lax.associative_scan(together, x)


def in_branch(x: Any) -> Any:
    return lax.cond(
        x.sum() > 0,
        lambda y: lax.associative_scan(jnp.add, y),
        lambda y: lax.associative_scan(jnp.minimum, y, reverse=True),
        x,
    )


def of_scan(x: Any) -> Any:
    return lax.associative_scan(jnp.add, lax.associative_scan(jnp.add, x).T)


def slope(x: Any) -> Any:
    return jax.grad(lambda y: (lax.associative_scan(_affine, (jnp.cos(y), y))[1] ** 2).sum())(x)


def slopes_of_many(x: Any) -> Any:
    return jax.vmap(
        jax.grad(lambda row: (lax.associative_scan(_affine, (jnp.cos(row), row), reverse=True)[1] ** 2).sum())
    )(x)


def tangent(x: Any, w: Any) -> Any:
    return jax.jvp(
        lambda w: lax.associative_scan(lambda a, b: a + b + w * a * b, x), (w,), (jnp.ones_like(w),)
    )


def compiled(x: Any) -> Any:
    return jax.jit(lambda y: lax.associative_scan(jnp.multiply, y, axis=1))(x) + x.sum()


def integers(x: Any) -> Any:
    return lax.associative_scan(jnp.bitwise_xor, x), lax.associative_scan(
        jnp.minimum, x, axis=1, reverse=True
    )


def kept_number(x: Any) -> Any:
    return lax.associative_scan(jnp.add, jnp.stack([x, x * 2, x * x, x + 1, x]), axis=0)


def by_length(x: Any) -> Any:
    """JAX unrolls an operator that depends on the number of pairs in Python, so each length is recorded."""
    return lax.associative_scan(lambda a, b: a + b if len(a) > 1 else b + a, x)


_X = each(floats, (4, 3), (7, 2), (1, 3), (8, 3), (2, 5), (13, 1))
_PAIRS = tuple((positive(n, 2), floats(n, 2)) for n in (4, 7, 1, 9))
_WITH_NUMBER = tuple((floats(n, 2), number(w)) for n, w in ((4, 0.7), (7, -0.3), (1, 2.0), (10, 0.1)))

PROGRAMS = {
    "associative scan": Program(sums, _X),
    "linear recurrence": Program(recurrence, _PAIRS),
    "associative scan along another axis": Program(other_axis, _X),
    "products of matrices": Program(products, each(floats, (4, 3), (7, 2), (1, 2), (9, 2))),
    "associative scan that captures": Program(captured, _WITH_NUMBER),
    "sizes of pairs": Program(widened, _X),
    "sums of segments": Program(segments, tuple((floats(n), whole(n, seed=n)) for n in (5, 8, 1, 11))),
    "operator of one element": Program(element_wise, each(floats, (4, 2, 3), (7, 2, 1), (1, 2, 2))),
    "vmap of associative scan": Program(of_many, _WITH_NUMBER),
    "associative scan in a loop": Program(in_loop, each(floats, (4, 3), (2, 7), (3, 1))),
    "loop in an associative scan": Program(loop_inside, each(floats, (4, 3), (7, 2), (1, 3))),
    "associative scan in a branch": Program(in_branch, _X),
    "associative scan of another": Program(of_scan, _X),
    "gradient of associative scan": Program(slope, each(floats, (4, 3), (7, 2), (1, 3), (9, 1))),
    "gradients of many": Program(slopes_of_many, each(floats, (4, 3), (2, 7))),
    "jvp of associative scan": Program(tangent, _WITH_NUMBER),
    "associative scan in jit": Program(compiled, _X),
    "associative scan of integers": Program(integers, each(whole, (4, 3), (7, 2), (1, 3)), "none"),
    "associative scan of a fixed length": Program(kept_number, each(floats, (4,), (7,))),
    "operator that asks for the length": Program(by_length, each(floats, (4, 2), (7, 3)), by_size=True),
}
