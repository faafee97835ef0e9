"""Tests of weights that the model writes to before it reads them, trained as in the source framework.

The gradient is that of the weight, not of what was written; the update is applied to what was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler import training

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
jnp = pytest.importorskip("jax.numpy")

TARGETS = ("torch", "jax", "tensorflow")
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "torch": lambda found, wanted: ((found - wanted) ** 2).mean(),
    "jax": lambda found, wanted: jnp.mean((found - wanted) ** 2),
    "tensorflow": lambda found, wanted: tf.reduce_mean((found - wanted) ** 2),
}
_RNG = np.random.default_rng(0)
BATCHES = [
    (_RNG.normal(size=(size, 4)).astype("float32"), _RNG.normal(size=(size, 3)).astype("float32"))
    for size in (5, 5, 7)
]
RATE = 0.1


class Clamped(torch.nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight.clamp_(-0.2, 0.2)
        return super().forward(input)


class Bounded(torch.nn.Linear):
    """A layer that assigns to ``.data``, which a graph for torch refuses."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=0.5)
        return super().forward(input)


class Normalised(torch.nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        before = self.weight.sum()
        if self.training:
            self.weight.data.copy_(self.weight.detach() / self.weight.detach().norm())
        return super().forward(input) * before


class Clipped(keras.layers.Layer):  # type: ignore[misc]
    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(4, 3), name="w")

    def call(self, inputs: Any) -> Any:
        before = tf.reduce_sum(self.w)
        self.w.assign(tf.clip_by_value(self.w, -0.2, 0.2))
        return inputs @ self.w * before


class Rows(keras.layers.Layer):  # type: ignore[misc]
    """A layer that looks up rows, which does not read the whole variable."""

    def build(self, shape: Any) -> None:
        self.w = self.add_weight(shape=(4, 3), name="w", initializer="glorot_uniform")
        self.count = self.add_weight(shape=(), name="count", trainable=False, initializer="zeros")

    def call(self, inputs: Any) -> Any:
        self.w.assign(self.w * 0.5)
        self.count.assign_add(1.0)
        places = tf.argmax(inputs, axis=1)
        rows = tf.gather(self.w.value, places) + tf.gather_nd(self.w.value, places[:, None])
        return inputs[:, :1] * rows * self.count


def _keras(layer: Callable[[], Any]) -> Callable[[], Any]:
    def made() -> Any:
        # Keras numbers the names of layers from the start again.
        keras.backend.clear_session()
        keras.utils.set_random_seed(0)
        inputs = keras.Input((4,))
        return keras.Model(inputs, layer()(inputs))

    return made


def _torch(layer: type[torch.nn.Linear]) -> Callable[[], Any]:
    def made() -> Any:
        torch.manual_seed(0)
        return layer(4, 3)

    return made


MODELS: dict[str, Callable[[], Any]] = {
    "clamped": _torch(Clamped),
    "normalised": _torch(Normalised),
    "keras_clipped": _keras(Clipped),
    "keras_rows": _keras(Rows),
    "keras_spectral": _keras(lambda: keras.layers.SpectralNormalization(keras.layers.Dense(3))),
}


def _trained_by_hand(model: Any) -> list[Any]:
    if isinstance(model, torch.nn.Module):
        rule = torch.optim.SGD(model.parameters(), RATE)
        for inputs, wanted in BATCHES:
            rule.zero_grad()
            LOSSES["torch"](model(torch.tensor(inputs)), torch.tensor(wanted)).backward()
            rule.step()
    else:
        rule = keras.optimizers.SGD(RATE)
        for inputs, wanted in BATCHES:
            with tf.GradientTape() as tape:
                loss = LOSSES["tensorflow"](model(inputs, training=True), wanted)
            rule.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return _weights(model)


def _weights(model: Any) -> list[Any]:
    return (
        [array.detach().numpy() for array in model.parameters()]
        if isinstance(model, torch.nn.Module)
        else model.get_weights()
    )


def _example(model: Any) -> Any:
    return (torch.tensor if isinstance(model, torch.nn.Module) else tf.constant)(BATCHES[0][0])


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> tuple[Callable[[], Any], list[Any]]:
    made = MODELS[request.param]
    return made, _trained_by_hand(made())


@pytest.mark.parametrize("to", TARGETS)
def test_steps(case: tuple[Callable[[], Any], list[Any]], to: str) -> None:
    made, wanted = case
    _train(made(), to, wanted)


@pytest.mark.parametrize("to", ("jax", "tensorflow"))
def test_given_memory(to: str) -> None:
    made = _torch(Bounded)
    _train(made(), to, _trained_by_hand(made()))


def _train(model: Any, to: str, wanted: list[Any]) -> None:
    rule = training.optimizer("sgd", learning_rate=RATE)
    state = training.TrainState.create(model, rule, loss=LOSSES[to], to=to, args=(_example(model),))
    for batch in BATCHES:
        state, _ = training.single_train_step(state, batch)
    state.to_source()
    for found, array in zip(_weights(model), wanted, strict=True):
        np.testing.assert_allclose(found, array, rtol=1e-5, atol=1e-6)


def test_a_module_of_torch(case: tuple[Callable[[], Any], list[Any]]) -> None:
    made, wanted = case
    module = graph_compiler.compile(model := made(), args=(_example(model),), to="torch").as_module().train()
    module(torch.tensor(BATCHES[0][0]))
    module.load_state_dict(
        {name: torch.as_tensor(np.asarray(array)) for name, array in _named(made()).items()}, strict=False
    )
    rule = torch.optim.SGD(module.parameters(), RATE)
    for inputs, target in BATCHES:
        rule.zero_grad()
        LOSSES["torch"](module(torch.tensor(inputs)), torch.tensor(target)).backward()
        rule.step()
    found = {name: array.detach().numpy() for name, array in module.state_dict().items()}
    for name, array in zip(_named(model), wanted, strict=True):
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def _named(model: Any) -> dict[str, Any]:
    if isinstance(model, torch.nn.Module):
        return {name: array.detach().clone() for name, array in model.named_parameters()}
    return {variable.path: np.asarray(variable) for variable in model.weights}


def test_a_function_of_numpy_keeps_buffers() -> None:
    """What a NumPy function writes to is a buffer, because nothing distinguishes it from a weight."""
    held = np.ones(3, np.float32)

    def function(x: Any) -> Any:
        held[:] = held * 0.5
        return x * held

    assert graph_compiler.compile(function, args=(np.ones(3, np.float32),), to="torch").trained == frozenset()
