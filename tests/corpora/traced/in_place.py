"""Traced programs that write to arrays in place in NumPy and torch; in JAX those that assign a new array to
the variable.
"""

from __future__ import annotations

from typing import Any

from .table import IN_PLACE, floats, ints, positive, program

_JAX = ("jax",)


def _copied(x: Any) -> Any:
    return x.clone() if hasattr(x, "clone") else x.copy()


@program((floats(5),), (floats(9),), (floats(2),), sources=IN_PLACE, differentiable=True)
def prefix_sums(xp: Any, xs: Any) -> Any:
    found = xp.zeros(len(xs), dtype=xs.dtype)
    s = xs[0] * 0
    for i in range(len(xs)):
        s = s + xs[i]
        found[i] = s
    return found


@program((floats(8),), (floats(13),), (floats(5),), sources=IN_PLACE)
def stencil(xp: Any, u: Any) -> Any:
    u = _copied(u)
    for _ in range(len(u)):
        inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[1:-1] = inner
    return u


@program((floats(8),), (floats(13),), (floats(5),), sources=IN_PLACE)
def double_buffers(xp: Any, u: Any) -> Any:
    old, new = _copied(u), _copied(u)
    for _ in range(len(u)):
        new[1:-1] = (old[:-2] + old[2:]) / 2
        old, new = new, old
    return old


@program((positive(3, 3),), (positive(5, 5),), (positive(2, 2),), sources=IN_PLACE)
def floyd_warshall(xp: Any, d: Any) -> Any:
    d = _copied(d)
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


@program((positive(3, 3),), (positive(4, 4),), (positive(2, 2),), sources=IN_PLACE)
def lu(xp: Any, m: Any) -> Any:
    n = len(m)
    m = m + 3 * xp.eye(n, dtype=m.dtype)
    for k in range(n):
        for i in range(k + 1, n):
            m[i, k] = m[i, k] / m[k, k]
            for j in range(k + 1, n):
                m[i, j] = m[i, j] - m[i, k] * m[k, j]
    return m


