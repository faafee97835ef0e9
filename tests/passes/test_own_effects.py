"""Tests of effects: a value that is written back is copied if an earlier write changes its storage."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from graph_compiler.ir import Effect, Graph
from graph_compiler.passes import copy_overwritten

from .graphs import SPEC, after, canonical, computed, ops_of

VIEWS = frozenset({"reshape", "permute_dims"})
own = partial(copy_overwritten, views=VIEWS)


def _writing(graph: Graph, *effects: tuple[int, Any]) -> Graph:
    graph.effects += [Effect("argument", place, value) for place, value in effects]
    return graph


def test_two_arguments_are_swapped() -> None:
    graph = canonical(lambda b, x, y: (x, y), SPEC, SPEC)
    x, y = graph.inputs
    swapped = after(own, _writing(graph, (0, y), (1, x)))
    # Nothing is written before this effect.
    assert swapped.effects[0].value is y
    copied = [swapped.maker(value) for value in (swapped.effects[1].value, *swapped.outputs)]
    assert [(node.op, *node.inputs) for node in copied if node] == [("copy", x), ("copy", x), ("copy", y)]


def test_a_view_of_what_is_overwritten_is_copied() -> None:
    graph = canonical(lambda b, x, y: (b.permute_dims(x, axes=(1, 0)), b.exp(x)), SPEC, SPEC)
    turned, computed_before = graph.outputs
    owned = after(own, _writing(graph, (0, computed_before)))
    assert ops_of(owned) == ["permute_dims", "exp", "copy"]
    assert owned.outputs[0] is not turned and owned.outputs[1] is computed_before
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for result, same in zip(computed(owned, x, x), (x.T, np.exp(x))):
        np.testing.assert_allclose(result, same, rtol=1e-6)


@pytest.mark.parametrize("place", [0, 1])
def test_what_no_write_reaches_stays(place: int) -> None:
    graph = canonical(lambda b, x, y: b.exp(x), SPEC, SPEC)
    assert after(own, _writing(graph, (place, graph.outputs[0]))) is graph
