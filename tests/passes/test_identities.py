"""Tests of the removal of operations without effect; similar operations that have one stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler

FLOATS = torch.tensor([-0.0, 0.0, 1.5, float("inf"), float("-inf"), float("nan"), 1e-45])
COMPLEX = torch.tensor([complex(float("inf"), 1), complex(-0.0, -0.0)])
INTEGERS = torch.tensor([-3, 0, 7])
TRUTHS = torch.tensor([True, False])
Function = Callable[[Any], Any]

# Each row: function, argument, number of operations that remain.
SAMPLES: dict[str, tuple[Function, torch.Tensor, int]] = {
    "times one": (lambda x: x * 1, FLOATS, 0),
    "one times": (lambda x: 1.0 * x, FLOATS, 0),
    "over one": (lambda x: x / 1, FLOATS, 0),
    "less nothing": (lambda x: x - 0.0, FLOATS, 0),
    "to the first": (lambda x: x**1, FLOATS, 0),
    "half precision": (lambda x: x * 1.0, FLOATS.half(), 0),
    "of integers": (lambda x: (x + 0) * 1 - 0, INTEGERS, 0),
    "a zero loses its sign": (lambda x: x + 0, FLOATS, 1),
    "less a negative zero": (lambda x: x - -0.0, FLOATS, 1),
    "floats of integers": (lambda x: x * 1.0, INTEGERS, 1),
    "a quotient of integers": (lambda x: x / 1, INTEGERS, 1),
    "integers of truth values": (lambda x: x * 1, TRUTHS, 1),
    "complex infinity": (lambda x: x * 1.0, COMPLEX, 1),
    "integers of truth values, compared with 0": (lambda x: x.int() != 0, TRUTHS, 0),
    "integers of truth values, compared with 1": (lambda x: x.int() != 1, TRUTHS, 2),
    "integers compared with 0": (lambda x: x != 0, INTEGERS, 1),
    "all of which": (lambda x: x.new_ones(()) & x, TRUTHS, 0),
    "or none": (lambda x: torch.logical_or(x, x.new_zeros(())), TRUTHS, 0),
    "none of which": (lambda x: x & x.new_zeros(()), TRUTHS, 2),
    "reshaped and back": (lambda x: x[None, :, None].squeeze(2).reshape(-1), FLOATS, 0),
    "bits of integers": (lambda x: x & x.new_ones(()), INTEGERS, 2),
    "truth values of another shape": (lambda x: (x & x.new_ones(3, 1))[0], TRUTHS, 3),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_operation_that_changes_nothing_is_left_out(name: str) -> None:
    function, x, count = SAMPLES[name]
    graph = graph_compiler.transpile(
        lambda x: torch.stack([function(x), function(x).flip(0)]), to="numpy", args=(x,)
    )
    others = {"flip", "stack", "expand_dims", "concat"}
    assert sum(kept for op, kept in graph.program.count_operations().items() if op not in others) == count
    given, expected = graph(x), torch.stack([function(x), function(x).flip(0)]).numpy()
    assert given.dtype == expected.dtype
    np.testing.assert_array_equal(given, expected)
    np.testing.assert_array_equal(np.signbit(given.real), np.signbit(expected.real))
