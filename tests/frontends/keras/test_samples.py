"""Tests of the public Keras layers and the architectures of ``keras.applications`` in every target."""

from __future__ import annotations

import random

import pytest

from tests.support.selection import pairs

pytest.importorskip("tensorflow")

import keras

import graph_compiler
from graph_compiler.errors import UnsupportedOperation

from . import networks
from .judging import judge_layer
from .layers import SAMPLES
from .left_out import LEFT_OUT
from .limits import OF_THE_SAME_DISTRIBUTION, REFUSED, RELATIVE_TO_THE_LARGEST, WITHOUT_KERNEL

TARGETS = ("torch", "jax", "numpy", "tensorflow")
TRIED = [name for name in SAMPLES if name not in {*REFUSED, *OF_THE_SAME_DISTRIBUTION}]


def test_every_public_layer_has_samples_or_a_reason() -> None:
    layers = {name: item for name, item in vars(keras.layers).items() if isinstance(item, type)}
    sampled = {layers[name.partition("(")[0]] for name in SAMPLES}
    without = {name for name, layer in layers.items() if layer not in sampled}
    assert without == LEFT_OUT.keys()


@pytest.mark.parametrize(
    ("name", "to"), [pair for pair in pairs(TRIED, TARGETS) if pair not in WITHOUT_KERNEL]
)
def test_layer(name: str, to: str) -> None:
    sample = SAMPLES[name]
    judge_layer(sample, sample.made(), to, is_relative_to_largest=name in RELATIVE_TO_THE_LARGEST)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_layer(name: str) -> None:
    sample = SAMPLES[name]
    layer = sample.made()
    # With this seed of Python's generator, AugMix chooses a posterization among its steps.
    random.seed(3)
    with pytest.raises(UnsupportedOperation, match=REFUSED[name]):
        graph = graph_compiler.compile(
            lambda *arrays: sample.call(layer, *arrays), to="torch", source="tensorflow", args=sample.arrays()
        )
        graph(*sample.arrays(other=True))


@pytest.mark.parametrize(
    ("name", "to"), pairs(("MobileNet", "MobileNetV3Small", "ResNet50", "VGG16"), TARGETS)
)
def test_network(name: str, to: str) -> None:
    assert networks.judge_network(name, False, to, gradients=False)["variants"] == 1


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", networks.SMALLEST)
def test_smallest_network_of_each_family(name: str, to: str) -> None:
    for training in (False, True):
        assert networks.judge_network(name, training, to)["variants"] == 1
