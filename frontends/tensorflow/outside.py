"""What TensorFlow code refers to outside of its arguments: closures, globals, attributes of modules and layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ...tracing import Reached, facts_outside
from ...tracing.environment.conjunction import EnvironmentGuard
from ...tracing.reach.walk import Policy

_FUNCTION = tf.function(lambda: None)
_KEPT = {*vars(_FUNCTION), "_concrete_variable_creation_fn"}  # which it has once it is traced


def outside_of(reached: Reached, roots: Iterable[Any]) -> list[EnvironmentGuard]:
    """What these callables refer to is as it was; of layers of Keras, whether they are trained."""
    facts = (fact for layer in layers_of(reached, roots) for fact in _of_layer(layer))
    return [*facts_outside(reached, contents=_contents, free=_is_kept_by_tensorflow), *facts]


def layers_of(reached: Reached, roots: Iterable[Any]) -> list[Any]:
    """The layers of Keras among these, and those inside of them."""
    return list(dict.fromkeys(layer for item in (*roots, *reached.found()) if isinstance(item, keras.Layer) for layer in _layers_of(item)))


def reach_of(objects: Iterable[Any]) -> Reached:
    """All that these callables refer to; of a ``tf.function``, what its Python function refers to."""
    roots = [root for item in objects for root in (item, *_behind(item))]
    return Reached(roots, Policy(_is_leaf, _called))


def _behind(item: Any) -> Iterator[Any]:
    python = getattr(item, "python_function", None)
    if python is not None:
        yield python


def _called(item: Any) -> list[Any]:
    """The code of a layer, a module or a ``tf.function``."""
    if isinstance(item, (keras.Layer, tf.Module)):
        return [method for name in ("call", "__call__") if (method := getattr(type(item), name, None)) is not None]
    return list(_behind(item))


def _is_kept_by_tensorflow(holder: Any, key: Any) -> bool:
    """Whether it is an attribute of a ``tf.function`` by which TensorFlow keeps what it has traced."""
    return isinstance(holder, type(_FUNCTION)) and key in _KEPT


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (tf.Tensor, tf.Variable, np.ndarray, keras.Variable))


def _layers_of(layer: keras.Layer) -> list[Any]:
    return list(layer._flatten_layers(include_self=True, recursive=True))


def _of_layer(layer: keras.Layer) -> Iterator[EnvironmentGuard]:
    yield EnvironmentGuard("{}.trainable is {}", (layer, layer.trainable), f"whether the layer {layer.name} is trainable")


def _contents(item: Any) -> bytes | None:
    return item.tobytes() if isinstance(item, np.ndarray) else bytes(item) if isinstance(item, bytearray) else None
