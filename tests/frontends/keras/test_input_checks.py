"""Tests of calls whose inputs Keras rejects: a graph raises the error of the layer, in every target."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras

import graph_compiler
from tests.support.compare import assert_same

L = keras.layers


class Sample(NamedTuple):
    """A layer, shapes that fit it (the first is recorded), and shapes that do not, with Keras' words."""

    made: Callable[[], Any]
    fitting: tuple[Any, ...]
    other: tuple[tuple[Any, str], ...]


def pooled() -> Any:
    return keras.Sequential([L.Input((None, None, 3)), L.Conv2D(4, 3), L.MaxPooling2D(2)])


def joined() -> Any:
    named = {"left": L.Input((None, 3), name="left"), "right": L.Input((3,), name="right")}
    return keras.Model(named, L.Dense(2)(named["left"]) + L.Dense(2)(named["right"])[:, None])


IMAGES = ((2, 8, 8, 3), (4, 9, 7, 3))
SAMPLES = {
    "pooled": Sample(
        pooled, IMAGES, tuple(((2, 8, 8, n), rf"value 3, but .* \(2, 8, 8, {n}\)") for n in (1, 2, 4, 6))
    ),
    "Conv2D": Sample(lambda: L.Conv2D(4, 3), IMAGES, (((3, 8, 8, 6), r"value 3, but .* \(3, 8, 8, 6\)"),)),
    "Conv1D": Sample(
        lambda: L.Conv1D(2, 3), ((2, 9, 4), (3, 5, 4)), (((3, 8, 1), r"value 4, but .* \(3, 8, 1\)"),)
    ),
    "Dense": Sample(
        lambda: L.Dense(4), ((2, 3), (5, 3)), (((2, 4), r"axis -1 .* value 3, but .* \(2, 4\)"),)
    ),
    "BatchNormalization": Sample(
        L.BatchNormalization, ((2, 3), (5, 3)), (((2, 1), r"axis -1 .* value 3, but .* \(2, 1\)"),)
    ),
    "joined": Sample(
        joined,
        tuple({"right": (n, 3), "left": (n, m, 3)} for n, m in ((2, 4), (3, 5))),
        (({"right": (2, 3), "left": (2, 4, 5)}, r"shape=\(None, None, 3\), found shape=\(2, 4, 5\)"),),
    ),
}
CASES = [(name, to) for name in SAMPLES for to in ("torch", "jax", "tensorflow", "numpy")]


def array(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {name: array(one) for name, one in shape.items()}
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize(("name", "to"), CASES)
def test_an_input_that_the_layer_rejects(name: str, to: str) -> None:
    layer, sample = SAMPLES[name].made(), SAMPLES[name]
    for shape in sample.fitting:
        layer(array(shape))
    graph = graph_compiler.transpile(layer, to=to)
    graph(array(sample.fitting[0]))
    for shape, words in sample.other:
        for called in (layer, graph):
            with pytest.raises(ValueError, match=words):
                called(array(shape))
    for shape in sample.fitting:
        assert_same(graph(array(shape)), layer(array(shape)))
    assert len(graph.variants) == 1


@pytest.mark.slow
def test_the_same_on_jax() -> None:
    """Keras has one backend per process, so the tests run in another one."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", __file__, "-k", "rejects"],
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout
