"""JAX kernels that compute each point of a grid from its neighbours."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def heat_1d(u: Any, steps: int) -> Any:
    def step(_: Any, u: Any) -> Any:
        return u.at[1:-1].add(0.25 * (u[2:] - 2 * u[1:-1] + u[:-2]))

    return lax.fori_loop(0, steps, step, u)


def jacobi_2d(u: Any, steps: int) -> Any:
    def half(u: Any, v: Any) -> Any:
        return v.at[1:-1, 1:-1].set(
            0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
        )

    def step(_: Any, grids: Any) -> Any:
        u, v = grids
        v = half(u, v)
        return half(v, u), v

    return lax.fori_loop(0, steps, step, (u, u))[0]


def heat_3d(u: Any, steps: int) -> Any:
    def step(_: Any, u: Any) -> Any:
        inner = u[1:-1, 1:-1, 1:-1]
        change = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        change = change + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * inner
        return u.at[1:-1, 1:-1, 1:-1].add(0.125 * change)

    return lax.fori_loop(0, steps, step, u)


def seidel_2d(u: Any, steps: int) -> Any:
    def element(left: Any, summed: Any) -> Any:
        new = (summed + left) / 9.0
        return new, new

    def row(above: Any, rows: Any) -> Any:
        this, below = rows
        summed = (
            above[:-2]
            + above[1:-1]
            + above[2:]
            + this[1:-1]
            + this[2:]
            + below[:-2]
            + below[1:-1]
            + below[2:]
        )
        new = this.at[1:-1].set(lax.scan(element, this[0], summed)[1])
        return new, new

    def sweep(_: Any, u: Any) -> Any:
        return u.at[1:-1].set(lax.scan(row, u[0], (u[1:-1], u[2:]))[1])

    return lax.fori_loop(0, steps, sweep, u)


def fdtd_2d(ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    def step(fields: Any, now: Any) -> Any:
        ex, ey, hz = fields
        ey = ey.at[0, :].set(now).at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), source)[0]


def limited_diffusion(field: Any, coefficient: Any) -> Any:
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    across = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux = jnp.where(across * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, across)
    along = lap[1:-1, 1:] - lap[1:-1, :-1]
    other = jnp.where(along * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, along)
    return field[2:-2, 2:-2] - coefficient * (flux[1:, :] - flux[:-1, :] + other[:, 1:] - other[:, :-1])


def cavity_flow(u: Any, v: Any, p: Any, steps: int, inner_steps: int) -> Any:
    dx, dt, nu = 0.1, 0.001, 0.1

    def moved(old: Any, un: Any, vn: Any, slope: Any) -> Any:
        inner = old[1:-1, 1:-1]
        new = inner - dt / dx * (
            un[1:-1, 1:-1] * (inner - old[1:-1, :-2]) + vn[1:-1, 1:-1] * (inner - old[:-2, 1:-1])
        )
        new = new - dt / (2 * dx) * slope
        around = old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]
        return old.at[1:-1, 1:-1].set(new + nu * dt / dx**2 * (around - 4 * inner))

    def step(_: Any, fields: Any) -> Any:
        u, v, p = fields
        ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b = ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2) * dx**2

        def relaxed(_: Any, p: Any) -> Any:
            p = p.at[1:-1, 1:-1].set((p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - b) / 4)
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0)

        p = lax.fori_loop(0, inner_steps, relaxed, p)
        new_u, new_v = moved(u, u, v, p[1:-1, 2:] - p[1:-1, :-2]), moved(v, u, v, p[2:, 1:-1] - p[:-2, 1:-1])
        new_u = new_u.at[0, :].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1, :].set(1)
        return new_u, new_v.at[0, :].set(0).at[-1, :].set(0).at[:, 0].set(0).at[:, -1].set(0), p

    return lax.fori_loop(0, steps, step, (u, v, p))