@program((floats(3, 3),), (floats(4, 4),), (floats(2, 2),), sources=IN_PLACE)
def cholesky(xp: Any, m: Any) -> Any:
    n = len(m)
    m = m @ m.T + 2 * xp.eye(n, dtype=m.dtype)
    low = m * 0
    for i in range(n):
        for j in range(i + 1):
            s = m[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            low[i, j] = xp.sqrt(s) if i == j else s / low[j, j]
    return low


@program(
    (ints(4, below=4), ints(5, seed=1, below=4)),
    (ints(6, below=4), ints(3, seed=1, below=4)),
    sources=IN_PLACE,
)
def longest_common_subsequence(xp: Any, a: Any, b: Any) -> Any:
    table = xp.zeros((len(a) + 1, len(b) + 1), dtype=a.dtype)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[len(a), len(b)]


@program(
    (ints(4, below=4), ints(5, seed=1, below=4)),
    (ints(6, below=4), ints(3, seed=1, below=4)),
    sources=IN_PLACE,
)
def edit_distance(xp: Any, a: Any, b: Any) -> Any:
    table = xp.zeros((len(a) + 1, len(b) + 1), dtype=a.dtype)
    for i in range(len(a)):
        table[i + 1, 0] = i + 1
    for j in range(len(b)):
        table[0, j + 1] = j + 1
    for i in range(len(a)):
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            table[i + 1, j + 1] = min(table[i, j] + cost, table[i, j + 1] + 1, table[i + 1, j] + 1)
    return table[len(a), len(b)]


@program((ints(4, below=5) + 1, ints(4, seed=1)), (ints(3, below=5) + 1, ints(3, seed=1)), sources=IN_PLACE)
def knapsack(xp: Any, weights: Any, gains: Any) -> Any:
    best = xp.zeros(9, dtype=gains.dtype)
    for i in range(len(weights)):
        for room in range(8, -1, -1):
            if weights[i] <= room:
                best[room] = max(best[room], best[room - weights[i]] + gains[i])
    return best


@program((floats(5),), (floats(8),), (floats(2),), sources=IN_PLACE)
def insertion_sort(xp: Any, xs: Any) -> Any:
    xs = _copied(xs)
    for i in range(1, len(xs)):
        key = xs[i] + 0
        j = i - 1
        while j >= 0 and xs[j] > key:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = key
    return xs


@program((floats(5),), (floats(8),), (floats(2),), sources=IN_PLACE)
def bubble_sort(xp: Any, xs: Any) -> Any:
    xs = _copied(xs)
    for i in range(len(xs)):
        swapped = False
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                low = xs[j + 1] + 0
                xs[j + 1] = xs[j]
                xs[j] = low
                swapped = True
        if not swapped:
            break
    return xs


@program((ints(6, below=5),), (ints(12, seed=1, below=5),), (ints(1, below=5),), sources=IN_PLACE)
def histogram(xp: Any, xs: Any) -> Any:
    counts = xp.zeros(5, dtype=xs.dtype)
    for x in xs:
        counts[x] += 1
    return counts


@program((positive(4),), (positive(7),), (positive(2),), sources=IN_PLACE)
def thomas(xp: Any, d: Any) -> Any:
    n = len(d)
    c, x = d * 0, _copied(d)
    c[0] = 1 / 4.0
    x[0] = x[0] / 4.0
    for i in range(1, n):
        scale = 4.0 - c[i - 1]
        c[i] = 1 / scale
        x[i] = (x[i] - x[i - 1]) / scale
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return x


@program((floats(5),), (floats(8),), (floats(3),), sources=_JAX, differentiable=True)
def prefix_sums_of_jax(xp: Any, xs: Any) -> Any:
    found, s = xp.zeros_like(xs), xs[0] * 0
    for i in range(len(xs)):
        s = s + xs[i]
        found = found.at[i].set(s if s > 0 else -s)
    return found


@program((positive(3, 3),), (positive(5, 5),), (positive(2, 2),), sources=_JAX)
def floyd_warshall_of_jax(xp: Any, d: Any) -> Any:
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d = d.at[i, j].set(d[i, k] + d[k, j])
    return d


@program((positive(3, 3),), (positive(4, 4),), (positive(2, 2),), sources=_JAX)
def lu_of_jax(xp: Any, m: Any) -> Any:
    n = len(m)
    m = m + 3 * xp.eye(n)
    for k in range(n):
        for i in range(k + 1, n):
            m = m.at[i].add(-m[k] * (m[i, k] / m[k, k]))
    return m


@program((floats(4, 3),), (floats(7, 3, seed=1),), (floats(2, 2, seed=2),), sources=IN_PLACE)
def forces(xp: Any, x: Any) -> Any:
    sums = xp.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                sums[i] += x[j] - x[i]
                sums[j] -= x[i]
    return sums


@program((floats(4, 4, 3),), (floats(7, 7, 3, seed=1),), (floats(2, 2, 3, seed=2),), sources=IN_PLACE)
def rows_of_a_table(xp: Any, x: Any) -> Any:
    found = xp.zeros(x.shape, dtype=x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j, 0] > 0:
                found[i, j] += x[j, i]
                found[j - i, i] *= 0.5
            else:
                found[i, j, 1:] -= x[i, j, 1:]
    return found


@program((floats(5, 5),), (floats(8, 8, seed=1),), (floats(2, 2, seed=2),), sources=IN_PLACE)
def eliminated(xp: Any, m: Any) -> Any:
    """The width of the slices changes with the iteration, so the loop is recorded without tracing and folded."""
    m = _copied(m)
    for k in range(m.shape[0] - 1):
        m[k + 1 :, k] = m[k + 1 :, k] / (abs(m[k, k]) + 1)
        for j in range(k + 1, m.shape[0]):
            m[k + 1 :, j] -= m[k + 1 :, k] * m[k, j]
    low = xp.tril(m)
    return m, low.max() if low.sum() > 0 else low.min()


@program((positive(6),), (positive(11, seed=1),), (positive(1, seed=2),), sources=IN_PLACE)
def binned(xp: Any, xs: Any) -> Any:
    counts = xp.zeros(4)
    for x in xs:
        place = int(x * 4)
        if place >= 4:
            place = 3
        counts[place] += 1
    return counts


@program((positive(5),), (positive(9, seed=1) * 2,), (positive(1, seed=2),), sources=("numpy",))
def passed_on(xp: Any, x: Any) -> Any:
    """Each iteration reads the row that the previous one has written."""
    x, count = _copied(x), 0
    for i, item in enumerate(x):
        if item > 0.5 and i + 1 < x.shape[0]:
            x[i + 1] = x[i + 1] + item
            count += 1
    return x, count


@program((floats(4, 4),), (floats(6, 6, seed=1),), (floats(2, 2, seed=2),), sources=IN_PLACE)
def row_after_it_was_written(xp: Any, x: Any) -> Any:
    """Rows are written to, by their own and earlier iterations, before they are read."""
    rows, total = x * 1, x[0] * 0
    for i, row in enumerate(rows):
        rows[i] = row * 2
        rows[rows.shape[0] - 1] += 1
        total = total * 0.5 + row
    return total, rows
