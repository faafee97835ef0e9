"""Programs with slices whose width changes with the iteration, and similar ones that must be recorded for
each length.

``x`` has rows of three floats between 0 and 1, ``n`` is an integer, ``xp`` is NumPy or torch.
"""

from __future__ import annotations

from typing import Any

from .nested import _matrix as matrix
from .programs import Program


# ------------------------------------------------------------------------------------- read
def sums_of_rows_before(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[:i].sum(0)
    return h


def products_of_rows_behind(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[i:].prod(0) + x[i + 1 :, 1:].sum()
    return h


def means_so_far(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[: i + 1].mean(0) * x[: i + 1, 0].mean()
    return h


def extremes_so_far(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = (
            h * 0.5
            + xp.amax(x[: i + 1], 0)
            - xp.amin(x[i:])
            + (x[i:] > 0.5).any(0)
            + (x[: i + 1] > 0.1).all()
        )
    return h


def places_of_extremes(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.9 + (x[i:, 0].argmax() + x[: i + 1, 1].argmin() * 10)
    return h


def spreads(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        y = x[: i + 1] - x[: i + 1].mean(0)
        h = h * 0.5 + (y * y).sum(0) / (i + 1)
    return h


def two_ends(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0] // 2):
        h = h * 0.5 + x[i : x.shape[0] - i].sum(0) * i
    return h


def slices_of_slices(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(2, x.shape[0]):
        y = x[: i + 1] * 2.0
        h = h * 0.5 + y[1:].sum(0) + y[-1] + y[0] + y[-2:].sum(0) * y[1:-1, 0].sum()
    return h


def norms(xp: Any, x: Any, n: int) -> Any:
    h = x[0, 0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + xp.linalg.norm(x[i:, 0]) + xp.sqrt((x[i:] * x[i:]).sum())
    return h


def backwards(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0] - 1, -1, -1):
        h = h * 0.5 + x[i:].sum(0) - x[:i].sum(0)
    return h


# ------------------------------------------------------------------------------------- by element
def steep_functions(xp: Any, x: Any, n: int) -> Any:
    # The zeros would give NaN where logarithms and quotients must not be computed.
    h, y = x[0] * 0, x - x[0]
    for i in range(1, x.shape[0]):
        part = xp.abs(y[i:]) + 0.1
        h = h * 0.5 + (xp.log(part) / part + xp.sqrt(part) ** 1.5 - xp.exp(-part) + 1 / part).sum(0)
    return h


def divided_by_what_is_not_there(xp: Any, x: Any, n: int) -> Any:
    y, h = x - x[0], x[0, 0] * 0
    for i in range(1, x.shape[0]):
        h = h * 0.5 + (x[i, 0] / (y[i:, 0] * y[i:, 0] + 0.01)).sum() + (x[:i, 0] / i).sum()
    return h


def shifted(xp: Any, x: Any, n: int) -> Any:
    h, rows = x[0] * 0, x.shape[0]
    for i in range(rows):
        h = h * 0.5 + (x[i:] * x[: rows - i]).sum(0) + (x[: i + 1] * x[rows - i - 1 :]).sum(0)
    return h


def chosen(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + xp.where(x[i:] > x[i], x[i:], x[i] * 2).sum(0)
    return h


# ------------------------------------------------------------------------------------- products
def triangular_products(xp: Any, x: Any, n: int) -> Any:
    m, h = x @ x.T, x[0, 0] * 0
    for i in range(x.shape[0]):
        h = (
            h * 0.5
            + m[i, :i] @ m[:i, i]
            + m[i, i:] @ x[i:, 0]
            + (m[:i, i:] @ x[i:]).sum()
            + (x[:i].T @ m[:i, :i]).sum()
        )
    return h


def sums_of_products(xp: Any, x: Any, n: int) -> Any:
    m, h = x @ x.T, x[0, 0] * 0
    for i in range(x.shape[0]):
        h = (
            h * 0.5
            + xp.einsum("ij,jk->", m[:i, i:], x[i:])
            + xp.tensordot(x[:i], m[:i], 1 * ([0],) * 2).sum()
        )
    return h


def triangles_of_triangles(xp: Any, x: Any, n: int) -> Any:
    m, h = x @ x.T, x[0, 0] * 0
    for i in range(x.shape[0]):
        for j in range(i):
            h = h * 0.5 + m[i, :j] @ m[j, :j] + x[j:i].sum()
    return h


def read_outside_of_the_inner_loop(xp: Any, x: Any, n: int) -> Any:
    m, h = x @ x.T, x[0] * 0
    for i in range(x.shape[0]):
        row = m[i, :i] * 2.0
        for j in range(3):
            h = h * 0.5 + row @ x[:i, j]
    return h


# ------------------------------------------------------------------------------------- written
def elimination(xp: Any, x: Any, n: int) -> Any:
    m = matrix(xp, x)
    for k in range(x.shape[0]):
        m[k + 1 :, k] = m[k + 1 :, k] / m[k, k]
        m[k + 1 :, k + 1 :] = m[k + 1 :, k + 1 :] - m[k + 1 :, k : k + 1] * m[k : k + 1, k + 1 :]
    return m


def elimination_by_outer_products(xp: Any, x: Any, n: int) -> Any:
    m = matrix(xp, x)
    for k in range(x.shape[0]):
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= xp.outer(m[k + 1 :, k], m[k, k + 1 :])
    return m


def substitution(xp: Any, x: Any, n: int) -> Any:
    m, y = matrix(xp, x), x * 1.0
    for i in range(y.shape[0]):
        y[i] = (y[i] - m[i, :i] @ y[:i]) / m[i, i]
    for i in range(y.shape[0] - 1, -1, -1):
        y[i] = (y[i] - m[i, i + 1 :] @ y[i + 1 :]) / m[i, i]
    return y


def column_substitution(xp: Any, x: Any, n: int) -> Any:
    m, y = matrix(xp, x), x[:, 0] * 1.0
    for i in range(y.shape[0]):
        y[i + 1 :] -= m[i + 1 :, i] * y[i]
    return y


def symmetric_writes(xp: Any, x: Any, n: int) -> Any:
    m = x @ x.T
    for i in range(x.shape[0]):
        m[i, i:] = m[i:, i] = x[i] @ x[i:].T
    return m


def numbers_written(xp: Any, x: Any, n: int) -> Any:
    m = x @ x.T
    for i in range(x.shape[0]):
        m[i, :i] = 0
        m[i + 1 :, i] = i
        m[i:, i] += 0.5
    return m


def moved_down(xp: Any, x: Any, n: int) -> Any:
    y, rows = x * 1.0, x.shape[0]
    for i in range(rows):
        y[i:] = y[i:] + y[: rows - i] * 0.5
    return y


def inner_loops_that_write(xp: Any, x: Any, n: int) -> Any:
    m = matrix(xp, x)
    for i in range(x.shape[0]):
        for j in range(3):
            m[i, : i + 1] = m[i, : i + 1] * 0.9 + x[i, j] * x[: i + 1, j]
    return m


# ------------------------------------------------------------------------------------- traps
def found_by_masks(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0]):
        part = x[:i]
        h = h * 0.5 + part[part[:, 0] > 0.5].sum(0)
    return h


def medians(xp: Any, x: Any, n: int) -> Any:
    h = x[0, 0] * 0
    for i in range(1, x.shape[0]):
        h = (
            h * 0.5 + xp.sort(x[:i, 0] * 1.0)[i // 2]
            if xp.__name__ == "numpy"
            else h * 0.5 + xp.sort(x[:i, 0])[0][i // 2]
        )
    return h


def every_other(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[i::2].sum(0) - x[:i:2].sum(0)
    return h


def cut_off_by_the_axis(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[: i + 2].sum(0) + x[max(i - 1, 0) :].mean(0)
    return h


def from_behind(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[-i:].sum(0) + x[: -i - 1].sum(0)
    return h


def of_a_number(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        h = h * 0.5 + x[:i].sum(0) + x[i:].sum(0)
    return h


def kept_for_the_next_step(xp: Any, x: Any, n: int) -> Any:
    h, before = x[0] * 0, x[:0] * 1.0
    for i in range(x.shape[0]):
        h = h * 0.5 + before.sum(0)
        before = x[:i] * 2.0
    return h, before


def returned(xp: Any, x: Any, n: int) -> Any:
    part = x[:1]
    for i in range(1, x.shape[0]):
        part = x[:i] * 2.0
    return part


def in_a_list(xp: Any, x: Any, n: int) -> Any:
    parts = []
    for i in range(1, x.shape[0]):
        parts.append(x[:i].sum(0))
    return parts


def asked_for_its_length(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        part = x[:i]
        h = h * 0.5 + (part.sum(0) if len(part) > 2 else x[i]) * part.shape[0]
    return h


def turned_round(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + (xp.concatenate if xp.__name__ == "numpy" else xp.cat)([x[i:], x[:i]])[0]
    return h


def in_one_row(xp: Any, x: Any, n: int) -> Any:
    h = x[0, 0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[:i].reshape(-1).sum() + x[i:].reshape(1, -1, 3).sum()
    return h


def broadcast_in_the_first_steps(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, min(x.shape[0], 3)):
        h = h * 0.5 + (x[:i] + x[:1]).sum(0)
    return h


def squares_wide(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[: min(i * i, x.shape[0])].sum(0)
    return h


def halves_wide(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[i // 2 : i].sum(0)
    return h


def running_sums(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0]):
        h = (
            h * 0.5
            + xp.cumsum(x[:i], 0)[-1]
            + xp.cumsum(x[i:], 0).sum(0)
            + x[i:].var()
            + x[: i + 1].std(0).sum()
        )
    return h


def written_to_its_own_array(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0]):
        y = x[:i] * 1.0
        y[0] = 0.0
        h = h * 0.5 + y.sum(0)
    return h


def up_to_the_middle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(1, x.shape[0]):
        h = h * 0.5 + x[i : x.shape[0] // 2].sum(0)
    return h


READ: dict[str, Program] = {
    each.__name__: each
    for each in (
        sums_of_rows_before, products_of_rows_behind, means_so_far, extremes_so_far, places_of_extremes, spreads, two_ends,
        slices_of_slices, norms, backwards, steep_functions, divided_by_what_is_not_there, shifted, chosen, triangular_products,
        sums_of_products, triangles_of_triangles, read_outside_of_the_inner_loop,
    )
}  # fmt: skip
"""One recording serves all sizes. No array is written to, so that torch itself has gradients."""

WRITTEN: dict[str, Program] = {
    each.__name__: each
    for each in (
        elimination, elimination_by_outer_products, substitution, column_substitution, symmetric_writes, numbers_written, moved_down,
        inner_loops_that_write,
    )
}  # fmt: skip
"""One recording serves all sizes."""

RIGHT: dict[str, Program] = {
    each.__name__: each
    for each in (
        found_by_masks, medians, every_other, cut_off_by_the_axis, from_behind, of_a_number, kept_for_the_next_step, returned, in_a_list,
        asked_for_its_length, turned_round, in_one_row, broadcast_in_the_first_steps, squares_wide, halves_wide, running_sums,
        written_to_its_own_array, up_to_the_middle,
    )
}  # fmt: skip
"""What may be recorded again, and is right, or raises what the program raises."""
