"""Small models of each source, and a loss for each framework."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

TARGETS = ("torch", "jax", "tensorflow")
RNG = np.random.default_rng(0)
BATCHES = [(RNG.normal(size=(6, 4)).astype("float32"), RNG.integers(0, 3, 6)) for _ in range(5)]


class Sample(NamedTuple):
    """A model and its training.

    model: returns a new model.
    loss: loss of outputs and targets.
    """

    model: Callable[[], Any]
    loss: Callable[[Any, Any], Any]
    options: Mapping[str, Any] = MappingProxyType({})


class Classifier(torch.nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)
        self.drop, self.last = torch.nn.Dropout(dropout), torch.nn.Linear(3, 3)
        self.again = torch.nn.Linear(3, 3, bias=False)
        self.again.weight = self.last.weight

    def forward(self, x: Any) -> Any:
        return self.again(self.last(self.drop(torch.relu(self.norm(self.first(x))))))


def classifier(dropout: float = 0.0) -> Classifier:
    torch.manual_seed(0)
    return Classifier(dropout)


def cross_entropy(outputs: Any, target: Any) -> Any:
    return F.cross_entropy(outputs, target)


@functools.cache
def _nnx_class() -> Any:
    from flax import nnx

    class Net(nnx.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.first, self.norm = nnx.Linear(4, 3, rngs=rngs), nnx.BatchNorm(3, rngs=rngs)
            self.drop, self.last = nnx.Dropout(0.3, rngs=rngs), nnx.Linear(3, 3, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))

    return Net


def flax() -> Any:
    return _nnx_class()()


def optax_loss(outputs: Any, target: Any) -> Any:
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(outputs, target).mean()


def keras_model() -> Any:
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((4,)),
            layers.Dense(3),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(0.3),
            layers.Dense(3),
        ]
    )


def keras_loss(y_true: Any, y_pred: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y_true, logits=y_pred))


def network(parameters: Any, x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(x @ parameters["first"]) @ parameters["last"]


def network_parameters() -> dict[str, Any]:
    import jax.numpy as jnp

    rng = np.random.default_rng(1)
    return {
        "first": jnp.asarray(rng.normal(size=(4, 3)), jnp.float32),
        "last": jnp.asarray(rng.normal(size=(3, 3)), jnp.float32),
    }


SAMPLES = {
    "torch": Sample(classifier, cross_entropy),
    "flax": Sample(flax, optax_loss),
    "keras": Sample(keras_model, keras_loss),
    "jax": Sample(lambda: network, optax_loss, {"parameters": 0}),
}
