"""Tests of ``vmap``: axes, structures, per-example gradients, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax
import jax.numpy as jnp
import tensorflow as tf
import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch, GraphCompilerError, InvalidOption

TARGETS = ("torch", "jax", "tensorflow")


def as_numpy(array: Any) -> Any:
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


def test_batch_axis_is_another_word_for_in_axes() -> None:
    assert transforms.vmap(torch.mul, batch_axis=(0, None))(torch.ones(2, 3), torch.ones(3)).shape == (2, 3)
    with pytest.raises(InvalidOption, match=r"in_axes= is \(0, 0\), and batch_axis= \(0, None\)"):
        transforms.vmap(torch.mul, in_axes=(0, 0), batch_axis=(0, None))


@pytest.mark.parametrize("to", TARGETS)
def test_per_example_gradients(to: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    xs, ys = torch.randn(6, 4), torch.randn(6, 1)
    graph = graph_compiler.transpile(
        lambda x, y: ((model(x) - y) ** 2).sum(), source="torch", to=to, args=(xs[0], ys[0])
    )
    found = transforms.vmap(transforms.grad(graph.functional), in_axes=(None, 0, 0))(graph.parameters, xs, ys)
    for place in range(6):
        model.zero_grad()
        ((model(xs[place]) - ys[place]) ** 2).sum().backward()
        for name, parameter in model.named_parameters():
            key = next(key for key in found if key.endswith(name))
            np.testing.assert_allclose(
                as_numpy(found[key])[place], as_numpy(parameter.grad), rtol=1e-4, atol=1e-6
            )


@pytest.mark.parametrize("to", TARGETS)
def test_axes_of_structures(to: str) -> None:
    def function(pair: Any, z: Any) -> Any:
        return {"sum": pair["x"] + pair["y"], "outer": pair["x"][:, None] * z}

    x, y, z = torch.randn(3, 5), torch.randn(3), torch.randn(2, 5)
    graph = graph_compiler.transpile(function, source="torch", to=to, args=({"x": x[:, 0], "y": y}, z[:, 0]))
    found = transforms.vmap(graph, in_axes=({"x": 1, "y": None}, -1), out_axes={"sum": 1, "outer": 0})(
        {"x": x, "y": y}, z
    )
    expected = torch.func.vmap(function, in_dims=({"x": 1, "y": None}, -1), out_dims={"sum": 1, "outer": 0})(
        {"x": x, "y": y}, z
    )
    for key in ("sum", "outer"):
        np.testing.assert_allclose(as_numpy(found[key]), expected[key], rtol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
def test_maps_in_maps_and_gradients_of_maps(to: str) -> None:
    x, y = torch.randn(3, 2), torch.randn(4, 2)
    graph = graph_compiler.transpile(
        lambda a, b: torch.exp(-((a - b) ** 2).sum()), source="torch", to=to, args=(x[0], y[0])
    )
    kernel = transforms.vmap(transforms.vmap(graph, in_axes=(None, 0)), in_axes=(0, None))
    expected = torch.exp(-((x[:, None] - y[None]) ** 2).sum(-1))
    np.testing.assert_allclose(as_numpy(kernel(x, y)), expected, rtol=1e-5)
    jacobian = as_numpy(transforms.jacrev(kernel)(x, y))
    own = torch.func.jacrev(lambda x: torch.exp(-((x[:, None] - y[None]) ** 2).sum(-1)))(x)
    np.testing.assert_allclose(jacobian, own, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
def test_no_axis_but_a_size(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: x * 2, source="torch", to=to, args=(torch.ones(2),))
    assert as_numpy(transforms.vmap(graph, in_axes=None, axis_size=3)(torch.ones(2))).shape == (3, 2)


def test_random_numbers_of_slices() -> None:
    drawn = transforms.vmap(lambda x: x + torch.rand(2), randomness="different")(torch.zeros(3, 2))
    same = transforms.vmap(lambda x: x + torch.rand(2), randomness="same")(torch.zeros(3, 2))
    assert not torch.equal(drawn[0], drawn[1]) and torch.equal(same[0], same[1])


ERRORS = {
    "sizes": (
        lambda: transforms.vmap(lambda a, b: a + b)(torch.ones(3), torch.ones(4)),
        CallMismatch,
        "there are 3 slices, and array 1 has 4",
    ),
    "no axis": (
        lambda: transforms.vmap(lambda a: a)(torch.ones(())),
        CallMismatch,
        r"array 0 has the shape \[\], and no axis 0",
    ),
    "no size": (
        lambda: transforms.vmap(lambda a: a, in_axes=None)(torch.ones(2)),
        CallMismatch,
        "pass axis_size=",
    ),
    "structure": (
        lambda: transforms.vmap(lambda a: a, in_axes=({"x": 0},))({"y": torch.ones(2)}),
        InvalidOption,
        "in_axes= has",
    ),
    "count": (
        lambda: transforms.vmap(lambda a, b: a, in_axes=(0,))(torch.ones(2), torch.ones(2)),
        InvalidOption,
        "1 entries for 2 arguments",
    ),
    "out": (
        lambda: transforms.vmap(lambda a: a, out_axes=None)(torch.ones(2)),
        InvalidOption,
        "every result has an axis",
    ),
    "randomness": (
        lambda: transforms.vmap(lambda a: a, randomness="any"),
        InvalidOption,
        "'error', 'different', 'same'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("to", TARGETS)
def test_numbers_that_a_graph_draws_for_each_slice(to: str) -> None:
    graph = graph_compiler.transpile(torch.nn.Dropout(0.5).train(), to=to, args=(torch.ones(40),))
    ones = torch.ones(3, 40)
    different, same = (
        as_numpy(transforms.vmap(graph, randomness=how)(ones)) for how in ("different", "same")
    )
    assert (different[0] != different[1]).any() and (different[1] != different[2]).any()
    assert (same[0] == same[1]).all() and (
        same[0] != as_numpy(transforms.vmap(graph, randomness="same")(ones))[0]
    ).any()
    gradients = as_numpy(
        transforms.vmap(transforms.grad(lambda x: as_sum(graph(x))), randomness="different")(
            graph_array(to, ones)
        )
    )
    assert (gradients[0] != gradients[1]).any() and set(gradients.ravel()) == {0.0, 2.0}
    with pytest.raises(GraphCompilerError):
        transforms.vmap(graph)(ones)


def as_sum(array: Any) -> Any:
    return tf.reduce_sum(array) if isinstance(array, tf.Tensor) else array.sum()


def graph_array(to: str, array: Any) -> Any:
    return {"torch": lambda x: x, "jax": jnp.asarray, "tensorflow": tf.constant}[to](
        array.numpy() if to != "torch" else array
    )


def test_numbers_of_tensorflow_s_own_generators() -> None:
    noisy = lambda x: x + tf.random.uniform(x.shape)  # noqa: E731
    found = transforms.vmap(noisy, randomness="different")(tf.zeros((2, 20))).numpy()
    assert (found[0] != found[1]).any()
    with pytest.raises(CallMismatch, match="randomness='different', or not, randomness='same'"):
        transforms.vmap(noisy)(tf.zeros((2, 20)))
    with pytest.raises(CallMismatch, match="draws other numbers for each slice, and randomness= is 'same'"):
        transforms.vmap(noisy, randomness="same")(tf.zeros((2, 20)))
    with pytest.raises(CallMismatch, match="randomness='different', or not, randomness='same'"):
        transforms.vmap(lambda x: x + torch.rand(2))(torch.zeros(2, 2))


def test_a_map_inside_of_what_tensorflow_records() -> None:
    x = tf.reshape(tf.range(6.0), (3, 2))
    graph = graph_compiler.compile(
        transforms.vmap(transforms.grad(lambda x: tf.reduce_sum(x**3))), source="tensorflow", args=(x[:2],)
    )
    np.testing.assert_allclose(graph(x), 3 * x.numpy() ** 2)


# JAX's own maps over rows, each of one call of a graph that draws numbers; words of the error.
MAPS_OF_JAX = {
    "vmap": (lambda graph, x: jax.vmap(graph)(x), "same numbers"),
    "vmap of vmap": (lambda graph, x: jax.vmap(jax.vmap(graph))(x[None]), "same numbers"),
    "vmap of grad": (lambda graph, x: jax.vmap(jax.grad(lambda row: graph(row).sum()))(x), "same numbers"),
    "grad of vmap": (lambda graph, x: jax.grad(lambda x: jax.vmap(graph)(x).sum())(x), "same numbers"),
    "vmap of jacfwd": (lambda graph, x: jax.vmap(jax.jacfwd(graph))(x), "same numbers"),
    "of an array without rows": (lambda graph, x: jax.vmap(lambda row: row + graph(jnp.ones(40)))(x), "same numbers"),
    "transforms.vmap in vmap": (
        lambda graph, x: jax.vmap(transforms.vmap(graph, randomness="different"))(x[None]), "same numbers"),
    "lax.map": (jax.lax.map, "rng="),
    "scan": (lambda graph, x: jax.lax.scan(lambda carry, row: (carry, graph(row)), 0, x), "rng="),
    "pmap": (lambda graph, x: jax.pmap(graph)(x[:1]), "rng="),
    "vmap of jit": (lambda graph, x: jax.vmap(jax.jit(graph))(x), "rng="),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS_OF_JAX)
def test_maps_of_jax_over_a_graph_that_draws(name: str) -> None:
    graph = graph_compiler.transpile(torch.nn.Dropout(0.5).train(), to="jax", args=(torch.ones(40),))
    mapped, words = MAPS_OF_JAX[name]
    with pytest.raises(CallMismatch, match=words):
        mapped(graph, jnp.ones((3, 40)))


def test_forward_mode_jacobians_of_jax_map_over_directions_of_one_call() -> None:
    graph = graph_compiler.transpile(torch.nn.Dropout(0.5).train(), to="jax", args=(torch.ones(40),))
    for jacobian in (jax.jacfwd(graph), jax.hessian(lambda x: (graph(x) ** 2).sum() / 4)):
        found = np.asarray(jacobian(jnp.ones(40)))
        np.testing.assert_array_equal(found, np.diag(np.diag(found)))
        assert set(np.diag(found)) == {0.0, 2.0}


def _branching(x: Any) -> Any:
    return x * tf.cond(x > 0, lambda: x**3, lambda: x * x * 2)


def _sum_of_branches(x: Any) -> Any:
    return tf.reduce_sum(transforms.vmap(_branching)(x))


@pytest.mark.parametrize(
    ("of_slices", "expected"),
    [
        (transforms.vmap(transforms.grad(_branching)), [4, 24]),
        (transforms.vmap(transforms.grad(transforms.grad(_branching))), [12, -24]),
        (
            transforms.grad(lambda x: tf.reduce_sum(transforms.grad(_sum_of_branches)(x))),
            [12, -24],
        ),
    ],
    ids=["first", "second", "of the mapped function"],
)
def test_derivatives_of_a_mapped_branch_in_tensorflow(of_slices: Any, expected: list[int]) -> None:
    assert of_slices(tf.constant([1.0, -2.0])).numpy().tolist() == expected
