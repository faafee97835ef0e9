"""Global and thread-local state of TensorFlow and Keras, restored after a recording; training modes.

TensorFlow's own code leaves some of it changed when a function raises: ``map_fn``, ``scan`` and the folds
set the caching device of the variable scope, after which ``get_variable`` fails for the rest of the
process.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python import pywrap_tfe
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope

from ...recording.environment_guards import EnvironmentGuard

# ------------------------------------------------------------------------------------------------------ modes
# Training mode of Keras layers that are called without ``training=``: prediction, until a graph's module
# is set to training.


@dataclass(eq=False)
class Mode:
    """Training mode in which a function calls its Keras layers (:func:`mode_of`).

    training: True for training, False for prediction, None if no mode is set.
    """

    training: bool | None = None

    @contextmanager
    def using(self, training: bool) -> Iterator[None]:
        before, self.training = self.training, training
        try:
            yield
        finally:
            self.training = before

    def guard(self, layers: Iterable[Any]) -> EnvironmentGuard:
        # In prediction, layers of Keras itself compute the same for None and False, so both satisfy the guard
        # unless one of ``layers`` may distinguish them.
        what = "training= of Keras layers"
        if not self.training and not any(map(_may_tell_modes_apart, layers)):
            return EnvironmentGuard("bool({}.training) is {}", (self, False), what)
        return EnvironmentGuard("{}.training is {}", (self, self.training), what)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use this mode for Keras layers that this thread calls without ``training=``."""
        if self.training is None:
            yield
            return
        # Keras has no default for the mode that a thread could set, so its method is replaced for a while.
        original = keras.Layer._get_call_context
        keras.Layer._get_call_context = _in_mode(original, self.training)
        try:
            yield
        finally:
            keras.Layer._get_call_context = original


def _may_tell_modes_apart(layer: Any) -> bool:
    if type(layer).__module__.startswith("keras."):
        return False
    asked = inspect.signature(type(layer).call).parameters.get("training")
    return asked is not None and asked.default is not False


# Keyed by the id of the owner. Each reference removes its entry when the owner is deleted.
_modes: dict[int, tuple[weakref.ref[Any], Mode]] = {}


def mode_of(function: Any) -> Mode:
    """Return the training mode of ``function``, or of the object that it is a method of."""
    owner = getattr(function, "__self__", function)
    key = id(owner)
    if key not in _modes:
        try:
            reference = weakref.ref(owner, lambda _: _modes.pop(key, None))
        # The owner cannot be weakly referenced.
        except TypeError:
            return Mode()
        _modes[key] = reference, Mode()
    return _modes[key][1]


def _in_mode(original: Callable[[Any], Any], training: bool) -> Callable[[Any], Any]:
    thread = threading.get_ident()

    def context_of(layer: Any) -> Any:
        context = original(layer)
        if (
            threading.get_ident() == thread
            # A layer inside of another one gets the mode from that.
            and context.entry_layer is layer
            and getattr(context, "training", None) is None
        ):
            context.training = training
        return context

    return context_of


# ---------------------------------------------------------------------------------------------- process state
PutBack = Callable[[], None]
# Counters of layers by name. Layers that the function has stored live on, so their names stay taken.
_NAMES = "object_name_uids"
_OF_THREAD = ("is_eager", "device_name", "device_spec", "scope_name", "function_call_options", "op_callbacks")


@contextmanager
def preserve_state() -> Iterator[None]:
    """Restore the state of TensorFlow and Keras that ``_SAVED`` lists after this context."""
    found = [saved() for saved in _SAVED]
    put_back_names = _keras_names()
    try:
        yield
    except BaseException:
        # After a call that succeeds, its layers may live on, so their names stay taken.
        put_back_names()
        raise
    finally:
        for put_back in found:
            put_back()


def _variable_scope() -> PutBack:
    store = variable_scope.get_variable_scope_store()
    scope, counts = store.current_scope, dict(store.variable_scopes_count)
    fields = dict(vars(scope))

    def put_back() -> None:
        vars(scope).update(fields)
        store.current_scope, store.variable_scopes_count = scope, counts

    return put_back


def _graphs() -> PutBack:
    stacks = [ops._default_graph_stack.stack, ag_ctx._control_ctx()]
    found = [list(stack) for stack in stacks]

    def put_back() -> None:
        for stack, items in zip(stacks, found):
            # TensorFlow keeps references to these lists, so they are changed in place.
            stack[:] = items

    return put_back


def _eager_context() -> PutBack:
    local, stopped = context.context()._thread_local_data, pywrap_tfe.TFE_Py_TapeSetIsStopped()
    fields = {name: getattr(local, name) for name in _OF_THREAD}

    def put_back() -> None:
        for name, item in fields.items():
            setattr(local, name, item)
        if stopped != pywrap_tfe.TFE_Py_TapeSetIsStopped():
            (pywrap_tfe.TFE_Py_TapeSetStopOnThread if stopped else pywrap_tfe.TFE_Py_TapeSetRestartOnThread)()

    return put_back


def _seeds() -> PutBack:
    own = context.context()
    seed, generator = own._seed, getattr(own, "_rng", None)
    state = None if generator is None else generator.getstate()

    def put_back() -> None:
        own._seed = seed
        if generator is not None:
            own._rng = generator
            generator.setstate(state)

    return put_back


# Functions that read and set a setting.
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (keras.config.floatx, keras.config.set_floatx),
    (keras.config.epsilon, keras.config.set_epsilon),
    (keras.config.image_data_format, keras.config.set_image_data_format),
    (tf.config.functions_run_eagerly, tf.config.run_functions_eagerly),
    (tf.config.get_soft_device_placement, tf.config.set_soft_device_placement),
    (tf.config.optimizer.get_jit, lambda before: tf.config.optimizer.set_jit(before or False)),
    (
        tf.config.experimental.tensor_float_32_execution_enabled,
        tf.config.experimental.enable_tensor_float_32_execution,
    ),
)


def _settings() -> PutBack:
    found = [read() for read, _ in _SETTINGS]

    def put_back() -> None:
        for item, (read, write) in zip(found, _SETTINGS):
            if read() != item:
                write(item)

    return put_back


def _keras() -> PutBack:
    held = vars(global_state.GLOBAL_STATE_TRACKER)
    found = {key: _with_copy(item) for key, item in held.items() if key != _NAMES}

    def put_back() -> None:
        for key in [key for key in held if key not in found and key != _NAMES]:
            del held[key]
        for key, (item, contents) in found.items():
            held[key] = item
            # Keras changes these containers in place, so their contents are restored too.
            if isinstance(item, list):
                item[:] = contents
            elif isinstance(item, dict):
                item.clear()
                item.update(contents)

    return put_back


def _with_copy(item: Any) -> tuple[Any, Any]:
    return item, copy.copy(item) if isinstance(item, (list, dict)) else None


def _keras_names() -> PutBack:
    held = vars(global_state.GLOBAL_STATE_TRACKER)
    counts = dict(held.get(_NAMES, {}))

    def put_back() -> None:
        # The counters exist only after a layer was created.
        with contextlib.suppress(KeyError):
            held[_NAMES].clear()
            held[_NAMES].update(counts)

    return put_back


_SAVED: tuple[Callable[[], PutBack], ...] = (
    _variable_scope,
    _graphs,
    _eager_context,
    _seeds,
    _settings,
    _keras,
)
