"""Programs whose inner loops and slices depend on the index of an outer loop, and similar ones that must be
recorded for each length.

``x`` has rows of three floats between 0 and 1, ``n`` is an integer, ``xp`` is NumPy or torch.
"""

from __future__ import annotations

from typing import Any

from .programs import Program


def _matrix(xp: Any, x: Any) -> Any:
    """Return a well-conditioned symmetric matrix with as many rows as ``x``."""
    m = x @ x.T * 0.1
    for i in range(x.shape[0]):
        m[i, i] = m[i, i] + 2
    return m


# ------------------------------------------------------------------------------------- slices that move
def windows(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0] - 1):
        h = h + x[i - 1 : i + 2].sum() * x[i]
    return h


def windows_that_are_written(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    for i in range(y.shape[0] - 1):
        y[i : i + 2] = y[i : i + 2] * 0.5 + y[i]
    return y


def windows_of_two_axes(xp: Any, x: Any, n: int) -> Any:
    m, h = x @ x.T, x[0, 0] * 0
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[0] - 1):
            h = h * 0.5 + m[i - 1 : i + 2, j - 1 : j + 2].max() * m[i, j]
    return h


def windows_with_gaps(xp: Any, x: Any, n: int) -> Any:
    h = x[:2] * 0
    for i in range(x.shape[0] - 3):
        h = h + x[i : i + 4 : 2] * i
    return h


def windows_apart(xp: Any, x: Any, n: int) -> Any:
    h = x[:2] * 0
    for i in range(x.shape[0] // 2):
        h = h * 0.5 + x[2 * i : 2 * i + 2] * x[0]
    return h


def windows_of_half_the_rows(xp: Any, x: Any, n: int) -> Any:
    half = x.shape[0] // 2
    h = x[:half] * 0
    for i in range(x.shape[0] - half + 1):
        h = h * 0.5 + x[i : i + half]
    return h


def written_windows_of_two_axes(xp: Any, x: Any, n: int) -> Any:
    m = x @ x.T
    for i in range(x.shape[0] - 1):
        for j in range(x.shape[0] - 2):
            m[i : i + 2, j : j + 3] = m[i : i + 2, j : j + 3] * 0.5 + m[i, j : j + 3]
    return m


def written_windows_of_axes_apart(xp: Any, x: Any, n: int) -> Any:
    m = (x @ x.T)[:, None, :] * x[:, :, None]
    for i in range(x.shape[0] - 1):
        for j in range(x.shape[0] - 2):
            m[i : i + 2, :, j : j + 3] = m[i : i + 2, :, j : j + 3] * 0.5 + m[i + 1, :, j : j + 3]
            m[i : i + 2, 0, j : j + 2] = 0.25
    return m


def windows_and_gaps_that_are_written(xp: Any, x: Any, n: int) -> Any:
    m = x @ x.T
    for i in range(x.shape[0] - 3):
        m[i : i + 4 : 2, i : i + 2] = m[i : i + 2, i : i + 4 : 2] + x[i, 0]
    return m


def row_and_window(xp: Any, x: Any, n: int) -> Any:
    m = x @ x.T
    for i in range(x.shape[0] - 1):
        m[i, i : i + 2] = m[i + 1, i : i + 2] + m[i : i + 1, i].sum()
    return m


def windows_backwards(xp: Any, x: Any, n: int) -> Any:
    h = x[:2] * 0
    for i in range(x.shape[0] - 2, -1, -1):
        h = h * 0.7 + x[i : i + 2]
    return h


# ------------------------------------------------------------------------------------- triangles
def triangle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            h = h + x[i] * x[j]
    return h


def lower_triangle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i):
            h = h * 0.9 + x[i] * x[j] * (i - j)
    return h


def with_the_diagonal(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1):
            h = h * 0.9 + x[i] * x[j]
        h = h + 1
    return h


def backwards_in_triangles(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i, -1, -1):
            h = h * 0.9 + x[j]
    return h


def every_other_of_a_triangle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(0, i, 2):
            h = h * 0.9 + x[j]
    return h


