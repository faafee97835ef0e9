"""Programs that apply JAX's transformations to loops, and JAX functions that contain loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .table import Program, each, floats, number, positive


def _loop(x: Any, w: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.tanh(held * w + row), held), jnp.zeros_like(w), x)[0].sum()


def vmapped(rows: Any, w: Any) -> Any:
    return jax.vmap(_loop, in_axes=(1, None))(rows, w)


def vmapped_weights(rows: Any, w: Any) -> Any:
    return jax.vmap(lambda scale: _loop(rows[:, 0], w * scale))(jnp.arange(3.0).astype(w.dtype))


def vmapped_bound(x: Any, most: Any) -> Any:
    """Under ``vmap`` each element of the batch has its own trip count."""
    return jax.vmap(lambda y: lax.while_loop(lambda z: z < most, lambda z: z * 1.5 + 0.1, y))(jnp.abs(x))


def vmapped_steps(x: Any) -> Any:
    return jax.vmap(lambda y, n: lax.fori_loop(0, n, lambda i, z: z * 0.5 + i, y))(x, jnp.arange(x.shape[0]))


def forward(rows: Any, w: Any) -> Any:
    return jax.jvp(lambda w: _loop(rows[:, 0], w), (w,), (jnp.ones_like(w),))


def forward_of_while(x: Any, most: Any) -> Any:
    return jax.jvp(
        lambda x: lax.while_loop(lambda z: z.sum() < most, lambda z: z * 1.5 + 0.1, jnp.abs(x)),
        (x,),
        (jnp.ones_like(x),),
    )


def backward(rows: Any, w: Any) -> Any:
    return jax.grad(lambda w: _loop(rows[:, 0], w))(w)


def value_and_gradient(rows: Any, w: Any) -> Any:
    return jax.value_and_grad(lambda rows, w: _loop(rows[:, 0], w), argnums=(0, 1))(rows, w)


def descent(x: Any, y: Any) -> Any:
    def step(held: Any, _: Any) -> Any:
        loss, slopes = jax.value_and_grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).mean())(held)
        return jax.tree.map(lambda p, g: p - 0.1 * g, held, slopes), loss

    return lax.scan(step, {"w": jnp.zeros(x.shape[1], x.dtype), "b": jnp.zeros((), x.dtype)}, None, length=5)


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return x * 3


clipped.defvjp(lambda x: (x * 3, None), lambda _, slope: (jnp.clip(slope, -0.1, 0.1),))


@jax.custom_vjp
def reversed_slope(x: Any) -> Any:
    return x * 3


reversed_slope.defvjp(lambda x: (x * 3, None), lambda _, slope: (-0.5 * slope,))


@jax.custom_jvp
def scaled(x: Any) -> Any:
    return x**2


scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * 0.25 * primals[0]))


def custom_vjp_in_scan(rows: Any) -> Any:
    return lax.scan(
        lambda held, row: (jnp.tanh(reversed_slope(held) + row), held), jnp.zeros_like(rows[0]), rows
    )


def clipped_in_scan(rows: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.tanh(clipped(held) + row), held), jnp.zeros_like(rows[0]), rows)


def custom_jvp_in_loop(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, y: jnp.sin(scaled(y)) + x[i], x)


def checkpointed(rows: Any, w: Any) -> Any:
    @jax.checkpoint
    def step(held: Any, row: Any) -> Any:
        return jnp.tanh(held @ w + row), held

    return lax.scan(step, jnp.zeros_like(rows[0]), rows)


def around(rows: Any, w: Any) -> Any:
    return jax.checkpoint(
        lambda rows: lax.scan(lambda held, row: (jnp.tanh(held @ w + row), held), rows[0], rows)
    )(rows)


def checkpointed_count(x: Any, w: Any) -> Any:
    counted = lax.fori_loop(0, x.shape[0], jax.checkpoint(lambda i, y: jnp.sin(y @ w) * i), x)
    return counted, lax.map(jax.checkpoint(lambda row: jnp.sin(row @ w) * row), x)


def checkpointed_alone(x: Any, w: Any) -> Any:
    total = jax.checkpoint(lambda x: (jnp.sin(x @ w).sum(0) * x, x))(x)
    return total, jax.checkpoint(jnp.sin)(x), jax.checkpoint(checkpointed)(x, w)


def checkpointed_backwards(x: Any, w: Any) -> Any:
    return jax.grad(lambda w: checkpointed(x, w)[0].sum())(w), jax.vmap(lambda w: checkpointed(x, w)[0])(
        jnp.stack([w, w * 2])
    )


def policy(rows: Any, w: Any) -> Any:
    step = jax.checkpoint(
        lambda held, row: (jnp.sin(held @ w) + row, None), policy=jax.checkpoint_policies.dots_saveable
    )
    return lax.scan(step, rows[0], rows)[0]


def cumulative(x: Any) -> Any:
    return (
        lax.cumsum(x),
        lax.cumprod(x, reverse=True),
        lax.cummax(x),
        lax.cummin(x),
        lax.cumlogsumexp(x),
        jnp.cumsum(x, 1),
    )


def cumulative_in_loop(x: Any) -> Any:
    return lax.scan(lambda held, row: (lax.cumsum(held + row) * 0.5, lax.cummax(row)), x[0], x)


def second(x: Any) -> Any:
    return jax.hessian(lambda y: lax.fori_loop(0, 3, lambda i, z: jnp.sin(z) * y.sum(), y).sum())(x)


def jacobian(rows: Any, w: Any) -> Any:
    return jax.jacfwd(lambda w: _loop(rows[:, 0], w))(w)


def linearized(rows: Any, w: Any) -> Any:
    value, along = jax.linearize(lambda w: _loop(rows[:, 0], w), w)
    return value, along(w * 2)


def vmap_in_body(rows: Any) -> Any:
    return lax.scan(
        lambda held, row: (held + jax.vmap(lambda a: jnp.sin(a) * a)(row), held.sum()), rows[0], rows
    )


def map_by_batches(rows: Any) -> Any:
    return lax.map(lambda row: jnp.sin(row).sum(), rows, batch_size=2)


def unrolled(rows: Any) -> Any:
    return lax.scan(lambda held, row: (held * 0.5 + row, held), rows[0], rows, unroll=2)


def gradient_of_while_below(x: Any, most: Any) -> Any:
    n = lax.while_loop(lambda n: n < most, lambda n: n * 2, 1.0 + 0 * most)
    return jax.grad(lambda x: (jnp.sin(x) * lax.stop_gradient(n)).sum())(x)


def stopped_in_loop(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, y: jnp.sin(y) + lax.stop_gradient(y) * x, x)


@partial(jax.jit, static_argnums=1)
def _power(x: Any, n: int) -> Any:
    return lax.fori_loop(0, n, lambda i, y: y * x, jnp.ones_like(x))


def static_steps(x: Any) -> Any:
    return _power(x, 3) + _power(x, 0)


_W = tuple((floats(n, 2), number(w)) for n, w in ((4, 0.7), (6, -0.3)))
_M = tuple((floats(n, k), floats(k, k)) for n, k in ((4, 2), (6, 3)))

PROGRAMS = {
    "vmap of scan": Program(vmapped, _W),
    "vmap of weights": Program(vmapped_weights, _W),
    "vmap of while": Program(
        vmapped_bound, tuple((floats(n), number(m)) for n, m in ((4, 3.0), (6, 0.0), (2, 9.0))), "forward"
    ),
    "vmap of steps": Program(vmapped_steps, each(floats, (4,), (6,)), "forward"),
    "jvp of scan": Program(forward, _W),
    "jvp of while": Program(
        forward_of_while, tuple((floats(n), number(m)) for n, m in ((4, 3.0), (6, 0.0), (2, 9.0))), "forward"
    ),
    "grad of scan": Program(backward, _W),
    "value and grad of scan": Program(value_and_gradient, _W),
    "descent": Program(descent, tuple((floats(n, k), floats(n)) for n, k in ((4, 2), (6, 3)))),
    "custom vjp in scan": Program(custom_vjp_in_scan, each(floats, (4, 2), (6, 3))),
    "custom vjp that is not linear": Program(clipped_in_scan, each(floats, (4, 2), (6, 3))),
    "custom jvp in loop": Program(custom_jvp_in_loop, each(floats, (4,), (6,))),
    "checkpoint in scan": Program(checkpointed, _M),
    "checkpoint around scan": Program(around, _M),
    "checkpoint in loops": Program(checkpointed_count, _M),
    "checkpoint of functions": Program(checkpointed_alone, _M),
    "checkpoint and transforms": Program(checkpointed_backwards, _M),
    "checkpoint with a policy": Program(policy, _M),
    "cumulative": Program(cumulative, each(positive, (4, 2), (7, 3))),
    "cumulative in loop": Program(cumulative_in_loop, each(positive, (4, 2), (7, 3))),
    "second derivatives": Program(second, each(floats, (2,), (3,))),
    "jacobian of scan": Program(jacobian, _W),
    "linearized scan": Program(linearized, _W),
    "vmap in the body": Program(vmap_in_body, each(floats, (4, 2), (7, 3))),
    "map by batches": Program(map_by_batches, each(floats, (4, 2), (6, 3))),
    "unroll": Program(unrolled, each(floats, (4, 2), (7, 3))),
    "while beside a gradient": Program(
        gradient_of_while_below, tuple((floats(n), number(m)) for n, m in ((4, 3.0), (6, 0.0))), "forward"
    ),
    "stopped gradients": Program(stopped_in_loop, each(floats, (4,), (6,))),
    "static steps": Program(static_steps, each(floats, (4,), (6,))),
}
