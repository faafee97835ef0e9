"""Tests of the style of generated source: line lengths, meaningful names, no redundant arguments."""

from __future__ import annotations

import ast
import collections
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.codegen.lines import WIDTH, break_line  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

LONG, OTHER = "a" * 60, "b" * 60
LINES = (
    f"y = f({LONG}, {OTHER}, axis=1)",
    f"y = f({LONG}, {OTHER}{OTHER}, key={LONG} + {OTHER}, other=g({LONG}, {OTHER})) + 1",
    f'y = f({LONG}, w["(,{LONG}"]) + w["+ {OTHER}"]',
    f"y = {LONG}.reshape({OTHER}, -1)",
    f"y = {LONG}[{OTHER} + 1:, {OTHER}]",
    f"y = {LONG}[{LONG}.f({OTHER})]",
    f"y = ({LONG} + f({OTHER}))",
    f"x[:, 1:{LONG}], (z, q) = f({OTHER}, *{LONG})",
    f"return {LONG}, ({OTHER},), ()",
    f"return ({LONG}{LONG}{LONG},)",
    f"return {{'a': {LONG} + 1, 'b, c': f({OTHER}, b=-{LONG} * {OTHER})}}",
    f"return Output(first=[{LONG}, ({OTHER}, 1)], second=build(A, ('b',), [{LONG}{OTHER}]))",
    f"y = while_loop(lambda c, d: c > {LONG}, lambda c, d: ({OTHER}, d + 1), {LONG})",
    f"y = {LONG} if {OTHER} else {LONG}",
    f"y = f(1 == {LONG}, {LONG} <= {OTHER}, not {LONG})",
)


@pytest.mark.parametrize("indent", [4, 8])
@pytest.mark.parametrize("line", LINES)
def test_a_broken_line_says_the_same(line: str, indent: int) -> None:
    made = break_line(line, indent)
    inside = "\n".join(["def f():", *(["    if 1:"] if indent == 8 else [])])
    assert ast.dump(ast.parse(f"{inside}\n" + "\n".join(made))) == ast.dump(
        ast.parse(f"{inside}\n{' ' * indent}{line}")
    )
    # Such a line has no place to break, or is a condition.
    whole = max(part.count("a") + part.count("b") for part in line.split()) > WIDTH - 20
    assert whole or " if " in line or ":" in line.partition("=")[2] or all(len(one) <= WIDTH for one in made)
    assert break_line(line[:20], indent) == [" " * indent + line[:20]]


def softmax(x: Any) -> Any:
    return x.softmax(-1)


def attention(x: Any) -> Any:
    return x @ x.T


@pytest.mark.parametrize(("function", "name"), [(attention, "attention"), (softmax, "softmax_2")])
def test_a_function_keeps_its_name_unless_a_helper_of_that_name_is_used(function: Any, name: str) -> None:
    graph = graph_compiler.transpile(function, to="numpy", args=(torch.ones(2, 3),))
    assert f"\ndef {name}(x):" in graph.source
    x = torch.randn(4, 5)
    assert_same(graph(x), function(x))


def test_fields_of_results_name_them_and_what_nothing_uses_has_no_name() -> None:
    def largest(x: Any) -> Any:
        values, places = x.topk(2)
        both = x.topk(1)
        return values * places, both, x.max(0)[0]

    x = torch.randn(4, 5)
    for to in ("torch", "jax"):
        graph = graph_compiler.transpile(largest, to=to, source="torch", args=(torch.randn(3, 4),))
        assert "values, places = " in graph.source and "topk_values, topk_indices = " in graph.source
        assert "max_indices" not in graph.source
        assert_same(graph(x), largest(x))


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_imports_are_sorted(to: str) -> None:
    pytest.importorskip(to)

    def function(x: Any) -> Any:
        return F.gelu(x).softmax(0), x.masked_fill(x > 0, -torch.inf), F.max_pool2d(x[None, None], 1)

    graph = graph_compiler.compile(function, to=to, args=(torch.randn(4, 5),))
    text = graph.source.partition('"""\n\n')[2].partition("\n\n\n")[0]
    standard, _, others = text.partition("\n\n")
    assert "import math" in standard and to in others
    for section in (standard.splitlines(), others.splitlines()):
        assert section == sorted(section, key=lambda line: (line.startswith("from"), line))


