"""Tests of graphs of Keras models as modules: modes, training, the way back, files, lazy recording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import GuardFailed, InvalidOption, NotTraced, WeightsMismatch
from graph_compiler.frontends.tensorflow.process_state import mode_of
from tests.support.compare import assert_same, to_numpy

from .judging import kept

L = keras.layers
TARGETS = ("torch", "jax", "tensorflow", "numpy")


def classifier() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            L.Conv2D(4, 3, padding="same", name="conv1"),
            L.BatchNormalization(name="normalised"),
            L.ReLU(),
            L.GlobalAveragePooling2D(),
            L.Dropout(0.5, seed=2),
            L.Dense(5, name="head"),
        ],
        name="sequential",
    )


def images(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, 8, 8, 3)).astype("float32")


def paths(model: Any, trainable: bool) -> set[str]:
    return {
        variable.path
        for variable in (model.trainable_variables if trainable else model.non_trainable_variables)
    }


# ------------------------------------------------------------------------------------- modules
def test_a_torch_module_has_the_names_and_both_modes() -> None:
    torch = pytest.importorskip("torch")
    model = classifier()
    module = graph_compiler.transpile(model, to="torch", args=(images(2),)).as_module()
    assert not module.training
    assert {name for name, _ in module.named_parameters()} == paths(model, True)
    assert {name for name, _ in module.named_buffers()} <= paths(model, False)
    x = torch.from_numpy(images(6))
    assert_same(module(x).detach(), model(images(6)))
    module.train()
    with kept(model.variables):
        right = model(images(6), training=True)
        left = {variable.path: to_numpy(variable.value) for variable in model.variables}
    assert_same(module(x).detach(), right)
    buffers = dict(module.named_buffers())
    np.testing.assert_allclose(
        buffers["sequential/normalised/moving_mean"], left["sequential/normalised/moving_mean"], rtol=1e-5
    )
    module.eval()
    assert not np.allclose(module(x).detach(), module.train()(x).detach())


def test_a_graph_has_both_modes() -> None:
    model = classifier()
    graph = graph_compiler.compile(model, to="numpy", args=(images(2),))
    graph.train()
    with kept(model.variables):
        right = model(images(4), training=True)
    with kept(model.variables):
        assert_same(graph(images(4)), right)
    assert len(graph.variants) == 2
    assert graph.verify().runs
    graph.eval()
    assert_same(graph(images(4)), model(images(4)))


class Alike:
    """Owner of a layer that equals all others and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.layer = keras.layers.GaussianDropout(0.5, seed=1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def run(self, x: Any) -> Any:
        return self.layer(x)


class AlikeAndHashed(Alike):
    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("owner", [Alike, AlikeAndHashed])
def test_a_mode_belongs_to_one_object(owner: Any) -> None:
    one, other = owner(), owner()
    for again in (mode_of(one.run), mode_of(one.run)):
        assert again is mode_of(one.run) and again is not mode_of(other.run)
    graph = graph_compiler.compile(one.run, to="tensorflow", args=(images(2),))
    graph.train()
    untrained = graph_compiler.compile(other.run, to="tensorflow", args=(images(2),))
    assert not np.allclose(graph(images(4)), images(4))
    assert_same(untrained(images(4)), images(4))


def test_a_mode_that_is_said_counts() -> None:
    model = classifier()
    graph = graph_compiler.compile(lambda x: model(x, training=False), to="numpy", args=(images(2),))
    graph.train()
    assert_same(graph(images(4)), model(images(4)))


def test_nnx_module_trains() -> None:
    jax, nnx = pytest.importorskip("jax"), pytest.importorskip("flax.nnx")
    model = classifier()
    module = graph_compiler.transpile(model, to="jax", args=(images(2),)).as_module()
    state = nnx.state(module, nnx.Param)
    assert {"/".join(map(str, path)) for path, _ in nnx.to_flat_state(state)} == paths(model, True)
    module.train()
    with kept(model.variables):
        right = model(images(4), training=True)
    assert_same(module(images(4)), right)
    module.eval()
    gradient = nnx.grad(lambda module, x: (module(x) ** 2).mean())(module, jax.numpy.asarray(images(4)))
    assert all(abs(array).max() > 0 for array in jax.tree.leaves(gradient))


def test_what_keras_froze_is_not_trained() -> None:
    model = classifier()
    model.get_layer("conv1").trainable = False
    graph = graph_compiler.transpile(model, to="torch", args=(images(2),))
    assert (
        graph.trained
        == paths(model, True)
        == {
            f"sequential/{name}"
            for name in ("normalised/gamma", "normalised/beta", "head/kernel", "head/bias")
        }
    )
    model.get_layer("conv1").trainable = True
    assert "sequential/conv1/kernel" in graph.trained


def test_freezing_statistics_is_another_recording() -> None:
    model = classifier()
    graph = graph_compiler.compile(lambda x: model(x, training=True), to="numpy", args=(images(3),))
    model.get_layer("normalised").trainable = False
    with kept(model.variables):
        right = model(images(3), training=True)
    with kept(model.variables):
        assert_same(graph(images(3)), right)


# ------------------------------------------------------------------------------------- the way back
def test_what_torch_trained_comes_back_to_keras() -> None:
    torch = pytest.importorskip("torch")
    model = classifier()
    graph = graph_compiler.transpile(model, to="torch", args=(images(2),))
    module, x = graph.as_module(), torch.from_numpy(images(6))
    optimizer, before = torch.optim.Adam(module.parameters(), 0.01), to_numpy(model(images(6)))
    for _ in range(3):
        torch.nn.functional.cross_entropy(module.train()(x), torch.arange(6) % 5).backward()
        optimizer.step()
        optimizer.zero_grad()
    graph.to_source(module.eval())
    assert_same(model(images(6)), tf.constant(module(x).detach().numpy()))
    assert abs(to_numpy(model(images(6))) - before).max() > 1e-3
    # The graph must read the current values of the variables.
    assert_same(graph(x).detach(), module(x).detach())


@pytest.mark.parametrize("to", TARGETS)
def test_a_dict_comes_back_to_keras(to: str) -> None:
    model = classifier()
    graph = graph_compiler.compile(model, to=to, args=(images(2),))
    graph.to_source({name: array * 0 + 1 for name, array in graph.parameters.items()})
    assert all((to_numpy(variable.value) == 1).all() for variable in model.weights)


def of_torch() -> Any:
    torch = pytest.importorskip("torch")
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).eval(), torch.ones(2, 3)


