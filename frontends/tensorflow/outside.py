"""Guards on what TensorFlow code refers to: closures, globals, attributes of modules and layers.

``outside_guards`` makes them. :class:`LazyArray` is an array that is computed on demand.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ...recording import Reached, facts_outside
from ...recording.environment_guards import EnvironmentGuard, same_items
from ...recording.reachability.containers import FreeParts
from ...recording.reachability.walk import WalkPolicy
from ...recording.state.contents import buffer_bytes
from .evaluation import run_eagerly


class LazyArray:
    """Result of an operation with a known shape and dtype, computed on demand."""

    __slots__ = ("__weakref__", "_array", "_operands", "_run", "dtype", "shape")

    def __init__(
        self, shape: Sequence[int], dtype: Any, run: Callable[[list[Any]], Any], operands: Sequence[Any] = ()
    ) -> None:
        self.shape, self.dtype, self._run, self._operands = tf.TensorShape(shape), dtype, run, operands
        self._array: Any = None

    def computed(self) -> Any:
        # A chain of operands may be as long as a network is deep, so this is a loop instead of a recursion.
        waiting: list[LazyArray] = [self]
        with run_eagerly():
            while waiting:
                last = waiting[-1]
                missing = [
                    each for each in last._operands if isinstance(each, LazyArray) and each._array is None
                ]
                waiting += missing
                if not missing:
                    waiting.pop()
                    last._compute()
        return self._array

    def _compute(self) -> None:
        if self._array is None:
            self._array = self._run([array_of(each) for each in self._operands])
            # The operands are released, so that their arrays can be freed.
            self._operands = ()


def array_of(made: Any) -> Any:
    return (
        made if not isinstance(made, LazyArray) else made.computed() if made._array is None else made._array
    )


# The methods of these classes read attributes that the user provides or sets between calls, such as the
# learning rate of an optimizer.
_NO_LAYERS = (
    keras.optimizers.Optimizer,
    keras.optimizers.schedules.LearningRateSchedule,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
)
_WHOLE = (keras.Layer, *_NO_LAYERS)
# Every call of a layer reads these.
_USED = frozenset({"_dtype_policy", "_supports_masking", "activity_regularizer", "autocast"})
_OF_MODELS = (
    "_inputs",
    "_inputs_struct",
    "_nodes",
    "_nodes_by_depth",
    "_operations",
    "_operations_by_depth",
    "_outputs",
    "_outputs_struct",
)
# A fresh layer has only attributes of Keras itself. All others were set by the class or by the user.
HIDDEN = frozenset(
    {*vars(keras.Layer(name="layer")), *vars(keras.Model(name="model")), *_OF_MODELS, "optimizer"} - _USED
)
# Keras calls these methods of the user's layers.
_CALLED = frozenset({"call", "build", "compute_mask"})

# TensorFlow stores the state of tracing in attributes of a ``tf.function``, and a fresh one shows which these
# are.
_FUNCTION = tf.function(lambda: None)
# The last attribute exists only after tracing.
_TRACING_ATTRIBUTES = {*vars(_FUNCTION), "_concrete_variable_creation_fn"}


def outside_guards(reached: Reached, roots: Iterable[Any], free: FreeParts) -> list[EnvironmentGuard]:
    def of_others(owner: Any) -> Iterator[EnvironmentGuard]:
        yield from () if isinstance(owner, keras.Layer) else _keras_guards(owner, free)

    # Tracing a ``tf.function`` changes these attributes, so a guard on them would fail at once.
    of_calls = FreeParts(lambda holder: _tracing_attributes(holder) or free.keys_of(holder))
    guards = (
        fact
        for layer in layers_of(reached, roots)
        for fact in (*_trainable_guards(layer), *_keras_guards(layer, free))
    )
    return [*facts_outside(reached, of_others, buffer_bytes, of_calls), *guards, *_settings(reached)]


def is_bookkeeping(holder: Any, key: Any) -> bool:
    """Return True if ``key`` of ``holder`` holds records of TensorFlow or Keras, not state of the user."""
    return (
        key in _tracing_attributes(holder)
        or isinstance(holder, _WHOLE)
        and isinstance(key, str)
        and _is_hidden(key)
    )


def _keras_guards(owner: Any, free: FreeParts) -> Iterator[EnvironmentGuard]:
    # Keras' own code is not analyzed, so it may read any of these.
    if isinstance(owner, _WHOLE) and (
        names := [name for name in _attributes(owner) if not free(owner, name)]
    ):
        # ``itemgetter`` returns a tuple only for two or more names, so the first one is read twice.
        own, read, what = (
            vars(owner),
            operator.itemgetter(*names, names[0]),
            f"{type(owner).__name__} {getattr(owner, 'name', '')}",
        )
        yield EnvironmentGuard(
            "{}({}({}), {})", (same_items, read, own, read(own)), f"an attribute of {what.rstrip()}", own
        )


def _attributes(owner: Any) -> list[str]:
    return [name for name in vars(owner) if not _is_hidden(name)]


def _is_hidden(name: str) -> bool:
    # TensorFlow's tracking attributes have this prefix.
    return name in HIDDEN or name.startswith("_self_")


def _settings(reached: Reached) -> Iterator[EnvironmentGuard]:
    if any(_module_of(item).partition(".")[0] == "keras" for item in reached.found()):
        yield EnvironmentGuard(
            "{}() == {}", (_keras_settings, _keras_settings()), "a setting of Keras (keras.config)"
        )


def _keras_settings() -> tuple[Any, ...]:
    config = keras.config
    return config.epsilon(), config.floatx(), config.image_data_format()


def _module_of(item: Any) -> str:
    if isinstance(item, ModuleType):
        return item.__name__
    # A function whose globals have no ``__name__`` has no module.
    return (item.__module__ or "") if isinstance(item, FunctionType) else type(item).__module__


def layers_of(reached: Reached, roots: Iterable[Any]) -> list[Any]:
    return list(
        dict.fromkeys(
            layer
            for item in (*roots, *reached.found())
            if isinstance(item, keras.Layer)
            for layer in _layers_of(item)
        )
    )


def reach_of(objects: Iterable[Any]) -> Reached:
    roots = [root for item in objects for root in (item, *_python_function(item))]
    return Reached(roots, WalkPolicy(_is_leaf, _parts, called=_CALLED))


def is_compiled(item: Any) -> bool:
    return inspect.getattr_static(item, "python_function", None) is not None


def _python_function(item: Any) -> Iterator[Any]:
    if is_compiled(item):
        yield item.python_function


def _parts(item: Any) -> list[Any]:
    found = list(_python_function(item))
    if isinstance(item, (keras.Layer, tf.Module)):
        found = [
            method for name in ("call", "__call__") if (method := getattr(type(item), name, None)) is not None
        ]
    if isinstance(item, _WHOLE):
        found += [
            type(item),
            *(
                part
                for one in (_layers_of(item) if isinstance(item, keras.Layer) else [item])
                for part in _user_parts(one)
            ),
        ]
    return found


def _user_parts(item: Any) -> list[Any]:
    held = [vars(item)[name] for name in _attributes(item)]
    own = [
        one
        for one in held
        if isinstance(one, (*_NO_LAYERS, dict))
        or isinstance(one, FunctionType)
        and not _is_library(one.__module__)
    ]
    return own if _is_library(type(item).__module__) else [item, *own]


def _is_library(module: str) -> bool:
    return module.startswith(("keras.", "tensorflow."))


def _tracing_attributes(holder: Any) -> Collection[str]:
    return _TRACING_ATTRIBUTES if isinstance(holder, type(_FUNCTION)) else ()


def _is_leaf(item: Any) -> bool:
    return isinstance(item, (tf.Tensor, tf.Variable, np.ndarray, keras.Variable))


def _layers_of(layer: keras.Layer) -> list[Any]:
    return list(layer._flatten_layers(include_self=True, recursive=True))


def _trainable_guards(layer: keras.Layer) -> Iterator[EnvironmentGuard]:
    # Keras' own property reads only the attributes of the layer.
    own = vars(layer) if type(layer).trainable is keras.Layer.trainable else None
    yield EnvironmentGuard(
        "{}.trainable is {}", (layer, layer.trainable), f"whether the layer {layer.name} is trainable", own
    )
