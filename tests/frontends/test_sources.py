"""Tests of the choice of the source framework by arguments, classes and code, or by the first call."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler.errors import SourceNotFound
from graph_compiler.recording.reachability.libraries import framework_of
from graph_compiler.registration import frameworks_by_package, frontends

_WEIGHT = jnp.ones(3)


def helper(x: Any) -> Any:
    return torch.relu(x)


def calls_a_helper(x: Any) -> Any:
    return helper(x) * np.pi


def uses_an_array(x: Any) -> Any:
    return x * _WEIGHT


def plain(x: Any) -> Any:
    return x * 2


def names_numpy(x: Any) -> Any:
    return np.sqrt(x) * 2


class Scorer(torch.nn.Linear): ...


class Keeper:
    """An object with a model to which its code does not refer."""

    def __init__(self) -> None:
        self.model = Scorer(2, 2)

    def __call__(self, x: Any) -> Any:
        return self.model(x)

    def predict(self, x: Any) -> Any:
        return self.model(x)


_SCORER = Scorer(2, 2)


def calls_a_model(x: Any) -> Any:
    return _SCORER(x)


def names_two(x: Any) -> Any:
    return torch.relu(x) if isinstance(x, torch.Tensor) else jnp.maximum(x, 0)


def calls_a_partial(x: Any) -> Any:
    return _RELU(x)


_RELU = functools.partial(torch.nn.functional.relu, inplace=False)


@pytest.mark.parametrize(
    ("function", "call", "expected"),
    [
        (functools.partial(plain, x=_WEIGHT), ((np.ones(2),), {}), "jax"),
        (functools.partial(functools.partial(helper)), ((np.ones(2),), {}), "torch"),
        (functools.partial(plain), ((np.ones(2),), {}), "numpy"),
        (calls_a_helper, None, "torch"),
        (calls_a_helper, ((np.ones(2),), {}), "torch"),
        (uses_an_array, None, "jax"),
        (plain, None, None),
        (plain, ((np.ones(2),), {}), "numpy"),
        (plain, (([jnp.ones(2)],), {}), "jax"),
        (plain, ((), {"x": torch.ones(2)}), "torch"),
        (plain, ((2.5,), {}), None),
        (names_numpy, None, None),
        (names_numpy, ((torch.ones(2),), {}), "torch"),
        (names_numpy, ((2.5,), {}), "numpy"),
        (torch.nn.Linear(2, 2), ((np.ones(2),), {}), "torch"),
        (torch.nn.Linear(2, 2).forward, None, "torch"),
        (calls_a_helper, ((jnp.ones(2),), {}), "torch"),
        (calls_a_partial, ((np.ones(2),), {}), "torch"),
        (calls_a_model, ((jnp.ones(2),), {}), "torch"),
        (Keeper(), ((np.ones(2),), {}), "torch"),
        (Keeper().predict, ((jnp.ones(2),), {}), "torch"),
        (names_two, ((jnp.ones(2),), {}), "jax"),
        (names_two, ((torch.ones(2),), {}), "torch"),
    ],
)
def test_framework_is_told(function: Any, call: Any, expected: str | None) -> None:
    assert framework_of(function, call) == expected


def test_closure_tells() -> None:
    weight = torch.ones(2)
    assert framework_of(lambda x: x @ weight) == "torch"


@pytest.mark.parametrize("is_lazy", [True, False])
def test_what_is_written_in_tensorflow_is_told(is_lazy: bool) -> None:
    tf = pytest.importorskip("tensorflow")

    def function(x: Any) -> Any:
        return tf.nn.relu(x) * np.pi

    for call in ((tf.ones(2),), (np.ones(2),)):
        graph = (
            graph_compiler.transpile(function, to="numpy")
            if is_lazy
            else graph_compiler.transpile(function, to="numpy", args=call)
        )
        assert np.allclose(graph(*call), np.pi)
    # Arrays of the target say nothing about the source.
    graph = graph_compiler.transpile(torch.nn.ReLU(), to="tensorflow", args=(tf.ones(2),))
    assert graph(tf.ones(3)).shape == 3


@pytest.mark.parametrize("is_lazy", [True, False])
@pytest.mark.parametrize(
    ("function", "number", "right"),
    [(lambda a: np.abs(a // 0.3), 3.0, 9), (lambda a: np.clip(a / 255, 0, 1), np.uint8(51), 0.2)],
    ids=["floor", "clip"],
)
def test_numpy_functions_of_tensorflow_arrays_need_a_word(
    function: Any, number: Any, right: float, is_lazy: bool
) -> None:
    """Operators of these arrays follow TensorFlow's rules: 3.0 // 0.3 is 10, and uint8 / 255 is a float32."""
    tf = pytest.importorskip("tensorflow")
    for array in (tf.constant([number]), tf.Variable([number])):
        with pytest.raises(
            SourceNotFound, match=rf"is called with arrays of tensorflow(.|\n)*\({__file__}:\d+\)"
        ):
            graph_compiler.transpile(function, to="torch")(array) if is_lazy else graph_compiler.transpile(
                function, to="torch", args=(array,)
            )
        graph = graph_compiler.transpile(function, to="torch", source="numpy", args=(array,))
        assert graph(array).numpy() == pytest.approx(right)


