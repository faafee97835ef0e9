"""Tests that a recording restores the frameworks' state of thread and process, whether the function returns,
raises, cannot be recorded, or is interrupted.
"""

from __future__ import annotations

import decimal
import functools
import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from jax._src import config, core, mesh, source_info_util
from keras.src.backend.common import global_state
from tensorflow.python import pywrap_tfe
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope

import graph_compiler
from graph_compiler.errors import GraphCompilerError
from graph_compiler.frontends.tensorflow.tracing import restore_unbuilt
from graph_compiler.recording import search
from graph_compiler.recording.lock import active, is_mine
from graph_compiler.recording.patches.patch import sessions_here


class Planned(Exception): ...


# ------------------------------------------------------------------------------------- what is compared
def of_python() -> dict[str, Any]:
    loggers = {"root": logging.root, **logging.root.manager.loggerDict}
    return {
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook),
        "tracing": (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "imports": (list(sys.meta_path), list(sys.path_hooks), list(sys.path)),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), list(gc.callbacks)),
        "process": (Path.cwd(), dict(os.environ), locale.setlocale(locale.LC_ALL)),
        "decimal": repr(decimal.getcontext()),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "random": random.getstate(),
        "logging": logging.root.manager.disable,
        "recordings": (sessions_here(), active.anywhere, active.recording, is_mine()),
        **{
            f"logger {name}": (logger.level, list(logger.handlers), logger.disabled, logger.propagate)
            for name, logger in loggers.items()
            if isinstance(logger, logging.Logger)
        },
    }


def of_torch() -> dict[str, Any]:
    backends = (torch.backends.cudnn, torch.backends.mkldnn, torch.backends.opt_einsum)
    flags = ("enabled", "benchmark", "deterministic", "allow_tf32", "strategy")
    return {
        "gradients": (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_anomaly_enabled(),
            torch.autograd.forward_ad._current_level,
            torch._C._autograd._top_saved_tensors_default_hooks(True),
            torch._C._autograd._saved_tensors_hooks_get_disabled_error_message(),
        ),
        "autocast": [
            (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda")
        ],
        "autocast cache": torch.is_autocast_cache_enabled(),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            torch.is_warn_always_enabled(),
        ),
        "defaults": (
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch.get_float32_matmul_precision(),
        ),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "backends": [repr(getattr(each, flag)) for each in backends for flag in flags if hasattr(each, flag)],
        "attention": (torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()),
        "modes": (
            torch._C._len_torch_dispatch_stack(),
            torch._C._len_torch_function_stack(),
            torch._C._functorch.maybe_current_level(),
            torch._C._is_torch_function_enabled(),
            str(torch._C._dispatch_tls_local_include_set()),
            str(torch._C._dispatch_tls_local_exclude_set()),
        ),
        "tracers": (
            torch._C._get_tracing_state(),
            torch._C._get_graph_executor_optimize(),
            torch.compiler.is_compiling(),
            torch.compiler.is_exporting(),
        ),
        "hooks of all modules": {
            name: list(item)
            for name, item in vars(torch.nn.modules.module).items()
            if name.startswith("_global") and isinstance(item, dict)
        },
        "printing": dict(vars(torch._tensor_str.PRINT_OPTS)),
        "generator": torch.get_rng_state().tolist(),
    }


def of_jax() -> dict[str, Any]:
    return {
        "config": dict(jax.config.values),
        "context": config.trace_context(),
        "traces": core.trace_state_clean(),
        "mesh": repr(mesh.thread_resources.env),
        "names": repr(source_info_util.current_name_stack()),
    }


def of_numpy() -> dict[str, Any]:
    kind, keys, *rest = np.random.get_state()
    return {
        "errors": (np.geterr(), np.geterrcall(), np.getbufsize()),
        "generator": (kind, keys.tolist(), rest),
        "printing": np.get_printoptions(),
    }


def of_tensorflow() -> dict[str, Any]:
    store, own = variable_scope.get_variable_scope_store(), context.context()
    local = own._thread_local_data
    return {
        "scope": (store.current_scope, dict(vars(store.current_scope)), dict(store.variable_scopes_count)),
        "graphs": (list(ops._default_graph_stack.stack), len(ag_ctx._control_ctx())),
        "default graph": (ops._default_graph_stack._global_default_graph, ops.get_name_scope()),
        "eager": (tf.executing_eagerly(), local.scope_name, local.device_name, len(local.op_callbacks)),
        "tapes": (pywrap_tfe.TFE_Py_TapeSetIsEmpty(), pywrap_tfe.TFE_Py_TapeSetIsStopped()),
        "seed": (own._seed, own._rng.getstate() if hasattr(own, "_rng") else None),
        "keras": {name: repr(item) for name, item in vars(global_state.GLOBAL_STATE_TRACKER).items()},
        "settings of keras": (
            keras.config.floatx(),
            keras.config.epsilon(),
            keras.config.image_data_format(),
            keras.config.backend(),
            keras.config.dtype_policy(),
            keras.config.is_traceback_filtering_enabled(),
            keras.config.is_interactive_logging_enabled(),
        ),
        "settings": (
            tf.config.functions_run_eagerly(),
            tf.config.get_soft_device_placement(),
            tf.config.threading.get_inter_op_parallelism_threads(),
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.config.optimizer.get_jit(),
            tf.config.optimizer.get_experimental_options(),
            tf.config.experimental.tensor_float_32_execution_enabled(),
            tf.config.experimental.get_synchronous_execution(),
            tf.debugging.is_traceback_filtering_enabled(),
            tf.debugging.get_log_device_placement(),
            tf.distribute.has_strategy(),
        ),
    }


_PATCHED = (
    "torch", "jax", "tensorflow", "keras", "numpy", "builtins", "math", "random", "time", "os", "io", "sys", "secrets",
    "locale", "logging", "decimal", "gc", "importlib", "pathlib", "functools", "copy", "threading", "warnings",
)  # fmt: skip


def code_of_modules() -> dict[tuple[str, ...], Any]:
    """Return the modules, and the functions, classes and methods in them, by module and name."""
    found: dict[tuple[str, ...], Any] = {}
    for module, held in list(sys.modules.items()):
        if module.partition(".")[0] not in _PATCHED or not isinstance(held, ModuleType):
            continue
        found[(module,)] = held
        for name, item in list(vars(held).items()):
            if callable(item):
                found[module, name] = item
            # ``isinstance`` would read ``__class__``, which some objects compute with a warning.
            if issubclass(type(item), type) and item.__module__ == module:
                found.update(
                    {
                        (module, name, inner): each
                        for inner, each in list(vars(item).items())
                        if callable(each) or isinstance(each, (property, classmethod, staticmethod))
                    }
                )
    return found


def changed_code(before: dict[tuple[str, ...], Any]) -> list[tuple[str, ...]]:
    """Return the names whose object is another one than ``before``, and the methods that classes have gained."""
    after = code_of_modules()
    changed = [name for name, item in before.items() if after.get(name, item) is not item]
    # Modules and lazily imported names may be new.
    gained = [name for name in after if len(name) == 3 and name not in before and name[:2] in before]
    return changed + gained


STATES = (of_python, of_torch, of_jax, of_numpy, of_tensorflow)


def state() -> dict[str, Any]:
    return {f"{of.__name__}, {name}": item for of in STATES for name, item in of().items()}


