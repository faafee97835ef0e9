"""Tests of repeated layers: equal layers become calls of one function, these calls a loop, and both can be
unrolled again.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from graph_compiler.ir import Graph
from graph_compiler.passes import inlined_calls, repeated_layers, scanned_layers
from tests.support.compare import assert_same
from tests.support.graph_text import arrays_for, numbered, read, written

from .graphs import after
from .rows import numbers

WEIGHTS = "".join(f"w_{i}: float32[4, 4] = parameter\nb_{i}: float32[4] = parameter\n" for i in range(3))
GIVEN = f"x: float32[n, 4]\nm: float32[n, 4]\nz: float32[4]\n{WEIGHTS}"
LAYER = """
h = add(matmul({x}, {w}), {b})
e = exp(negative(abs(tanh(multiply(h, 0.5)))))
{y} = add(divide(e, add(e, 1.0)), {x})
"""
LAYERS = "".join(
    LAYER.format(x=f"y{i}" if i else "x", w=f"w_{i}", b=f"b_{i}", y=f"y{i + 1}") for i in range(3)
)


def function(name: str = "layer", inputs: str = "x, w, b", layer: str = LAYER, result: str = "y") -> str:
    body = layer.format(x="x", w="w", b="b", y="y").strip().replace("\n", "\n    ")
    return f"def {name}({inputs}):\n    {body}\n    return {result}\n"


CALLS = (
    function()
    + "\n".join(f"y{i + 1} = call([{f'y{i}' if i else 'x'}, w_{i}, b_{i}], layer)" for i in range(3))
    + "\n"
)
SCAN = """
w = stack(w_0, w_1, w_2, axis=0); b = stack(b_0, b_1, b_2, axis=0)
"""
INDEXED = (
    "def layer({}): return add(add(matmul(x, w), b), astype(add(multiply(i, 5), one), dtype='float32'))\n"
)


def graph_of(text: str) -> Graph:
    return read(f"{GIVEN}\n{text}")


def values(graph: Graph, n: int) -> list[np.ndarray]:
    inputs = [*graph.inputs, *graph.parameters.values()]
    given = graph.derive(inputs=inputs, parameters={})
    return numbers(given, *arrays_for(given, n=n))


def same(graph: Graph, made: Graph, wanted: str | None) -> None:
    """Assert that the pass made the graph ``wanted``, or no change if that is None, and that both graphs have
    equal results.
    """
    if wanted is None:
        assert written(made) == written(graph)
        assert made is graph
    else:
        assert numbered(made) == numbered(graph_of(wanted)), (
            f"{written(made)}\n\nand not\n\n{written(graph_of(wanted))}"
        )
    for n in (5, 2):
        assert_same(values(made, n), values(graph, n))


def in_layers(old: str, new: str, layer: int) -> str:
    """Return the layers with ``old`` replaced by ``new`` in one of them."""
    parts = LAYERS.split("\nh = ")
    assert old in parts[layer + 1]
    parts[layer + 1] = parts[layer + 1].replace(old, new)
    return "\nh = ".join(parts)


REPEATED = {
    "layers": (LAYERS + "return y3", CALLS + "return y3"),
    "results in between": (LAYERS + "return y3, y1", CALLS + "return y3, y1"),
    "two results of a layer": (
        LAYERS.replace("h = ", "h{} = ").replace("(h, 0.5)", "(h{}, 0.5)").format(*"001122") + "return y3, h1",
        function(result="h, y", layer=LAYER)
        + "h0, y1 = call([x, w_0, b_0], layer)\nh1, y2 = call([y1, w_1, b_1], layer)\nh2, y3 = call([y2, w_2, b_2], layer)\nreturn y3, h1",
    ),
    "what all layers share": (
        LAYERS.replace("matmul(", "matmul(multiply(cos(z), ").replace(", w_", "), w_") + "return y3",
        "s = cos(z)\n" + function(inputs="s, x, w, b", layer=LAYER.replace("matmul({x}", "matmul(multiply(s, {x})"))
        + "y1 = call([s, x, w_0, b_0], layer)\ny2 = call([s, y1, w_1, b_1], layer)\ny3 = call([s, y2, w_2, b_2], layer)\nreturn y3",
    ),
    "numbers that change between some layers only": (
        "".join(LAYER.format(x=x, w=w, b=b, y=y) for x, w, b, y in (
            ("x", "w_0", "b_1", "y1"), ("y1", "w_1", "b_1", "y2"), ("y2", "w_1", "b_1", "y3"), ("y3", "w_1", "b_2", "y4"),
        )) + "return y4",
        function() + "y1 = call([x, w_0, b_1], layer)\ny2 = call([y1, w_1, b_1], layer)\n"
        "y3 = call([y2, w_1, b_1], layer)\ny4 = call([y3, w_1, b_2], layer)\nreturn y4",
    ),
    "two layers": (LAYERS[: LAYERS.index("h = add(matmul(y2")] + "return y2", None),
    "another operation in one of them": (in_layers("tanh", "sin", 1) + "return y3", None),
    "another number in one of them": (in_layers("0.5", "0.25", 2) + "return y3", None),
    "weights that are called otherwise": (LAYERS.replace("w_1", "z_1").replace("b_1", "c_1") + "return y3", None),
    "one that reads itself where the others read the one before": (in_layers("(e, 1.0)), y1)", "(e, 1.0)), h)", 1) + "return y3", None),
    "layers of few operations": ("".join(f"y{i + 1} = add({f'y{i}' if i else 'x'}, b_{i})\n" for i in range(3)) + "return y3", None),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_repeated_layers(name: str) -> None:
    before, wanted = REPEATED[name]
    before = before.replace("z_1", "other").replace("c_1", "another")
    declared = (
        "other: float32[4, 4] = parameter\nanother: float32[4] = parameter\n" if "other" in before else ""
    )
    graph = graph_of(declared + before)
    made = after(repeated_layers, graph)
    same(graph, made, wanted)
    assert len({id(node.regions[0]) for node in made.nodes if node.op == "call"}) == (wanted is not None)


SCANNED = {
    "weights row by row": (CALLS + "return y3", SCAN + function(name="layer") + "return scan([x], [w, b], layer, length=3)"),
    "results of all layers": (
        CALLS + "return y3, add(y1, y2)",
        SCAN + function(name="layer", result="y, y") + "y3, ys = scan([x], [w, b], layer, length=3)\n"
        "return y3, add(getitem(ys, key=(0, (None, None, 1), (None, None, 1))), getitem(ys, key=(1, (None, None, 1), (None, None, 1))))",
    ),
    "what is the same in all layers": (
        function(inputs="x, w, b, m", layer=LAYER.replace("0.5)", "0.5)").replace("matmul({x}", "matmul(multiply({x}, m)"))
        + "y1 = call([x, w_0, b_0, m], layer)\ny2 = call([y1, w_1, b_1, m], layer)\ny3 = call([y2, w_2, b_2, m], layer)\nreturn y3",
        SCAN + function(inputs="x, w, b", layer=LAYER.replace("matmul({x}", "matmul(multiply({x}, m)"))
        + "return scan([x], [w, b], layer, length=3)",
    ),
    "an index of a layer that all layers read as well": (
        "i0 = full(shape=(), fill_value=0, dtype='int32'); i1 = full(shape=(), fill_value=1, dtype='int32')\n"
        "i2 = full(shape=(), fill_value=2, dtype='int32')\n" + INDEXED.format("x, w, b, i, one")
        + "y1 = call([x, w_0, b_0, i0, i1], layer)\ny2 = call([y1, w_1, b_1, i1, i1], layer)\n"
        "y3 = call([y2, w_2, b_2, i2, i1], layer)\nreturn y3",
        "one = full(shape=(), fill_value=1, dtype='int32')" + SCAN + INDEXED.format("x, w, b, i")
        + "return scan([x], [w, b, arange(start=0, stop=3, step=1, dtype='int32')], layer, length=3)",
    ),
    "two calls": (CALLS[: CALLS.index("y3 =")] + "return y2", None),
    "calls that are computed again": (CALLS.replace(", layer)", ", layer, checkpoint=True)") + "return y3", None),
    "layers that do not follow one another": (CALLS.replace("call([y2", "call([x") + "return add(y3, y2)", None),
    "weights that are computed": (CALLS.replace(", w_1, ", ", negative(w_1), ") + "return y3", None),
}  # fmt: skip


@pytest.mark.parametrize("name", SCANNED)
def test_scanned_layers(name: str) -> None:
    before, wanted = SCANNED[name]
    graph = graph_of(before)
    same(graph, after(scanned_layers(3), graph), wanted)


INLINED = {
    "all": (CALLS + "return y3", None, LAYERS + "return y3"),
    "those with operations that want another layout": (CALLS + "return y3", ("conv",), None),
    "calls that are computed again": (CALLS.replace(", layer)", ", layer, checkpoint=True)") + "return y3", None, None),
    "calls whose derivatives are strong zeros": (CALLS.replace(", layer)", ", layer, strong_zero=True)") + "return y3", None, None),
    "a function that gives what it is given": ("def same(a, b): return b, a\np, q = call([x, m], same)\nreturn p, q", None, "return m, x"),
}  # fmt: skip


@pytest.mark.parametrize("name", INLINED)
def test_inlined_calls(name: str) -> None:
    before, prefers, wanted = INLINED[name]
    graph = graph_of(before)
    same(graph, after(partial(inlined_calls, prefers=prefers), graph), wanted)
