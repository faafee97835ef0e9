"""Tests of integer overflow: Python's integers have any size, so programs that may exceed an array's dtype
are detected before they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.ir.magnitudes import outgrows

pytest.importorskip("jax")


def counted(x: Any, n: int) -> Any:
    k = 0
    for i in range(n):
        if x[i] > 0:
            k += 1 if x[2 * i % n] > 1 else 2
    return k


def remainders(x: Any, n: int) -> Any:
    h = 1
    for item in x:
        h = (h * 31 + int(item)) % 65521
    return h


def greatest(x: Any, n: int) -> Any:
    best = 0
    for i in range(n):
        if x[i] > x[best]:
            best = i
    return best


def doubled(x: Any, n: int) -> Any:
    k = 1
    for _ in range(n):
        k = k * 2
    return k


def summed(x: Any, n: int) -> Any:
    k = 0
    for item in x:
        k += int(item)
    return k


def swapped(x: Any, n: int) -> Any:
    a, b = 0, 1
    while a < n:
        a, b = b, a + b
    return a


def packed(x: Any, n: int) -> Any:
    a = 0
    for item in x:
        a = (a + int(item)) % 65521
    return a * 65536 + a


def nested(x: Any, n: int) -> Any:
    k = 1
    for i in range(n):
        for _ in range(i):
            k = k * 3 if x[i] > 0 else k
    return k


def times_an_argument(x: Any, n: int) -> Any:
    k = 0
    for i in range(len(x)):
        if x[i] > 0:
            k = i * n
    return k


def of_which_floats_are_made(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            break
        total = total + x[i] * (i * n)
    return total


def triangular(x: Any, n: int) -> Any:
    best = x[0]
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i + 1, x.shape[0]):
            for k in range(i + 1, j):
                if x[k] > best:
                    best = x[k] + x[j - i - 1]
    return best


def sizes_added(x: Any, n: int) -> Any:
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            k = i + x.shape[0] + x.shape[0] + x.shape[0]
    return k


def halved_ranges(x: Any, n: int) -> Any:
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        if x[middle] < n:
            low = middle + 1
        else:
            high = middle
    return low


def in_a_band(x: Any, n: int) -> Any:
    total = x[0]
    for i in range(x.shape[0]):
        for j in range(max(0, i - n), min(x.shape[0], i + n) + 1):
            if x[j % 5] > 0:
                total = total + x[j % 5]
    return total


def mixed_bits(x: Any, n: int) -> Any:
    code = 1
    for item in x:
        code = code ^ (((code & 255) << 4) | 3) if item > 0 else ~code
    return code


def moved_left(x: Any, n: int) -> Any:
    code = 1
    for item in x:
        code = code << 1 if item > 0 else code
    return code


def in_steps(x: Any, n: int) -> Any:
    i = 0
    while i < x.sum():
        i += 64
    return i


def squares_in_steps(x: Any, n: int) -> Any:
    i = 0
    while i * i < x.sum():
        i += 64
    return i


def squares_in_steps_down(x: Any, n: int) -> Any:
    i = 0
    while i * i < x.sum():
        i -= 2
    return i


CASES: dict[Callable[..., Any], bool] = {
    counted: False, remainders: False, greatest: False, doubled: True, summed: True, swapped: True, packed: True, nested: True,
    times_an_argument: True, of_which_floats_are_made: True,
    triangular: False, sizes_added: True, halved_ranges: False, in_a_band: False, mixed_bits: False, moved_left: True,
    in_steps: False, squares_in_steps: True, squares_in_steps_down: True,
}  # fmt: skip


@pytest.mark.parametrize("function", CASES)
def test_what_may_outgrow_its_type(function: Callable[..., Any]) -> None:
    graph = graph_compiler.compile(function, to="jax", args=(np.arange(5.0), 4), trace_control_flow=True)
    assert outgrows(graph.variants[0].graph) is CASES[function]
