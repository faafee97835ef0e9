"""Tests of graphs called inside of recorded, compiled and differentiated functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from graph_compiler.errors import CallMismatch, GuardFailed, TracingError  # noqa: E402

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
OTHER = np.linspace(-2, 1, 20, dtype=np.float32).reshape(5, 4)
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor,
    "jax": jnp.asarray,
    "tensorflow": tf.constant,
    "numpy": np.asarray,
}
# One function in each framework, with an operation, a size and an array that is made.
INNER: dict[str, Callable[[Any], Any]] = {
    "torch": lambda x: torch.relu(x) * 2 + torch.ones(x.shape) * x.shape[0],
    "jax": lambda x: jax.nn.relu(x) * 2 + jnp.ones(x.shape) * x.shape[0],
    "tensorflow": lambda x: tf.nn.relu(x) * 2 + tf.ones(tf.shape(x)) * tf.cast(tf.shape(x)[0], x.dtype),
    "numpy": lambda x: np.maximum(x, 0) * 2 + np.ones(x.shape, np.float32) * x.shape[0],
}
SINES: dict[str, Callable[[Any], Any]] = {
    "torch": torch.sin,
    "jax": jnp.sin,
    "tensorflow": tf.sin,
    "numpy": np.sin,
}


def wanted(x: np.ndarray[Any, Any]) -> Any:
    return np.sin(np.maximum(x, 0) * 2 + x.shape[0])


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def plain(array: Any) -> np.ndarray[Any, Any]:
    return array.detach().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)


PAIRS = [(source, to) for source in INNER for to in INNER]


@pytest.mark.parametrize(("source", "to"), PAIRS, ids=lambda name: name)
def test_a_recorded_function_calls_a_graph_of_its_framework(source: str, to: str) -> None:
    """The outer function is written in the graph's target or in its source framework."""
    inner = graph_compiler.compile(INNER[source], source=source, to=to, args=(ARRAYS[source](X),))
    for outer in dict.fromkeys((to, source)):
        graph = graph_compiler.compile(
            lambda x: SINES[outer](inner(x)),  # noqa: B023
            source=outer,
            args=(ARRAYS[outer](X),),
        )
        for x in (X, OTHER):
            np.testing.assert_allclose(plain(graph(ARRAYS[outer](x))), wanted(x), rtol=1e-5, atol=1e-6)
    assert len(inner.variants) == 1


THIRD = [("torch", "jax", "tensorflow"), ("jax", "torch", "tensorflow"), ("numpy", "torch", "jax"), ("tensorflow", "numpy", "torch"),
         ("torch", "jax", "numpy")]  # fmt: skip


@pytest.mark.parametrize(("source", "to", "outer"), THIRD, ids=lambda name: name)
def test_a_recorded_function_of_a_third_framework_calls_a_graph(source: str, to: str, outer: str) -> None:
    inner = graph_compiler.compile(INNER[source], source=source, to=to, args=(ARRAYS[source](X),))
    graph = graph_compiler.compile(
        lambda x: SINES[outer](inner(x)), source=outer, to="numpy", args=(ARRAYS[outer](X),)
    )
    np.testing.assert_allclose(graph(OTHER), wanted(OTHER), rtol=1e-5, atol=1e-6)


def test_graphs_inside_of_graphs() -> None:
    first = graph_compiler.transpile(lambda x: np.maximum(x, 0) * 3, source="numpy", to="jax", args=(X,))
    second = graph_compiler.compile(lambda x: jnp.sin(first(x)), source="jax", args=(jnp.asarray(X),))
    third = graph_compiler.transpile(
        lambda x: second(x) + 1, source="jax", to="torch", args=(jnp.asarray(X),)
    )
    fourth = graph_compiler.compile(lambda x: torch.exp(third(x)), source="torch", args=(torch.tensor(X),))
    np.testing.assert_allclose(
        fourth(torch.tensor(OTHER)), np.exp(np.sin(np.maximum(OTHER, 0) * 3) + 1), rtol=1e-5
    )
    assert len(fourth.variants) == 1


