"""Traced programs that return from inside their loops."""

from __future__ import annotations

from typing import Any

from .table import floats, number, positive, program


@program(
    (positive(4, 4), number(1e-1)),
    (positive(6, 6, seed=1), number(1e-3)),
    (positive(2, 2, seed=2), number(9.0)),
)
def ranked(xp: Any, links: Any, tolerance: Any) -> Any:
    links = links / links.sum()
    rank = links[0] * 0 + 1.0 / links.shape[0]
    for step in range(60):
        new = 0.15 / links.shape[0] + 0.85 * (links @ rank)
        if abs(new - rank).sum() < tolerance:
            return new, step
        rank = new
    return rank, -1


@program((floats(3), floats(3, seed=1)), (floats(5), floats(5, seed=2) * 9), (floats(2), floats(2) * 0))
def line_search(xp: Any, x: Any, slope: Any) -> Any:
    width = 1.0
    for _ in range(20):
        new = x - width * slope
        if (new * new).sum() < (x * x).sum() - 0.1 * width * (slope * slope).sum():
            return new
        width = width * 0.5
    return x


@program((positive(3) * 8,), (positive(5, seed=1) * 90,), (positive(2, seed=2) * 0.1,))
def halved_until(xp: Any, x: Any) -> Any:
    while True:
        x = x * 0.5
        if x.sum() < 1:
            return x
        if x[0] < 0.1:
            return x + 1


@program((floats(3, 4),), (floats(5, 2, seed=1),), (floats(2, 3, seed=2) * 0,))
def first_large(xp: Any, rows: Any) -> Any:
    total = rows.sum(0)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] > 0.7:
                return total + rows[i], (i, j)
    return total, (-1, -1)


@program((floats(4),), (floats(7, seed=1),), (floats(1, seed=2),), sources=("numpy", "torch"))
def written(xp: Any, x: Any) -> Any:
    """The returned array is written to in later iterations."""
    y = x * 1
    for i in range(y.shape[0]):
        y[i] = y[i] * 2
        if y[i] > 1:
            return y
        y[0] = y[0] + 1
    return y


@program(
    (positive(3, 3), positive(3), number(1e-3)),
    (positive(5, 5, seed=1), positive(5, seed=1), number(10.0)),
    (positive(2, 2, seed=2), positive(2, seed=2), number(0.0)),
    (positive(2, 2), positive(2) * 0, number(1.0)),
    sources=("numpy", "torch"),
)
def written_further(xp: Any, m: Any, b: Any, tolerance: Any) -> Any:
    x = b * 0
    left = b - m @ x
    if (left * left).sum() < tolerance * 0.5:
        return x, 0
    for step in range(12):
        x += 0.2 * left
        left -= 0.2 * (m @ left)
        if (left * left).sum() < tolerance:
            return x, step + 1
    return x, -1
