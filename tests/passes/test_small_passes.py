"""Tests of passes that replace single operations, and of passes on loops of known length."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from graph_compiler.errors import UnsupportedOperation
from graph_compiler.ir import Graph
from graph_compiler.ir.node import every
from graph_compiler.passes import (
    conv1x1_to_linear,
    cse,
    fill_parts,
    kernel_layout,
    pad_indexed_axes,
    require_known_sizes,
    segment_scans,
    simplify_branches,
    simplify_guards,
    strong_zero,
)
from graph_compiler.passes.lowering.copies import copy_overwritten
from graph_compiler.passes.lowering.mixed_precision import half_products
from graph_compiler.passes.repeats.unroll import unrolled
from tests.support.compare import assert_same
from tests.support.graph_text import arrays_for, numbered, read

from .graphs import after
from .rows import Row, check, numbers, rows

CONV = "strides=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1)"


@rows(
    Row("a permuted kernel", f"return conv(x, permute_dims(w, axes=(3, 2, 0, 1)), {CONV}, layout='channels_last')",
        f"p = permute_dims(w, axes=(3, 2, 0, 1)); return conv_channels_last(x, w, {CONV}, groups=1)"),
    Row("and a bias", f"return conv(x, permute_dims(w, axes=(3, 2, 0, 1)), b, {CONV}, layout='channels_last')",
        f"p = permute_dims(w, axes=(3, 2, 0, 1)); return conv_channels_last(x, w, b, {CONV}, groups=1)"),
    Row("a kernel as it is", f"return conv(x, u, {CONV}, layout='channels_last')"),
    Row("the channels first", f"return conv(permute_dims(x, axes=(0, 3, 1, 2)), permute_dims(w, axes=(3, 2, 0, 1)), {CONV})"),
    Row("another permutation", f"return conv(x, permute_dims(w, axes=(3, 2, 1, 0)), {CONV}, layout='channels_last')"),
    given="x: float32[n, 6, 6, 3]; w: float32[3, 3, 3, 2]; u: float32[2, 3, 3, 3]; b: float32[2]",
)  # fmt: skip
def test_kernel_layout(row: Row) -> None:
    check(kernel_layout, row)


@rows(
    Row("one element", f"return conv(x, w, b, {CONV}, layout='channels_last')",
        "return linear(x, reshape(w, shape=(2, 3)), b)"),
    Row("steps between", "return conv(x, w, strides=(2, 3), padding=((0, 0), (0, 0)), dilation=(1, 1), layout='channels_last')",
        "s = getitem(x, key=((None, None, 1), (None, None, 2), (None, None, 3), (None, None, 1)))\n"
        "return linear(s, reshape(w, shape=(2, 3)))"),
    Row("a weight with the channels last", f"return conv_channels_last(x, v, b, {CONV}, groups=1)",
        "return add(matmul(x, reshape(v, shape=(3, 2))), b)"),
    Row("the channels first", f"return conv(permute_dims(x, axes=(0, 3, 1, 2)), w, {CONV})"),
    Row("a larger kernel", f"return conv(x, u, {CONV}, layout='channels_last')"),
    Row("padding", "return conv(x, w, strides=(1, 1), padding=((1, 0), (0, 0)), dilation=(1, 1), layout='channels_last')"),
    Row("groups", f"return conv(x, g, {CONV}, groups=3, layout='channels_last')"),
    given="x: float32[n, 6, 6, 3]; w: float32[2, 3, 1, 1]; v: float32[1, 1, 3, 2]; u: float32[2, 3, 1, 2]; "
          "g: float32[3, 1, 1, 1]; b: float32[2]",
)  # fmt: skip
def test_conv1x1_to_linear(row: Row) -> None:
    check(conv1x1_to_linear, row)


@rows(
    Row("parts", "a, b = unstack(full(shape=(2, n), fill_value=0.5, dtype='float32'), axis=0, count=2)\nreturn add(x, b)",
        "f = full(shape=(2, n), fill_value=0.5, dtype='float32'); a = full(shape=(n,), fill_value=0.5, dtype='float32')\n"
        "return add(x, full(shape=(n,), fill_value=0.5, dtype='float32'))"),
    Row("a permuted array that is reshaped", "p = permute_dims(zeros(shape=(n, 3), dtype='int64'), axes=(1, 0))\n"
        "return x, reshape(p, shape=(3 * n,))",
        "z = zeros(shape=(n, 3), dtype='int64'); p = zeros(shape=(3, n), dtype='int64')\n"
        "return x, zeros(shape=(3 * n,), dtype='int64')"),
    Row("a number that is broadcast", "return multiply(x, broadcast_to(full(shape=(), fill_value=-0.0, dtype='float32'), shape=(n,)))",
        "f = full(shape=(), fill_value=-0.0, dtype='float32')\n"
        "return multiply(x, full(shape=(n,), fill_value=-0.0, dtype='float32'))"),
    Row("in a loop", "def step(s): return add(s, reshape(ones(shape=(1, 3), dtype='float32'), shape=(3,)))\n"
        "return scan([y], [], step, length=3)",
        "def step(s): o = ones(shape=(1, 3), dtype='float32'); return add(s, ones(shape=(3,), dtype='float32'))\n"
        "return scan([y], [], step, length=3)"),
    Row("an array that is computed", "a, b = unstack(exp(zeros(shape=(2, n), dtype='float32')), axis=0, count=2)\nreturn add(x, b)"),
    Row("rows of three, which not every number of elements fills",
        "return add(y, reshape(zeros(shape=(k,), dtype='float32'), shape=(k // 3, 3)))", None, ({}, {"n": 8, "k": 9}), given="; w: float32[k]"),
    Row("a size that may be another one", "return w, broadcast_to(zeros(shape=(m,), dtype='float32'), shape=(4,))", None, ({},), given="; w: float32[m]"),
    given="x: float32[n]; y: float32[3]",
)  # fmt: skip
def test_fill_parts(row: Row) -> None:
    check(fill_parts, row)


TRUE, FALSE = (f"full(shape=(), fill_value={truth}, dtype='bool')" for truth in (True, False))


def _branch(otherwise: str, then: str) -> str:
    """Return the text of a graph that returns what a branch on ``c`` returns."""
    return f"def otherwise(): return {otherwise}\ndef then(): return {then}\nreturn branch(c, [], otherwise, then)"


@rows(
    Row("True or a flag", _branch("copy(f)", TRUE), _branch("copy(f)", TRUE).replace("return branch", "b = branch")
        + "\nreturn logical_or(f, c)"),
    Row("a flag or True", _branch("f", "f"), _branch("f", "f").replace("return branch", "b = branch") + "\nreturn f"),
    Row("False or a flag", _branch("f", FALSE), _branch("f", FALSE).replace("return branch", "b = branch")
        + "\no = logical_not(c)\nreturn logical_and(f, o)"),
    Row("a flag, otherwise True", _branch(TRUE, "f"), _branch(TRUE, "f").replace("return branch", "b = branch")
        + "\no = logical_not(c)\nreturn logical_or(f, o)"),
    Row("a flag, otherwise False", _branch(FALSE, "f"), _branch(FALSE, "f").replace("return branch", "b = branch")
        + "\nreturn logical_and(f, c)"),
    Row("the condition", _branch(FALSE, TRUE), _branch(FALSE, TRUE).replace("return branch", "b = branch") + "\nreturn c"),
    Row("its opposite", _branch(TRUE, FALSE), _branch(TRUE, FALSE).replace("return branch", "b = branch")
        + "\nreturn logical_not(c)"),
    Row("a flag beside an array", f"def otherwise(): return f, where(f, x, y)\ndef then(): return {TRUE}, exp(x)\n"
        "a, b = branch(c, [], otherwise, then)\nreturn a, b",
        f"a = logical_or(f, c)\ndef otherwise(): return where(f, x, y)\ndef then(): t = {TRUE}; return exp(x)\n"
        "b = branch(c, [], otherwise, then)\nreturn a, b"),
    Row("arrays of floats, whose gradients may be NaN", _branch("x", "y")),
    Row("two flags", _branch("f", "g")),
    Row("copies, to which the caller may write", _branch("copy(x)", "copy(x)")),
    Row("a condition that selects by number", "def one(): return f\ndef two(): return f\nreturn branch(i, [], one, two)",
        sizes=()),
    given="c: bool; f: bool; g: bool; x: float32[n]; y: float32[n]; i: int32",
)  # fmt: skip
def test_simplify_branches(row: Row) -> None:
    check(simplify_branches, row)


SUM = "def step(s, a): return add(s, a), multiply(s, 2.0)"


@rows(
    Row("forwards", f"{SUM}\nlast, all = scan([c], [x], step, length=3)\nreturn last, all", """
        a = add(c, getitem(x, key=(0, (None, None, 1)))); b = add(a, getitem(x, key=(1, (None, None, 1))))
        last = add(b, getitem(x, key=(2, (None, None, 1))))
        return last, stack(multiply(c, 2.0), multiply(a, 2.0), multiply(b, 2.0), axis=0)
        """),
    Row("backwards", f"{SUM}\nlast, all = scan([c], [x], step, length=3, reverse=True)\nreturn last, all", """
        a = add(c, getitem(x, key=(2, (None, None, 1)))); b = add(a, getitem(x, key=(1, (None, None, 1))))
        last = add(b, getitem(x, key=(0, (None, None, 1))))
        return last, stack(multiply(b, 2.0), multiply(a, 2.0), multiply(c, 2.0), axis=0)
        """),
    Row("arrays that are swapped", "def step(s, t): return t, exp(s)\na, b = scan([c, c], [], step, length=3)\nreturn a, b",
        "e = exp(c); return exp(c), exp(e)"),
    Row("a length that changes", "def step(s, a): return add(s, sum(a))\nreturn scan([c], [y], step, length=n)"),
    Row("steps that are computed again", f"{SUM}\nlast, all = scan([c], [x], step, length=3, checkpoint=True)\nreturn last, all"),
    Row("many operations", "def step(s, a): return exp(sin(cos(add(s, a))))\nreturn scan([c], [x], step, length=3)"),
    Row("no step", "def step(s): return add(s, 1.0)\nreturn scan([c], [], step, length=0)"),
    given="x: float32[3, n]; c: float32[n]; y: float32[n]",
)  # fmt: skip
def test_unrolled(row: Row) -> None:
    check(unrolled(9), row)


@rows(
    Row("a place of an axis that may be empty", """
        def step(s, a): return add(s, take(x, i, axis=0))
        return scan([sum(x)], [x], step, length=n)
        """, """
        def step(s, a): return add(s, take(pad(x, padding=((0, max(1 - n, 0)),), mode='constant', value=0), i, axis=0))
        return scan([sum(x)], [x], step, length=n)
        """),
    Row("a window", """
        def step(s, a): return add(s, sum(dynamic_slice(x, i, axes=(0,), sizes=(2,))))
        return scan([sum(x)], [], step, length=3)
        """.replace("s, a", "s"), """
        def step(s):
            return add(s, sum(dynamic_slice(pad(x, padding=((0, max(2 - n, 0)),), mode='constant', value=0), i, axes=(0,), sizes=(2,))))
        return scan([sum(x)], [], step, length=3)
        """),
    Row("an axis that has elements", """
        def step(s, a): return add(s, take(c, i, axis=0))
        return scan([sum(x)], [x], step, length=n)
        """),
    Row("outside of loops", "return take(x, i, axis=0)"),
    Row("several places", """
        def step(s, a): return add(s, sum(take(x, j, axis=0)))
        return scan([sum(x)], [x], step, length=n)
        """),
    given="x: float32[n]; c: float32[4]; i: int32; j: int32[2]",
)  # fmt: skip
def test_indexed_axes(row: Row) -> None:
    check(pad_indexed_axes, row)


STRONG = {
    "return where(greater(x, 0.0), log(x), 0.0)": 1,
    "return multiply(x, y)": 1,
    "return exp(divide(x, y))": 2,
    "return floor(x), multiply(i, i), less(x, 1.0)": 0,
    "return add(negative(x), where(less(x, y), x, y)), cumulative_sum(x, axis=0)": 0,
    "def step(s, a): return add(s, multiply(s, a))\nreturn scan([y], [x], step, length=n)": 1,
    "def f(x): return log(x)\nreturn call([x], f, strong_zero=True)": 1,
}
"""Graphs, and how many calls they have whose slopes are 0 where a tangent is."""


@pytest.mark.parametrize("text", STRONG)
def test_strong_zero(text: str) -> None:
    graph = read(f"x: float32[n]; y: float32; i: int32[n]\n{text}")
    made = after(strong_zero, graph)
    calls = [node for node in every(made.nodes) if node.op == "call"]
    assert len(calls) == STRONG[text]
    assert all(node.params["strong_zero"] and node.outputs[0].shape == node.inputs[0].shape for node in calls)
    assert (made is graph) is (not calls or "call" in text)
    for n in (5, 2):
        assert_same(numbers(made, *arrays_for(graph, n=n)), numbers(graph, *arrays_for(graph, n=n)))


LONG = """
x: float32[n, 4]
c: float32[4]
def step(s, a):
    t = tanh(add(s, a))
    return t, sum(t)
