"""Tests of Keras models under dtype policies, with channels first, and with frozen parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.selection import pairs

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

import graph_compiler
from tests.support.compare import to_numpy

from .judging import by_jax, by_torch, exactly, judge, observed
from .small_models import attention, recurrent, residual

TARGETS = ("torch", "jax", "numpy", "tensorflow")
POLICIES = ("mixed_bfloat16", "mixed_float16", "float16", "bfloat16", "float64")
MODELS: dict[str, Callable[[], Any]] = {"residual": residual, "attention": attention, "recurrent": recurrent}


@contextmanager
def policy(name: str) -> Iterator[None]:
    """Set the dtype policy of new layers while the block runs."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def calls(model: Any, dtype: str = "float32") -> list[list[Any]]:
    random = np.random.default_rng(0)
    return [[tf.cast(random.standard_normal((count, *model.input_shape[1:])), dtype)] for count in (3, 5)]


@pytest.mark.parametrize(
    ("made_and_name", "to"), pairs([f"{made} {name}" for made in MODELS for name in POLICIES], TARGETS)
)
def test_policy(made_and_name: str, to: str) -> None:
    made, name = made_and_name.split(" ")
    if name == "float64" and to == "jax":
        pytest.skip("JAX has float64 where its users switch it on")
    if name == "bfloat16" and made == "recurrent":
        pytest.skip("Keras has no orthogonal matrix of bfloat16 to begin with")
    keras.utils.set_random_seed(1)
    with policy(name):
        model = MODELS[made]()
    computed_in = "float32" if name == "float64" else name.removeprefix("mixed_")
    judge(
        model,
        model.variables,
        calls(model, model.input.dtype),
        to,
        "16" not in name,
        computed_in=computed_in,
        exactly=exactly(model),
    )


@pytest.mark.parametrize(("to", "gradients"), [("torch", by_torch), ("jax", by_jax)])
@pytest.mark.parametrize("name", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("made", MODELS)
def test_gradients_under_a_policy(
    made: str, name: str, to: str, gradients: Callable[..., dict[str, Any]]
) -> None:
    """The reference is the model in float32. TensorFlow's own gradients are too imprecise: it sums those of a
    bias in 16 bits, and JAX does so in bfloat16.
    """
    if (made, to) == ("residual", "jax"):
        pytest.skip("JAX adds 720 gradients of a bias up in 16 bits")
    keras.utils.set_random_seed(1)
    with policy(name):
        model = MODELS[made]()
    exact = MODELS[made]()
    for variable, given in zip(exact.variables, model.variables, strict=True):
        variable.assign(given)
    first, other = calls(model)
    graph = graph_compiler.compile(model, to=to, args=first, source="tensorflow")
    found, right = gradients(graph, other), observed(exact, exact.variables, other).gradients
    assert right is not None
    paths = {one.path: given.path for one, given in zip(exact.variables, model.variables, strict=True)}
    largest = max(float(np.linalg.norm(array)) for array in right.values())
    for path, array in right.items():
        error = np.linalg.norm(to_numpy(found[paths.get(path, path)]).astype(np.float64) - array)
        assert error <= 0.1 * largest, f"gradient of {path}"


@pytest.mark.parametrize("to", TARGETS)
def test_policy_of_one_layer(to: str) -> None:
    keras.utils.set_random_seed(1)
    L = keras.layers
    given = keras.Input((8,))
    x = L.Dense(8, activation="tanh", dtype="mixed_bfloat16")(L.Dense(8)(given))
    model = keras.Model(given, L.Dense(3, dtype="float32")(L.LayerNormalization(dtype="float16")(x)))
    judge(
        model,
        model.variables,
        calls(model),
        to,
        gradients=False,
        computed_in="bfloat16",
        exactly=exactly(model),
    )


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("training", [False, True])
def test_channels_first(training: bool, to: str) -> None:
    keras.utils.set_random_seed(1)
    model = residual("channels_first")
    judge(partial(model, training=training), model.variables, calls(model), to, computed_in="float16")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("made", "frozen"),
    [
        ("residual", ("first", "first_norm")),
        ("attention", ("attended",)),
        ("recurrent", ("second",)),
        ("attention", ()),
    ],
)
def test_parts_that_are_not_trained(made: str, frozen: tuple[str, ...], to: str) -> None:
    """The statistics of a frozen layer must not change in training either."""
    keras.utils.set_random_seed(1)
    model = MODELS[made]()
    for name in frozen:
        model.get_layer(name).trainable = False
    model.trainable = model.trainable and bool(frozen)
    judge(
        partial(model, training=True),
        model.variables,
        calls(model),
        to,
        exactly=exactly(model, training=True),
    )
