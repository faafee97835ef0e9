"""Tests of TensorFlow graphs where TensorFlow takes functions: datasets, maps, loops, derivatives,
SavedModels, TFLite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

import graph_compiler  # noqa: E402
from graph_compiler.errors import CallMismatch  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = torch.nn.Embedding(20, 8), torch.nn.Embedding(32, 8)
        self.attention, self.norm = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.nn.LayerNorm(8)
        self.convolution, self.head = torch.nn.Conv1d(8, 8, 3, padding=1), torch.nn.Linear(8, 6)

    def forward(self, tokens: Any) -> Any:
        place = torch.arange(0, tokens.numel() // tokens.shape[0])
        near = (place[:, None] - place[None]).abs() < 4
        hidden = self.words(tokens) + self.places(place)
        mixed = self.attention(hidden, hidden, hidden, attn_mask=~near, need_weights=False)[0]
        hidden = self.norm(hidden + mixed)
        hidden = torch.nn.functional.gelu(self.convolution(hidden.mT).mT)
        return self.head(hidden).softmax(-1).topk(2)


def tokens(rows: int, columns: int) -> Any:
    return torch.randint(0, 20, (rows, columns), generator=torch.Generator().manual_seed(rows))


def transpiled(source: Any, *args: Any) -> Any:
    return graph_compiler.transpile(source, to="tensorflow", args=args)


# ------------------------------------------------------------------------------ functions that take functions
def test_maps_and_loops_call_a_graph() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3), torch.nn.Tanh())
    graph, x = transpiled(model, torch.randn(4, 3)), torch.randn(6, 4, 3)
    examples = tf.data.Dataset.from_tensor_slices(x.numpy()).map(graph, num_parallel_calls=2).batch(4)
    assert_same(np.concatenate([part.numpy() for part in examples]), model(x))
    lengths = tf.data.Dataset.from_generator(
        lambda: iter([x[0, :n] for n in (1, 3)]), output_signature=tf.TensorSpec((None, 3))
    ).map(graph)
    assert_same([part.numpy() for part in lengths], [model(x[0, :n]) for n in (1, 3)])
    for mapped in (tf.vectorized_map, tf.map_fn):
        assert_same(mapped(graph, tf.constant(x.numpy())), model(x))

    @tf.function
    def thrice(x: Any) -> Any:
        for _ in tf.range(3):
            x = graph(x)
        return x

    assert_same(thrice(x[0].numpy()), model(model(model(x[0]))))


def test_derivatives_of_every_kind() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)
    )
    graph, x = transpiled(model, torch.randn(4, 3)), torch.randn(5, 3)
    given = tf.constant(x.numpy())
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(given)
            result = graph.functional(graph.parameters, given)
            loss = tf.reduce_sum(result**2)
        slope = tape.gradient(loss, given)
    assert_same(tape.jacobian(result, given), torch.func.jacrev(model)(x))
    gradient = torch.func.grad(lambda x: (model(x) ** 2).sum())
    (
        assert_same(slope, gradient(x)),
        assert_same(outer.gradient(slope, given), torch.func.grad(lambda x: gradient(x).sum())(x)),
    )
    with tf.autodiff.ForwardAccumulator(given, tf.ones_like(given)) as forward:
        result = graph(given)
    assert_same(forward.jvp(result), torch.func.jvp(model, (x,), (torch.ones_like(x),))[1])


def test_an_unknown_number_of_axes_is_told() -> None:
    graph = transpiled(torch.nn.Linear(3, 2), torch.randn(4, 3))
    with pytest.raises(
        CallMismatch, match="how many axes input has is not known yet; it was recorded with 2"
    ):
        tf.function(graph, input_signature=[tf.TensorSpec(None)])(tf.ones((2, 3)))


# ---------------------------------------------------------------------------------------------- files
def holder_of(graph: Any) -> Any:
    """Return a ``tf.Module`` with the graph's weights as variables."""
    holder = tf.Module()
    holder.weights = {name: tf.Variable(array) for name, array in graph.parameters.items()}
    holder.call = tf.function(lambda tokens: tuple(graph.functional(holder.weights, tokens)), autograph=False)
    return holder


