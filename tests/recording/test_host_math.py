"""Tests of ``math``, ``len``, ``int`` and ``float`` on sizes, in every framework: one recording serves all
sizes.
"""

from __future__ import annotations

import linecache
import math
import sys
from collections.abc import Callable
from math import log10
from typing import Any

import numpy as np
import pytest

import graph_compiler

# The arrays of these frameworks have methods.
SOURCES = ("torch", "jax", "numpy")
EVERY_SOURCE = (*SOURCES, "tensorflow")
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda x: x / math.sqrt(x.shape[0]),
    "logarithm of a base": lambda x: x * math.log(x.shape[0], 2),
    "imported by its name": lambda x: x * log10(x.shape[0]),
    "of two": lambda x: x + math.hypot(*x.shape),
    "power": lambda x: x * math.pow(x.shape[1], -0.5),
    "rounded up": lambda x: x[: math.ceil(x.shape[0] / 2)],
    "rounded": lambda x: x * round(x.shape[0] / 3) + math.floor(x.shape[0] / 2),
    "whole root": lambda x: x[: math.isqrt(x.shape[0])],
    "length": lambda x: x / len(x) + (len(x[0]) - 1) * len(x[1:]),
    "length as a size": lambda x: x.reshape(len(x) * len(x[0])) * (len(x) // 2),
    "converted": lambda x: x[: int(x.shape[0] * 0.7)] * float(x.shape[1]),
    "asked": lambda x: x if math.isfinite(x.shape[0] / 2) else -x,
}
# TensorFlow's arrays lack the methods of these programs.
METHODS = ("length as a size",)


def _ones(source: str, *shape: int) -> Any:
    framework = pytest.importorskip(source)
    return (framework.numpy if source == "jax" else framework).ones(shape)


@pytest.mark.parametrize("to", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("name", "source"),
    [
        (name, source)
        for name in PROGRAMS
        for source in EVERY_SOURCE
        if source in SOURCES or name not in METHODS
    ],
)
def test_one_recording_serves_all_sizes(name: str, source: str, to: str) -> None:
    function = PROGRAMS[name]
    graph = graph_compiler.compile(function, args=(_ones(source, 4, 6),), to=to)
    for rows, columns in ((4, 6), (7, 3), (9, 9), (16, 2)):
        x = _ones(source, rows, columns)
        np.testing.assert_allclose(np.asarray(graph(x)), np.asarray(function(x)), rtol=1e-6)
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("source", EVERY_SOURCE)
def test_what_python_refuses_holds_for_the_numbers(source: str) -> None:
    def function(x: Any) -> Any:
        try:
            return x * math.sqrt(x.shape[0] - 3)
        except ValueError:
            return x * 7

    graph = graph_compiler.compile(function)
    for rows in (2, 4, 2, 7):
        assert float(graph(_ones(source, rows, 1))[0, 0]) == pytest.approx(
            float(function(np.ones((rows, 1)))[0, 0])
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda x: math.isclose(x.shape[0], 3.0, rel_tol=-1.0),
        lambda x: math.isclose(float(x[0, 0]), 3.0, abs_tol=-1.0),
        lambda x: math.dist((x.shape[0],), (1, 2)),
    ],
    ids=["relative tolerance", "absolute tolerance of an element", "points of other dimensions"],
)
@pytest.mark.parametrize("source", EVERY_SOURCE)
def test_python_refuses_the_arguments(call: Callable[[Any], Any], source: str) -> None:
    x = _ones(source, 3, 2)
    with pytest.raises(ValueError, match=r"must be non-negative|same number of dimensions"):
        graph_compiler.compile(lambda x: x * call(x), args=(x,))


def test_a_number_of_sizes_goes_into_functions_that_jax_traces_by_itself() -> None:
    jax = pytest.importorskip("jax")
    scaled = jax.jit(lambda x, scale: x * scale + x.sum())

    def function(x: Any) -> Any:
        return (
            jax.nn.leaky_relu(-x, math.sqrt(x.shape[0]) / 10),
            jax.nn.elu(-x, 1 / x.shape[0]),
            scaled(x, math.exp(-x.shape[0])),
        )

    graph = graph_compiler.compile(function, to="numpy")
    for rows in (3, 5, 8):
        for found, wanted in zip(graph(_ones("jax", rows, 2)), function(_ones("jax", rows, 2))):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert len(graph.variants) == 1


CELL = """
def mean(x):
    return x.sum() / len(x) * int(x.shape[0] / 2)
"""


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "cell", [CELL, f"{CELL}    return [len, int]\n"], ids=["calls the names", "hands the names on"]
)
def test_functions_of_a_notebook_have_one_recording(source: str, cell: str) -> None:
    """Before Python 3.11 calls of a name cannot be told from other uses of it."""
    is_one = "return [len" not in cell or sys.version_info >= (3, 11)
    file, held = f"<cell {len(cell)}>", {"__name__": "__main__"}
    linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
    exec(compile(cell, file, "exec"), held)
    graph = graph_compiler.compile(held["mean"])
    for rows in (4, 5, 7):
        x = _ones(source, rows, 2)
        assert float(graph(x)) == pytest.approx(float(held["mean"](x)))
    assert len(graph.variants) == (1 if is_one else 3), graph.explain()