# ------------------------------------------------------------------------------ parameters
def linear(x: Any, model: Any) -> Any:
    return x @ model.weight.detach().numpy().T + model.bias.detach().numpy()


WIDE = np.linspace(-1, 2, 12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
def test_parameters_of_the_called_graph_are_those_of_the_moment(to: str) -> None:
    model = torch.nn.Linear(3, 2)
    inner = graph_compiler.transpile(model, to=to, args=(torch.tensor(X),))
    graph = graph_compiler.compile(lambda x: SINES[to](inner(x)), source=to, args=(ARRAYS[to](X),))
    for _ in range(3):
        np.testing.assert_allclose(graph(ARRAYS[to](WIDE)), np.sin(linear(WIDE, model)), rtol=1e-5, atol=1e-6)
        with torch.no_grad():
            model.weight.mul_(0.5)
    model.bias = torch.nn.Parameter(torch.ones(2))
    np.testing.assert_allclose(graph(ARRAYS[to](WIDE)), np.sin(linear(WIDE, model)), rtol=1e-5, atol=1e-6)


def test_parameters_have_the_name_of_the_called_graph_and_are_trained_in_jax() -> None:
    model = torch.nn.Linear(3, 2)
    inner = graph_compiler.transpile(model, to="jax", args=(torch.tensor(X),))
    graph = graph_compiler.compile(lambda x: jnp.sin(inner(x)).sum(), source="jax", args=(jnp.asarray(X),))
    assert sorted(graph.parameters) == ["Linear.bias", "Linear.weight"] and graph.trained == {
        "Linear.bias",
        "Linear.weight",
    }
    found = jax.grad(graph.functional)(graph.parameters, jnp.asarray(WIDE))
    torch.sin(model(torch.tensor(WIDE))).sum().backward()
    np.testing.assert_allclose(found["Linear.weight"], model.weight.grad, rtol=1e-5, atol=1e-6)
    assert len(graph.variants) == 1


def test_parameters_have_the_name_of_the_called_graph_and_are_trained_in_torch() -> None:
    nnx = pytest.importorskip("flax.nnx")
    model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    inner = graph_compiler.transpile(model, to="torch", args=(jnp.asarray(X),))
    graph = graph_compiler.compile(
        lambda x: torch.sin(inner(x)).sum(), source="torch", args=(torch.tensor(X),)
    )
    assert sorted(graph.parameters) == ["Linear.bias", "Linear.kernel"] and graph.trained == {
        "Linear.bias",
        "Linear.kernel",
    }
    module = graph.as_module()
    before = module(torch.tensor(WIDE)).item()
    torch.optim.SGD(module.parameters(), 0.1).zero_grad()
    module(torch.tensor(WIDE)).backward()
    torch.optim.SGD(module.parameters(), 0.1).step()
    assert module(torch.tensor(WIDE)).item() < before
    model.kernel[...] = model.kernel[...] * 2
    np.testing.assert_allclose(
        graph(torch.tensor(WIDE)).item(), inner(torch.tensor(WIDE)).sin().sum().item(), rtol=1e-5
    )


def test_two_graphs_of_one_name_have_parameters_of_their_own() -> None:
    models = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)]
    inner = [graph_compiler.transpile(model, to="jax", args=(torch.tensor(X),)) for model in models]
    graph = graph_compiler.compile(
        lambda x: inner[1](jnp.tanh(inner[0](x))), source="jax", args=(jnp.asarray(X),)
    )
    np.testing.assert_allclose(
        graph(jnp.asarray(WIDE)), linear(np.tanh(linear(WIDE, models[0])), models[1]), rtol=1e-5, atol=1e-6
    )
    assert len(graph.parameters) == 4


