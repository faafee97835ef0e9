"""Tests of JAX functions with custom derivatives in all targets: values, first and second derivatives at
sizes that were not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.selection import pairs

jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from tests.frontends.jax.test_gradients import TARGETS, by_jax, gradient_by_jax, of_original, weighted  # noqa: E402
from tests.support.jitted import by_jit  # noqa: E402

from .jax_rules import ROWS  # noqa: E402

RECORDED, OTHER = 3, 5


@pytest.fixture(autouse=True)
def _wide() -> Any:
    with jax.enable_x64(True):
        yield


def floats(args: Any) -> list[int]:
    return [place for place, item in enumerate(args) if "float" in str(item.dtype)]


def of_floats(function: Any, args: Any) -> Callable[..., Any]:
    """Return the function of the differentiable arguments alone."""
    places = floats(args)

    def run(*given: Any) -> Any:
        whole = list(args)
        for place, item in zip(places, given):
            whole[place] = item
        return function(*whole)

    return run


@pytest.mark.parametrize(("name", "to"), pairs(ROWS, ["numpy", *TARGETS]))
def test_results_and_gradients(name: str, to: str) -> None:
    row = ROWS[name]
    graph = graph_compiler.compile(row.function, to=to, source="jax", args=row.made(RECORDED))
    for args in (row.made(RECORDED), row.made(OTHER)):
        expected = jax.tree.leaves(by_jit(row.function, *args))
        found = jax.tree.leaves(graph(*map(np.asarray, args)))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-12)
        if to == "numpy":
            continue
        given = [args[place] for place in floats(args)]
        whole = args if to == "jax" else [_of(to, item) for item in args]
        gradients = TARGETS[to](of_floats(graph, whole), given)
        for one, other in zip(gradients, of_original(of_floats(row.function, args), given), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-10)
    assert len(graph.variants) == 1


def _of(to: str, item: Any) -> Any:
    if to == "torch":
        return pytest.importorskip("torch").tensor(np.asarray(item))
    return pytest.importorskip("tensorflow").constant(np.asarray(item))


@pytest.mark.parametrize(("name", "to"), pairs([name for name, row in ROWS.items() if row.twice], TARGETS))
def test_second_derivatives(name: str, to: str) -> None:
    row = ROWS[name]
    graph = graph_compiler.compile(row.function, to=to, source="jax", args=row.made(RECORDED))
    args = row.made(OTHER)
    expected = of_original(lambda *given: gradient_by_jax(row.function)(given), args)
    for one, other in zip(TWICE[to](graph, args), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def twice_by_torch(graph: Any, args: Any) -> list[Any]:
    torch = pytest.importorskip("torch")
    given = [torch.tensor(np.asarray(item), requires_grad=True) for item in args]
    multiply = lambda item, weight: (item * torch.tensor(weight)).sum()  # noqa: E731
    first = torch.autograd.grad(
        weighted(graph(*given), multiply), given, create_graph=True, materialize_grads=True
    )
    found = torch.autograd.grad(weighted(first, multiply), given, materialize_grads=True)
    return [item.numpy() for item in found]


def twice_by_tensorflow(graph: Any, args: Any) -> list[Any]:
    tf = pytest.importorskip("tensorflow")
    given = [tf.constant(np.asarray(item)) for item in args]
    multiply = lambda item, weight: tf.reduce_sum(item * weight)  # noqa: E731
    zero = tf.UnconnectedGradients.ZERO
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = weighted(graph(*given), multiply)
        first = tape.gradient(total, given, unconnected_gradients=zero)
        again = weighted(first, multiply)
    return [item.numpy() for item in outer.gradient(again, given, unconnected_gradients=zero)]


TWICE = {
    "jax": lambda graph, args: by_jax(lambda *given: gradient_by_jax(graph)(given), args),
    "torch": twice_by_torch,
    "tensorflow": twice_by_tensorflow,
}


# torch's compiler itself gives this warning.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
@pytest.mark.parametrize("to", ["torch", "tensorflow", "jax"])
@pytest.mark.parametrize(
    "name", ["clipped by residuals", "residuals of other shapes", "log1pexp", "two results of two arguments"]
)
def test_in_compiled_functions(name: str, to: str) -> None:
    row = ROWS[name]
    graph = graph_compiler.compile(row.function, to=to, source="jax", args=row.made(RECORDED))
    args = row.made(OTHER)
    for one, other in zip(COMPILED[to](graph, args), of_original(row.function, args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-10)


def compiled_by_torch(graph: Any, args: Any) -> list[Any]:
    torch = pytest.importorskip("torch")
    return TARGETS["torch"](torch.compile(lambda *given: graph(*given), backend="aot_eager"), args)  # noqa: PLW0108


def compiled_by_tensorflow(graph: Any, args: Any) -> list[Any]:
    tf = pytest.importorskip("tensorflow")
    given = [tf.constant(np.asarray(item)) for item in args]
    specs = [tf.TensorSpec([None] * item.ndim, item.dtype) for item in given]

    def gradient(*given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            results = compiled(*given)
            total = weighted(results, lambda item, weight: tf.reduce_sum(item * weight))
        return tape.gradient(total, given)

    compiled = tf.function(lambda *given: graph(*given), input_signature=specs)  # noqa: PLW0108
    return [item.numpy() for item in gradient(*given)]


COMPILED = {
    "torch": compiled_by_torch,
    "tensorflow": compiled_by_tensorflow,
    "jax": lambda graph, args: by_jax(
        jax.jit(lambda *given: graph.functional(graph.parameters, *given)), args
    ),
}