def test_a_saved_model_has_ordinary_operations_and_variables(tmp_path: Path) -> None:
    source = Tagger().eval()
    holder = holder_of(transpiled(source, tokens(2, 7)))
    concrete = holder.call.get_concrete_function(tf.TensorSpec((None, None), tf.int64))
    assert not [operation.type for operation in concrete.graph.get_operations() if "PyFunc" in operation.type]
    tf.saved_model.save(holder, str(tmp_path), signatures=concrete)
    again = tf.saved_model.load(str(tmp_path))
    assert_same(again.call(tokens(3, 11).numpy()), tuple(source(tokens(3, 11))))
    for variable in again.weights.values():
        # Weights that are trained further or quantised must be no constants.
        variable.assign(tf.zeros_like(variable))
    assert_same(again.call(tokens(3, 11).numpy())[0], np.full((3, 11, 2), 1 / 6, np.float32))


class Limited(torch.nn.Module):
    """A model with guards on sizes and elements, which a trace with unknown sizes cannot check."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = torch.nn.Embedding(20, 8), torch.nn.Embedding(32, 8)

    def forward(self, tokens: Any, mask: Any) -> Any:
        if tokens.shape[1] > 16:
            raise ValueError("too long")
        hidden = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return hidden if mask.all() else hidden * mask[..., None]


def test_guards_on_unknown_sizes_and_elements_are_assertions_of_a_saved_model(tmp_path: Path) -> None:
    source = Limited()
    given = {"tokens": tokens(2, 5), "mask": torch.arange(5)[None] > torch.arange(2)[:, None]}
    graph = graph_compiler.transpile(source, to="tensorflow", kwargs=given)
    holder = tf.Module()
    signature = [tf.TensorSpec((None, None), tf.int64), tf.TensorSpec((None, None), tf.bool)]
    holder.call = tf.function(
        lambda tokens, mask: graph(tokens=tokens, mask=mask), input_signature=signature, autograph=False
    )
    tf.saved_model.save(holder, str(tmp_path))
    # This object keeps the variables alive.
    loaded = tf.saved_model.load(str(tmp_path))
    for rows, columns in ((2, 5), (3, 16), (4, 3)):
        mask = torch.arange(columns)[None].expand(rows, -1) > 0
        assert_same(
            loaded.call(tokens(rows, columns).numpy(), mask.numpy()), source(tokens(rows, columns), mask)
        )
    for refused, why in (
        ((tokens(2, 17).numpy(), np.zeros((2, 17), bool)), "GuardFailed: .*16"),
        ((tokens(2, 5), np.ones((2, 5), bool)), r"a condition in `hidden if mask.all\(\) else"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=why):
            loaded.call(*refused)


def lite_results(content: bytes, given: Any) -> list[Any]:
    interpreter = tf.lite.Interpreter(model_content=content)
    (place,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(place["index"], given.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(place["index"], given.numpy())
    interpreter.invoke()
    return [interpreter.get_tensor(output["index"]) for output in interpreter.get_output_details()]


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning")
def test_tflite_needs_no_operations_of_tensorflow() -> None:
    """The conversion must succeed with unknown sizes and without ``SELECT_TF_OPS``."""
    source = Tagger().eval()
    holder = holder_of(transpiled(source, tokens(2, 7)))
    concrete = holder.call.get_concrete_function(tf.TensorSpec((None, None), tf.int64))
    content = tf.lite.TFLiteConverter.from_concrete_functions([concrete], holder).convert()
    for shape in ((2, 7), (3, 11)):
        values, places = sorted(lite_results(content, tokens(*shape)), key=lambda array: array.dtype.kind)
        assert_same((values, places), tuple(source(tokens(*shape))))
