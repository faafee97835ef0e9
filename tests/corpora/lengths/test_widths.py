"""Tests of slices whose width changes with the iteration: recorded once for all sizes, and computed with
masks in JAX and TensorFlow.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same_leaves
from tests.support.selection import pairs

from .inside import COMPILERS, GRADIENTS, check_compiled, check_gradients
from .random_widths import Writer
from .running import check
from .test_lengths import WAYS
from .widths import READ, RIGHT, WRITTEN


@pytest.mark.parametrize(("name", "way"), pairs({**READ, **WRITTEN}, WAYS))
def test_one_recording_serves_all_sizes(name: str, way: str) -> None:
    graph, variants = check({**READ, **WRITTEN}[name], *way.split(), number=5, most=9)
    assert variants == 1, graph.explain()


@pytest.mark.parametrize(("name", "way"), pairs(RIGHT, WAYS))
def test_what_only_looks_like_it_is_right(name: str, way: str) -> None:
    check(RIGHT[name], *way.split(), most=9)


@pytest.mark.parametrize(
    ("name", "way"), pairs(WRITTEN, [f"{source} {way}" for way in COMPILERS for source in ("numpy", "torch")])
)
def test_the_recording_serves_all_sizes_inside_of_compilers(name: str, way: str) -> None:
    check_compiled(WRITTEN[name], *way.split())


@pytest.mark.parametrize(
    ("name", "way"), pairs(READ, [f"{source}:{way}" for source in ("torch", "numpy") for way in GRADIENTS])
)
def test_gradients_are_those_of_the_steps(name: str, way: str) -> None:
    check_gradients(READ[name], *way.split(":"))


def lower_triangle(x: Any, y: Any) -> Any:
    """Read only elements of ``x`` below the diagonal."""
    h = x[1, 0] * 0
    for i in range(x.shape[0]):
        h = h + x[i, :i] @ y[:i] + (np.sqrt(x[i, :i]) / y[:i]).sum() + (y[i:] @ x[i:, :i] @ y[:i]) ** 2
        h = h + (y[0] / x[i, :i]).sum() + (np.exp(x[i:, :i]) * y[i]).sum() + np.linalg.norm(x[i, :i] + 1)
    return h


@pytest.fixture(scope="module")
def of_a_triangle() -> Any:
    """Return the value and gradients of :func:`lower_triangle` in JAX, and its arguments."""
    jax = pytest.importorskip("jax")
    arguments = (
        np.random.default_rng(0).random((5, 5), dtype=np.float32) + 0.5,
        np.full(5, 0.7, dtype=np.float32),
    )
    graph = graph_compiler.transpile(lower_triangle, source="numpy", to="jax", args=arguments)
    assert "lax.scan" in graph.source
    assert "with_gradient(" in graph.source
    return jax.jit(jax.value_and_grad(graph, argnums=(0, 1))), arguments


@pytest.mark.parametrize("hole", [np.nan, np.inf, 0.0, -1.0])
def test_what_is_not_read_does_no_harm(of_a_triangle: Any, hole: float) -> None:
    """NaN in elements that the original does not read must not reach results or gradients."""
    function, (x, y) = of_a_triangle
    value, (to_x, to_y) = function(np.where(np.tri(5, k=-1), x, np.float32(hole)), y)
    wanted, (wanted_x, wanted_y) = function(x, y)
    np.testing.assert_allclose(value, lower_triangle(x, y), rtol=1e-5)
    np.testing.assert_allclose(to_x, wanted_x, rtol=1e-5)
    np.testing.assert_allclose(to_y, wanted_y, rtol=1e-5)
    assert value == wanted
    assert not np.triu(to_x).any()


@pytest.mark.parametrize(("seed", "to"), [*((seed, "numpy") for seed in range(8)), (8, "jax")])
def test_random_programs(seed: int, to: str, tmp_path: Path) -> None:
    if to != "numpy":
        pytest.importorskip(to)
    path = tmp_path / f"widths_{seed}.py"
    path.write_text(Writer(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    graph = graph_compiler.transpile(module.f, source="numpy", to=to, args=_vectors_and_matrix(5))
    for size in (5, 8, 3):
        found, wanted = graph(*_vectors_and_matrix(size)), module.f(*_vectors_and_matrix(size))
        assert_same_leaves(found, wanted, f"of {size}: {path.read_text()}")
    assert len(graph.variants) == 1, f"{graph.explain()}\n{path.read_text()}"


def _vectors_and_matrix(size: int) -> tuple[Any, ...]:
    draw = np.random.default_rng(size)
    return tuple(draw.random(shape, dtype=np.float32) for shape in (size, size, (size, size)))
