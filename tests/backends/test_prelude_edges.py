"""Tests of helpers of the preludes with operands that have no elements or no axes, or have equal elements."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

# Framework -> module of its ``grouped_matmul``, and name of the function that makes an array.
GROUPED = {
    "torch": ("torch.prelude.nn", "tensor"),
    "tensorflow": ("tensorflow.prelude.nn", "constant"),
    "numpy": ("numpy.prelude.linear_algebra", "asarray"),
}


@pytest.mark.parametrize("name", GROUPED)
def test_without_groups_all_rows_are_zero(name: str) -> None:
    module, make = GROUPED[name]
    array: Any = getattr(pytest.importorskip(name), make)
    helper = importlib.import_module(f"graph_compiler.backends.{module}").grouped_matmul
    for groups, offsets in ((np.ones((0, 3, 5)), []), (np.ones((2, 3, 5)), [0, 0])):
        found = helper(array(np.ones((4, 3))), array(groups), array(np.array(offsets, np.int32)))
        np.testing.assert_array_equal(np.asarray(found), np.zeros((4, 5)))


def test_an_update_of_an_array_without_axes_replaces_it() -> None:
    tf = pytest.importorskip("tensorflow")
    helper = importlib.import_module("graph_compiler.backends.tensorflow.prelude.arrays").dynamic_update_slice
    assert float(helper(tf.constant(1.0), tf.constant(2.0), [])) == 2.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_zeros_of_both_signs_keep_their_order_in_a_sort(dtype: str, compiled: bool) -> None:
    tf = pytest.importorskip("tensorflow")
    helper = importlib.import_module("graph_compiler.backends.tensorflow.prelude.arrays").argsort
    argsort = tf.function(helper, jit_compile=True) if compiled else helper
    x = tf.constant([0.0, -0.0, 1.0, -0.0, -1.0, float("nan")], dtype)
    assert argsort(x).numpy().tolist() == [4, 0, 1, 3, 2, 5]


def test_the_mantissa_of_the_largest_numbers() -> None:
    tf = pytest.importorskip("tensorflow")
    helper = importlib.import_module("graph_compiler.backends.tensorflow.prelude.elementwise").frexp
    x = np.array([1.7e308, -(2.0**1023), 2.0**1022, 2.0**-1022, 0.75, 0.0])
    for found, right in zip(helper(tf.constant(x)), np.frexp(x)):
        np.testing.assert_array_equal(found.numpy(), right)


@pytest.mark.parametrize("upper", [False, True])
def test_nearly_singular_matrices_have_a_cholesky_factor_or_an_order(upper: bool) -> None:
    helper = importlib.import_module("graph_compiler.backends.numpy.prelude.linear_algebra").cholesky_ex
    draw = np.random.default_rng(0)
    for half in draw.standard_normal((300, 2, 4, 3), np.float32):
        factors, orders = helper(half @ half.mT, upper=upper)
        assert np.isnan(factors).any((1, 2)).tolist() == (orders != 0).tolist()
