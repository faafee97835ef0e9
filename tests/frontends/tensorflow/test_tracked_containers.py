"""Tests of lists, tuples and dicts that TensorFlow and Keras replace by wrappers to track variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Holder(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.settings = {"model": keras.layers.Dense(2), "scale": 2.0, "inner": {"shift": 3.0}}
        self.items, self.pair = [1.0, {"a": 3.0}], (1.0, [2.0])


class Layers(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.settings, self.items = (
            {"layer": keras.layers.Dense(2), "scale": 2.0},
            [1.0, keras.layers.Dense(1)],
        )


HOLDER, LAYERS = Holder(), Layers()
PLAIN = {"model": keras.layers.Dense(2), "scale": 2.0}
DICT, LIST, TUPLE, KERAS_DICT, KERAS_LIST = (
    HOLDER.settings,
    HOLDER.items,
    HOLDER.pair,
    LAYERS.settings,
    LAYERS.items,
)


def through_default(x: Any, settings: Any = DICT) -> Any:
    return x * settings["scale"]


FUNCTIONS = {
    "a dict": lambda x: x * DICT["scale"] + DICT["inner"]["shift"],
    "its items": lambda x: x * sum(item for name, item in DICT.items() if name == "scale"),
    "a default": through_default,
    "a plain dict": lambda x: x * PLAIN["scale"],
    "a list": lambda x: x * LIST[0] * LIST[1]["a"] * len(LIST),
    "a tuple": lambda x: x * TUPLE[0] * TUPLE[1][0],
    "a dict of Keras": lambda x: x * KERAS_DICT["scale"],
    "a list of Keras": lambda x: x * KERAS_LIST[0],
}


@pytest.mark.parametrize("make", [torch.ones, lambda size: np.ones(size, np.float32)], ids=["torch", "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_walked_as_plain_ones(name: str, make: Any) -> None:
    graph = graph_compiler.compile(FUNCTIONS[name], args=(make(2),))
    assert_same(graph(make(3)), FUNCTIONS[name](make(3)))
    assert len(graph.variants) == 1


def test_what_is_changed_in_one_is_seen() -> None:
    holder = Holder()
    held = holder.settings

    def scaled(x: Any) -> Any:
        held["calls"] = held.get("calls", 0) + 1
        return x * held["scale"]

    graph = graph_compiler.compile(scaled)
    for scale in (2.0, 5.0):
        held["scale"] = scale
        assert_same(graph(torch.ones(3)), torch.full((3,), scale))
    assert holder.settings["calls"] == 2


def test_one_among_the_arguments() -> None:
    graph = graph_compiler.compile(lambda x, settings: x * settings["scale"], to="numpy")
    for size in (2, 3):
        assert_same(graph(torch.ones(size), DICT), torch.full((size,), 2.0))
    assert len(graph.variants) == 1