def changes(before: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return what differs from ``before``, with the item before and now. Loggers may be new."""
    now = state()
    return {name: (item, now[name]) for name, item in before.items() if now[name] != item}


@dataclass(frozen=True)
class Framework:
    array: Callable[[], Any]
    to: str


FRAMEWORKS = {
    "torch": Framework(lambda: torch.arange(6.0).reshape(3, 2), "jax"),
    "jax": Framework(lambda: jnp.arange(6.0).reshape(3, 2), "torch"),
    "numpy": Framework(lambda: np.arange(6.0).reshape(3, 2), "torch"),
    "tensorflow": Framework(lambda: tf.reshape(tf.range(6.0), (3, 2)), "torch"),
}


# ---------------------------------------------------------------------- functions that leave something behind
def fail(*_: Any) -> Any:
    raise Planned


def interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


def settings_of_torch(x: Any) -> Any:
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.set_default_dtype(torch.float64)
    return fail()


def silent_settings_of_torch(x: Any) -> Any:
    torch.set_printoptions(precision=7)
    torch.set_num_threads(1 + torch.get_num_threads() % 2)
    torch.set_warn_always(not torch.is_warn_always_enabled())
    torch.autograd.set_detect_anomaly(not torch.is_anomaly_enabled())
    return x * 2


def autocast_entered(x: Any) -> Any:
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
    return fail(x @ x.mT)


def settings_of_numpy(x: Any) -> Any:
    np.seterr(all="raise")
    return fail(np.exp(x))


def print_options_of_numpy(x: Any) -> Any:
    np.set_printoptions(precision=3)
    return x * 2


def settings_of_jax(x: Any) -> Any:
    jax.config.update("jax_enable_x64", not jax.config.jax_enable_x64)
    jax.config.update("jax_debug_nans", True)
    return fail(x)


def settings_of_the_thread(x: Any) -> Any:
    config.enable_x64(not config.enable_x64.value).__enter__()
    jax.default_matmul_precision("highest").__enter__()
    jax.disable_jit().__enter__()
    return fail(x)


def settings_of_keras(x: Any) -> Any:
    keras.config.set_floatx("float64")
    return fail(x)


def settings_of_tensorflow(x: Any) -> Any:
    tf.config.set_soft_device_placement(not tf.config.get_soft_device_placement())
    tf.config.experimental.enable_tensor_float_32_execution(
        not tf.config.experimental.tensor_float_32_execution_enabled()
    )
    tf.config.optimizer.set_jit(True)
    return x * 2


def scope_entered(x: Any) -> Any:
    keras.name_scope("inside").__enter__()
    return fail(x)


def ema_of_a_variable(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.constant(row.numpy()), x)


FUNCTIONS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "torch": {
        "returns": lambda x: torch.sin(x) * 2,
        "draws": lambda x: torch.nn.functional.dropout(x) + torch.randn_like(x),
        "raises": lambda x: fail(x.sum()),
        "without gradients": torch.no_grad()(lambda x: fail(x * 2)),
        "in vmap": torch.vmap(lambda row: fail(row * 2)),
        "in a gradient": torch.func.grad(lambda y: fail(y.sum())),
        "autocast": autocast_entered,
        "settings": settings_of_torch,
        "returns, other settings": silent_settings_of_torch,
        "draws and raises": lambda x: fail(torch.randn_like(x)),
        "refused": lambda x: x.to_sparse(),
        "interrupted": lambda x: interrupt(x.sum()),
        "interrupted in vmap": torch.vmap(interrupt),
        "interrupted in a gradient": torch.func.grad(interrupt),
        "interrupted in a checkpoint": lambda x: torch.utils.checkpoint.checkpoint(
            interrupt, x, use_reentrant=False
        ),
    },
    "jax": {
        "returns": lambda x: jnp.sin(x) * 2,
        "raises": lambda x: fail(x.sum()),
        "in vmap": jax.vmap(lambda row: fail(row * 2)),
        "in jit": jax.jit(lambda y: fail(y * 2)),
        "in scan": lambda x: jax.lax.scan(lambda s, row: fail(s + row), x[0], x),
        "in a gradient": jax.grad(lambda y: fail(y.sum())),
        "in a branch": lambda x: jax.lax.cond(x.sum() > 0, fail, lambda y: y, x),
        "settings": settings_of_jax,
        "settings of the thread": settings_of_the_thread,
        "refused": lambda x: jax.pure_callback(lambda y: y, x, x),
        "interrupted": lambda x: interrupt(x.sum()),
        "interrupted in vmap": jax.vmap(interrupt),
        "interrupted in jit": jax.jit(interrupt),
        "interrupted in scan": lambda x: jax.lax.scan(interrupt, x[0], x),
        "interrupted in a gradient": jax.grad(interrupt),
        "interrupted in a branch": lambda x: jax.lax.cond(x.sum() > 0, interrupt, lambda y: y, x),
        "asks for elements": lambda x: jax.lax.map(lambda row: row * float(row[0]), x),
    },
    "numpy": {
        "returns": lambda x: np.sin(x) * 2,
        "draws": lambda x: x + np.random.normal(size=2),
        "raises": lambda x: fail(np.exp(x)),
        "draws and raises": lambda x: fail(np.random.normal(size=3)),
        "settings": settings_of_numpy,
        "returns, other settings": print_options_of_numpy,
        "refused": lambda x: x + np.random.default_rng().normal(),
        "interrupted": lambda x: interrupt(np.exp(x)),
        "interrupted in vectorize": lambda x: np.vectorize(interrupt)(x) + 1,
        "interrupted in apply_along_axis": lambda x: np.apply_along_axis(interrupt, 0, x),
    },
    "tensorflow": {
        "returns": lambda x: tf.sin(x) * 2,
        "draws": lambda x: x + tf.random.normal((3, 2)),
        "maps": lambda x: tf.map_fn(lambda row: row * 2, x),
        "raises": lambda x: fail(tf.reduce_sum(x)),
        "in map_fn": lambda x: tf.map_fn(fail, x),
        "in scan": lambda x: tf.scan(fail, x),
        "in foldl": lambda x: tf.foldl(fail, x),
        "in foldr": lambda x: tf.foldr(fail, x),
        "in a branch": lambda x: tf.cond(tf.reduce_sum(x) > 0, fail, lambda: x),
        "in while_loop": lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9, fail, (x,)),
        "in vectorized_map": lambda x: tf.vectorized_map(fail, x),
        "in a tf.function": tf.function(fail),
        "in a layer": keras.layers.Lambda(fail),
        "in a scope": scope_entered,
        "settings": settings_of_keras,
        "returns, other settings": settings_of_tensorflow,
        "refused": lambda x: tf.py_function(lambda y: y, (x,), tf.float32),
        "interrupted": lambda x: interrupt(tf.reduce_sum(x)),
        "interrupted in map_fn": lambda x: tf.map_fn(interrupt, x),
        "interrupted in a branch": lambda x: tf.cond(tf.reduce_sum(x) > 0, interrupt, lambda: x),
        "interrupted in while_loop": lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9, interrupt, (x,)),
        "interrupted in a tf.function": tf.function(interrupt),
        "interrupted in a layer": keras.layers.Lambda(interrupt),
        "asks for elements": ema_of_a_variable,
    },
}


@functools.cache
def import_all() -> None:
    """Record with every framework, which imports modules and creates state at first use."""
    torch.use_deterministic_algorithms(False)
    for framework, row in FRAMEWORKS.items():
        record(framework, "returns", framework)
        record(framework, "returns", row.to)


def use_once() -> None:
    import_all()
    tf.random.set_seed(3)
    # Keras creates some state at first use.
    keras.layers.Dense(1)(tf.ones((1, 1)))


def record(framework: str, name: str, to: str) -> None:
    """Record a function, and require that it raises what its name says."""
    function, array = FUNCTIONS[framework][name], FRAMEWORKS[framework].array()
    try:
        graph_compiler.compile(function, to=to, args=(array,), source=framework)
    except KeyboardInterrupt:
        assert "interrupted" in name
    except (Planned, GraphCompilerError, jax.errors.ConcretizationTypeError):
        assert not name.startswith(("returns", "draws", "maps", "interrupted")) or "raises" in name
    else:
        assert "interrupted" not in name


@pytest.mark.parametrize(
    ("framework", "name"), [(framework, name) for framework, rows in FUNCTIONS.items() for name in rows]
)
def test_state_is_as_before(framework: str, name: str) -> None:
    use_once()
    before = state()
    for to in (FRAMEWORKS[framework].to, framework):
        record(framework, name, to)
        assert not changes(before)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nothing_stays_patched(framework: str) -> None:
    for to in (FRAMEWORKS[framework].to, framework):
        use_once()
        before = code_of_modules()
        for name in ("returns", "raises", "refused", "interrupted"):
            record(framework, name, to)
            assert not changed_code(before)


class Interrupting(type):
    def __instancecheck__(cls, item: Any) -> bool:
        raise KeyboardInterrupt


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_interrupt_between_attempts_leaves_nothing(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_once()
    array, before, code = FRAMEWORKS[framework].array(), state(), code_of_modules()
    with monkeypatch.context() as patched:
        # The class that the result of an attempt is compared with.
        patched.setattr(search, "Refutation", Interrupting("Refutation", (), {}))
        with pytest.raises(KeyboardInterrupt):
            graph_compiler.compile(FUNCTIONS[framework]["returns"], args=(array,), source=framework)
    assert not changes(before) and not changed_code(code)


def test_an_interrupt_leaves_the_layers_of_a_model_as_they_were() -> None:
    model = keras.Sequential([keras.layers.Dense(2)])
    before = list(model._layers)
    with pytest.raises(KeyboardInterrupt), restore_unbuilt([model]):
        model._layers = [keras.layers.InputLayer((3,)), *before]
        raise KeyboardInterrupt
    assert model._layers == before


def test_variables_are_made_after_a_recording_that_failed() -> None:
    with pytest.raises(GraphCompilerError, match=r"test_process_state.py:.* needs the elements of an array"):
        graph_compiler.transpile(ema_of_a_variable, to="torch", args=(tf.ones((3, 2)),))
    variable = tf.Variable(1.0)
    average = tf.train.ExponentialMovingAverage(0.9)
    average.apply([variable])
    with tf.compat.v1.variable_scope("scope"):
        assert tf.compat.v1.get_variable("made", shape=()).shape == ()
    assert average.average(variable) is not None


class TwoReasons(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first, second)


def test_exceptions_of_the_function_keep_their_class_in_code_that_tensorflow_rewrites() -> None:
    def body(row: Any) -> Any:
        raise TwoReasons("one", "other")

    with pytest.raises(TwoReasons):
        graph_compiler.transpile(
            lambda x: tf.map_fn(body, x), to="torch", args=(tf.ones((3, 2)),), source="tensorflow"
        )
