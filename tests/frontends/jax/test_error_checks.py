"""Tests of patterns of JAX libraries: error checks by callbacks into Python, and custom rules with objects as
arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import graph_compiler
from graph_compiler.errors import GuardFailed, UnsupportedOperation
from tests.support.compare import assert_same


def _raise(x: Any) -> Any:
    raise ValueError("negative")


@jax.custom_jvp
def _checked(x: Any, fails: Any) -> Any:
    """Return ``x``, or raise in Python by a callback, as libraries do to check values in compiled programs."""
    struct = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return lax.cond(fails, lambda x: jax.pure_callback(_raise, struct, x), lambda x: x, x)


@_checked.defjvp
def _checked_jvp(primals: Any, tangents: Any) -> Any:
    return _checked(*primals), tangents[0]


def straight(x):
    x = _checked(x, (x < 0).any())
    return jnp.sqrt(x) * x.sum()


def without_rule(x):
    struct = jax.ShapeDtypeStruct(x.shape, x.dtype)
    x = lax.cond((x < 0).any(), lambda x: jax.pure_callback(_raise, struct, x) * 2, lambda x: x + 1, x)
    return x * 3


def chosen(x):
    struct = jax.ShapeDtypeStruct(x.shape, x.dtype)
    fails = lambda x: jax.pure_callback(_raise, struct, x)  # noqa: E731
    return lax.switch(1 + (x < 0).any().astype(int), [fails, lambda x: x * 2, fails], x)


def in_scan(x):
    def step(total, row):
        return total + _checked(row, row < 0), total

    return lax.scan(step, x[0] * 0, x)


def in_while(x):
    def step(state):
        count, x = state
        return count + 1, _checked(x, (x < 0).any()) * 1.5

    return lax.while_loop(lambda state: (state[0] < 5) & (state[1].sum() < 40), step, (0, x))[1]


CHECKS = [straight, without_rule, chosen, in_scan, in_while]
GIVEN, OTHER, WRONG = (
    np.array([1.0, 2.0, 0.5], "float32"),
    np.array([4.0, 0.5, 3.0, 2.0], "float32"),
    np.array([1.0, -1.0, 2.0], "float32"),
)


@pytest.mark.parametrize("to", ["torch", "tensorflow", "numpy", "jax"])
@pytest.mark.parametrize("function", CHECKS, ids=lambda function: function.__name__)
def test_a_branch_that_only_raises_is_a_guard(function: Callable[[Any], Any], to: str) -> None:
    graph = graph_compiler.transpile(function, source="jax", to=to, args=(jnp.asarray(GIVEN),))
    convert: Any = {"torch": torch.from_numpy, "jax": jnp.asarray}.get(to, lambda x: x)
    for x in (GIVEN, OTHER):
        assert_same(graph(convert(x)), function(jnp.asarray(x)))
    # JAX runs the call back into Python itself, and wraps what it raises.
    with pytest.raises(
        (jax.errors.JaxRuntimeError, ValueError) if to == "jax" else GuardFailed,
        match="negative"
        if to == "jax"
        else r"(?s)test_error_checks.py:\d+ raises \w+ for this call: .*negative",
    ):
        np.asarray(jax.tree.leaves(graph(convert(WRONG)))[0])


def test_a_check_of_a_library_fails_with_its_text() -> None:
    equinox = pytest.importorskip("equinox")

    def function(x):
        return jnp.sqrt(equinox.error_if(x, (x < 0).any(), "roots of negative numbers"))

    graph = graph_compiler.transpile(function, source="jax", to="numpy", args=(jnp.asarray(GIVEN),))
    assert_same(graph(OTHER), function(jnp.asarray(OTHER)))
    with pytest.raises(GuardFailed, match=r"(?s)test_error_checks.py:\d+ raises .*roots of negative numbers"):
        graph(WRONG)
    assert_same(graph(GIVEN), function(jnp.asarray(GIVEN)))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("function", [straight, in_scan], ids=lambda function: function.__name__)
def test_gradients_go_through_a_check(function: Callable[[Any], Any]) -> None:
    def total(x):
        return sum(part.sum() for part in jax.tree.leaves(function(x)))

    graph = graph_compiler.transpile(total, source="jax", to="torch", args=(jnp.asarray(GIVEN),))
    x = torch.from_numpy(OTHER).requires_grad_()
    graph(x).backward()
    assert_same(x.grad, jax.grad(total)(jnp.asarray(OTHER)))


def test_a_branch_with_a_call_back_and_a_literal_is_no_check() -> None:
    def function(x):
        doubled = lambda x: (jax.pure_callback(lambda x: np.asarray(x) * 2, x, x), 2.0)  # noqa: E731
        return lax.cond(x.sum() > 4, doubled, lambda x: (x + 1, 1.0), x)

    graph = graph_compiler.compile(function, source="jax", to="jax", args=(jnp.asarray(GIVEN),))
    for x in (GIVEN, OTHER):
        assert_same(graph(jnp.asarray(x)), function(jnp.asarray(x)))
    with pytest.raises(UnsupportedOperation, match="pure_callback"):
        graph.to("torch")


def test_results_of_a_call_back_have_the_sizes_of_the_call() -> None:
    def function(x):
        return (
            jax.pure_callback(lambda x: np.sin(np.asarray(x)), jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2
        )

    graph = graph_compiler.transpile(function, source="jax", to="jax", args=(jnp.asarray(GIVEN),))
    assert_same(graph(jnp.asarray(OTHER)), function(jnp.asarray(OTHER)))
    assert len(graph.variants) == 1


def test_a_branch_depends_on_the_platform_of_the_target() -> None:
    def function(x):
        return lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1)

    graph = graph_compiler.transpile(function, source="jax", to="torch", args=(jnp.asarray(GIVEN),))
    assert_same(graph(torch.from_numpy(OTHER)), OTHER + 1)


# ------------------------------------------------------------------------------------- rules
@jax.tree_util.register_pytree_node_class
class Interval:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def tree_flatten(self) -> Any:
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, _: Any, parts: Any) -> Any:
        return cls(*parts)


class _Held(NamedTuple):
    interval: Any
    factor: Any


@jax.custom_jvp
def _width(held: _Held) -> Any:
    return (held.interval.high - held.interval.low) * held.factor


@_width.defjvp
def _width_jvp(primals: Any, tangents: Any) -> Any:
    (held,), (tangent,) = primals, tangents
    return _width(held), 3 * _width(_Held(tangent.interval, held.factor))


@jax.custom_jvp
def _doubled(x: Any) -> Any:
    return x * 2


@_doubled.defjvp
def _doubled_jvp(primals: Any, tangents: Any) -> Any:
    return _doubled(*primals), 5 * tangents[0]


@jax.custom_jvp
def _squared(x: Any) -> Any:
    return x * x


@_squared.defjvp
def _squared_jvp(primals: Any, tangents: Any) -> Any:
    return _squared(*primals), 7 * tangents[0]


@jax.custom_jvp
def _scaled(x: Any, scale: Any) -> Any:
    return x * scale


def _scaled_jvp(primals: Any, tangents: Any) -> Any:
    """The rule accepts only a scale whose tangent is a symbolic zero."""
    assert type(tangents[1]) is jax.custom_derivatives.SymbolicZero
    return _scaled(*primals), tangents[0] * 11


_scaled.defjvp(_scaled_jvp, symbolic_zeros=True)


def objects_with_arrays(x):
    return _width(_Held(Interval(x, x * x), 2.0)) + 1


def two_rules_in_two_bodies(x):
    first = lax.fori_loop(0, 3, lambda _, x: _doubled(x) + 1, x)
    return lax.fori_loop(0, 2, lambda _, x: _squared(x) - 1, first * 0.1)


def stopped(x):
    return _scaled(x, lax.stop_gradient(jnp.exp(x) + 1))


def of_constants(x):
    return _scaled(x, jnp.arange(1.0, 2.0) + 1)


@jax.custom_vjp
def _repeated(x: Any, count: Any) -> Any:
    return lax.while_loop(lambda state: state[0] < count, lambda state: (state[0] + 1, state[1] * 2), (0, x))[
        1
    ]


def _repeated_forward(x: Any, count: Any) -> Any:
    out = _repeated(x, count)
    return out, (x, out)


_repeated.defvjp(_repeated_forward, lambda held, cotangent: (cotangent * held[0] + held[1], None))


def result_that_is_an_operand(x):
    return _repeated(x, jnp.sum(x > 100)) * x


RULES = [objects_with_arrays, two_rules_in_two_bodies, stopped, of_constants, result_that_is_an_operand]


@pytest.mark.parametrize("to", ["jax", "torch"])
@pytest.mark.parametrize("function", RULES, ids=lambda function: function.__name__)
def test_rules_of_libraries(function: Callable[[Any], Any], to: str) -> None:
    graph = graph_compiler.transpile(function, source="jax", to=to, args=(jnp.asarray(GIVEN),))
    wanted, gradient = function(jnp.asarray(OTHER)), jax.grad(lambda x: function(x).sum())(jnp.asarray(OTHER))
    if to == "jax":
        assert_same(graph(jnp.asarray(OTHER)), wanted)
        assert_same(jax.grad(lambda x: graph(x).sum())(jnp.asarray(OTHER)), gradient)
        return
    x = torch.from_numpy(OTHER).requires_grad_()
    found = graph(x)
    found.sum().backward()
    assert_same(found, wanted)
    assert_same(x.grad, gradient)
