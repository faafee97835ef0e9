"""The architectures of ``keras.applications``, without weights of a training, for the smallest images that
they take.

They are judged in float64: with random weights some are chaotic, and in float32 nothing could be said of
those but that they round.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import graph_compiler
from tests.support.compare import arrays

from .judging import (
    GRADIENTS,
    Observed,
    assert_close,
    assert_names,
    kept,
    observed,
    plain,
    trained_of,
    values_of,
)

RELATIVE = 1e-7  # of the largest element of an array
SIDES = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71}
SMALLEST = [
    "MobileNet",
    "VGG16",
    "MobileNetV2",
    "MobileNetV3Small",
    "VGG19",
    "ResNet50V2",
    "Xception",
    "ResNet50",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionV3",
    "DenseNet121",
    "ConvNeXtTiny",
    "NASNetMobile",
    "InceptionResNetV2",
]  # of each family, those that take least time first


@functools.cache
def names() -> tuple[str, ...]:
    """All architectures, the smallest of each family first, in the order of :data:`SMALLEST`.

    >>> len(names()) >= 38
    True
    """
    found = {name for name, item in vars(keras.applications).items() if inspect.isfunction(item)}
    return (*SMALLEST, *sorted(found - {*SMALLEST}))


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
        np.random.default_rng(count)
        .uniform(0, 255 if "rescaling" in str(model.layers[1].name) else 1, shape)
        .astype(model.input.dtype)
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


@dataclass(frozen=True)
class Recorded:
    """A network, what Keras computes of a call, and the graph of another call, which is written for each
    target.
    """

    variables: Sequence[Any]
    call: Any
    expected: Observed
    graph: Any


@functools.lru_cache(maxsize=1)  # the targets of a case follow one another
def recorded(name: str, training: bool) -> Recorded:
    """Recorded with one image, as it predicts, or with two in training, where it drops nothing; called with
    one more.
    """
    with in_doubles():
        model = (
            without_drops(name, least=64) if training else network(name)
        )  # in smaller images the last statistics are of two numbers
        function = (lambda images: model(images, training=True)) if training else model
        small, call = (images(model, count) for count in ((2, 3) if training else (1, 2)))
        expected = observed(function, model.variables, [call])
        graph = graph_compiler.compile(function, to="numpy", args=(small,), source="tensorflow")
        assert_names(graph, model.variables)
        return Recorded(model.variables, call, expected, graph)


def judge_network(name: str, training: bool, to: str, gradients: bool = True) -> dict[str, Any]:
    """Results, variables afterwards and all gradients, in float64: there differences are mistakes, and no
    matter of rounding.
    """
    case = recorded(name, training)
    with in_doubles(), kept(case.variables):
        graph = case.graph.to(to)
        assert_close(arrays(graph(plain(case.call))), arrays(case.expected.result), RELATIVE)
        assert_close(values_of(case.variables), case.expected.left, RELATIVE)
    if gradients and to in GRADIENTS:
        assert case.expected.gradients is not None, "Keras has no gradients"
        with in_doubles():
            assert_close(
                GRADIENTS[to](graph, [case.call]),
                trained_of(graph, case.expected.gradients),
                RELATIVE,
                "gradient of ",
            )
    return {"variants": len(graph.variants), "gradients": gradients and to in GRADIENTS}
