"""Programs whose iterations branch on the loop index."""

from __future__ import annotations

from typing import Any

from .programs import Program


# -------------------------------------------------------------------------- all further steps have one answer
def the_first_step(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        if i == 0:
            h = x[0] * 2
        else:
            h = h * 0.5 + x[-1]
    return h


def the_first_row(xp: Any, x: Any, n: int) -> Any:
    h = x[0]
    for i in range(x.shape[0]):
        h = x[i] * 2 if i == 0 else h * 0.5 + x[i] * x[i - 1]
    return h


def from_the_end(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    for i in range(x.shape[0] - 1, -1, -1):
        if i < x.shape[0] - 1:
            y[i] = y[i] + y[i + 1] * 0.5
    return y


def all_of_them(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        if i < 0 or i + 1 > x.shape[0] or i == -2:
            h = h * 7
        h = h * 0.5 + x[i]
    return h


def the_row_before(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + x[max(i - 1, 0)]
    return h


def left_out(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    for i in range(x.shape[0]):
        if not i:
            continue
        y[i] = y[i - 1] * 0.5 + y[i]
    return y


def inner_steps(xp: Any, x: Any, n: int) -> Any:
    h = x[0, 0] * 0
    for i in range(x.shape[0]):
        for j in range(3):
            if j <= i + 3 and i >= 0:
                h = h * 0.5 + x[i, j]
    return h


def of_the_outer_step(xp: Any, x: Any, n: int) -> Any:
    y = x * 1
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] * 2 if i == 0 else y[i, j] + y[i - 1, j] * 0.5
    return y


def in_a_triangle(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1):
            h = h * 0.5 + (x[i] if j <= i else x[j])
    return h


ONCE: dict[str, Program] = {each.__name__: each for each in (
    the_first_step, the_first_row, from_the_end, all_of_them, the_row_before, left_out, inner_steps, in_a_triangle,
)}  # fmt: skip


# ------------------------------------------------------------------------------------- others
def the_last_step(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        h = h * 0.5 + (x[0] if i == n - 1 else x[-1])
    return h


def the_first_two(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        h = h * 0.5 + (x[0] if i < 2 else x[-1])
    return h


def every_other(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        h = h * 0.5 + (x[0] if i % 2 == 0 else x[-1])
    return h


def first_half(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        h = h * 0.5 + (x[i] if i < x.shape[0] // 2 else x[0] * 3)
    return h


def beside_the_number_of_rows(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        if i + 4 < x.shape[0]:
            h = h + x[0] * 2
        h = h * 0.5 + x[-1]
    return h


def rows_in_the_first_step(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(n):
        if i == 0 and i + 4 < x.shape[0]:
            h = h + x[0] * 2
        h = h * 0.5 + x[-1]
    return h


def on_a_diagonal(xp: Any, x: Any, n: int) -> Any:
    h = x[0, 0] * 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            h = h * 0.5 + (x[i, j] * 3 if i == j else x[i, j])
    return h


def behind_the_diagonal(xp: Any, x: Any, n: int) -> Any:
    h = x[0] * 0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            h = h * 0.5 + (x[i] if j == i + 1 else x[j])
    return h


def number_kept(xp: Any, x: Any, n: int) -> Any:
    h, last = x[0] * 0, -1
    for i in range(n):
        if last == i - 1:
            h = h * 0.5 + x[-1]
        last = i
    return h if last == 4 else h * 2


def another_number_kept(xp: Any, x: Any, n: int) -> Any:
    h, first = x[0] * 0, 5
    for i in range(n):
        if i == 0:
            first = i
        h = h * 0.5 + (x[-1] if first < i + 1 else x[0])
    return h


RIGHT: dict[str, Program] = {each.__name__: each for each in (
    the_last_step, the_first_two, every_other, first_half, beside_the_number_of_rows, rows_in_the_first_step, on_a_diagonal,
    behind_the_diagonal, number_kept, another_number_kept, of_the_outer_step,
)}  # fmt: skip
