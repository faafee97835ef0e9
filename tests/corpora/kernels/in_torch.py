"""Kernels with loops, written for torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def heat_1d(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def jacobi_2d(u: Any, steps: int) -> Any:
    v = u.clone()
    for _ in range(steps):
        v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
        u[1:-1, 1:-1] = 0.2 * (v[1:-1, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[2:, 1:-1] + v[:-2, 1:-1])
    return u


def power_iteration(a: Any, x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = a @ x
        x = x / torch.linalg.norm(x)
    return x @ a @ x, x


def conjugate_gradient(a: Any, b: Any, tolerance: float) -> Any:
    x = torch.zeros_like(b)
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


def floyd_warshall(paths: Any) -> Any:
    for k in range(paths.shape[0]):
        paths = torch.minimum(paths, paths[:, k, None] + paths[k, None, :])
    return paths


def moving_filter(signal: Any, rate: float) -> Any:
    kept = torch.empty_like(signal)
    state = signal[0]
    for t in range(signal.shape[0]):
        state = rate * signal[t] + (1.0 - rate) * state
        kept[t] = state
    return kept


IN_TORCH: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (heat_1d, jacobi_2d, power_iteration, conjugate_gradient, floyd_warshall, moving_filter)
}
