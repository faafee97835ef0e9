"""The architectures of ``keras.applications`` with random weights, for the smallest images that they accept.

They are compared in float64: some are chaotic with random weights, so that in float32 rounding errors
would decide.
"""

from __future__ import annotations

import functools
import gc
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

# Tolerance relative to the largest element of an array.
RELATIVE = 1e-7
SIDES = {"InceptionV3": 75, "InceptionResNetV2": 75, "Xception": 71}
# The fastest architecture of each family comes first.
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
]


@functools.cache
def names() -> tuple[str, ...]:
    """Return all architectures, those of :data:`SMALLEST` (the smallest of each family) first.

    >>> len(names()) >= 38
    True
    """
    found = {name for name, item in vars(keras.applications).items() if inspect.isfunction(item)}
    return (*SMALLEST, *sorted(found - {*SMALLEST}))


def family(name: str) -> str:
    """Return the Keras module that defines an architecture.

    >>> family("ResNet50") == family("ResNet101")
    True
    """
    return str(getattr(keras.applications, name).__module__)


def network(name: str, least: int = 32) -> Any:
    """Return a network with random weights and random statistics, for images of at least ``least`` pixels."""
    keras.utils.set_random_seed(0)
    side = max(SIDES.get(name, 32), least)
    made = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=7)
    random = np.random.default_rng(0)
    for weight in made.non_trainable_weights:
        if "moving" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape) - ("mean" in weight.path))
    return made


def images(model: Any, count: int) -> Any:
    """Return random images of the size that the network accepts."""
    shape = (count, *model.input_shape[1:])
    return tf.constant(
        np.random.default_rng(count)
        .uniform(0, 255 if "rescaling" in str(model.layers[1].name) else 1, shape)
        .astype(model.input.dtype)
    )


@contextmanager
def in_doubles() -> Iterator[None]:
    """Let new layers compute in float64 while the block runs, in JAX too."""
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
    """Return the network with all dropout rates set to 0, so that training is deterministic."""
    model = network(name, least)
    for layer in model._flatten_layers():
        for rate in {"rate", "drop_path_rate"} & vars(layer).keys():
            setattr(layer, rate, 0.0)
    return model


@dataclass(frozen=True)
class Recorded:
    """A network, the result of a call in Keras, and the graph of a smaller call."""

    variables: Sequence[Any]
    call: Any
    expected: Observed
    graph: Any


# The targets of a case run one after the other, so one entry is enough.
@functools.lru_cache(maxsize=1)
def recorded(name: str, training: bool) -> Recorded:
    """Record a network, with one image in inference or two in training, and let Keras compute one image more."""
    # Two networks at a time would need more memory than other tests. Models are in cycles of references.
    recorded.cache_clear()
    gc.collect()
    with in_doubles():
        # In smaller images the last batch norm would take its statistics from two numbers.
        model = without_drops(name, least=64) if training else network(name)
        function = (lambda images: model(images, training=True)) if training else model
        small, call = (images(model, count) for count in ((2, 3) if training else (1, 2)))
        expected = observed(function, model.variables, [call])
        graph = graph_compiler.compile(function, to="numpy", args=(small,), source="tensorflow")
        assert_names(graph, model.variables)
        return Recorded(model.variables, call, expected, graph)


def judge_network(name: str, training: bool, to: str, gradients: bool = True) -> dict[str, Any]:
    """Assert that results, variables after the call and gradients agree with Keras in float64; return
    measured facts.
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