def of_jax() -> Any:
    nnx = pytest.importorskip("flax.nnx")
    return nnx.Linear(3, 4, rngs=nnx.Rngs(0)), np.ones((2, 3), "float32")


class Scaled:
    def __init__(self) -> None:
        self.scale = np.full(3, 2.0, "float32")

    def __call__(self, x: Any) -> Any:
        return np.tanh(x) * self.scale


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "made", [of_torch, of_jax, lambda: (Scaled(), np.ones((2, 3), "float32"))], ids=["torch", "jax", "numpy"]
)
def test_parameters_come_back_to_every_source(made: Any, to: str) -> None:
    source, x = made()
    graph = graph_compiler.compile(source, to=to, args=(x,))
    before = to_numpy(source(x))
    graph.to_source({name: to_numpy(array) * 3 for name, array in graph.parameters.items()})
    after = to_numpy(source(x))
    assert abs(after - before).max() > 0.1
    np.testing.assert_allclose(to_numpy(graph(x)), after, rtol=1e-5)
    graph.to_source(graph.as_module())
    np.testing.assert_allclose(to_numpy(source(x)), after, rtol=1e-6)


def test_what_does_not_fit_is_named_and_changes_nothing() -> None:
    model = classifier()
    graph = graph_compiler.compile(model, to="numpy", args=(images(2),))
    given = {name: array + 1 for name, array in graph.parameters.items()}
    given["sequential/head/bias"] = np.zeros(6, "float32")
    given["sequential/head/kernel"] = given["sequential/head/kernel"].astype("float64")
    del given["sequential/conv1/bias"]
    before = [to_numpy(variable.value) for variable in model.weights]
    with pytest.raises(WeightsMismatch) as problem:
        graph.to_source({**given, "head": np.zeros(2)})
    for line in (
        "missing: sequential/conv1/bias",
        "unexpected: head",
        "sequential/head/bias is float32[6], and the original has float32[5]",
        "sequential/head/kernel is float64[4, 5], and the original has float32[4, 5]",
    ):
        assert line in str(problem.value)
    assert_same([to_numpy(variable.value) for variable in model.weights], before)
    with pytest.raises(InvalidOption, match="not a list"):
        graph.to_source([1, 2])
    with pytest.raises(NotTraced, match="nothing is recorded yet"):
        graph_compiler.compile(model, to="numpy").to_source(given)