last, rows = scan([c], [x], step, length=n$)
return last, rows
"""


@pytest.mark.parametrize("options", ["", ", reverse=True"])
@pytest.mark.parametrize("n", [16, 17, 4, 3, 1])
def test_segment_scans(options: str, n: int) -> None:
    graph = read(LONG.replace("$", options), n=16)
    made = after(segment_scans, graph)
    assert any(node.op == "scan" and node.params["checkpoint"] for node in made.nodes)
    arrays = [array[:n] if array.ndim == 2 else array for array in arrays_for(graph)]
    arrays[0] = arrays_for(read("x: float32[n, 4]; return x", n=17))[0][:n]
    assert_same(numbers(made, *arrays), numbers(graph, *arrays))


def test_short_loops_have_no_segments() -> None:
    graph = read(LONG.replace("$", ""), n=7)
    assert after(segment_scans, graph) is graph


HALF = {
    "return exp(matmul(x, y))": "return exp(astype(matmul(astype(x, dtype='float16'), astype(y, dtype='float16')), dtype='float32'))",
    "return add(x, permute_dims(y, axes=(1, 0)))": None,
    "return matmul(z, z)": None,
    "return scaled_dot_product_attention(z, z, z, mask)": None,
}


@pytest.mark.parametrize("text", HALF)
def test_half_products(text: str) -> None:
    given = "x: float32[n, 4]; y: float32[4, n]; z: float64[4, 4]; mask: float32[4, 4]\n"
    graph, wanted = read(given + text), HALF[text]
    made = after(half_products("float16"), graph)
    assert made is graph if wanted is None else numbered(made) == numbered(read(given + wanted))
    for found, exact in zip(
        numbers(made, *arrays_for(graph)), numbers(graph, *arrays_for(graph)), strict=True
    ):
        assert found.dtype == exact.dtype
        assert abs(found - exact).max() <= 0.02 * abs(exact).max()


@rows(
    Row("equal operations", "return add(sin(x), sin(x))", "s = sin(x); return add(s, s)"),
    Row("zeros of two signs", "return divide(1.0, multiply(x, 0.0)), divide(1.0, multiply(x, -0.0))"),
    Row("numbers of two types", "return full(shape=(n,), fill_value=1, dtype='float32'), full(shape=(n,), fill_value=True, dtype='bool')"),
    Row("equal loops", """
        def step(s, a): return add(s, a)
        return add(scan([zero], [x], step, length=n), scan([zero], [x], step, length=n))
        """, """
        def step(s, a): return add(s, a)
        last = scan([zero], [x], step, length=n)
        return add(last, last)
        """),
    Row("loops of other steps", """
        def step(s, a): return add(s, a)
        def other(s, a): return subtract(s, a)
        return add(scan([zero], [x], step, length=n), scan([zero], [x], other, length=n))
        """),
    Row("not a number", "return where(equal(x, x), full(shape=(), fill_value=float('nan'), dtype='float32'), "
        "full(shape=(), fill_value=1.0, dtype='float32'))"),
    given="x: float32[n]; zero = zeros(shape=(), dtype='float32')",
)  # fmt: skip
def test_cse(row: Row) -> None:
    check(cse, row)


@rows(
    Row("what follows from another one", "guard(ge(n, 2)); guard(ne(n, 0)); guard(ge(n, 4)); return x", "guard(ge(n, 4)); return x"),
    Row("solved for the size", "guard(ge((n - 1) // 2 + 1, 3)); return x", "guard(ge(n, 5)); return x"),
    Row("of a size that is fixed", "guard(eq(n, 5)); guard(ge(n * 2, 4)); return x", "guard(eq(n, 5)); return x"),
    Row("a number left out of a range", "guard(ge(n, 3)); guard(ne(n, 4)); return x"),
    Row("sizes are no less than 0", "guard(ge(n, -1)); guard(ne(n, -1)); guard(ge((n // 2) * m, 0)); return x", "return x"),
    Row("what always holds", "guard(le(n - 1, n)); guard(lt(n, n + m + 1)); return x", "return x"),
    Row("two sizes, compared twice", "guard(eq(n, m)); guard(eq(m, n)); guard(eq(m - n, 0)); return x", "guard(eq(n, m)); return x"),
    Row("the stronger of two comparisons of two sizes", "guard(le(n - 1, m)); guard(le(n - 2, m)); guard(ge(m, n)); return x", "guard(le(n, m)); return x"),
    Row("a fixed size in a product", "guard(eq(n, 16)); guard(eq(m * (n // 4) * 4, m * 16)); return x", "guard(eq(n, 16)); return x"),
    Row("a size that equals another one", "guard(eq(n, m)); guard(ge(m, 3)); guard(ge(n, 2)); return x", "guard(eq(n, m)); guard(ge(n, 3)); return x"),
    Row("a product of differences", "guard(ge((n - 1) * (m * 4 - 4), 0)); return x", "guard(ge((n - 1) * (m - 1), 0)); return x"),
    Row("a product in a range", "guard(ge(n, 3)); guard(ge(m, 2)); guard(ge(n * m, 6)); guard(ge(n * m, 7)); return x",
        "guard(ge(n, 3)); guard(ge(m, 2)); guard(ge(n * m, 7)); return x"),
    Row("guards of two sizes", "guard(ge(n, 3)); guard(ge(m, 3)); return x, y"),
    Row("a range", "guard(ge(n, 3)); guard(le(n, 8)); return x"),
    given="x: float32[n]; y: float32[m]",
)  # fmt: skip
def test_simplify_guards(row: Row) -> None:
    check(simplify_guards, row)


@rows(
    Row("an argument that another one is written to", "effect('argument', 0, y); effect('argument', 1, x); return z",
        "c = copy(x); effect('argument', 0, y); effect('argument', 1, c); return z"),
    Row("a view of it that is returned", "effect('argument', 0, multiply(x, 2.0)); return getitem(x, key=((0, 1, 1),))",
        "v = getitem(x, key=((0, 1, 1),)); c = copy(v); effect('argument', 0, multiply(x, 2.0)); return c"),
    Row("what a call hands on", "def same(a): return a\neffect('argument', 0, y); return call([x], same)",
        "def same(a): return a\neffect('argument', 0, y); return copy(call([x], same))"),
    Row("what is made of it", "effect('argument', 0, y); effect('argument', 1, negative(x)); return multiply(x, 2.0)"),
    Row("what is written first", "effect('argument', 0, negative(y)); effect('argument', 1, z); return y, add(x, 1.0)",
        "c = copy(y); effect('argument', 0, negative(y)); effect('argument', 1, z); return c, add(x, 1.0)"),
    Row("its own value", "effect('argument', 0, add(x, 1.0)); return y"),
    Row("an argument that the state keeps", "effect('argument', 0, add(x, 1.0)); effect('place', 1, x); return z",
        "a = add(x, 1.0); c = copy(x); effect('argument', 0, a); effect('place', 1, c); return z"),
    Row("state that another one is written to", "effect('place', 0, y); effect('place', 1, x); return z",
        "c = copy(x); effect('place', 0, y); effect('place', 1, c); return z"),
    Row("an argument as a constant, which the caller may write to", "effect('constant', 'kept', x); return z",
        "c = copy(x); effect('constant', 'kept', c); return z"),
    Row("a new constant", "effect('argument', 0, add(x, 1.0)); effect('constant', 'kept', negative(x)); return z"),
    given="x: float32[n]; y: float32[n]; z: float32[n]",
)  # fmt: skip
def test_copy_overwritten(row: Row) -> None:
    check(partial(copy_overwritten, views=("getitem", "reshape")), row)


LOOP = """
x: float32[n]
def step(s, a):
    r = boolean_mask(x, greater(x, a), axis=0, hint=2)
    return add(s, {what})
return scan([sum(x)], [x], step, length=n)
"""


def refuse(graph: Graph) -> Any:
    return require_known_sizes(graph, framework="somewhere")


def test_sizes_in_loops_are_refused() -> None:
    with pytest.raises(
        UnsupportedOperation, match=r"(?s)somewhere compiles loops.*boolean_mask, for .*Take them out"
    ):
        refuse(read(LOOP.format(what="sum(sort(r, axis=0))")))


@pytest.mark.parametrize("text", [
    "x: float32[n]; return sum(sort(boolean_mask(x, greater(x, 0.0), axis=0, hint=2), axis=0))",
    LOOP.format(what="a").replace("r = boolean_mask(x, greater(x, a), axis=0, hint=2)", "r = a"),
    "x: float32[n]\ndef f(x): return sum(sort(boolean_mask(x, greater(x, 0.0), axis=0, hint=2), axis=0))\nreturn call([x], f)",
])  # fmt: skip
def test_sizes_elsewhere_are_not(text: str) -> None:
    graph = read(text)
    assert refuse(graph) == (graph, False)
