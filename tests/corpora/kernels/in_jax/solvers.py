"""JAX kernels that factorise matrices, solve equations, or iterate until convergence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def lu(a: Any) -> Any:
    places = jnp.arange(a.shape[0])

    def lower(j: Any, carried: Any) -> Any:
        a, i = carried
        before = jnp.where(places < j, a[i], 0) @ a[:, j]
        return a.at[i, j].set((a[i, j] - before) / a[j, j]), i

    def upper(j: Any, carried: Any) -> Any:
        a, i = carried
        return a.at[i, j].add(-jnp.where(places < i, a[i], 0) @ a[:, j]), i

    def row(i: Any, a: Any) -> Any:
        a, _ = lax.fori_loop(0, i, lower, (a, i))
        return lax.fori_loop(i, a.shape[0], upper, (a, i))[0]

    return lax.fori_loop(0, a.shape[0], row, a)


def cholesky(a: Any) -> Any:
    places = jnp.arange(a.shape[0])

    def element(j: Any, carried: Any) -> Any:
        a, i = carried
        before = jnp.where(places < j, a[i], 0) @ a[j]
        return a.at[i, j].set((a[i, j] - before) / a[j, j]), i

    def row(i: Any, a: Any) -> Any:
        a, _ = lax.fori_loop(0, i, element, (a, i))
        before = jnp.where(places < i, a[i], 0)
        return a.at[i, i].set(jnp.sqrt(a[i, i] - before @ before))

    return lax.fori_loop(0, a.shape[0], row, a)


def triangular_solve(a: Any, b: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        return x.at[i].set((b[i] - a[i] @ x) / a[i, i])

    return lax.fori_loop(0, a.shape[0], row, jnp.zeros_like(b))


def gram_schmidt(a: Any) -> Any:
    def column(k: Any, carried: Any) -> Any:
        a, q, r = carried
        norm = jnp.sqrt(a[:, k] @ a[:, k])
        unit = a[:, k] / norm

        def other(j: Any, carried: Any) -> Any:
            a, r = carried
            share = unit @ a[:, j]
            return a.at[:, j].add(-unit * share), r.at[k, j].set(share)

        a, r = lax.fori_loop(k + 1, a.shape[1], other, (a, r.at[k, k].set(norm)))
        return a, q.at[:, k].set(unit), r

    start = a, jnp.zeros_like(a), jnp.zeros((a.shape[1], a.shape[1]), a.dtype)
    return lax.fori_loop(0, a.shape[1], column, start)[1:]


def durbin(r: Any) -> Any:
    n = r.shape[0]
    places = jnp.arange(n)

    def step(k: Any, carried: Any) -> Any:
        y, alpha, beta = carried
        beta = beta * (1.0 - alpha * alpha)
        flipped = jnp.roll(jnp.flip(r), k)
        alpha = -(r[k] + jnp.where(places < k, flipped, 0) @ y) / beta
        y = jnp.where(places < k, y + alpha * jnp.roll(jnp.flip(y), k), y)
        return y.at[k].set(alpha), alpha, beta

    return lax.fori_loop(1, n, step, (jnp.zeros_like(r).at[0].set(-r[0]), -r[0], jnp.ones((), r.dtype)))[0]


def conjugate_gradient(a: Any, b: Any, tolerance: float) -> Any:
    def step(carried: Any) -> Any:
        x, left, direction, norm = carried
        image = a @ direction
        alpha = norm / (direction @ image)
        left = left - alpha * image
        new = left @ left
        return x + alpha * direction, left, left + new / norm * direction, new

    return lax.while_loop(lambda carried: carried[3] > tolerance, step, (jnp.zeros_like(b), b, b, b @ b))[0]


def power_iteration(a: Any, x: Any, steps: int) -> Any:
    def step(_: Any, x: Any) -> Any:
        x = a @ x
        return x / jnp.linalg.norm(x)

    x = lax.fori_loop(0, steps, step, x)
    return x @ a @ x, x


def newton(c: Any, x: Any) -> Any:
    def step(carried: Any) -> Any:
        x, _ = carried
        step = (x * x * x - c) / (3 * x * x)
        return x - step, step

    return lax.while_loop(lambda carried: jnp.max(jnp.abs(carried[1])) > 1e-4, step, (x, jnp.ones_like(x)))[0]


def vertical_advection(w: Any, u: Any, dt: float) -> Any:
    gates, values = (0.25 * jnp.moveaxis(w, 2, 0), jnp.moveaxis(u, 2, 0))

    def forward(carried: Any, level: Any) -> Any:
        (above, right), (gate, value) = carried, level
        scale = 1.0 / (1.0 / dt + gate + gate * above)
        new = gate * scale, (value + gate * right) * scale
        return new, new

    zero = jnp.zeros_like(values[0])
    _, (aboves, rights) = lax.scan(forward, (zero, zero), (gates, values))

    def backward(below: Any, level: Any) -> Any:
        above, right = level
        new = right - above * below
        return new, new

    return jnp.moveaxis(lax.scan(backward, zero, (aboves, rights), reverse=True)[1], 0, 2)
