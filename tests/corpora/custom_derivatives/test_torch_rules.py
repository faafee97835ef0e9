"""Tests of torch functions with custom derivatives in all targets: values, first and second derivatives at
sizes that were not recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.selection import pairs

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from graph_compiler.errors import GradientRefused  # noqa: E402
from tests.support.canonical import lifted  # noqa: E402

from .torch_rules import ROWS, Masked, Row, Scaled, Summed  # noqa: E402

RECORDED, OTHER = 3, 5
TARGETS = ("torch", "lifted", "jax", "tensorflow")


def made(row: Row, n: int) -> list[Any]:
    return [
        torch.sin(torch.arange(4.0 * n, dtype=torch.float64) + place).reshape(n, 4) * 2
        for place in range(row.count)
    ]


def leaves(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def weighted(results: Any, multiply: Any) -> Any:
    """Return a weighted sum of all float results, each element with another weight."""
    floats = [item for item in leaves(results) if "float" in str(item.dtype)]
    weights = [
        np.cos(np.arange(1.0, 1 + int(np.prod(item.shape)))).reshape(tuple(item.shape)) for item in floats
    ]
    return sum(multiply(item, weight) for item, weight in zip(floats, weights))


def by_torch(function: Any, args: Any) -> tuple[list[Any], list[Any]]:
    """Return the gradients, and the gradients of their weighted sum."""
    given = [item.clone().requires_grad_() for item in args]
    multiply = lambda item, weight: (item * torch.tensor(weight)).sum()  # noqa: E731
    first = torch.autograd.grad(
        weighted(function(*given), multiply), given, create_graph=True, materialize_grads=True
    )
    total = weighted(first, multiply)
    second = torch.autograd.grad(total, given, materialize_grads=True) if total.requires_grad else []
    return [item.detach().numpy() for item in first], [item.numpy() for item in second]


def by_jax(graph: Any, args: Any) -> tuple[list[Any], list[Any]]:
    jax = pytest.importorskip("jax")
    multiply = lambda item, weight: (item * weight).sum()  # noqa: E731
    run = lambda given: weighted(graph.functional(graph.parameters, *given), multiply)  # noqa: E731
    first = jax.jit(jax.grad(run))
    given = [jax.numpy.asarray(item.numpy()) for item in args]
    second = jax.grad(lambda given: weighted(first(given), multiply))(given)
    return [np.asarray(item) for item in first(given)], [np.asarray(item) for item in second]


def by_tensorflow(graph: Any, args: Any) -> tuple[list[Any], list[Any]]:
    tf = pytest.importorskip("tensorflow")
    given, zero = [tf.constant(item.numpy()) for item in args], tf.UnconnectedGradients.ZERO
    multiply = lambda item, weight: tf.reduce_sum(item * weight)  # noqa: E731
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = weighted(graph.functional(graph.parameters, *given), multiply)
        first = tape.gradient(total, given, unconnected_gradients=zero)
        again = weighted(first, multiply)
    second = outer.gradient(again, given, unconnected_gradients=zero)
    return [tf.convert_to_tensor(item).numpy() for item in first], [
        tf.convert_to_tensor(item).numpy() for item in second
    ]


RUN = {"torch": by_torch, "lifted": by_torch, "jax": by_jax, "tensorflow": by_tensorflow}


def wide(to: str) -> Any:
    import contextlib

    return pytest.importorskip("jax").enable_x64(True) if to == "jax" else contextlib.nullcontext()


def graph_of(row: Row, to: str) -> Any:
    args = made(row, RECORDED)
    if to not in ("torch", "lifted"):
        return graph_compiler.compile(row.function, to=to, args=args)
    graph = graph_compiler.compile(row.function, args=[item.requires_grad_() for item in args])
    return lifted(graph) if to == "lifted" else graph


@pytest.mark.parametrize(("name", "to"), pairs(ROWS, TARGETS))
def test_results_and_gradients(name: str, to: str) -> None:
    if name == "a hook" and to in ("jax", "tensorflow"):
        pytest.skip("only an array of torch can be asked whether it requires a gradient")
    row = ROWS[name]
    with wide(to):
        graph = graph_of(row, to)
        for n in (RECORDED, OTHER):
            args = made(row, n)
            for one, other in zip(leaves(graph(*args)), leaves(row.function(*args)), strict=True):
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-12)
            expected, found = by_torch(row.function, args), RUN[to](graph, args)
            for one, other in zip(found[0], expected[0], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-10)
            for one, other in zip(found[1], expected[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", ["saves what is needed", "saves what is needed, in setup_context"])
def test_gradients_of_a_graph_recorded_without_any(name: str) -> None:
    row = ROWS[name]
    graph = graph_compiler.compile(row.function, args=made(row, RECORDED))
    args = made(row, RECORDED)
    for one, other in zip(by_torch(graph, args)[0], by_torch(row.function, args)[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_elements_of_arguments_decide_in_a_rule(to: str) -> None:
    pytest.importorskip(to)
    x = torch.sin(torch.arange(12.0)).reshape(3, 4)
    graph = graph_compiler.compile(Summed.apply, to=to, args=(x, torch.tensor(2.5)))
    convert = graph.variants[-1].target.convert
    for end in map(torch.tensor, (2.5, 2.75, 3.5)):
        given = x[:2].clone().requires_grad_()
        expected = torch.autograd.grad(Summed.apply(given, end).sum(), given)[0]
        graph(x[:2], end)
        pullback = transforms.vjp(graph, convert(x[:2]), convert(end))[1]
        np.testing.assert_allclose(
            np.asarray(pullback(convert(torch.ones(2, 4)))[0]), expected, rtol=1e-5, atol=1e-6
        )


def test_a_rule_with_a_number_that_changes_from_call_to_call() -> None:
    function = lambda x, factor: Scaled.apply(x, factor) * x  # noqa: E731
    graph = graph_compiler.compile(function, source="torch")
    x = torch.sin(torch.arange(12.0)).reshape(3, 4)
    for factor in (2.0, 3.0, 4.0, 5.0):
        for one, other in zip(
            by_torch(lambda x, factor=factor: graph(x, factor), [x]),
            by_torch(lambda x, factor=factor: function(x, factor), [x]),
            strict=True,
        ):
            np.testing.assert_allclose(one[0], other[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_a_rule_without_a_translation_is_refused_where_a_gradient_is_taken(to: str) -> None:
    row = Row(lambda x: Masked.apply(x) * x)
    with wide(to):
        graph, args = graph_of(row, to), made(row, OTHER)
        np.testing.assert_allclose(np.asarray(graph(*args)), row.function(*args), rtol=1e-12)
        with pytest.raises(GradientRefused, match="through Masked, whose derivative rule has no translation"):
            RUN[to](graph, args)


@pytest.mark.parametrize("name", ["clipped", "log-sum-exp", "two results"])
def test_in_numpy(name: str) -> None:
    row = ROWS[name]
    graph = graph_compiler.compile(row.function, to="numpy", args=made(row, RECORDED))
    args = made(row, OTHER)
    for one, other in zip(
        leaves(graph(*(item.numpy() for item in args))), leaves(row.function(*args)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


# torch's compiler itself gives this warning.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
@pytest.mark.parametrize("name", ["clipped", "log-sum-exp", "two results"])
def test_in_torch_compile(name: str) -> None:
    row = ROWS[name]
    graph, args = graph_of(row, "lifted"), made(row, OTHER)
    compiled = torch.compile(lambda *given: graph(*given), backend="aot_eager")  # noqa: PLW0108
    given = [item.requires_grad_() for item in args]
    for run in (compiled, row.function):
        total = weighted(run(*given), lambda item, weight: (item * torch.tensor(weight)).sum())
        total.backward()
    found = [item.grad for item in given]
    expected = by_torch(row.function, [item.detach() for item in args])[0]
    for one, other in zip(found, expected, strict=True):
        assert one is not None
        np.testing.assert_allclose(one, 2 * other, rtol=1e-6, atol=1e-10)
