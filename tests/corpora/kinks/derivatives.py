"""First and second derivatives of a function at the points of a row in each framework, as NumPy arrays.

The first derivative is that of a weighted sum of the results, the second that of a weighted sum of the
first derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import Array, Kink, weights

Function = Callable[..., Any]
Found = tuple[Array, list[list[Array]]]
"""The function's value; for each order the derivative by each array."""


def _weighted(x: Any, number: int = 0) -> Any:
    return x * weights(x.size, number).reshape(x.shape)


def in_torch(function: Function, row: Kink) -> Found:
    import torch

    def weighted(x: Any, number: int = 0) -> Any:
        return (x * torch.from_numpy(weights(x.numel(), number)).reshape(x.shape)).sum()

    def slopes(loss: Any) -> list[Any]:
        if not loss.requires_grad:
            return [torch.zeros_like(x) for x in points]
        return list(torch.autograd.grad(loss, points, create_graph=row.orders > 1, materialize_grads=True))

    points = [torch.tensor(each, requires_grad=True) for each in row.points]
    result = function(*points)
    orders = [slopes(weighted(result))]
    if row.orders > 1:
        orders.append(slopes(sum(weighted(each, number) for number, each in enumerate(orders[0]))))
    return result.numpy(force=True), [[each.numpy(force=True) for each in order] for order in orders]


def in_tensorflow(function: Function, row: Kink) -> Found:
    import tensorflow as tf

    def weighted(x: Any, number: int = 0) -> Any:
        return tf.reduce_sum(x * weights(int(tf.size(x)), number).reshape(x.shape))

    points = [tf.constant(each) for each in row.points]
    with tf.GradientTape() as outer:
        outer.watch(points)
        with tf.GradientTape() as inner:
            inner.watch(points)
            result = function(*points)
            loss = weighted(result)
        orders = [
            [
                tf.convert_to_tensor(each)
                for each in inner.gradient(loss, points, unconnected_gradients="zero")
            ]
        ]
        total = sum(weighted(each, number) for number, each in enumerate(orders[0]))
    if row.orders > 1:
        orders.append(
            [
                tf.convert_to_tensor(each)
                for each in outer.gradient(total, points, unconnected_gradients="zero")
            ]
        )
    return result.numpy(), [[each.numpy() for each in order] for order in orders]


def in_jax(functions: Sequence[Function], rows: Sequence[Kink]) -> list[Found]:
    """Return the derivatives of several functions, computed by one program in a third of the time."""
    import jax

    @jax.jit
    def program(points: Any) -> Any:
        return [
            _of_jax(function, row.orders, each)
            for function, row, each in zip(functions, rows, points, strict=True)
        ]

    found: list[Found] = jax.tree.map(np.asarray, program([row.points for row in rows]))
    return found


def _of_jax(function: Function, orders: int, points: Any) -> Any:
    import jax

    def first(points: Any) -> Any:
        def loss(points: Any) -> Any:
            result = function(*points)
            return _weighted(result).sum(), result

        return jax.grad(loss, has_aux=True)(points)

    slopes, result = first(points)
    found = [list(slopes)]
    if orders > 1:
        found.append(
            list(
                jax.grad(
                    lambda points: sum(_weighted(*pair[::-1]).sum() for pair in enumerate(first(points)[0]))
                )(points)
            )
        )
    return result, found
