"""Constant indices, and those computed from sizes, add guards on sizes: no target reads past the end of an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

torch = pytest.importorskip("torch")

ROWS = 8
PLACES = torch.tensor([0, 4])
TABLE = torch.arange(ROWS * 3.0).reshape(ROWS, 3)
NUMPY_TABLE = TABLE.numpy()


def _positions(x: Any, start: int = 0, step: int = 1) -> Any:
    return torch.arange(start, start + step * x.shape[1], step)


def _written(x: Any, index: Any) -> Any:
    y = x * 1
    y[index] = 0
    return y


# name -> (function, the shortest rows whose constant indices are in bounds)
CONSTANT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a list": (lambda x: x[:, [0, 3]], 4),
    "an array": (lambda x: x[:, np.array([1, 4])], 5),
    "from the end": (lambda x: x[:, [-4, 0]], 4),
    "a list and a number": (lambda x: x[[0, 1], 3], 4),
    "a list and a number from the end": (lambda x: x[[0, 1], -3], 3),
    "written to": (lambda x: _written(x, (slice(None), [0, 3])), 4),
    "a list and a number, written to": (lambda x: _written(x, ([0, 1], 4)), 5),
    "take of numpy": (lambda x: np.take(x, [0, 4], axis=1), 5),
    "a tensor of torch": (lambda x: x[:, torch.tensor([0, 4])], 5),
    "a tensor of torch from outside": (lambda x: x[:, PLACES], 5),
    "a number that numpy reads": (lambda x: x[[0, 1], int(x[0, 1]) + 2], 4),
    "a number that numpy reads, behind an ellipsis": (lambda x: x[..., int(x[0, 1]) + 2], 4),
    "a number that numpy reads, beside a mask": (lambda x: x[x[:, 0] > 0, int(x[0, 1]) + 2], 4),
}


# name -> (function, the longest rows that are in bounds)
READS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "embedding": (lambda x: x + torch.nn.functional.embedding(_positions(x), TABLE).sum(-1), 8),
    "positions of a batch": (lambda x: x + TABLE[_positions(x)[None].expand(x.shape[0], -1)].sum(-1), 8),
    "positions from 2": (lambda x: x + TABLE[_positions(x) + 2].sum(-1), 6),
    "every second row": (lambda x: x + TABLE.index_select(0, _positions(x, 1, 2)).sum(-1), 4),
    "from the end": (lambda x: x + TABLE[_positions(x, -1, -1)].sum(-1), 8),
    "backwards": (lambda x: x + TABLE[x.shape[1] - 1 - _positions(x)].sum(-1), 8),
    "products": (lambda x: x + TABLE[_positions(x) * (x > 0)].sum(-1), 8),
    "counts": (lambda x: x + TABLE[(x > 0).cumsum(1) - 1].sum(-1), 8),
    "gather": (lambda x: x + TABLE.gather(0, _positions(x)[:, None].int().long())[:, 0], 8),
    "numpy": (lambda x: x + NUMPY_TABLE[np.arange(x.shape[1])].sum(-1), 8),
}


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", READS)
def test_a_size_that_leads_out_of_bounds_raises_as_the_original_does(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, longest = READS[name]
    ones = np.ones if name == "numpy" else torch.ones
    graph = graph_compiler.transpile(function, to=to, args=(ones((2, 3)),))
    for length in (2, longest):
        expected = function(ones((2, length)))
        np.testing.assert_allclose(np.asarray(graph(ones((2, length)))), expected, rtol=1e-6)
    assert len(graph._variants) == 1
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        function(ones((2, longest + 1)))
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        graph(ones((2, longest + 1)))


@pytest.mark.parametrize("source", ["torch", "numpy"])
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_index_that_is_out_of_bounds_raises_as_the_original_does(
    name: str, to: str, source: str
) -> None:
    if (
        f"of {'torch' if source == 'numpy' else 'numpy'}" in name
        or "numpy reads" in name
        and source == "torch"
    ):
        pytest.skip("a function of the other framework")
    pytest.importorskip(to)
    function, shortest = CONSTANT[name]
    ones = np.ones if source == "numpy" else torch.ones
    graph = graph_compiler.transpile(function, to=to, source=source, args=(ones((2, 6)),))
    for length in (7, shortest):
        expected = function(ones((2, length)))
        np.testing.assert_allclose(np.asarray(graph(ones((2, length)))), expected, rtol=1e-6)
    assert len(graph._variants) == 1
    for call in (function, graph):
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            call(ones((2, shortest - 1)))


def test_indices_that_a_longer_row_may_keep_in_bounds_are_recorded_again() -> None:
    function, longest = READS["counts"]
    graph = graph_compiler.transpile(function, to="jax", args=(torch.ones(2, 3),))
    x = torch.ones(2, longest + 2)
    x[:, :4] = 0
    x[:, 0] = 1
    np.testing.assert_allclose(np.asarray(graph(x)), function(x), rtol=1e-6)
    assert len(graph._variants) == 2


@pytest.mark.parametrize(
    "step",
    [lambda positions, _: positions + 1, lambda positions, _: positions + positions],
    ids=["additions", "doublings"],
)
def test_positions_may_follow_from_many_operations(step: Callable[[Any, int], Any]) -> None:
    def function(x: Any) -> Any:
        return x + TABLE[functools.reduce(step, range(700), _positions(x) * 0) * 0].sum(-1)

    graph = graph_compiler.transpile(function, to="numpy", args=(torch.ones(2, 3),), roll="never")
    np.testing.assert_allclose(graph(torch.ones(2, 4)), function(torch.ones(2, 4)))
