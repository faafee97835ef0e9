"""Kernels that compute each point of a grid from its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np


def heat_1d(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def jacobi_2d(u: Any, steps: int) -> Any:
    v = u.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
        u[1:-1, 1:-1] = 0.2 * (v[1:-1, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[2:, 1:-1] + v[:-2, 1:-1])
    return u


def heat_3d(u: Any, steps: int) -> Any:
    for _ in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        change = 0.125 * (u[2:, 1:-1, 1:-1] - 2 * inner + u[:-2, 1:-1, 1:-1])
        change += 0.125 * (u[1:-1, 2:, 1:-1] - 2 * inner + u[1:-1, :-2, 1:-1])
        change += 0.125 * (u[1:-1, 1:-1, 2:] - 2 * inner + u[1:-1, 1:-1, :-2])
        u[1:-1, 1:-1, 1:-1] += change
    return u


def seidel_2d(u: Any, steps: int) -> Any:
    """Each point uses the new values of the points before it."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            u[i, 1:-1] += (
                u[i - 1, :-2]
                + u[i - 1, 1:-1]
                + u[i - 1, 2:]
                + u[i, 2:]
                + u[i + 1, :-2]
                + u[i + 1, 1:-1]
                + u[i + 1, 2:]
            )
            for j in range(1, u.shape[1] - 1):
                u[i, j] += u[i, j - 1]
                u[i, j] /= 9.0
    return u


def fdtd_2d(ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def limited_diffusion(field: Any, coefficient: Any) -> Any:
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    across = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux = np.where(across * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, across)
    along = lap[1:-1, 1:] - lap[1:-1, :-1]
    other = np.where(along * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, along)
    return field[2:-2, 2:-2] - coefficient * (flux[1:, :] - flux[:-1, :] + other[:, 1:] - other[:, :-1])


def cavity_flow(u: Any, v: Any, p: Any, steps: int, inner_steps: int) -> Any:
    dx, dt, nu = 0.1, 0.001, 0.1
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        b = np.zeros_like(p)
        ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = (ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2
        for _ in range(inner_steps):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - b[1:-1, 1:-1] * dx**2
            ) / 4
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        for new, old, slope in ((u, un, p[1:-1, 2:] - p[1:-1, :-2]), (v, vn, p[2:, 1:-1] - p[:-2, 1:-1])):
            old_inner = old[1:-1, 1:-1]
            new[1:-1, 1:-1] = (
                old_inner
                - un[1:-1, 1:-1] * dt / dx * (old_inner - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dx * (old_inner - old[:-2, 1:-1])
                - dt / (2 * dx) * slope
                + nu
                * dt
                / dx**2
                * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1] - 4 * old_inner)
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p
