"""Slices of another width in each step are recorded once for all sizes: as they are in NumPy and torch, with masks in JAX and TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler

from ..control_flow.running import in_turn
from .inside import COMPILERS, GRADIENTS, check_compiled, check_gradients
from .running import check
from .test_lengths import WAYS
from .widths import READ, RIGHT, WRITTEN


@pytest.mark.parametrize(("name", "way"), in_turn({**READ, **WRITTEN}, WAYS, weeks=8))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check({**READ, **WRITTEN}[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), in_turn(RIGHT, WAYS, weeks=8))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(RIGHT[name], *way.split(), most=9)


@pytest.mark.parametrize(
    ("name", "way"), in_turn(WRITTEN, [f"{source} {way}" for way in COMPILERS for source in ("numpy", "torch")], weeks=8)
)
def test_the_recording_serves_all_sizes_inside_of_compilers(name: str, way: str) -> None:
    check_compiled(WRITTEN[name], *way.split())


@pytest.mark.parametrize(("name", "way"), in_turn(READ, [f"{source}:{way}" for source in ("torch", "numpy") for way in GRADIENTS], weeks=8))
def test_gradients_are_those_of_the_steps(name: str, way: str) -> None:
    check_gradients(READ[name], *way.split(":"))


def lower_triangle(x: Any, y: Any) -> Any:
    """What reads nothing on the diagonal of ``x`` and above."""
    h = x[1, 0] * 0
    for i in range(x.shape[0]):
        h = h + x[i, :i] @ y[:i] + (np.sqrt(x[i, :i]) / y[:i]).sum() + (y[i:] @ x[i:, :i] @ y[:i]) ** 2
        h = h + (y[0] / x[i, :i]).sum() + (np.exp(x[i:, :i]) * y[i]).sum() + np.linalg.norm(x[i, :i] + 1)
    return h


@pytest.fixture(scope="module")
def of_a_triangle() -> Any:
    """The value and the gradients of a lower triangle, in JAX, and its arguments."""
    jax = pytest.importorskip("jax")
    arguments = np.random.default_rng(0).random((5, 5), dtype=np.float32) + 0.5, np.full(5, 0.7, dtype=np.float32)
    graph = graph_compiler.transpile(lower_triangle, source="numpy", to="jax", args=arguments)
    assert "lax.scan" in graph.source
    return jax.jit(jax.value_and_grad(graph, argnums=(0, 1))), arguments


@pytest.mark.parametrize("hole", [np.nan, np.inf, 0.0, -1.0])
def test_what_is_not_read_does_no_harm(of_a_triangle: Any, hole: float) -> None:
    """Neither to results nor to gradients."""
    function, (x, y) = of_a_triangle
    value, (to_x, to_y) = function(np.where(np.tri(5, k=-1), x, np.float32(hole)), y)
    wanted, (wanted_x, wanted_y) = function(x, y)
    np.testing.assert_allclose(value, lower_triangle(x, y), rtol=1e-5)
    np.testing.assert_allclose(to_x, wanted_x, rtol=1e-5)
    np.testing.assert_allclose(to_y, wanted_y, rtol=1e-5)
    assert value == wanted
    assert not np.triu(to_x).any()
