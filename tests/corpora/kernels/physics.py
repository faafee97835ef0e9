"""Kernels of physics: bodies, fields, fractals."""

from __future__ import annotations

from typing import Any

import numpy as np


def nbody(positions: Any, velocities: Any, masses: Any, steps: int, dt: float) -> Any:
    def acceleration() -> Any:
        apart = positions[None, :, :] - positions[:, None, :]
        inverse = (np.sum(apart**2, axis=-1) + 0.01) ** -1.5
        return np.einsum("ijk,ij,j->ik", apart, inverse, masses)

    pull = acceleration()
    for _ in range(steps):
        velocities = velocities + pull * dt / 2.0
        positions = positions + velocities * dt
        pull = acceleration()
        velocities = velocities + pull * dt / 2.0
    return positions, velocities


def mandelbrot(x: Any, y: Any, steps: int) -> Any:
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int32)
    for n in range(steps):
        near = np.abs(z) < 2.0
        counts[near] = n
        z[near] = z[near] ** 2 + c[near]
    return counts


def scattering_self_energies(neighbours: Any, dh: Any, g: Any, d: Any) -> Any:
    sigma = np.zeros_like(g)
    for k in range(g.shape[0]):
        for e in range(g.shape[1]):
            for q in range(d.shape[0]):
                for w in range(d.shape[1]):
                    for i in range(dh.shape[2]):
                        for j in range(dh.shape[2]):
                            if e - w >= 0:
                                for b in range(neighbours.shape[1]):
                                    left = g[k, e - w, neighbours[:, b]] @ dh[:, b, i]
                                    sigma[k, e] += left @ (dh[:, b, j] * d[q, w, :, b, i, j][:, None, None])
    return sigma


def contour_integral(hamiltonian: Any, points: Any, weights: Any, probe: Any) -> Any:
    first = np.zeros(probe.shape, dtype=np.complex64)
    second = np.zeros(probe.shape, dtype=np.complex64)
    for z, w in zip(points, weights):
        solved = np.linalg.solve(z * np.eye(probe.shape[0], dtype=np.complex64) - hamiltonian, probe)
        if np.abs(z) < 1.0:
            solved = -solved
        first += w * solved
        second += w * z * solved
    return first, second


def arc_distance(theta_1: Any, phi_1: Any, theta_2: Any, phi_2: Any) -> Any:
    half = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))
