"""Tests of code that queries whether it is traced: a graph gives the result of the untraced code, or an
error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.core import Tracer  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import TracingError  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

_ARRAY = type(jnp.ones(()))
# Old versions of JAX define the attribute, newer ones create it on access.
_IS_HELD = "is_concrete" in vars(jax.core)
_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def _asks(x: Any) -> Any:
    return x * 2 if isinstance(x, jax.core.Tracer) or issubclass(x.__class__, np.ndarray) else x * 3


def _asks_by_another_name(x: Any) -> Any:
    return x * 2 if isinstance(x + 1, (int, Tracer)) else x * 3


def _asks_in_a_transformation(x: Any) -> Any:
    def inner(row: Any) -> Any:
        return (row * 5 if isinstance(row, jax.core.Tracer) else row * 3).sum()

    return jax.vmap(inner)(x) + inner(x) + jax.grad(inner)(x)[:, 0]


def _asks_for_the_class(x: Any) -> Any:
    def inner(row: Any) -> Any:
        return row * (5 if type(row) is type(x) else 3)

    return x * len(f"{type(x).__name__} {type(x.shape[0]).__name__}") * (type(x + 1) is _ARRAY) + jax.vmap(
        inner
    )(x)


def _asks_whether_it_is_concrete(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return x * (2 if jax.core.is_concrete(x) else 3) + jax.vmap(
            lambda row: row * (5 if jax.core.is_concrete(row) else 3)
        )(x)


def _catches_in_a_transformation(x: Any) -> Any:
    def inner(row: Any) -> Any:
        try:
            return row * 2 if row.sum() > 0 else row * 3
        except jax.errors.TracerBoolConversionError:
            return row * 7

    return jax.jit(inner)(x) + jax.vmap(inner)(x)


def _counts(x: Any) -> Any:
    # JAX itself catches the error.
    return jax.lax.fori_loop(0, jnp.sum(x > -100) // x.size, lambda step, held: held * 2, x)


@pytest.mark.parametrize("to", ["jax", "numpy"])
@pytest.mark.parametrize(
    "function",
    [
        _asks,
        _asks_by_another_name,
        _asks_for_the_class,
        _asks_whether_it_is_concrete,
        _asks_in_a_transformation,
        _catches_in_a_transformation,
        _counts,
    ],
)
def test_a_graph_is_of_the_code_that_runs_untraced(function: Callable[[Any], Any], to: str) -> None:
    compiled = graph_compiler.compile(function, to=to, args=(jnp.ones((2, 3)),))
    for x in (jnp.arange(6.0).reshape(2, 3), -jnp.ones((4, 3))):
        assert_same(np.asarray(compiled(x)), np.asarray(function(x)))
    assert jax.core.Tracer is Tracer and ("is_concrete" in vars(jax.core)) == _IS_HELD


@pytest.mark.parametrize("ask", [lambda x: np.asarray(x)[0], lambda x: x[x > 0].sum()])
def test_code_that_handles_the_error_about_elements_is_refused(ask: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        try:
            return x * ask(x)
        except _ERRORS:
            return x * 9

    with pytest.raises(TracingError, match=r"test_tracers.py:\d+: function needs the elements of an array"):
        graph_compiler.compile(function, args=(jnp.ones((2, 3)),))


def test_the_class_of_a_key_is_not_known() -> None:
    with pytest.raises(TracingError, match=r"test_tracers.py:\d+: the class of a key"):
        graph_compiler.compile(
            lambda key: jax.random.uniform(key) * len(type(key).__name__), args=(jax.random.key(0),)
        )


def test_another_thread_is_refused() -> None:
    def function(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: x * 2).result() + 1

    with pytest.raises(
        TracingError, match=r"test_tracers.py:\d+: function computes with its arrays in another"
    ):
        graph_compiler.compile(function, args=(jnp.ones(2),))
