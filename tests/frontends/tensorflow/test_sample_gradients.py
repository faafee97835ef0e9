"""Tests of gradients of raw operations in torch and JAX, compared with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf
import torch

import graph_compiler
from graph_compiler.errors import GradientRefused
from graph_compiler.trees import map_structure
from tests.support.compare import assert_same_array
from tests.support.kernels import run
from tests.support.samples import made
from tests.support.selection import pairs

from .limits import OTHER_GRADIENTS, WITHOUT_GRADIENTS
from .test_samples import SAMPLES, as_tensorflow


def is_float(item: Any) -> bool:
    return getattr(item, "dtype", None) in (tf.float32, tf.float64)


def weights(item: Any) -> Any:
    """Return a different weight for each element of a result."""
    return np.cos(np.arange(1.0, 1 + int(np.prod(item.shape)))).reshape(tuple(item.shape)).astype("float32")


def results(given: Any) -> list[Any]:
    """Return the float arrays among results."""
    flat = [part for item in given for part in results(item)] if isinstance(given, (tuple, list)) else [given]
    return [
        item
        for item in flat
        if str(item.dtype).split(".")[-1].strip("'<>").split(" ")[-1].strip("'") in ("float32", "float64")
    ]


def by_tensorflow(function: Callable[..., Any], args: Any) -> list[Any]:
    """Return the gradients of the weighted sum of the results with respect to all float arguments."""
    watched = [item for item in tf.nest.flatten(args) if is_float(item)]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        parts = [
            tf.reduce_sum(item * tf.cast(weights(item), item.dtype)) for item in results(run(function, *args))
        ]
        total = sum((tf.cast(part, tf.float64) for part in parts), tf.zeros([], tf.float64))
    found = tape.gradient(total, watched, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.convert_to_tensor(item).numpy() for item in found]


def by_torch(function: Callable[..., Any], args: Any) -> list[Any]:
    """Return the same gradients of a graph for torch; zeros if no result depends on an argument."""
    given = map_structure(lambda item: _leaf(item) if isinstance(item, tf.Tensor) else item, args)
    watched = [
        item for item in tf.nest.flatten(given) if isinstance(item, torch.Tensor) and item.requires_grad
    ]
    total = sum(
        ((item * torch.tensor(weights(item))).sum() for item in results(function(*given))), torch.zeros(())
    )
    if not total.requires_grad:
        return [torch.zeros_like(item).numpy() for item in watched]
    found = torch.autograd.grad(total, watched, materialize_grads=True, allow_unused=True)  # type: ignore[arg-type]
    return [item.numpy() for item in found]


def _leaf(item: Any) -> torch.Tensor:
    return torch.tensor(np.array(item), requires_grad=bool(is_float(item)))


def by_jax(function: Callable[..., Any], args: Any) -> list[Any]:
    """Return the same gradients of a graph for JAX."""
    flat = tf.nest.flatten(args)
    places = [place for place, item in enumerate(flat) if is_float(item)]

    def total(*watched: Any) -> Any:
        given = [np.array(item) for item in flat]
        for place, item in zip(places, watched):
            given[place] = item
        return sum(
            (
                (item * weights(item)).sum()
                for item in results(function(*tf.nest.pack_sequence_as(args, given)))
            ),
            0.0,
        )

    found = jax.grad(total, argnums=tuple(range(len(places))))(
        *(jax.numpy.asarray(np.array(flat[place])) for place in places)
    )
    return list(found)


TARGETS = {"torch": by_torch, "jax": by_jax}
NAMES = [
    name
    for name, sample in SAMPLES.items()
    if "-edges" not in name
    and name.split("-")[1] not in WITHOUT_GRADIENTS
    and any(is_float(item) for item in tf.nest.flatten(as_tensorflow(made(sample.args))))
]


def test_refused_gradient() -> None:
    """TensorFlow's own gradient of a projection is not its derivative."""
    sample = SAMPLES["images-ImageProjectiveTransformV2"]
    args = as_tensorflow(made(sample.args))
    graph = graph_compiler.compile(sample.function, to="torch", source="tensorflow", args=args)
    with pytest.raises(GradientRefused, match="ImageProjectiveTransform"):
        by_torch(graph, args)


def check(name: str, to: str) -> None:
    """Assert that the gradients at the recorded arguments are those of TensorFlow."""
    sample = SAMPLES[name]
    args = as_tensorflow(made(sample.args))
    expected = by_tensorflow(sample.function, args)
    graph = graph_compiler.compile(sample.function, to=to, source="tensorflow", args=args)
    for found, wanted in zip(TARGETS[to](graph, args), expected, strict=True):
        assert_same_array(found, wanted)


CASES = [case for case in pairs(NAMES, TARGETS) if case not in OTHER_GRADIENTS]


@pytest.mark.parametrize(("name", "to"), CASES)
def test_gradients(name: str, to: str) -> None:
    check(name, to)
