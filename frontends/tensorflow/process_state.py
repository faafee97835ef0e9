"""Global and thread-local state of TensorFlow and Keras, restored after a recording.

TensorFlow's own code leaves some of it changed when a function raises: ``map_fn``, ``scan`` and the folds
set the caching device of the variable scope, after which ``get_variable`` fails for the rest of the
process.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python import pywrap_tfe
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope

PutBack = Callable[[], None]
# Counters of layers by name. Layers that the function has stored live on, so their names stay taken.
_NAMES = "object_name_uids"
_OF_THREAD = ("is_eager", "device_name", "device_spec", "scope_name", "function_call_options", "op_callbacks")


@contextmanager
def preserve_state() -> Iterator[None]:
    """Restore the global state of TensorFlow and Keras after this context.

    The counters of Keras' layer names are restored only if the context raises.
    """
    found = [saved() for saved in _SAVED]
    put_back_names = _keras_names()
    try:
        yield
    except BaseException:
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


def _settings() -> PutBack:
    found = (
        keras.config.floatx(),
        keras.config.epsilon(),
        keras.config.image_data_format(),
        tf.config.functions_run_eagerly(),
    )
    setters = (
        keras.config.set_floatx,
        keras.config.set_epsilon,
        keras.config.set_image_data_format,
        tf.config.run_functions_eagerly,
    )
    getters = (
        keras.config.floatx,
        keras.config.epsilon,
        keras.config.image_data_format,
        tf.config.functions_run_eagerly,
    )

    def put_back() -> None:
        for item, now, put in zip(found, getters, setters):
            if now() != item:
                put(item)

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