def test_operators_of_tensorflow_arrays_are_tensorflows() -> None:
    tf = pytest.importorskip("tensorflow")

    def function(a: Any) -> Any:
        return a // 0.3

    for array in (tf.constant([3.0, 2.0]), tf.Variable([3.0, 2.0])):
        for graph in (
            graph_compiler.transpile(function, to="torch", args=(array,)),
            graph_compiler.transpile(function, to="torch"),
        ):
            assert graph(array).tolist() == function(array).numpy().tolist()


def test_variables_of_tensorflow_are_arrays() -> None:
    tf = pytest.importorskip("tensorflow")
    for to in ("torch", "jax", "numpy", "tensorflow"):
        graph = graph_compiler.transpile(torch.nn.ReLU(), to=to, args=(tf.Variable([-1.0, 2.0]),))
        assert np.asarray(graph(tf.Variable([-3.0, 4.0, 5.0]))).tolist() == [0, 4, 5]


def test_a_source_that_is_another_is_told() -> None:
    import jax.numpy as jnp

    rows: tuple[tuple[Any, str, Any, str], ...] = (
        (lambda x: torch.sin(x) + 1, "jax", jnp.ones(2), "torch"),
        (lambda x: torch.sin(x) + 1, "numpy", np.ones(2), "torch"),
        (lambda x: jnp.sin(x) + 1, "torch", torch.ones(2), "jax"),
        (lambda x: jnp.sin(x) + 1, "numpy", np.ones(2), "jax"),
    )
    for function, source, array, written_in in rows:
        with pytest.raises(
            SourceNotFound,
            match=rf"recorded as {source}, and refers to {written_in} alone \({__file__}:\d+\)",
        ):
            graph_compiler.transpile(function, source=source, to="jax", args=(array,))
    # This is a mistake in the user's own code.
    with pytest.raises(TypeError, match="must be Tensor"):
        graph_compiler.transpile(
            lambda x: torch.sin("x") + x, source="torch", to="jax", args=(torch.ones(2),)
        )


def test_first_call_tells() -> None:
    graph = graph_compiler.compile(plain)
    assert "not called yet" in repr(graph)
    assert torch.equal(graph(torch.ones(2)), torch.full((2,), 2.0))
    assert graph._pipeline.frontend.name == "torch"


def test_lazy_graph_of_unknown_source_has_a_target() -> None:
    graph = graph_compiler.transpile(plain, to="numpy")
    assert isinstance(graph(torch.ones(2)), np.ndarray)


def test_mode_of_a_loaded_graph_that_has_one_answer(tmp_path: Any) -> None:
    graph = graph_compiler.compile(torch.nn.Linear(2, 2), args=(torch.ones(1, 2),))
    graph.save(tmp_path / "linear.zip")
    loaded = graph_compiler.load(tmp_path / "linear.zip")
    assert torch.equal(loaded.train()(torch.ones(1, 2)), loaded.eval()(torch.ones(1, 2)))


@pytest.mark.parametrize(
    ("backend", "found"),
    [("jax", "jax"), ("torch", "torch"), ("tensorflow", "tensorflow"), ("openvino", "tensorflow")],
)
def test_keras_is_of_its_backend(backend: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keras = pytest.importorskip("keras")
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    assert frameworks_by_package(frontends.own.values())["keras"] == found
