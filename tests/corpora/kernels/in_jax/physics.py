"""JAX kernels of physics: bodies, fields, fractals."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def nbody(positions: Any, velocities: Any, masses: Any, steps: int, dt: float) -> Any:
    def acceleration(positions: Any) -> Any:
        apart = positions[None, :, :] - positions[:, None, :]
        inverse = (jnp.sum(apart**2, axis=-1) + 0.01) ** -1.5
        return jnp.einsum("ijk,ij,j->ik", apart, inverse, masses)

    def step(_: Any, carried: Any) -> Any:
        positions, velocities, pull = carried
        velocities = velocities + pull * dt / 2.0
        positions = positions + velocities * dt
        pull = acceleration(positions)
        return positions, velocities + pull * dt / 2.0, pull

    return lax.fori_loop(0, steps, step, (positions, velocities, acceleration(positions)))[:2]


def mandelbrot(x: Any, y: Any, steps: int) -> Any:
    c = x + 1j * y[:, None]

    def step(n: Any, carried: Any) -> Any:
        z, counts = carried
        near = jnp.abs(z) < 2.0
        return jnp.where(near, z**2 + c, z), jnp.where(near, n, counts)

    return lax.fori_loop(0, steps, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def scattering_self_energies(neighbours: Any, dh: Any, g: Any, d: Any) -> Any:
    momenta, energies, orbitals = d.shape[0], d.shape[1], dh.shape[2]

    def over(length: int, body: Any, start: Any) -> Any:
        return lax.fori_loop(0, length, body, start)

    def at_energy(k: Any, e: Any) -> Any:
        def term(q: Any, w: Any, i: Any, j: Any, b: Any) -> Any:
            left = g[k, e - w, neighbours[:, b]] @ dh[:, b, i]
            return left @ (dh[:, b, j] * d[q, w, :, b, i, j][:, None, None])

        def phonon(q: Any, w: Any, total: Any) -> Any:
            def added(flat: Any, total: Any) -> Any:
                i, j, b = jnp.unravel_index(flat, (orbitals, orbitals, neighbours.shape[1]))
                return total + term(q, w, i, j, b)

            count = orbitals * orbitals * neighbours.shape[1]
            return lax.cond(e - w >= 0, lambda total: over(count, added, total), lambda total: total, total)

        def momentum(q: Any, total: Any) -> Any:
            return over(energies, lambda w, total: phonon(q, w, total), total)

        return over(momenta, momentum, jnp.zeros_like(g[0, 0]))

    return lax.map(
        lambda k: lax.map(lambda e: at_energy(k, e), jnp.arange(g.shape[1])), jnp.arange(g.shape[0])
    )


def contour_integral(hamiltonian: Any, points: Any, weights: Any, probe: Any) -> Any:
    eye = jnp.eye(probe.shape[0], dtype=jnp.complex64)

    def step(carried: Any, point: Any) -> Any:
        (first, second), (z, w) = carried, point
        solved = jnp.linalg.solve(z * eye - hamiltonian, probe)
        solved = jnp.where(jnp.abs(z) < 1.0, -solved, solved)
        return (first + w * solved, second + w * z * solved), None

    zero = jnp.zeros(probe.shape, jnp.complex64)
    return lax.scan(step, (zero, zero), (points, weights))[0]


def arc_distance(theta_1: Any, phi_1: Any, theta_2: Any, phi_2: Any) -> Any:
    half = (
        jnp.sin((theta_2 - theta_1) / 2) ** 2
        + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * jnp.arctan2(jnp.sqrt(half), jnp.sqrt(1 - half))
