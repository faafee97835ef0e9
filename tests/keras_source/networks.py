"""The architectures of ``keras.applications``, without weights of a training, for the smallest images that they take."""

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
    "Xception",
]  # of each family


@functools.cache
def names() -> tuple[str, ...]:
    """All architectures.

    >>> len(names()) >= 38
    True
    """
    return tuple(name for name, item in vars(keras.applications).items() if inspect.isfunction(item))


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


def judge_prediction(name: str, to: str) -> int:
    """The network as it predicts, in float32: recorded with two images, run with three."""
    model = network(name)
    return int(judge(model, model.variables, [[images(model, 2)], [images(model, 3)]], to, gradients=False, jitted=True)["variants"])


def moved_by_rounding(name: str) -> float:
    """By how much the network's result in TensorFlow moves where images change by the last digit of float32."""
    model = network(name)
    given = images(model, 3)
    noise = np.random.default_rng(0).uniform(-1e-7, 1e-7, given.shape).astype(np.float32)
    return float(np.abs(model(given).numpy() - model(given * (1 + noise)).numpy()).max())


def judge_training(name: str, to: str) -> int:
    """The network in training, without what it drops: results, statistics and all gradients. In float64, where they are no matter of rounding."""
    with in_doubles():
        model = network(name, least=64)  # in smaller images the last statistics are of two numbers alone
        for layer in model._flatten_layers():
            for rate in {"rate", "drop_path_rate"} & vars(layer).keys():
                setattr(layer, rate, 0.0)
        judged = judge(
            lambda images: model(images, training=True), model.variables, [[images(model, 2)], [images(model, 3)]], to, jitted=True
        )
        return int(judged["variants"])
