"""Tests of derivatives of NumPy functions at Python numbers, and of graphs without parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler import transforms
from graph_compiler.runtime import frameworks

FRAMEWORKS = ("torch", "jax", "tensorflow")
AT = {
    "a float": 1.0,
    "a scalar": np.float64(1.0),
    "a narrow scalar": np.float32(1.0),
    "an array": np.array(1.0),
}


def function(x: Any, power: int = 2) -> Any:
    return np.sin(x) * x**power


SLOPE = np.cos(1.0) + 2 * np.sin(1.0)
CURVATURE = 4 * np.cos(1.0) + np.sin(1.0)


@pytest.mark.parametrize("to", FRAMEWORKS)
@pytest.mark.parametrize("at", AT)
def test_a_number_is_an_argument_like_any(at: str, to: str) -> None:
    pytest.importorskip(to)
    graph, tolerance = graph_compiler.transpile(function, source="numpy", to=to), 1e-5
    value, slope = transforms.value_and_grad(graph)(AT[at])
    np.testing.assert_allclose([float(value), float(slope)], [np.sin(1.0), SLOPE], rtol=tolerance)
    np.testing.assert_allclose(
        float(transforms.grad(transforms.grad(graph))(AT[at])), CURVATURE, rtol=tolerance
    )
    np.testing.assert_allclose(float(transforms.hessian(graph)(AT[at])), CURVATURE, rtol=tolerance)
    np.testing.assert_allclose(float(transforms.jvp(graph, (AT[at],), (1.0,))[1]), SLOPE, rtol=tolerance)


@pytest.mark.parametrize("at", AT)
def test_a_function_of_numpy_itself(at: str) -> None:
    pytest.importorskip("torch")
    found = transforms.grad(function)(AT[at])
    np.testing.assert_allclose(found, SLOPE, rtol=1e-6 if at == "a narrow scalar" else 1e-12)


@pytest.mark.parametrize("to", FRAMEWORKS)
def test_another_argument_stays_a_number(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(function, source="numpy", to=to)
    np.testing.assert_allclose(float(transforms.grad(graph)(1.0, 0)), np.cos(1.0), rtol=1e-5)
    np.testing.assert_allclose(float(transforms.grad(graph)(1.0, power=2)), SLOPE, rtol=1e-5)


@pytest.mark.parametrize("to", FRAMEWORKS)
def test_a_graph_without_parameters_has_a_gradient_without_any(to: str) -> None:
    pytest.importorskip(to)
    x = np.arange(3, dtype="float32")
    graph = graph_compiler.compile(lambda x: (x * x).sum(), args=(x,), to=to)
    value, found = transforms.value_and_grad(graph.functional)(graph.parameters, x)
    assert found == {} and float(value) == 5
    found, slopes = transforms.grad(graph.functional, argnums=(0, 1))(graph.parameters, x)
    assert found == {} and np.asarray(slopes).tolist() == [0, 2, 4]
    assert float(transforms.jvp(graph.functional, ({}, x), ({}, x))[1]) == 10


@pytest.mark.parametrize("framework", ["torch", "jax", "tensorflow"])
def test_derivatives_without_differentiable_arrays(framework: str) -> None:
    pytest.importorskip(framework)
    x = frameworks.backend_of(framework).target.convert(np.arange(1.0, 3.0, dtype="float32"))

    def twice(p: Any) -> Any:
        return x * 2

    def same(found: Any, expected: Any) -> None:
        np.testing.assert_array_equal(np.asarray(found), expected)

    result, tangent = transforms.jvp(twice, ({},), ({},))
    same(result, [2, 4]), same(tangent, [0, 0])
    result, push = transforms.linearize(twice, {})
    same(result, [2, 4]), same(push({}), [0, 0])
    jacobian, aux = transforms.jacfwd(lambda p: (twice(p), x + 7), has_aux=True)({})
    assert jacobian == {}
    same(aux, [8, 9])
    assert transforms.jacrev(twice)({}) == {}
    assert transforms.hvp(lambda p: x[0] * 2, ({},), ({},)) == {}
    assert transforms.hessian(lambda p: x[0] * 2)({}) == {}
