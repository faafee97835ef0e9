"""Tests of the code generated for ``lax.associative_scan``, and of lengths at which there is nothing to
combine.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graph_compiler
from tests.support.compare import assert_same

from .associative import products, recurrence, sums
from .running import TARGETS, native
from .table import floats


@pytest.mark.parametrize("first", [0, 1, 4])
@pytest.mark.parametrize("to", TARGETS)
def test_of_no_element_and_of_one(to: str, first: int) -> None:
    graph = graph_compiler.compile(sums, to=to, source="jax", args=(jnp.asarray(floats(first, 3)),))
    for count in (0, 1, 2, 5):
        args = (jnp.asarray(floats(count, 3)),)
        assert_same(graph(*native(args, to)), sums(*args))
    assert len(graph.variants) == 1, graph.explain()


def test_jax_to_jax_is_the_same_call() -> None:
    source = graph_compiler.compile(
        products, to="jax", source="jax", args=(jnp.asarray(floats(4, 3)),)
    ).source
    assert "lax.associative_scan(lambda left, right: left @ right, " in source


def test_pairs_are_functions_of_tuples() -> None:
    source = graph_compiler.compile(
        recurrence, to="jax", source="jax", args=(jnp.ones((4, 2)), jnp.ones((4, 2)))
    ).source
    assert "left, left_1 = " in source and "lax.associative_scan(combine, (a, b))" in source


def test_unknown_lengths_are_doubled() -> None:
    """JAX's order of combination needs the length, which is unknown in ``tf.function``."""
    tf = pytest.importorskip("tensorflow")
    graph = graph_compiler.compile(products, to="tensorflow", source="jax", args=(jnp.asarray(floats(4, 3)),))
    traced = tf.function(
        lambda x: graph.functional(graph.parameters, x),
        input_signature=[tf.TensorSpec([None, None])],
        autograph=False,
    )
    for count in (0, 1, 2, 3, 4, 9, 33):
        x = floats(count, 2)
        np.testing.assert_allclose(traced(tf.constant(x)), products(jnp.asarray(x)), rtol=1e-3, atol=1e-4)


def test_a_result_of_another_type_is_jax_s_own_error() -> None:
    with pytest.raises(TypeError, match="shape"):
        graph_compiler.compile(
            lambda x: lax.associative_scan(lambda a, b: (a + b)[:, :1], x),
            to="numpy",
            source="jax",
            args=(jnp.ones((4, 3)),),
        )
