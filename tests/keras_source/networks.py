"""The architectures of ``keras.applications``, without weights of a training, for the smallest images that they take.

They are judged in float64: with random weights some are chaotic, and in float32 nothing could be said of those but that they round.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .judging import judge

SIDES = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71}
SMALLEST = [
    "ConvNeXtTiny",
    "DenseNet121",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionV3",
    "InceptionResNetV2",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "NASNetMobile",
    "ResNet50",
    "ResNet50V2",
    "VGG16",
    "VGG19",
    "Xception",
]  # of each family


@functools.cache
def names() -> tuple[str, ...]:
    """All architectures, the smallest of each family first.

    >>> len(names()) >= 38
    True
    """
    found = {name for name, item in vars(keras.applications).items() if inspect.isfunction(item)}
    return tuple(sorted(found, key=lambda name: (name not in SMALLEST, name)))


def family(name: str) -> str:
    """The module of Keras that an architecture stands in.

    >>> family("ResNet50") == family("ResNet101")
    True
    """
    return str(getattr(keras.applications, name).__module__)


def network(name: str, least: int = 32) -> Any:
    """A network of random weights, whose statistics are none of those that layers begin with."""
    keras.utils.set_random_seed(0)
    side = max(SIDES.get(name, 32), least)
    made = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=7)
    random = np.random.default_rng(0)
    for weight in made.non_trainable_weights:
        if "moving" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape) - ("mean" in weight.path))
    return made


def images(model: Any, count: int) -> Any:
    """Random images of the size that the network takes."""
    shape = (count, *model.input_shape[1:])
    return tf.constant(
        np.random.default_rng(count).uniform(0, 255 if "rescaling" in str(model.layers[1].name) else 1, shape).astype(model.input.dtype)
    )


@contextmanager
def in_doubles() -> Iterator[None]:
    """Inside of the block new layers compute in float64, in JAX too."""
    import jax

    before, policy = jax.config.jax_enable_x64, keras.config.dtype_policy()
    jax.config.update("jax_enable_x64", True)
    keras.config.set_dtype_policy("float64")
    keras.config.set_floatx("float64")
    try:
        yield
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy(policy)
        jax.config.update("jax_enable_x64", before)


def without_drops(name: str, least: int = 32) -> Any:
    """The network, whose layers drop nothing in training."""
    model = network(name, least)
    for layer in model._flatten_layers():
        for rate in {"rate", "drop_path_rate"} & vars(layer).keys():
            setattr(layer, rate, 0.0)
    return model


def judge_prediction(name: str, to: str, gradients: bool = True) -> int:
    """The network as it predicts, recorded with one image and run with two: results and all gradients, in float64."""
    with in_doubles():
        model = network(name)
        return _judge(model, model, to, (1, 2), gradients)


def judge_training(name: str, to: str) -> int:
    """The network in training, without what it drops: results, statistics and all gradients, in float64."""
    with in_doubles():
        model = without_drops(name, least=64)  # in smaller images the last statistics are of two numbers alone
        return _judge(model, lambda images: model(images, training=True), to, (2, 3))


def _judge(model: Any, function: Any, to: str, counts: tuple[int, int], gradients: bool = True) -> int:
    """In float64 a network of random weights is no matter of rounding, as it is in float32: differences are mistakes."""
    recorded, called = ([images(model, count)] for count in counts)
    judged = judge(function, model.variables, [called], to, gradients, jitted=True, relative=1e-7, recorded=recorded)
    assert "gradients" not in judged, "gradients are refused"
    return int(judged["variants"])