def test_buffers_are_called_by_their_names() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    graph = graph_compiler.transpile(model, to="jax", args=(torch.randn(4, 3),))
    assert "(_0_num_batches_tracked, _0_running_mean, _0_running_var)" in graph.source


TABLE = torch.arange(4.0)


class Kept:
    def __init__(self) -> None:
        self.shift = torch.ones(2)

    def __call__(self, x: Any) -> Any:
        return x + self.shift


def test_constants_are_called_as_the_user_calls_them() -> None:
    scale, kept = torch.ones(2) * 2, Kept()

    def function(x: Any) -> Any:
        return kept(x * scale) + x[0] * TABLE[:2] * x.sum().add(TABLE).mean()

    graph = graph_compiler.compile(function, args=(torch.ones(2),))
    assert {"scale", "shift", "TABLE"} <= set(graph.variants[0].constants)


def test_arguments_that_are_defaults_are_left_out() -> None:
    weight, kernel = torch.randn(5, 3), torch.randn(3, 3, 2)

    def function(index: Any) -> Any:
        found = F.embedding(index, weight, padding_idx=None, max_norm=None, norm_type=2.0, sparse=False)
        found = F.layer_norm(F.linear(found, torch.eye(3), None), (3,), None, None, 1e-5)
        found = F.conv1d(found.mT, kernel, None, (2,), (0,), [1], 1)
        return F.softmax(found, dim=-1, dtype=torch.float64), F.embedding(index, weight, padding_idx=0)

    graph = graph_compiler.compile(function, args=(torch.tensor([[0, 1, 2]]),))
    for call in (
        '(index, constants["weight"])',
        "(3,))",
        "None, (2,), (0,))",
        "dim=-1, dtype=torch.float64)",
        "padding_idx=0)",
    ):
        assert call in graph.source, graph.source
    index = torch.tensor([[3, 1], [0, 4]])
    assert_same(graph(index), function(index))


# The class has the name of a variable of the generated function.
mul = collections.namedtuple("mul", "first second")


def _returns_its_namesake(x: Any) -> Any:
    return mul((2 * x).relu(), (2 * x).sum(0))


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_no_variable_hides_the_class_of_a_result(to: str) -> None:
    graph = graph_compiler.transpile(_returns_its_namesake, source="torch", to=to, args=(torch.ones(2, 3),))
    assert "    mul = " in graph.source
    assert_same(graph(torch.eye(3)), _returns_its_namesake(torch.eye(3)))


def test_sizes_that_a_call_says_are_neither_read_nor_guarded() -> None:
    model = torch.nn.LSTM(3, 5, batch_first=True)

    def function(x: Any) -> Any:
        made = x.new_full((x.shape[0], 2), 3.0) + torch.zeros(x.shape[0], 1) + torch.ones(size=(1, 2))
        assert made.shape[1] == 2 and torch.zeros([x.shape[0], 1]).shape[0] == x.shape[0]
        return model(x)[0], made.mT @ made

    graph = graph_compiler.compile(function, args=(torch.randn(2, 4, 3),))
    assert "zeros_dim" not in graph.source and "new_full_dim" not in graph.source
    x = torch.randn(3, 5, 3)
    assert_same(graph(x), function(x))
    assert len(graph.variants) == 1


def _gathered(x: torch.Tensor, kept: torch.Tensor) -> Any:
    rows, columns = torch.where(kept)
    values, counts = torch.unique(columns, return_counts=True)
    return (
        x[rows] * columns[:, None] + x[rows, columns, None],
        values * counts,
        torch.unique_consecutive(rows, return_counts=True)[1] * columns.shape[0],
    )


def test_arrays_that_one_call_counts_are_not_guarded_to_be_equally_long() -> None:
    graph = graph_compiler.transpile(_gathered, to="numpy", args=(torch.rand(3, 4), torch.rand(3, 4) > 0.3))
    x, kept = torch.rand(6, 5), torch.rand(6, 5) > 0.5
    assert_same(graph(x, kept), _gathered(x, kept))
    assert len(graph.variants) == 1
    assert "GuardFailed" not in graph.source


