"""Tests of the layout of arrays: which permutations remain in the graph and in regions."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest

from graph_compiler.ir import Graph, Region
from graph_compiler.ops import ArraySpec
from graph_compiler.ops.convolution import to_first, to_last
from graph_compiler.passes import layout
from graph_compiler.passes.lowering.layout import FIRST

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


# ------------------------------------------------------------------------------------- to channels first
PHOTO = ArraySpec((2, 4, 6, 3), "float32")
SIGNAL = ArraySpec((2, 4, 3), "float32")
LAST = {**POOL, "layout": "channels_last"}
ALONG = {**{name: value[:1] for name, value in POOL.items()}, "layout": "channels_last"}


def between(write: Any, spec: ArraySpec = PHOTO, params: Any = LAST) -> Graph:
    """Return a graph of ``write`` between two operations on channels-last arrays."""

    def whole(b: Any, x: Any) -> Any:
        result = write(b, b.max_pool(x, **params))
        return b.max_pool(result, **params) if result.ndim == x.ndim else result

    return canonical(whole, spec)


# Each row: what is between the operations, and how many permutations remain.
TO_FIRST: dict[str, tuple[Any, int]] = {
    "elements": (lambda b, x: b.exp(x), 2),
    "an array along the channels": (
        lambda b, x: b.add(x, b.arange(start=0, stop=3, step=1, dtype="float32")),
        2,
    ),
    "an array along an axis of space": (
        lambda b, x: b.multiply(
            x, b.reshape(b.arange(start=0, stop=4, step=1, dtype="float32"), shape=(4, 1, 1))
        ),
        2,
    ),
    "channels joined": (lambda b, x: b.concat(x, b.exp(x), axis=3), 2),
    "padding": (lambda b, x: b.pad(x, padding=((0, 0), (1, 2), (0, 3), (0, 0)), value=0.0), 2),
    "a part": (
        lambda b, x: b.getitem(x, key=((None, None, 1), (1, 3, 1), (None, None, 2), (None, None, 1))),
        2,
    ),
    "a mean over space": (lambda b, x: b.mean(x, axis=(1, 2), keepdims=False), 1),
    "a mean over channels": (lambda b, x: b.mean(x, axis=-1, keepdims=True), 2),
    "an axis of space inserted": (
        lambda b, x: b.sum(b.reshape(x, shape=(*x.shape[:3], 1, x.shape[3])), axis=3, keepdims=False),
        2,
    ),
    "an axis after the channels inserted": (
        lambda b, x: b.sum(b.reshape(x, shape=(*x.shape, 1)), axis=4, keepdims=False),
        4,
    ),
    "rows flattened": (
        lambda b, x: b.reshape(x, shape=(x.shape[0], x.shape[1] * x.shape[2] * x.shape[3])),
        2,
    ),
}


@pytest.mark.parametrize("name", TO_FIRST)
def test_channels_first(name: str) -> None:
    write, count = TO_FIRST[name]
    graph = between(write)
    made = after(partial(layout, prefers=("max_pool",), preferred=FIRST), graph)
    assert ops_of(made).count("permute_dims") == count, made
    assert all(node.params.get("layout", "channels_first") == "channels_first" for node in made.nodes)
    arrays = random_arrays(graph)
    np.testing.assert_allclose(computed(made, *arrays), computed(graph, *arrays), rtol=1e-6)


def test_channels_first_of_signals() -> None:
    graph = between(
        lambda b, x: b.add(b.exp(x), b.arange(start=0, stop=3, step=1, dtype="float32")), SIGNAL, ALONG
    )
    made = after(partial(layout, prefers=("max_pool",), preferred=FIRST), graph)
    assert ops_of(made).count("permute_dims") == 2, made
    arrays = random_arrays(graph)
    np.testing.assert_array_equal(computed(made, *arrays), computed(graph, *arrays))
