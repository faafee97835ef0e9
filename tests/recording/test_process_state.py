"""Tests that a recording restores the frameworks' state of thread and process, whether the function returns
or raises.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from jax._src import core
from keras.src.backend.common import global_state
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope

import graph_compiler
from graph_compiler.errors import GraphCompilerError


class Planned(Exception): ...


# ------------------------------------------------------------------------------------- what is compared
def of_torch() -> dict[str, Any]:
    return {
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        "defaults": (
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch.get_float32_matmul_precision(),
        ),
        "modes": (
            torch._C._len_torch_dispatch_stack(),
            torch._C._len_torch_function_stack(),
            torch._C._functorch.maybe_current_level(),
        ),
        "generator": torch.get_rng_state().tolist(),
    }


def of_jax() -> dict[str, Any]:
    return {
        "config": dict(jax.config.values),
        "x64": jax.config.jax_enable_x64,
        "traces": core.trace_state_clean(),
    }


def of_numpy() -> dict[str, Any]:
    kind, keys, *rest = np.random.get_state()
    return {"errors": np.geterr(), "generator": (kind, keys.tolist(), rest), "python": random.getstate()}


def of_tensorflow() -> dict[str, Any]:
    store, own = variable_scope.get_variable_scope_store(), context.context()
    local = own._thread_local_data
    return {
        "scope": (store.current_scope, dict(vars(store.current_scope)), dict(store.variable_scopes_count)),
        "graphs": (list(ops._default_graph_stack.stack), len(ag_ctx._control_ctx())),
        "eager": (tf.executing_eagerly(), local.scope_name, local.device_name, len(local.op_callbacks)),
        "seed": (own._seed, own._rng.getstate() if hasattr(own, "_rng") else None),
        "keras": {name: repr(item) for name, item in vars(global_state.GLOBAL_STATE_TRACKER).items()},
        "settings": (
            keras.config.floatx(),
            keras.config.epsilon(),
            keras.config.image_data_format(),
            tf.config.functions_run_eagerly(),
        ),
    }


@dataclass(frozen=True)
class Framework:
    state: Callable[[], dict[str, Any]]
    array: Callable[[], Any]
    to: str


FRAMEWORKS = {
    "torch": Framework(of_torch, lambda: torch.arange(6.0).reshape(3, 2), "jax"),
    "jax": Framework(of_jax, lambda: jnp.arange(6.0).reshape(3, 2), "torch"),
    "numpy": Framework(of_numpy, lambda: np.arange(6.0).reshape(3, 2), "torch"),
    "tensorflow": Framework(of_tensorflow, lambda: tf.reshape(tf.range(6.0), (3, 2)), "torch"),
}


# ---------------------------------------------------------------------- functions that leave something behind
def fail(*_: Any) -> Any:
    raise Planned


def settings_of_torch(x: Any) -> Any:
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.set_default_dtype(torch.float64)
    return fail()


def autocast_entered(x: Any) -> Any:
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
    return fail(x @ x.mT)


def settings_of_numpy(x: Any) -> Any:
    np.seterr(all="raise")
    return fail(np.exp(x))


def settings_of_jax(x: Any) -> Any:
    jax.config.update("jax_enable_x64", not jax.config.jax_enable_x64)
    jax.config.update("jax_debug_nans", True)
    return fail(x)


def settings_of_keras(x: Any) -> Any:
    keras.config.set_floatx("float64")
    return fail(x)


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
        "draws and raises": lambda x: fail(torch.randn_like(x)),
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
        "asks for elements": lambda x: jax.lax.map(lambda row: row * float(row[0]), x),
    },
    "numpy": {
        "returns": lambda x: np.sin(x) * 2,
        "draws": lambda x: x + np.random.normal(size=2),
        "raises": lambda x: fail(np.exp(x)),
        "draws and raises": lambda x: fail(np.random.normal(size=3)),
        "settings": settings_of_numpy,
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
        "asks for elements": ema_of_a_variable,
    },
}


@pytest.mark.parametrize(
    ("framework", "name"), [(framework, name) for framework, rows in FUNCTIONS.items() for name in rows]
)
def test_state_is_as_before(framework: str, name: str) -> None:
    one, own = FRAMEWORKS[framework], FRAMEWORKS[framework].to
    tf.random.set_seed(3)
    # Keras creates some state at first use.
    keras.layers.Dense(1)(tf.ones((1, 1)))
    array, before = one.array(), one.state()
    for to in (own, framework):
        try:
            graph_compiler.compile(FUNCTIONS[framework][name], to=to, args=(array,), source=framework)
        except (Planned, GraphCompilerError, jax.errors.ConcretizationTypeError):
            assert name not in ("returns", "draws", "maps")
        assert one.state() == before


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
