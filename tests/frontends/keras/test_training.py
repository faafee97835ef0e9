"""Tests of training graphs of Keras models for three steps in torch and flax, compared with Keras, and of
``to_source``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

import graph_compiler
from tests.support.compare import to_numpy

from .small_models import attention, recurrent, residual

MODELS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "residual": (residual, ()),
    "residual, a part frozen": (residual, ("first", "first_norm")),
    "attention": (attention, ()),
    "attention, a part frozen": (attention, ("attended", "wide")),
    "recurrent": (recurrent, ()),
}
RATE, MOMENTUM, STEPS = 0.05, 0.9, 3


def made(name: str) -> Any:
    keras.utils.set_random_seed(2)
    make, frozen = MODELS[name]
    model = make()
    for layer in frozen:
        model.get_layer(layer).trainable = False
    return model


def batch(model: Any, step: int) -> tuple[Any, Any]:
    random = np.random.default_rng(step)
    shapes = ((4 + step, *shape[1:]) for shape in (model.input_shape, model.output_shape))
    x, y = (random.standard_normal(shape).astype("float32") for shape in shapes)
    return x, y


def keras_steps(model: Any) -> list[float]:
    """Train with Keras and return the losses."""
    optimizer, losses = keras.optimizers.SGD(RATE, MOMENTUM), []
    for step in range(STEPS):
        x, y = batch(model, step)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )
        losses.append(float(loss))
    return losses


def torch_steps(module: Any, model: Any) -> list[float]:
    """Train the module with torch and return the losses."""
    import torch

    optimizer, losses = torch.optim.SGD(module.parameters(), RATE, MOMENTUM), []
    for step in range(STEPS):
        x, y = map(torch.from_numpy, batch(model, step))
        loss = ((module.train()(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    module.eval()
    return losses


def nnx_steps(module: Any, model: Any) -> list[float]:
    """Train the module with compiled flax steps and return the losses."""
    jax, nnx, optax = (pytest.importorskip(name) for name in ("jax", "flax.nnx", "optax"))
    optimizer, losses = nnx.Optimizer(module, optax.sgd(RATE, MOMENTUM), wrt=nnx.Param), []

    @nnx.jit
    def advance(module: Any, optimizer: Any, x: Any, y: Any) -> Any:
        loss, gradient = nnx.value_and_grad(lambda module: ((module(x) - y) ** 2).mean())(module)
        optimizer.update(module, gradient)
        return loss

    module.train()
    for step in range(STEPS):
        losses.append(float(advance(module, optimizer, *map(jax.numpy.asarray, batch(model, step)))))
    module.eval()
    return losses


@pytest.mark.parametrize(("to", "train"), [("torch", torch_steps), ("jax", nnx_steps)])
@pytest.mark.parametrize("name", MODELS)
def test_three_steps_and_back(name: str, to: str, train: Callable[[Any, Any], list[float]]) -> None:
    right, model = made(name), made(name)
    x = batch(model, 7)[0]
    graph = graph_compiler.transpile(model, to=to, args=(x,))
    module = graph.as_module()
    before = {variable.path: to_numpy(variable.value) for variable in model.variables}
    np.testing.assert_allclose(train(module, model), keras_steps(right), rtol=1e-4)
    for variable in model.variables:
        np.testing.assert_array_equal(
            to_numpy(variable.value), before[variable.path], err_msg="a module has weights of its own"
        )
    graph.to_source(module)
    for variable, wanted in zip(model.variables, right.variables, strict=True):
        np.testing.assert_allclose(
            to_numpy(variable.value), to_numpy(wanted.value), rtol=1e-3, atol=1e-5, err_msg=variable.path
        )
        is_kept = not variable.trainable and "moving" not in variable.path
        assert not is_kept or (to_numpy(variable.value) == before[variable.path]).all()
    np.testing.assert_allclose(to_numpy(graph(x)), to_numpy(right(x)), rtol=1e-3, atol=1e-4)
