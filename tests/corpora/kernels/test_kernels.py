"""Tests of kernels in NumPy and inside ``jax.jit``: results and written arguments are those of the original."""

from __future__ import annotations

import copy

import pytest

from tests.support.compare import assert_same_leaves

from .running import arrays_of, of_arrays, pure, transpiled
from .table import KERNELS

RECORDED, OTHER = 6, 9
SEVERAL = {"floyd_warshall": 2, "folded_pairs": 2, "mandelbrot": 2}
"""How many variants the two sizes take, where one does not serve both."""


@pytest.mark.parametrize("name", KERNELS)
def test_in_numpy(name: str) -> None:
    kernel = KERNELS[name]
    graph = transpiled(kernel.function, kernel.at(RECORDED), "numpy")
    for size in (RECORDED, OTHER):
        given, originals = kernel.at(size), kernel.at(size)
        assert_same_leaves((graph(*given), given), (kernel.function(*originals), originals), f"of {size}")
    assert len(graph.variants) <= SEVERAL.get(name, 1), graph.explain()


@pytest.mark.parametrize("name", KERNELS)
def test_inside_of_jit(name: str) -> None:
    jax = pytest.importorskip("jax")
    kernel = KERNELS[name]
    graph = transpiled(kernel.function, kernel.at(RECORDED), "jax")
    for size in (RECORDED, OTHER):
        arguments = kernel.at(size)
        wanted = kernel.function(*copy.deepcopy(arguments))
        graph = (
            transpiled(kernel.function, arguments, "jax") if size != RECORDED and name in SEVERAL else graph
        )
        compiled = jax.jit(of_arrays(pure(graph, kernel), arguments))
        assert_same_leaves(compiled(*arrays_of(arguments)), wanted, f"of {size}")
        assert_same_leaves(
            jax.jit(of_arrays(kernel.by_hand, arguments))(*arrays_of(arguments)),
            wanted,
            f"of {size}, by hand",
        )
