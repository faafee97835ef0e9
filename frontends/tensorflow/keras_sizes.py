"""Layers of Keras that do something else where a size is unknown than where it is a number, which it is in eager code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from ...tracing.probes import replaced

# Layer -> the axis that has to be a number: it goes through as many steps as there are samples where their number is unknown.
_AXES: dict[type[Any], int] = {keras.layers.TimeDistributed: 1}


@contextmanager
def numbers_for_keras(graph: Any, size_of: Callable[[Any, int], int]) -> Iterator[None]:
    """Inside of the block those layers get a number for their axis; ``size_of`` decides it, as a guard.

    ``RuntimeError`` where a ``tf.function`` inside is traced with the size unknown, which sizes of the arguments that are fixed avoid.
    """

    def called(original: Callable[..., Any], axis: int) -> Callable[..., Any]:
        def call(layer: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if tf.is_symbolic_tensor(inputs) and inputs.shape.as_list()[axis] is None:
                if inputs.graph is not graph:
                    raise RuntimeError(f"{type(layer).__name__} needs the number of its axis {axis}, which is unknown")
                sizes: list[Any] = [None] * len(inputs.shape)
                sizes[axis] = size_of(inputs, axis)
                inputs = tf.ensure_shape(inputs, sizes)
            return original(layer, inputs, *args, **kwargs)

        return call

    with replaced((layer, "call", called(layer.call, axis)) for layer, axis in _AXES.items()):
        yield
