"""JAX functions with custom derivative rules. Some rules differ from the true derivative, so that a lost rule
is noticed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Row(NamedTuple):
    """A function with custom derivatives.

    made: returns the arguments with ``n`` rows.
    """

    function: Callable[..., Any]
    made: Callable[[int], tuple[Any, ...]]
    twice: bool = True


def rows(n: int) -> tuple[Any, ...]:
    return (jnp.asarray(np.sin(np.arange(4.0 * n)).reshape(n, 4) * 2),)


def positive(n: int) -> tuple[Any, ...]:
    return (jnp.abs(rows(n)[0]) + 0.5,)


def two(n: int) -> tuple[Any, ...]:
    return (*rows(n), jnp.asarray(np.cos(np.arange(4.0 * n)).reshape(n, 4)))


def matrices(n: int) -> tuple[Any, ...]:
    return rows(n)[0], jnp.asarray(np.cos(np.arange(12.0)).reshape(4, 3))


def with_numbers(n: int) -> tuple[Any, ...]:
    return (*rows(n), jnp.asarray(np.arange(n) % 4))


# ------------------------------------------------------------------------------------- forward mode
@jax.custom_jvp
def log1pexp(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def _log1pexp(primals: Any, tangents: Any) -> Any:
    (x,), (along,) = primals, tangents
    return log1pexp(x), along * (1 - 1 / (1 + jnp.exp(x)))


@jax.custom_jvp
def logsumexp(x: Any) -> Any:
    peak = x.max(axis=-1, keepdims=True)
    return jnp.squeeze(peak + jnp.log(jnp.exp(x - peak).sum(axis=-1, keepdims=True)), -1)


@logsumexp.defjvp
def _logsumexp(primals: Any, tangents: Any) -> Any:
    y = logsumexp(*primals)
    return y, (jnp.exp(primals[0] - y[..., None]) * tangents[0]).sum(-1)


@jax.custom_jvp
def both(x: Any, y: Any) -> Any:
    return x * y, (x + y).sum()


@both.defjvp
def _both(primals: Any, tangents: Any) -> Any:
    (x, y), (along_x, along_y) = primals, tangents
    return both(x, y), (3 * along_x * y + x * along_y, (along_x * x).sum() + 2 * along_y.sum())


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def applied(function: Any, x: Any, times: int) -> Any:
    return function(x) * times


@applied.defjvp
def _applied(function: Any, times: int, primals: Any, tangents: Any) -> Any:
    (x,), (along,) = primals, tangents
    return applied(function, x, times), along * function(x) * times * 3


@jax.custom_jvp
def summed(x: Any) -> Any:
    """Its rule needs the tangents of all rows at once, so it cannot be applied row by row."""
    return x.sum(axis=0)


summed.defjvp(
    lambda primals, tangents: (
        summed(*primals),
        2 * tangents[0].sum(axis=0) + (tangents[0] * primals[0]).sum(),
    )
)


@jax.custom_jvp
def safe_norm(x: Any) -> Any:
    return jnp.sqrt((x * x).sum(-1))


@safe_norm.defjvp
def _safe_norm(primals: Any, tangents: Any) -> Any:
    (x,), (along,) = primals, tangents
    norm = safe_norm(x)
    return norm, jnp.where(norm > 0, (x * along).sum(-1) / jnp.where(norm > 0, norm, 1), 0)


# ------------------------------------------------------------------------------------- reverse mode
@jax.custom_vjp
def clipped(x: Any, low: Any, high: Any) -> Any:
    """An example of the JAX documentation, whose bounds are residuals."""
    return x


clipped.defvjp(
    lambda x, low, high: (x, (low, high)), lambda held, g: (jnp.clip(g, held[0], held[1]), None, None)
)


@jax.custom_vjp
def by_norm(x: Any) -> Any:
    return x * 1.0


by_norm.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g / jnp.maximum(jnp.linalg.norm(g), 1.0),))


@jax.custom_vjp
def rounded(x: Any) -> Any:
    return jnp.round(x)


rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


@jax.custom_vjp
def centred(x: Any) -> Any:
    """The forward function computes residuals of other shapes than the arguments."""
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1)


def _centred_forward(x: Any) -> Any:
    mean, scale = x.mean(0), 1 / jnp.sqrt(x.var(0) + 1)
    return (x - mean) * scale, (x, mean, scale)


def _centred_backward(held: Any, g: Any) -> Any:
    x, mean, scale = held
    normal = (x - mean) * scale
    return ((g - g.mean(0) - normal * (g * normal).mean(0)) * scale,)


centred.defvjp(_centred_forward, _centred_backward)


@jax.custom_vjp
def reversed_gradient(x: Any, strength: Any) -> Any:
    return x + 0


reversed_gradient.defvjp(
    lambda x, strength: (x + 0, strength), lambda strength, g: (-strength * g, jnp.zeros_like(strength))
)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(step: Any, parameter: Any, start: Any) -> Any:
    state = (start + 1, step(parameter, start), 0)
    return lax.while_loop(
        lambda held: (jnp.abs(held[0] - held[1]).max() > 1e-13) & (held[2] < 200),
        lambda held: (held[1], step(parameter, held[1]), held[2] + 1),
        state,
    )[1]


def _fixed_forward(step: Any, parameter: Any, start: Any) -> Any:
    found = fixed_point(step, parameter, start)
    return found, (parameter, found)


def _fixed_backward(step: Any, held: Any, g: Any) -> Any:
    """Differentiate implicitly, by a loop."""
    parameter, found = held
    _, pull = jax.vjp(step, parameter, found)
    total, _ = lax.scan(lambda w, _: (g + pull(w)[1], None), g, None, length=80)
    return pull(total)[0], jnp.zeros_like(found)


fixed_point.defvjp(_fixed_forward, _fixed_backward)


def root(x: Any) -> Any:
    return fixed_point(lambda p, z: jnp.cos(z) * 0.5 + p * 0.1, x, jnp.zeros_like(x))


@jax.custom_vjp
def taken(x: Any, places: Any) -> Any:
    return jnp.take_along_axis(x, places[:, None], 1)[:, 0]


def _taken_backward(held: Any, g: Any) -> Any:
    x, places = held
    hit = jnp.arange(x.shape[1])[None] == places[:, None]
    return jnp.where(hit, 3 * g[:, None] * x, 0), None


taken.defvjp(lambda x, places: (taken(x, places), (x, places)), _taken_backward)


@jax.custom_vjp
def extremes(x: Any) -> Any:
    return x.max(1), x.argmax(1)


extremes.defvjp(
    lambda x: (extremes(x), (x, x.argmax(1))),
    lambda held, g: (
        jnp.where(jnp.arange(held[0].shape[1]) == held[1][:, None], 2 * g[0][:, None] * held[0], 0),
    ),
)


@jax.custom_vjp
def of_tree(items: Any) -> Any:
    return {"product": items["a"] @ items["b"], "total": items["a"].sum()}


of_tree.defvjp(
    lambda items: (of_tree(items), items),
    lambda items, g: (
        {"a": 2 * g["product"] @ items["b"].T + g["total"], "b": 3 * items["a"].T @ g["product"]},
    ),
)


@jax.custom_vjp
def squared_twice(x: Any) -> Any:
    return log1pexp(x) ** 2


squared_twice.defvjp(lambda x: (log1pexp(x) ** 2, x), lambda x, g: (g * log1pexp(x) * jnp.tanh(x),))


@jax.custom_vjp
def rotated(x: Any) -> Any:
    return jnp.exp(1j * x)


rotated.defvjp(lambda x: (jnp.exp(1j * x), x), lambda x, g: ((2j * jnp.exp(1j * x) * g).real,))


def cumulative(x: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = log1pexp(state) + clipped(row, -0.1, 0.2)
        return state, by_norm(state) * row

    return lax.scan(step, jnp.zeros(x.shape[1]), x)


ROWS: dict[str, Row] = {
    "log1pexp": Row(log1pexp, rows),
    "logsumexp": Row(lambda x: logsumexp(x) * x[:, 0], rows),
    "two results of two arguments": Row(both, two),
    "a function as an argument": Row(lambda x: applied(jnp.sin, x, 3), rows),
    "tangents of all rows": Row(summed, rows),
    "a norm that is safe": Row(safe_norm, rows),
    "clipped by residuals": Row(lambda x: clipped(x * 3, -0.5, 0.5) * x, rows, twice=False),
    "clipped by arrays": Row(lambda x: clipped(x**3, -jnp.abs(x), jnp.abs(x)) + x**2, rows),
    "scaled by a norm": Row(lambda x: by_norm(x**3) + x**2, rows),
    "straight through": Row(lambda x: rounded(x) + x**3, rows),
    "residuals of other shapes": Row(lambda x: centred(x) + x**2, rows),
    "reversed": Row(lambda x, y: reversed_gradient(x * x, y.mean()) + y**2, two),
    "a fixed point": Row(root, positive, twice=False),
    "integers as an argument": Row(taken, with_numbers, twice=False),
    "integers as a result": Row(extremes, rows, twice=False),
    "trees": Row(lambda a, b: of_tree({"a": a, "b": b}), matrices, twice=False),
    "a rule in a rule": Row(squared_twice, rows),
    "complex": Row(lambda x: (rotated(x) * (1 + 2j)).imag, rows),
    "under vmap": Row(
        jax.vmap(lambda row: centred(row) * clipped(row, -0.2, 0.3) + logsumexp(row)), rows, twice=False
    ),
    "under vmap over one of two": Row(lambda x, y: jax.vmap(both, in_axes=(0, None))(x, y[0]), two),
    "in scan": Row(cumulative, rows, twice=False),
    "in jit and a checkpoint": Row(
        jax.jit(jax.checkpoint(lambda x: log1pexp(x) * rounded(x * 2))), rows, twice=False
    ),
    "called twice": Row(lambda x: log1pexp(log1pexp(x) * 2) + clipped(x, -1.0, 1.0), rows),
}
