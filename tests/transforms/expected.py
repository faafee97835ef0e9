"""First and second derivatives by the source framework; by differences for NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import tensorflow as tf
import torch

Function = Callable[..., Any]
Arrays = list[Any]

_STEP = 1e-3
# Weights of the central differences over one, two and three steps; their error is of sixth order.
_WEIGHTS = {
    1: 3 / 4,
    2: -3 / 20,
    3: 1 / 60,
}


def in_source(source: str, array: np.ndarray[Any, Any]) -> Any:
    """Return a float64 array as an array of the source."""
    return {"torch": torch.tensor, "jax": jax.numpy.asarray, "tensorflow": tf.constant, "numpy": np.asarray}[
        source
    ](array)


def as_numpy(array: Any) -> Any:
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


def own_gradients(source: str, function: Function, arrays: Arrays) -> Arrays:
    return _GRADIENTS[source](function, arrays)


def own_products(source: str, function: Function, arrays: Arrays, directions: Arrays) -> Arrays:
    """Return the product of the Hessian with ``directions``, one for each argument."""
    return _PRODUCTS[source](function, arrays, directions)


# ---------------------------------------------------------------------------------------------- torch
def _of_torch(function: Function, arrays: Arrays) -> Arrays:
    inputs = [array.clone().requires_grad_() for array in arrays]
    return list(torch.autograd.grad(function(*inputs), inputs))


def _products_of_torch(function: Function, arrays: Arrays, directions: Arrays) -> Arrays:
    inputs = [array.clone().requires_grad_() for array in arrays]
    gradients = torch.autograd.grad(function(*inputs), inputs, create_graph=True)
    along = sum((gradient * direction).sum() for gradient, direction in zip(gradients, directions))
    # The gradient of a linear function does not depend on its arguments.
    if not along.requires_grad:
        return list(map(torch.zeros_like, inputs))
    return list(torch.autograd.grad(along, inputs, materialize_grads=True))


# ---------------------------------------------------------------------------------------------- JAX
def _of_jax(function: Function, arrays: Arrays) -> Arrays:
    return list(jax.jit(jax.grad(function, argnums=tuple(range(len(arrays)))))(*arrays))


def _products_of_jax(function: Function, arrays: Arrays, directions: Arrays) -> Arrays:
    gradient = jax.grad(function, argnums=tuple(range(len(arrays))))
    return list(jax.jit(lambda *given: jax.jvp(gradient, given, tuple(directions))[1])(*arrays))


# ---------------------------------------------------------------------------------------------- TensorFlow
def _of_tensorflow(function: Function, arrays: Arrays) -> Arrays:
    with tf.GradientTape() as tape:
        tape.watch(arrays)
        result = function(*arrays)
    return _dense(tape.gradient(result, arrays, unconnected_gradients="zero"))


def _products_of_tensorflow(function: Function, arrays: Arrays, directions: Arrays) -> Arrays:
    with tf.GradientTape() as tape:
        tape.watch(arrays)
        gradients = _of_tensorflow(function, arrays)
    return _dense(tape.gradient(gradients, arrays, directions, "zero"))


def _dense(arrays: Sequence[Any]) -> Arrays:
    return list(map(tf.convert_to_tensor, arrays))


# ---------------------------------------------------------------------------------------------- NumPy
def _of_numpy(function: Function, arrays: Arrays) -> Arrays:
    return [_differences(function, arrays, place) for place in range(len(arrays))]


def _products_of_numpy(function: Function, arrays: Arrays, directions: Arrays) -> Arrays:
    moved = lambda step, one: _of_numpy(  # noqa: E731
        function, [array + step * direction for array, direction in zip(arrays, one)]
    )
    parts = [
        (weight, moved(count * _STEP, directions), moved(-count * _STEP, directions))
        for count, weight in _WEIGHTS.items()
    ]
    return [
        sum(weight * (up[place] - down[place]) for weight, up, down in parts) / _STEP
        for place in range(len(arrays))
    ]


def _differences(function: Function, arrays: Arrays, place: int) -> Any:
    found = np.zeros(arrays[place].shape)
    for index in np.ndindex(arrays[place].shape):
        found[index] = (
            sum(
                weight * _difference(function, arrays, place, index, count * _STEP)
                for count, weight in _WEIGHTS.items()
            )
            / _STEP
        )
    return found


def _difference(function: Function, arrays: Arrays, place: int, index: tuple[int, ...], step: float) -> float:
    """Return the difference of the function values at steps forward and back in one element."""
    up, down = (np.array(arrays[place]) for _ in range(2))
    up[index] += step
    down[index] -= step
    return float(
        function(*arrays[:place], up, *arrays[place + 1 :])
        - function(*arrays[:place], down, *arrays[place + 1 :])
    )


_GRADIENTS = {"torch": _of_torch, "jax": _of_jax, "tensorflow": _of_tensorflow, "numpy": _of_numpy}
_PRODUCTS = {
    "torch": _products_of_torch,
    "jax": _products_of_jax,
    "tensorflow": _products_of_tensorflow,
    "numpy": _products_of_numpy,
}
