"""Tests of primitives of other packages, of callbacks without results, and of branches by platform."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

import graph_compiler
from tests.support.compare import assert_same

from .test_samples import TARGETS, plain

# A primitive with the name of one of JAX's own, but without its parameters.
solve_p = Primitive("linear_solve")
solve_p.multiple_results = True
solve_p.def_abstract_eval(lambda x, *, by: [x])
mean_p = Primitive("mean_of_rows")
mean_p.def_abstract_eval(lambda x: jax.core.ShapedArray(x.shape[1:], x.dtype))


@solve_p.def_impl
def _solve(x: Any, *, by: float) -> Any:
    return [jnp.where(x > 0, x, -x) / by]


@mean_p.def_impl
def _mean(x: Any) -> Any:
    return jnp.sum(x, axis=0) / x.shape[0]


mlir.register_lowering(solve_p, mlir.lower_fun(_solve, multiple_results=True))
mlir.register_lowering(mean_p, mlir.lower_fun(_mean, multiple_results=False))
ad.primitive_jvps[solve_p] = lambda primals, tangents, *, by: (
    solve_p.bind(*primals, by=by),
    [tangents[0] * 7.0],
)
batching.primitive_batchers[solve_p] = lambda args, axes, *, by: (solve_p.bind(*args, by=by), list(axes))


def solved(x):
    return solve_p.bind(x, by=2.0)[0]


def averaged(x):
    return mean_p.bind(x) + 1


def told(x):
    jax.debug.callback(lambda _: None, x)
    return x * 2


FUNCTIONS: dict[str, Any] = {
    "another package's": solved,
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda _, y: solved(y) + 1, x),
    "under vmap": jax.vmap(solved),
    "without derivatives": averaged,
    "debug callback": told,
    "platform": lambda x: jax.lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_primitives_that_have_no_row(name: str, to: str) -> None:
    function = FUNCTIONS[name]
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.ones((2, 3)),))
    for x in (jnp.array([[0.5, -1.0, 2.0], [3.0, 4.0, -5.0]]), jnp.arange(8.0).reshape(2, 4) - 3):
        assert_same(graph(*plain((x,), to)), function(x))


def test_the_rule_of_a_primitive_of_another_package() -> None:
    graph = graph_compiler.compile(solved, to="torch", source="jax", args=(jnp.ones(3),))
    x = torch.tensor([1.0, -2.0, 3.0, 4.0], requires_grad=True)
    graph(x).sum().backward()
    np.testing.assert_array_equal(x.grad, np.full(4, 7.0))
