"""Gradients of the sum of squares of a result (the first one of several) in each framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf


def gradient_by_tensorflow(function: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.square(_first(function(x))))
    return tape.gradient(total, x)


def gradient_by_target(graph: Callable[[Any], Any], to: str, x: Any) -> Any:
    return _BY_TARGET[to](graph, x)


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def _by_torch(graph: Callable[[Any], Any], x: Any) -> Any:
    import torch

    leaf = torch.tensor(x.numpy(), requires_grad=True)
    _first(graph(leaf)).square().sum().backward()
    return leaf.grad.numpy()


def _by_jax(graph: Callable[[Any], Any], x: Any) -> Any:
    import jax

    return jax.grad(lambda x: (_first(graph(x)) ** 2).sum())(np.asarray(x))


_BY_TARGET = {"tensorflow": gradient_by_tensorflow, "torch": _by_torch, "jax": _by_jax}
