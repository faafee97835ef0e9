"""Functions that exchange arrays between devices, in each framework, and their results as NumPy computes
them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graph_compiler import parallel, transforms

ROWS = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
WEIGHT = np.random.default_rng(1).normal(size=(3, 3)).astype("float32")


@dataclass(frozen=True)
class Source:
    """How a framework writes the parts of the functions.

    loss: cross entropy of scores and labels.
    """

    name: str
    array: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    transpose: Callable[[Any], Any]
    arange: Callable[[Any], Any]
    rows_of: Callable[[Any], Any]
    floats: Callable[[Any], Any]
    loss: Callable[[Any, Any], Any]

    def exchanged(self, x: Any) -> Any:
        """Return the result of every collective."""
        count, index = parallel.axis_size("device"), self.floats(parallel.axis_index("device"))
        gathered = parallel.all_gather(x, "device", tiled=True) @ self.transpose(x) * index + count
        beside = parallel.all_gather(x * 2, "device") + parallel.all_gather(x, "device", axis=0)
        return (
            gathered,
            beside,
            parallel.all_gather(x, "device", axis=1),
            parallel.psum({"x": x, "one": 1}, "device"),
        )

    def contrastive(self, weight: Any, x: Any) -> Any:
        """Return a loss that distinguishes each row from the rows of all devices."""
        own, rows = self.tanh(x @ weight), self.rows_of(x)
        every = parallel.all_gather(own, "device", tiled=True)
        return self.loss(
            own @ self.transpose(every), parallel.axis_index("device") * rows + self.arange(rows)
        )


def exchanged_by(count: int) -> list[Any]:
    """Return the results of :meth:`Source.exchanged` on ``count`` devices, stacked."""
    parts = ROWS.reshape(count, -1, 3)
    gathered = np.stack([ROWS @ part.T * index + count for index, part in enumerate(parts)])
    same = [np.stack([each] * count) for each in (parts * 3, parts.transpose(1, 0, 2), parts.sum(0))]
    return [gathered, *same[:2], np.full(count, count), same[2]]


def _of_torch() -> Source:
    import torch

    labelled = lambda scores, labels: torch.nn.functional.cross_entropy(scores, labels.long())  # noqa: E731
    return Source(
        "torch",
        torch.tensor,
        torch.tanh,
        lambda x: x.T,
        torch.arange,
        lambda x: x.shape[0],
        lambda x: x.float(),
        labelled,
    )


def _of_jax() -> Source:
    import jax
    import jax.numpy as jnp

    def labelled(scores: Any, labels: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()

    return Source(
        "jax",
        jnp.array,
        jnp.tanh,
        lambda x: x.T,
        jnp.arange,
        lambda x: x.shape[0],
        lambda x: x.astype("float32"),
        labelled,
    )


def _of_numpy() -> Source:
    def labelled(scores: Any, labels: Any) -> Any:
        scores = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        return -scores[np.arange(scores.shape[0]), labels].mean()

    return Source(
        "numpy",
        np.array,
        np.tanh,
        lambda x: x.T,
        np.arange,
        lambda x: x.shape[0],
        lambda x: x.astype("float32"),
        labelled,
    )


def _of_tensorflow() -> Source:
    import tensorflow as tf

    def labelled(scores: Any, labels: Any) -> Any:
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))

    floats = lambda x: tf.cast(x, tf.float32)  # noqa: E731
    return Source(
        "tensorflow", tf.constant, tf.tanh, tf.transpose, tf.range, lambda x: tf.shape(x)[0], floats, labelled
    )


FLAGS = np.arange(8).reshape(8, 1) % 3 == 0
COUNTS = FLAGS * np.int32(5)


def reductions_of(x: Any) -> Any:
    """Apply each reduction to an array of bools or integers; the counts are added, which bools are not."""
    counted = parallel.psum(x, "device")
    return (
        counted + counted,
        parallel.pmean(x, "device"),
        parallel.pmax(x, "device"),
        parallel.pmin(x, "device"),
    )


def reduced_by(devices: int, given: Any) -> tuple[Any, ...]:
    """Return what :func:`reductions_of` gives for ``given`` on this number of devices."""
    parts = given.reshape(devices, -1, 1)
    return 2 * parts.sum(0), parts.mean(0), parts.max(0), parts.min(0)


def losses_of_torch() -> dict[str, Callable[[Any, Any], Any]]:
    """Return losses of weights and rows, each with a collective whose gradient needs another one."""
    return {
        "pmean": lambda weight, x: parallel.pmean(((x @ weight) ** 2).mean(), "device"),
        "psum": lambda weight, x: parallel.psum((x @ weight).sin().mean(0), "device").pow(2).sum() * x.mean(),
        "psum of psum": lambda weight, x: (
            (parallel.psum(weight * x.mean(), "device") * parallel.psum(x.sum(0), "device")).sum() ** 2
        ),
    }


def gradients_in_torch(loss: Callable[[Any, Any], Any]) -> dict[str, Callable[[Any, Any], Any]]:
    """Return functions that compute the gradient of a loss inside the recorded function."""

    def by_autograd(weight: Any, x: Any) -> Any:
        import torch

        weight = weight.clone().requires_grad_()
        value = loss(weight, x)
        return value.detach(), torch.autograd.grad(value, weight)[0]

    def by_transform(weight: Any, x: Any) -> Any:
        return transforms.value_and_grad(loss)(weight, x)

    def twice(weight: Any, x: Any) -> Any:
        return transforms.grad(lambda weight: (transforms.grad(loss)(weight, x) ** 2).sum())(weight)

    return {"autograd": by_autograd, "transform": by_transform, "twice": twice}


def sources(*names: str) -> Iterator[Source]:
    """Return those of the frameworks that are installed."""
    made = {"torch": _of_torch, "jax": _of_jax, "numpy": _of_numpy, "tensorflow": _of_tensorflow}
    return (made[name]() for name in names if importlib.util.find_spec(name))
