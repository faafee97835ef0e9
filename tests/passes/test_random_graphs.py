"""Property tests of passes on random straight-line graphs: results stay the same, and the given graph is
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from graph_compiler.backends import numpy as numpy_backend
from graph_compiler.ir import Builder, Graph, Value
from graph_compiler.ops import ArraySpec, all_ops
from graph_compiler.ops.convolution import to_first, to_last
from graph_compiler.passes import (
    constant_folding,
    conv1x1_to_linear,
    cse,
    dce,
    decompose,
    drop_snapshots,
    fill_parts,
    kernel_layout,
    layout,
    pad_dynamic_sizes,
    simplify_guards,
)

from .graphs import after, canonical, computed, random_arrays
from .test_decompose import Rows

IMAGE = ArraySpec((2, 3, 4, 5), "float32")
POOL = {"kernel": (1, 1), "strides": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}
WITHOUT = {"hard_swish", "relu6", "hard_tanh"}

# one step: the builder, two values of the graph so far -> a new value
Step = Callable[[Builder, Value, Value], Any]
STEPS: dict[str, Step] = {
    "negative": lambda b, x, y: b.negative(x),
    "hard_swish": lambda b, x, y: b.hard_swish(x),
    "square": lambda b, x, y: b.square(x),
    "number": lambda b, x, y: b.multiply(x, 0.5),
    "add": lambda b, x, y: b.add(x, y) if fits(x, y) else b.add(x, 1.0),
    "maximum": lambda b, x, y: b.maximum(x, y) if fits(x, y) else b.maximum(x, 0.0),
    "where": lambda b, x, y: b.where(b.greater(x, 0.0), x, y if fits(x, y) else 0.0),
    "sum": lambda b, x, y: b.sum(x, axis=(x.ndim - 1,), keepdims=True),
    "last": lambda b, x, y: b.permute_dims(x, axes=to_last(4)),
    "first": lambda b, x, y: b.permute_dims(x, axes=to_first(4)),
    "pool": lambda b, x, y: b.max_pool(x, **POOL),
    "conv": lambda b, x, y: (
        b.conv(
            x, table(b, (2, x.spec.hints[1], 1, 1)), strides=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1)
        )
        if isinstance(x.shape[1], int)
        else b.abs(x)
    ),
    "table": lambda b, x, y: (
        b.multiply(x, b.exp(table(b, (x.spec.hints[-1],))))
        if isinstance(x.shape[-1], int)
        else b.exp(table(b, (1, 1, 2, 5)))
    ),
    "filled": lambda b, x, y: b.add(x, b.reshape(table(b, (1, 1)), shape=(1, 1, 1, 1))),
    "found": lambda b, x, y: b.multiply(x, b.sum(b.boolean_mask(x, b.greater(x, 0.5), axis=0, hint=2))),
}


def fits(x: Value, y: Value) -> bool:
    return x.shape == y.shape


def table(b: Builder, shape: tuple[int, ...]) -> Value:
    made: Value = b.full(shape=shape, fill_value=0.25, dtype="float32")
    return made


def numbers(graph: Graph, *arrays: Any) -> list[Any]:
    return computed(decompose(graph, numpy_backend.rows)[0], *arrays)


PASSES: dict[str, Callable[[Graph], tuple[Graph, bool]]] = {
    "dce": dce,
    "cse": cse,
    "decompose": partial(decompose, rows=Rows(all_ops().keys() - WITHOUT)),
    "pad_dynamic_sizes": pad_dynamic_sizes,
    "kernel_layout": kernel_layout,
    "layout": partial(layout, prefers=("max_pool", "conv")),
    "conv1x1_to_linear": conv1x1_to_linear,
    "constant_folding": partial(constant_folding, evaluate=numbers),
    "drop_snapshots": drop_snapshots,
    "fill_parts": fill_parts,
    "simplify_guards": simplify_guards,
    "copy_overwritable_values": numpy_backend.copy_overwritable_values,
}


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Generate graphs of up to 12 operations on two images, with up to three results."""

    def write(b: Builder, *inputs: Value) -> list[Value]:
        values = list(inputs)
        for step in draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=12)):
            x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            values.append(STEPS[step](b, x, y))
        return [values[-1], *draw(st.lists(st.sampled_from(values), max_size=2))]

    return canonical(write, IMAGE, IMAGE)


@pytest.mark.parametrize("name", PASSES)
@given(graph=graphs())
@settings(max_examples=15)
def test_one_pass(name: str, graph: Graph) -> None:
    check(graph, after(PASSES[name], graph))


@given(graph=graphs(), names=st.permutations(sorted(PASSES)))
@settings(max_examples=15)
def test_all_passes_in_any_order(graph: Graph, names: list[str]) -> None:
    made = graph
    for name in names:
        made = after(PASSES[name], made)
    check(graph, made)


def check(graph: Graph, made: Graph) -> None:
    """Assert equal results; sums may be computed in another order."""
    arrays = random_arrays(graph)
    assert [value.spec.hints for value in made.outputs] == [value.spec.hints for value in graph.outputs]
    for found, wanted in zip(numbers(made, *arrays), numbers(graph, *arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