def _windows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Divide images into windows and join them, as vision models do; the first size is inferred from the
    others.
    """
    b, h, w, c = x.shape
    padded = F.pad(x, (0, 0, 0, -w % 4, 0, -h % 4))
    high, wide = padded.shape[1:3]
    parts = padded.view(b, high // 4, 4, wide // 4, 4, c).transpose(2, 3) * 2
    return parts.reshape(-1, high, wide, c), x.reshape(-1, w, c).sum(1)


@pytest.mark.parametrize("to", ["jax", "numpy", "tensorflow"])
def test_a_size_that_the_others_leave_is_not_spelled_out(to: str) -> None:
    if to == "tensorflow":
        pytest.importorskip("tensorflow")
    graph = graph_compiler.transpile(_windows, to=to, args=(torch.rand(2, 6, 7, 3),))
    for shape in ((3, 9, 5, 2), (0, 9, 5, 2)):
        x = torch.rand(*shape)
        assert_same(graph(x), _windows(x))
    assert len(graph.variants) == 1
    assert not re.search(r"\)\s*//\s*\(", graph.source)


def _teacher(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        target = torch.tanh(x @ weight * 2 + 1)
        target /= target.norm()
    return ((x - target) ** 2).sum() * weight.sum()


def test_what_is_made_without_gradients_is_cut_off_once() -> None:
    graph = graph_compiler.transpile(_teacher, to="jax", args=(torch.rand(3, 3), torch.rand(3, 3)))
    x, weight = torch.rand(4, 4, requires_grad=True), torch.rand(4, 4, requires_grad=True)
    found = jax.grad(lambda *given: graph.functional({}, *given), (0, 1))(
        x.detach().numpy(), weight.detach().numpy()
    )
    assert_same(list(found), list(torch.autograd.grad(_teacher(x, weight), (x, weight))))
    # Only x and weight are stopped, and no value computed from them.
    assert graph.source.count("lax.stop_gradient(") == 2


def test_large_values_that_stand_in_another_expression_are_not_deleted() -> None:
    x = torch.rand(160, 160)
    graph = graph_compiler.transpile(lambda x: torch.tanh(x @ x + 1).sum(0), to="numpy", args=(x,))
    assert "del " not in graph.source
    assert_same(graph(x), torch.tanh(x @ x + 1).sum(0))


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_layers_of_keras_have_their_own_names_in_comments(to: str) -> None:
    keras = pytest.importorskip("keras")
    # TensorFlow opens the scope of `dense` as `dense_1`, which is the name of another layer.
    layers = [keras.layers.Dense(3, name=name) for name in ("dense", "dense_1", "dense_2")]
    model = keras.Sequential([keras.layers.Input((4,)), *layers], name="model")
    graph = graph_compiler.transpile(model, to=to, args=(np.ones((2, 4), "float32"),))
    comments = re.findall(r"^    # (\S+)$", graph.source, re.MULTILINE)
    assert comments == ["model/dense", "model/dense_1", "model/dense_2"], graph.source
    # In TensorFlow itself, the last call has a line of its own.
    assert to == "tensorflow" or "# model/dense_2\n    return " in graph.source, graph.source


def test_calls_of_tensorflow_have_no_default_attributes() -> None:
    tf = pytest.importorskip("tensorflow")

    def function(x: Any, kernel: Any) -> Any:
        images = tf.nn.conv2d(x, kernel, strides=1, padding="SAME")
        return tf.reduce_sum(images @ kernel[0, 0], axis=0), tf.cumsum(images, axis=1, reverse=True)

    arrays = (tf.ones((2, 4, 4, 3)), tf.ones((2, 2, 3, 3)))
    graph = graph_compiler.compile(function, args=arrays)
    assert "=False" not in graph.source and "NHWC" not in graph.source, graph.source
    assert "reverse=True" in graph.source and "padding='SAME'" in graph.source, graph.source
    others = (tf.random.normal((1, 5, 3, 3)), tf.random.normal((3, 1, 3, 3)))
    assert_same(graph(*others), function(*others))