@pytest.mark.parametrize("is_training", [False, True])
def test_the_message_shows_the_recorded_and_the_current_mode(is_training: bool) -> None:
    model, other = classifier(), not is_training
    mode = mode_of(model)
    mode.training = is_training
    graph = graph_compiler.compile(model, to="numpy", args=(images(2),))
    mode.training = other
    message = f"training= of Keras layers was {is_training} when recorded and is {other} now"
    with pytest.raises(GuardFailed, match=message):
        graph.functional(graph.parameters, images(2))


# ------------------------------------------------------------------------------------- files and forms
def test_a_saved_graph_runs_without_tensorflow(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model, path = classifier(), tmp_path / "graph.zip"
    graph = graph_compiler.transpile(model, to="torch", args=(images(2),))
    graph.save(path)
    np.save(tmp_path / "x.npy", images(5))
    code = (
        "import sys, numpy as np, torch, graph_compiler\n"
        f"graph = graph_compiler.load({str(path)!r})\n"
        f"result = graph(torch.from_numpy(np.load({str(tmp_path / 'x.npy')!r})))\n"
        f"np.save({str(tmp_path / 'y.npy')!r}, result.detach().numpy())\n"
        "assert sorted(graph.as_module().state_dict()) == sorted(graph.parameters)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model(images(5)), rtol=1e-5, atol=1e-6)
    assert set(graph_compiler.load(path).parameters) == set(graph.parameters)
    with pytest.raises(NotTraced, match="loaded from a file"):
        graph_compiler.load(path).to_source(graph.parameters)


def test_lazy_and_decorated() -> None:
    model = classifier()
    lazy = graph_compiler.compile(model, to="numpy")
    assert_same(lazy(images(3)), model(images(3)))

    @graph_compiler.compile(to="numpy")
    def score(x: Any) -> Any:
        return keras.ops.max(model(x), axis=-1)

    assert_same(score(tf.constant(images(3))), keras.ops.max(model(images(3)), axis=-1))
    assert "sequential/conv1/kernel" in score.parameters
    assert "variant 0" in str(lazy.explain())


def test_verified() -> None:
    assert graph_compiler.transpile(classifier(), to="jax", args=(images(2),)).verify().numbers


def test_a_module_is_exported_before_it_was_called() -> None:
    """torch exports in inference mode, with a symbolic batch size, under the names of Keras' variables."""
    torch = pytest.importorskip("torch")
    model = classifier()
    images = np.random.default_rng(0).standard_normal((5, 8, 8, 3)).astype("float32")
    module = (
        graph_compiler.transpile(model, to="torch", args=(images[:3],), source="tensorflow")
        .as_module()
        .eval()
    )
    assert {name for name, _ in module.named_parameters()} == {
        variable.path for variable in model.trainable_variables
    }
    exported = torch.export.export(
        module, (torch.from_numpy(images[:3]),), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},)
    )
    assert {name for name, _ in exported.named_parameters()} == {
        variable.path for variable in model.trainable_variables
    }
    assert_same(exported.module()(torch.from_numpy(images)), model(images))


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.head = keras.layers.Dense(4), keras.layers.Dense(2)

    def call(self, x: Any, training: Any = False) -> Any:
        return self.head(keras.ops.gelu(self.hidden(x))) + (1.0 if training else 0.0)


class SubclassedWithoutMode(Subclassed):
    def call(self, x: Any, training: Any = None) -> Any:
        return super().call(x, training=training)


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("cls", [Subclassed, SubclassedWithoutMode])
def test_a_model_that_asks_for_the_mode_is_exported_in_each(cls: Any, mode: bool) -> None:
    torch = pytest.importorskip("torch")
    model, rows = cls(), np.random.default_rng(0).standard_normal((5, 6)).astype("float32")
    model(rows)
    module = (
        graph_compiler.transpile(model, to="torch", args=(rows[:2],), source="tensorflow")
        .as_module()
        .train(mode)
    )
    exported = torch.export.export(
        module, (torch.from_numpy(rows[:2]),), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},)
    )
    assert_same(exported.module()(torch.from_numpy(rows)), model(rows, training=mode))


class ToldApart(keras.Layer):
    """A layer for which ``training=False`` differs from ``training=None``."""

    def call(self, x: Any, training: Any = None) -> Any:
        return x if training is None else x * 2 if training else x * 3


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_layer_may_tell_no_mode_from_predictions(to: str) -> None:
    model, rows = keras.Sequential([keras.Input((3,)), ToldApart()]), np.ones((2, 3), np.float32)
    graph = graph_compiler.transpile(model, to=to, args=(rows,), source="tensorflow")
    assert float(graph(rows)[0, 0]) == 1
    graph.eval()
    assert float(graph(rows)[0, 0]) == 3
    graph.train()
    assert float(graph(rows)[0, 0]) == 2