def test_a_loop_of_the_framework_calls_a_graph() -> None:
    model = torch.nn.Linear(3, 3)
    inner = graph_compiler.transpile(model, to="jax", args=(torch.tensor(X[0]),))

    def steps(rows: Any) -> Any:
        return jax.lax.scan(lambda state, row: (jnp.tanh(inner(state)) + row, None), jnp.zeros(3), rows)[0]

    graph, state = (
        graph_compiler.transpile(steps, source="jax", to="numpy", args=(jnp.asarray(X),)),
        np.zeros(3),
    )
    for row in WIDE:
        state = np.tanh(linear(state, model)) + row
    np.testing.assert_allclose(graph(WIDE), state, rtol=1e-5, atol=1e-6)


# --------------------------------------------------------------------------- what no variant was recorded for
def test_a_graph_that_was_not_called_yet() -> None:
    inner = graph_compiler.transpile(torch.nn.functional.relu, to="jax")
    graph = graph_compiler.compile(lambda x: inner(x) + 1, source="jax", args=(jnp.asarray(X),))
    np.testing.assert_allclose(graph(jnp.asarray(OTHER)), np.maximum(OTHER, 0) + 1)


def test_a_graph_that_was_not_called_yet_in_another_framework() -> None:
    inner = graph_compiler.compile(lambda x: torch.relu(x) + x.shape[0])
    graph = graph_compiler.compile(lambda x: inner(x) + 1, source="jax", args=(jnp.asarray(X),))
    np.testing.assert_allclose(graph(jnp.asarray(OTHER)), np.maximum(OTHER, 0) + 6)


def test_sizes_that_decide_are_guards_of_the_caller() -> None:
    def by_size(x: Any) -> Any:
        return torch.tanh(x) if x.shape[0] > 3 else torch.relu(x)

    inner = graph_compiler.transpile(by_size, to="jax", args=(torch.tensor(X),))
    graph = graph_compiler.compile(lambda x: inner(x) * 2, source="jax", args=(jnp.asarray(X),))
    np.testing.assert_allclose(graph(jnp.asarray(OTHER)), 2 * np.tanh(OTHER), rtol=1e-5)
    np.testing.assert_allclose(graph(jnp.asarray(X)), 2 * np.maximum(X, 0), rtol=1e-5)
    assert len(inner.variants) == len(graph.variants) == 2


def by_elements(x: Any) -> Any:
    return torch.tanh(x) if x.sum() > 3 else torch.relu(x)


def test_elements_that_decide_are_guards_of_the_caller() -> None:
    inner = graph_compiler.transpile(by_elements, to="jax", args=(torch.tensor(X),))
    graph = graph_compiler.compile(lambda x: inner(x) * 2, source="jax", args=(jnp.asarray(X),))
    np.testing.assert_allclose(graph(jnp.asarray(X)), 2 * np.maximum(X, 0))
    with pytest.raises(GuardFailed):
        graph(jnp.asarray(X + 5))


def test_elements_that_decide_between_variants_decide_in_the_caller() -> None:
    inner = graph_compiler.transpile(by_elements, to="jax", args=(torch.tensor(X),))
    inner(jnp.asarray(X + 5))
    graph = graph_compiler.compile(lambda x: inner(x) * 2, source="jax", args=(jnp.asarray(X),))
    for x in (X, X + 5):
        np.testing.assert_allclose(
            graph(jnp.asarray(x)), 2 * (np.tanh(x) if x.sum() > 3 else np.maximum(x, 0)), rtol=1e-5
        )
    assert len(graph.variants) == 1


def test_a_copy_with_passes_is_written_anew() -> None:
    def without_products(graph: Any) -> Any:
        return graph.derive(outputs=[graph.inputs[0]]), True

    inner = graph_compiler.transpile(lambda x: x * 5, source="torch", to="torch", args=(torch.ones(2),))
    found = []
    for called in (inner, inner.with_passes(without_products)):
        graph = graph_compiler.compile(lambda x, called=called: called(x), source="jax", args=(jnp.ones(2),))
        found.append(graph(jnp.ones(2)).tolist())
    assert found == [[5, 5], [1, 1]]


