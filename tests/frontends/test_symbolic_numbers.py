"""Tests of sizes as Python numbers in the user's code, alike in every framework: operators, comparisons,
builtins.
"""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

SOURCES = ("torch", "jax", "numpy", "tensorflow")


class Step(enum.IntEnum):
    TWO = 2


# What is computed of two sizes: it stays an expression, so that one recording serves all sizes.
OPEN: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda n, m: n + m + 1,
    "radd": lambda n, m: 3 + n,
    "sub": lambda n, m: n - 2 * m,
    "rsub": lambda n, m: 20 - n,
    "mul": lambda n, m: n * m * 0.5,
    "floordiv": lambda n, m: n // 2 + 7 // m,
    "floordiv by a float": lambda n, m: n // 1.5,
    "mod": lambda n, m: n % 3 + 100 % m,
    "truediv": lambda n, m: n / m + 1 / n,
    "pow": lambda n, m: n**2 + m**0.5 + n**-1,
    "rpow": lambda n, m: 2**m,
    "divmod": lambda n, m: sum(divmod(n, 3)) + sum(divmod(50, m)),
    "neg, pos, abs, invert": lambda n, m: -n + +m + abs(m - n) + ~n,
    "shifts": lambda n, m: (n << 2) + (n >> 1) + (1 << m),
    "bits": lambda n, m: (n & 3) + (n | 8) + (n ^ m) + (6 & n),
    "round": lambda n, m: round(n / 3) + round(n / 3, 1) + round(n) + round(n, 2),
    "trunc, floor, ceil": lambda n, m: (
        (n / 3).__trunc__() + (n / 3).__floor__() + (n / 3).__ceil__() + n.__floor__()
    ),
    "beside an IntEnum": lambda n, m: n * Step.TWO + Step.TWO,
    "sum": lambda n, m: sum([n, m, 1]),
    "copied": lambda n, m: copy.copy(n) + copy.deepcopy([m])[0],
    "truth value": lambda n, m: 2 if n and not (n - n) else 3,
    "comparisons that hold for all": lambda n, m: [
        n > 0,
        n >= 1,
        n < 99,
        n <= 99,
        n != 0,
        m > 1,
        bool(n),
    ].count(True),
    "its class": lambda n, m: (
        isinstance(n, int) * 2 + isinstance(n / 2, float) * 3 + isinstance(n / 2, int) * 5
    ),
    "the larger one": lambda n, m: max(n, 2) + min(m, 50),
}
# What needs the number itself: it is assumed, so that another number is another recording.
DECIDED: dict[str, Callable[[Any, Any], Any]] = {
    "range": lambda n, m: len([*range(n)]),
    "text": lambda n, m: len(f"{n:>{m}}") + len(f"{n:03d}"),
    "hash": lambda n, m: {n: 2, m: 3}[n],
    "methods": lambda n, m: n.bit_length() + (n / 2).is_integer(),
    "complex": lambda n, m: abs(complex(n, 1)) + abs(n * 1j),
    "item of a list": lambda n, m: [*range(100)][n],
}


def _ones(source: str, *shape: int) -> Any:
    framework = pytest.importorskip(source)
    return (framework.numpy if source == "jax" else framework).ones(shape)


def _checked(compute: Callable[[Any, Any], Any], source: str, to: str) -> Any:
    """Compare the graph of a function with plain Python at other sizes than the recorded ones."""

    def function(x: Any) -> Any:
        return x * compute(x.shape[0], x.shape[1])

    graph = graph_compiler.compile(function, args=(_ones(source, 4, 6),), to=to)
    for rows, columns in ((4, 6), (7, 3), (9, 9), (16, 2), (4, 6)):
        found = np.asarray(graph(_ones(source, rows, columns)))
        np.testing.assert_allclose(found, np.full((rows, columns), compute(rows, columns)), rtol=2e-6)
    return graph


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OPEN)
def test_arithmetic_on_sizes_has_one_recording(name: str, source: str) -> None:
    graph = _checked(OPEN[name], source, "numpy")
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("name", OPEN)
def test_arithmetic_on_sizes_is_written_in_the_source_framework(name: str) -> None:
    graph = _checked(OPEN[name], "tensorflow", "tensorflow")
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", DECIDED)
def test_where_python_needs_the_number_it_is_a_guard(name: str, source: str) -> None:
    graph = _checked(DECIDED[name], source, "numpy")
    assert 1 < len(graph.variants) <= 4, graph.explain()


@pytest.mark.parametrize("source", SOURCES)
def test_a_division_by_zero_that_is_handled_holds_for_its_sizes(source: str) -> None:
    def function(x: Any) -> Any:
        try:
            return x * (6 // (x.shape[0] - 3))
        except ZeroDivisionError:
            return x * 7

    graph = graph_compiler.compile(function, to="numpy")
    for rows, wanted in ((3, 7), (4, 6), (3, 7), (5, 3)):
        assert np.asarray(graph(_ones(source, rows, 1)))[0, 0] == wanted


@pytest.mark.parametrize("source", SOURCES)
def test_a_float_of_sizes_is_no_index(source: str) -> None:
    def function(x: Any) -> Any:
        try:
            return x * len(range(x.shape[0] / 2))
        except TypeError:
            return x * 7

    graph = graph_compiler.compile(function, to="numpy")
    for rows in (4, 5):
        assert np.asarray(graph(_ones(source, rows, 1)))[0, 0] == 7


@pytest.mark.parametrize("source", SOURCES)
def test_a_number_that_is_computed_of_itself_again_and_again_is_a_guard(source: str) -> None:
    """Each step of Newton's method contains the previous number three times, so the expression would grow
    exponentially.
    """

    def function(x: Any) -> Any:
        root = 1.0
        for _ in range(20):
            root -= (root * root - x.shape[0]) / (2 * root)
        return x * root

    graph = graph_compiler.compile(function, to="numpy")
    for rows in (4, 9):
        assert abs(np.asarray(graph(_ones(source, rows, 1)))[0, 0] - rows**0.5) < 1e-5


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_batch_norm_with_the_mean_of_all_batches(to: str) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Sequential(torch.nn.BatchNorm1d(3, momentum=None))
    original = copy.deepcopy(layer)
    graph = graph_compiler.compile(layer, to=to, args=(torch.randn(4, 3),))
    for _ in range(4):
        x = torch.randn(5, 3)
        result = graph(x).detach() if to == "torch" else graph(x.numpy())
        np.testing.assert_allclose(np.asarray(result), original(x).detach(), rtol=1e-4, atol=1e-5)
    assert len(graph.variants) == 1
    for name, expected in original.state_dict().items():
        found = graph.parameters[name]
        np.testing.assert_allclose(
            np.asarray(found.detach() if to == "torch" else found), expected, rtol=1e-5, atol=1e-6
        )
