"""Tests of traced programs: one variant gives the results of Python at other lengths, values and branches, in
compilers too, and has gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.gave_up import assert_gave_up
from tests.support.selection import pairs

from .running import TARGETS, assert_gives, compiled, function_of, given, library, wanted
from .table import PROGRAMS

WAYS = [f"{name} {source}" for name, row in PROGRAMS.items() for source in row.sources]


@pytest.mark.parametrize(("way", "to"), pairs(WAYS, TARGETS))
def test_one_recording_serves_all_calls(way: str, to: str) -> None:
    name, source = way.split()
    row, graph = PROGRAMS[name], compiled(name, source, to)
    for args in row.calls:
        assert_gives(graph(*given(args, to)), wanted(row, source, args))
    assert len(graph.variants) <= row.variants, graph.explain()
    assert_gave_up(graph, row.gives_up.get(source, ()))


@pytest.mark.parametrize(
    ("way", "compiler"),
    pairs([way for way in WAYS if PROGRAMS[way.split()[0]].variants == 1], ["jax", "tensorflow"]),
)
def test_inside_of_a_compiler(way: str, compiler: str) -> None:
    name, source = way.split()
    row, graph = PROGRAMS[name], compiled(name, source, compiler)
    run = _by_compiler(graph, compiler)
    for args in row.calls[:2]:
        assert_gives(run(*given(args, compiler)), wanted(row, source, args))
    assert len(graph.variants) == 1, graph.explain()


def _by_compiler(graph: Any, compiler: str) -> Any:
    if compiler == "jax":
        return pytest.importorskip("jax").jit(graph)
    return library("tensorflow").function(graph)


DIFFERENTIABLE = [
    f"{name} {source}"
    for name, row in PROGRAMS.items()
    if row.differentiable
    for source in ("torch", "jax")
    if source in row.sources
]


@pytest.mark.parametrize(("way", "kind"), pairs(DIFFERENTIABLE, ["reverse"]))
def test_gradients(way: str, kind: str) -> None:
    name, source = way.split()
    to = {"torch": "jax", "jax": "torch"}[source]
    row, graph = PROGRAMS[name], compiled(name, source, to)
    for args in row.calls[:2]:
        found = _gradient(graph, to, given(args, to))
        np.testing.assert_allclose(
            found, _by_differences(function_of(row, "numpy"), row, args, source), rtol=2e-2, atol=2e-2
        )


def _gradient(function: Any, framework: str, args: list[Any]) -> Any:
    if framework == "torch":
        x = args[0].clone().requires_grad_()
        _first(function(x, *args[1:])).sum().backward()
        return x.grad.numpy()
    jax = pytest.importorskip("jax")
    return np.asarray(jax.grad(lambda x: _first(function(x, *args[1:])).sum())(args[0]))


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def _by_differences(function: Any, row: Any, args: tuple[Any, ...], source: str) -> Any:
    """Return the gradient of the original, by torch or by central differences in JAX."""
    if source == "torch":
        xp = library("torch")
        return _gradient(lambda *given: row.function(xp, *given), "torch", given(args, "torch"))
    jax = pytest.importorskip("jax")
    x, eps, found = np.asarray(args[0], np.float64), 1e-2, np.zeros(np.shape(args[0]))
    rest = given(args[1:], source)
    for place in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[place] = eps
        high, low = (
            np.asarray(
                _first(row.function(jax.numpy, jax.numpy.asarray((x + s).astype("float32")), *rest))
            ).sum()
            for s in (step, -step)
        )
        found[place] = (high - low) / (2 * eps)
    return found