def tetrahedron(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            for k in range(j + 1, x.shape[0]):
                h = h + x[i] * x[j] * x[k]
    return h


def sorted_by_bubbles(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    for i in range(y.shape[0] - 1):
        for j in range(y.shape[0] - 1 - i):
            low, high = xp.minimum(y[j], y[j + 1]), xp.maximum(y[j], y[j + 1])
            y[j] = low
            y[j + 1] = high
    return y


def forward_substitution(xp: Any, x: Any, n: int) -> Any:
    m = _matrix(xp, x)
    y = x * 1.0
    for i in range(y.shape[0]):
        for j in range(i):
            y[i] = y[i] - m[i, j] * y[j]
        y[i] = y[i] / m[i, i]
    return y


def back_substitution(xp: Any, x: Any, n: int) -> Any:
    m = _matrix(xp, x)
    y = x * 1.0
    for i in range(y.shape[0] - 1, -1, -1):
        s = y[i]
        for j in range(i + 1, y.shape[0]):
            s = s - m[i, j] * y[j]
        y[i] = s / m[i, i]
    return y


def lu(xp: Any, x: Any, n: int) -> Any:
    m = _matrix(xp, x)
    for k in range(m.shape[0]):
        for i in range(k + 1, m.shape[0]):
            m[i, k] = m[i, k] / m[k, k]
            for j in range(k + 1, m.shape[0]):
                m[i, j] = m[i, j] - m[i, k] * m[k, j]
    return m


def cholesky(xp: Any, x: Any, n: int) -> Any:
    a = _matrix(xp, x)
    low = a * 0
    for j in range(a.shape[0]):
        d = a[j, j]
        for k in range(j):
            d = d - low[j, k] * low[j, k]
        low[j, j] = xp.sqrt(d)
        for i in range(j + 1, a.shape[0]):
            s = a[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            low[i, j] = s / low[j, j]
    return low


def triangle_with_windows(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    for i in range(y.shape[0] - 1):
        for j in range(i):
            y[j : j + 2] = y[j : j + 2] * 0.5 + y[i : i + 2]
    return y


def triangles_of_a_number(xp: Any, x: Any, n: int) -> Any:
    for i in range(n):
        for j in range(i, n):
            x = x * 0.9 + 0.01 * (j - i)
    return x


# ------------------------------------------------------------------------------------- traps
def elimination(xp: Any, x: Any, n: int) -> Any:
    m = _matrix(xp, x)
    for k in range(x.shape[0]):
        m[k + 1 :, k] = m[k + 1 :, k] / m[k, k]
        m[k + 1 :, k + 1 :] = m[k + 1 :, k + 1 :] - m[k + 1 :, k : k + 1] * m[k : k + 1, k + 1 :]
    return m


def windows_over_the_end(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[i : i + 2].sum(0)
    return h


def windows_of_a_number(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        h = h * 0.5 + x[i : i + 2].sum(0)
    return h


def filled_windows_over_the_end(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    for i in range(y.shape[0] - 1, -1, -1):
        y[..., i : i + 2, 1:] = 0.5 * i
    return y


def windows_cut_off(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h + x[max(i - 1, 0) : i + 2].sum(0)
    return h


def neighbour_cut_off(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.9 + x[max(i - 1, 0)]
    return h


def windows_from_behind(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0] - 2):
        h = h + x[-i - 2 : -i].sum(0) * i
    return h


def before_the_inner_loop(xp: Any, x: Any, n: int) -> Any:
    h = h0 = x[0] * 0
    for i in range(x.shape[0]):
        h0 = h
        for j in range(i + 1, 5):
            h = h + x[i] * j
    return h0, h


def last_of_the_inner_loop(xp: Any, x: Any, n: int) -> Any:
    last = x[0]
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            last = x[j] * x[i]
    return last


def number_behind_the_inner_loop(xp: Any, x: Any, n: int) -> Any:
    h, j = x[0], 7
    for i in range(x.shape[0]):
        for j in range(i):  # noqa: B007
            h = h * 0.9
        h = h + j
    return h


def set_inside_alone(xp: Any, x: Any, n: int) -> Any:
    t = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i):
            t = x[j]
        t = t * 0.5
    return t


def counter_inside(xp: Any, x: Any, n: int) -> Any:
    h, count = x[0], 0
    for i in range(x.shape[0]):
        for j in range(i):
            count += 1
            h = h + x[j] * count
    return h


def list_inside(xp: Any, x: Any, n: int) -> Any:
    made = [x[0]]
    for i in range(x.shape[0]):
        for j in range(i):
            made.append(x[i] * x[j])
    return xp.stack(made)


def diagonal_asked(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1):
            h = h + (x[i] if i == j else x[j] * 2)
    return h


def left_in_the_middle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i):
            h = h + x[j]
            if h.sum() > 12:
                break
    return h


def squares_of_steps(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i * i):
            h = h * 0.9 + j
    return h


def products_of_steps(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i):
            for _ in range(i - j):
                h = h * 0.9 + x[j]
    return h


def halves_of_steps(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i // 2, i):
            h = h * 0.9 + x[j]
    return h


def past_the_end(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        for j in range(i, min(x.shape[0], n)):
            h = h + x[j]
    return h


def triangle_that_grows_in_a_while(xp: Any, x: Any, n: int) -> Any:
    y = x * 20.0
    while y.sum() > 4:
        for i in range(x.shape[0]):
            for j in range(i + 1):
                y[i] = y[i] * 0.8 + y[j] * 0.01
    return y


def error_that_begins_as_a_number(xp: Any, x: Any, n: int) -> Any:
    y, error, rounds = x * 1.0, 1.0, 0
    while error > 0.3 and rounds < 40:
        error = y.sum() * 0
        for i in range(1, x.shape[0]):
            new = 0.5 * y[i] + 0.25 * y[i - 1]
            error = error + xp.abs(new - y[i]).sum()
            y[i] = new
        rounds += 1
    return y, error, rounds


def _sum_of_rows(x: Any) -> Any:
    total = x[0].sum() * 0
    for i in range(x.shape[0]):
        total = total + x[i].sum()
    return total


def loop_in_a_second_condition(xp: Any, x: Any, n: int) -> Any:
    y = x * 20.0
    while y[0].sum() > 0.1 and _sum_of_rows(y) > 1:
        y = y * 0.5
    return y


def written_by_its_first_name(xp: Any, x: Any, n: int) -> Any:
    y = x * 1.0
    z = y
    for i in range(x.shape[0]):
        y[i] = x[i] * 0.5
        for j in range(i):
            y[j] = y[j] * 0.5
        z = z * 0.5 + 0.25
    return z, y


def row_of_the_last_inner_step(xp: Any, x: Any, n: int) -> Any:
    z, h = x[0] * 0, x[0, 0] * 0
    for i in range(x.shape[0]):
        for j in range(1, i):
            h = h * 0.5 + x[j, 0]
            z = x[j]
    return z, h


def inside_of_what_is_written_out(xp: Any, x: Any, n: int) -> Any:
    rows, m, y = x.shape[0], x @ x.T, x[:, 0] * 1.0
    h = x[0, 0] * 0
    for i in range(1, rows):
        h = h + m[rows - i :, i + 1 :].sum(1).sum() * 0.1
        for j in range(rows - i):
            y[i - 1] = y[i - 1] * 0.5
            for k in range(j):
                h = h * 0.5 + x[k, 0] * k
    return h, y


def short_inside_of_what_is_written_out(xp: Any, x: Any, n: int) -> Any:
    h, y = x[0, 0] * 0, x * 1.0
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i - 1, -1, -1):
            if i % 2 == 0:
                h = h + 1
            y[x.shape[0] - 1 - j :, :j] = y[x.shape[0] - 1 - j :, :j] * 0.5
    return h, y


def named_anew(xp: Any, x: Any, n: int) -> Any:
    z = x * 2.0
    for _ in range(2, n):
        z = x
    return z * 1.0


def named_in_turn(xp: Any, x: Any, n: int) -> Any:
    z, w, h = x * 2.0, x * 3.0, x
    for _ in range(n):
        z, w = w, z
        h = h * 0.5
    return z, h


def lengths_named_anew(xp: Any, x: Any, n: int) -> Any:
    k, h = x.shape[0], x
    for _ in range(2, n):
        k = x.shape[1] + 4
        h = h * 0.5
    return h * k


def named_anew_inside(xp: Any, x: Any, n: int) -> Any:
    z = x * 2.0
    for i in range(x.shape[0]):
        for _ in range(2, i):
            z = x
    return z + 1


FOLDED: dict[str, Program] = {
    each.__name__: each
    for each in (
        windows, windows_that_are_written, windows_of_two_axes, windows_with_gaps, row_and_window, windows_backwards,
        windows_apart, windows_of_half_the_rows, written_windows_of_two_axes, written_windows_of_axes_apart,
        windows_and_gaps_that_are_written, triangle, lower_triangle, with_the_diagonal, backwards_in_triangles, every_other_of_a_triangle, tetrahedron, sorted_by_bubbles,
        forward_substitution, back_substitution, lu, cholesky, triangle_with_windows, row_of_the_last_inner_step,
    )
}  # fmt: skip
"""One recording serves all sizes."""

NEW_ARRAYS: dict[str, Program] = {
    each.__name__: each
    for each in (
        windows, windows_of_two_axes, windows_with_gaps, windows_backwards, windows_apart, windows_of_half_the_rows, triangle, lower_triangle, with_the_diagonal,
        backwards_in_triangles, every_other_of_a_triangle, tetrahedron,
    )
}  # fmt: skip
"""Of these, those that write to no array, of which torch itself has gradients."""

NUMBERED: dict[str, Program] = {each.__name__: each for each in (triangles_of_a_number,)}
"""One recording serves all numbers."""

RIGHT: dict[str, Program] = {
    each.__name__: each
    for each in (
        elimination, windows_over_the_end, windows_of_a_number, filled_windows_over_the_end, windows_cut_off,
        neighbour_cut_off, windows_from_behind,
        before_the_inner_loop, last_of_the_inner_loop, number_behind_the_inner_loop, set_inside_alone, counter_inside, list_inside,
        diagonal_asked, left_in_the_middle, squares_of_steps, products_of_steps, halves_of_steps, past_the_end,
        triangle_that_grows_in_a_while, written_by_its_first_name, inside_of_what_is_written_out, named_anew, named_in_turn,
        lengths_named_anew, named_anew_inside, short_inside_of_what_is_written_out,
        error_that_begins_as_a_number, loop_in_a_second_condition,
    )
}  # fmt: skip
"""What may be recorded again, and is right, or raises what the program raises."""
