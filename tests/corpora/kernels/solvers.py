"""Kernels that factorise matrices, solve equations, or iterate until convergence."""

from __future__ import annotations

from typing import Any

import numpy as np


def lu(a: Any) -> Any:
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def cholesky(a: Any) -> Any:
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def triangular_solve(a: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(a.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def gram_schmidt(a: Any) -> Any:
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]), dtype=a.dtype)
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def durbin(r: Any) -> Any:
    """Solve the Yule-Walker equations by Durbin's recursion."""
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def conjugate_gradient(a: Any, b: Any, tolerance: float) -> Any:
    x = np.zeros_like(b)
    left = b - a @ x
    direction, norm = left, left @ left
    while norm > tolerance:
        image = a @ direction
        alpha = norm / (direction @ image)
        x = x + alpha * direction
        left = left - alpha * image
        before, norm = norm, left @ left
        direction = left + norm / before * direction
    return x


def power_iteration(a: Any, x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = a @ x
        x = x / np.linalg.norm(x)
    return x @ a @ x, x


def newton(c: Any, x: Any) -> Any:
    step = np.ones_like(x)
    while np.max(np.abs(step)) > 1e-4:
        step = (x * x * x - c) / (3 * x * x)
        x = x - step
    return x


def vertical_advection(w: Any, u: Any, dt: float) -> Any:
    """Solve a tridiagonal system in each column."""
    levels = u.shape[2]
    above, right = np.zeros_like(u), np.zeros_like(u)
    for k in range(levels):
        gate = 0.25 * w[:, :, k]
        diagonal = 1.0 / dt + gate
        if k == 0:
            above[:, :, k], right[:, :, k] = gate / diagonal, u[:, :, k] / diagonal
        else:
            scale = 1.0 / (diagonal + gate * above[:, :, k - 1])
            above[:, :, k] = gate * scale
            right[:, :, k] = (u[:, :, k] + gate * right[:, :, k - 1]) * scale
    for k in range(levels - 2, -1, -1):
        right[:, :, k] -= above[:, :, k] * right[:, :, k + 1]
    return right