def test_a_graph_that_may_not_record_again_is_called_as_it_is() -> None:
    inner = graph_compiler.transpile(
        torch.nn.functional.relu, to="jax", args=(torch.tensor(X),), on_miss="error"
    )
    with pytest.raises(GuardFailed, match="relu"):
        graph_compiler.compile(lambda x: inner(x) + 1, source="jax", args=(jnp.ones(3),))


# ------------------------------------------------------------------------------ state and random numbers
class Counts(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        return x * self.calls


def test_state_of_a_graph_of_another_framework_is_refused_with_what_to_do() -> None:
    inner = graph_compiler.transpile(Counts(), to="jax", args=(torch.tensor(X),))
    with pytest.raises(
        TracingError,
        match=r"Counts changes calls and is called with arrays of jax .* Call its functional there",
    ):
        graph_compiler.compile(lambda x: inner(x) * 2, source="jax", args=(jnp.asarray(X),))
    graph = graph_compiler.compile(
        lambda held, x: inner.functional(dict(held), x),
        source="jax",
        args=({"calls": jnp.zeros(())}, jnp.asarray(X)),
    )
    result, state = graph({"calls": jnp.float32(4)}, jnp.asarray(X))
    np.testing.assert_allclose(result, X * 5)
    assert float(state["calls"]) == 5


def test_state_of_a_graph_of_the_same_framework_is_kept() -> None:
    inner = graph_compiler.compile(Counts(), args=(torch.tensor(X),))
    graph = graph_compiler.compile(lambda x: inner(x) * 2, args=(torch.tensor(X),))
    found = [float(graph(torch.ones(1, 1))) for _ in range(3)]
    assert found == [2, 4, 6]


def test_a_graph_that_draws_needs_a_key_where_the_framework_has_keys() -> None:
    inner = graph_compiler.transpile(
        lambda x: torch.nn.functional.dropout(x, 0.5), to="jax", args=(torch.tensor(X),)
    )
    with pytest.raises(CallMismatch, match=r"draws random numbers.*rng="):
        graph_compiler.compile(lambda x: inner(x) * 2, source="jax", args=(jnp.asarray(X),))
    graph = graph_compiler.compile(
        lambda key, x: inner.functional({}, x, rng=key),
        source="jax",
        args=(jax.random.key(0), jnp.asarray(X)),
    )
    draws = [np.asarray(graph(jax.random.key(number), jnp.ones((50, 4)))) for number in (0, 0, 1)]
    assert (draws[0] == draws[1]).all() and (draws[0] != draws[2]).any()


# ------------------------------------------------------------------------------ transformations
def test_a_graph_inside_of_what_is_compiled_and_differentiated() -> None:
    model = torch.nn.Linear(3, 2)
    inner = graph_compiler.transpile(model, to="jax", args=(torch.tensor(X),))
    weight, bias = model.weight.detach().numpy(), model.bias.detach().numpy()

    def loss(x: Any) -> Any:
        return (inner(x) ** 2).sum()

    x, slope = jnp.asarray(WIDE), 2 * (WIDE @ weight.T + bias) @ weight
    np.testing.assert_allclose(transforms.grad(loss)(x), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        jax.grad(graph_compiler.compile(loss, source="jax", args=(jnp.asarray(X),)))(x),
        slope,
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        graph_compiler.jit(lambda x: jnp.tanh(inner(x)))(x),
        np.tanh(WIDE @ weight.T + bias),
        rtol=1e-5,
        atol=1e-6,
    )
    gradient = graph_compiler.compile(jax.grad(loss), source="jax", args=(jnp.asarray(X),))
    np.testing.assert_allclose(gradient(x), slope, rtol=1e-5, atol=1e-6)
