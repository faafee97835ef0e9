"""Recording of a Python loop in one framework for another, and comparison with the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of
from tests.support.compare import assert_same_leaves

from .programs import Loop

# The first shape is recorded.
SHAPES = ((24, 5), (31, 7), (22, 4))


def library(name: str) -> Any:
    """Return the namespace ``xp`` of a framework."""
    return pytest.importorskip({"jax": "jax.numpy"}.get(name, name))


def native(array: Any, framework: str) -> Any:
    """Return a NumPy array as an array of the framework."""
    if framework == "torch":
        return pytest.importorskip("torch").tensor(array)
    return pytest.importorskip("jax.numpy").asarray(array) if framework == "jax" else array


def arguments(shape: tuple[int, int], framework: str) -> tuple[Any, Any]:
    """Return a row and an array of rows."""
    numbers = np.random.default_rng(shape[0])
    u, xs = numbers.normal(size=shape[1:]), numbers.normal(size=shape)
    return native(u.astype("float32"), framework), native(xs.astype("float32"), framework)


def compiled(loop: Loop, source: str, to: str, roll: str = "scan") -> Any:
    xp = library(source)
    return graph_compiler.compile(
        lambda u, xs: loop(xp, u, xs), source=source, to=to, args=arguments(SHAPES[0], source), roll=roll
    )


def loops(graph: Any) -> int:
    """Return the number of loops in the graph, nested ones included."""
    return sum(node.op == "scan" for node in nodes_of(graph.program.block))


def check(loop: Loop, source: str, to: str, roll: str = "scan") -> Any:
    """Assert that one variant gives the original's results, also at another shape, and return the graph."""
    graph = compiled(loop, source, to, roll)
    for shape in SHAPES:
        found, wanted = graph(*arguments(shape, to)), loop(library(source), *arguments(shape, source))
        assert_same_leaves(found, wanted)
    assert len(graph.variants) == 1, graph.explain()
    return graph
