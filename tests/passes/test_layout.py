"""Tests of the channels-last layout: which permutations remain in the graph and in regions."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from graph_compiler.ir import Graph, Region
from graph_compiler.ops import ArraySpec
from graph_compiler.ops.convolution import to_first, to_last
from graph_compiler.passes import layout

from .graphs import Recording, after, canonical, computed, ops_of, random_arrays

IMAGE = ArraySpec((2, 3, 4, 5), "float32")
POOL = {"kernel": (1, 1), "strides": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def moved(graph: Graph) -> Graph:
    return after(partial(layout, prefers=("max_pool",)), graph)


def test_one_permutation_in_and_one_out() -> None:
    graph = canonical(lambda b, x: b.max_pool(b.exp(b.max_pool(x, **POOL)), **POOL), IMAGE)
    made = moved(graph)
    assert ops_of(made) == ["permute_dims", "max_pool", "exp", "max_pool", "permute_dims"]
    assert [made.nodes[place].params["axes"] for place in (0, -1)] == [to_last(4), to_first(4)]
    arrays = random_arrays(graph)
    np.testing.assert_array_equal(computed(made, *arrays), computed(graph, *arrays))


def test_nothing_changes_where_nothing_prefers_it() -> None:
    graph = canonical(lambda b, x: b.exp(x), IMAGE)
    assert moved(graph) is graph


def test_regions_take_and_give_channels_first() -> None:
    def write(b: Any, x: Any) -> Any:
        return b.max_pool(x, **POOL)

    body, made = canonical(write, IMAGE).block, Recording()
    result = made.call("loop", made.input("x", IMAGE))
    made.graph.nodes = [dataclasses.replace(made.graph.nodes[0], regions=(Region("body", body, {}),))]
    inner = moved(made.returning(result)).nodes[0].regions[0].block
    assert ops_of(inner) == ["permute_dims", "max_pool", "permute_dims"]
    assert inner.inputs == body.inputs and [value.spec.hints for value in inner.outputs] == [(2, 3, 4, 5)]
