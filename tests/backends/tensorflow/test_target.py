"""Tests of what only TensorFlow has: tapes, ``tf.function`` with unknown sizes, variables, SavedModels,
``keras.Model``.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
pytest.importorskip("transformers")

import graph_compiler as gc  # noqa: E402
from graph_compiler.backends import tensorflow as backend  # noqa: E402
from graph_compiler.backends.tensorflow.native import _matches_recorded  # noqa: E402
from graph_compiler.codegen import load, write  # noqa: E402
from graph_compiler.errors import CallMismatch, GuardFailed  # noqa: E402
from graph_compiler.ir import Builder, Graph  # noqa: E402
from graph_compiler.ir.graph import Guard  # noqa: E402
from graph_compiler.ir.node import Origin, Value  # noqa: E402
from graph_compiler.ops import ArraySpec  # noqa: E402
from tests.corpora.models import small  # noqa: E402
from tests.corpora.test_models import converted, doubled, eager, probes, tiny, torch_gradients  # noqa: E402
from tests.passes.graphs import flat_tree  # noqa: E402
from tests.support.compare import arrays, assert_no_further, assert_same  # noqa: E402
from tests.support.logs import logged  # noqa: E402

UNKNOWN = ("bert", "gpt2", "llama", "t5", "vit", "resnet", "whisper", "clip", "lstm")
TRAINED = ("bert", "llama", "vit", "resnet", "lstm")


def to_tensorflow(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: tf.constant(tensor.numpy()) for name, tensor in inputs.items()}


class Normed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))

    def forward(self, x: Any) -> Any:
        return self.layers(x).relu()


# ---------------------------------------------------------------------------------------------- gradients
def tape_gradients(
    graph: Any, names: list[str], inputs: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the gradient of each named parameter by a tape."""
    trained = {name: tf.Variable(graph.parameters[name]) for name in names}
    with tf.GradientTape() as tape:
        output = graph.functional({**graph.parameters, **trained}, **to_tensorflow(inputs), **options)
        loss = tf.add_n(
            [
                tf.reduce_sum(array * probe)
                for array, probe in zip(arrays(output).values(), probes(output), strict=True)
            ]
        )
    found = tape.gradient(loss, list(trained.values()), unconnected_gradients="zero")
    return dict(zip(names, map(tf.convert_to_tensor, found), strict=True))


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name: str) -> None:
    """The error against torch's float64 gradients is bounded by that of torch's float32 gradients, at both
    shapes.
    """
    case, graph = tiny(name), converted(name, "tensorflow")
    exact = copy.deepcopy(case.model).double()
    for inputs in (case.inputs, case.other_inputs):
        expected = torch_gradients(case.model, inputs, case.options)
        found = tape_gradients(graph, list(expected), inputs, case.options)
        assert_no_further(found, expected, torch_gradients(exact, doubled(inputs), case.options), factor=4)


CONVOLUTIONS = [
    (torch.nn.functional.conv2d, (2, 4, 9, 8), (6, 4, 3, 3), {"dilation": 2, "stride": (2, 1)}),
    (torch.nn.functional.conv2d, (2, 4, 9, 8), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    (torch.nn.functional.conv2d, (2, 4, 9, 8), (8, 1, 3, 3), {"groups": 4}),
    (torch.nn.functional.conv2d, (2, 4, 9, 8), (4, 1, 3, 3), {"groups": 4, "dilation": 2}),
    (torch.nn.functional.conv1d, (2, 4, 9), (6, 4, 3), {"dilation": 3, "padding": 2}),
    (torch.nn.functional.conv3d, (2, 2, 5, 6, 5), (3, 2, 2, 3, 2), {"dilation": (1, 2, 1)}),
    (
        torch.nn.functional.conv_transpose2d,
        (2, 4, 5, 4),
        (4, 3, 3, 3),
        {"groups": 2, "stride": 2, "output_padding": 1, "padding": 1},
    ),
]


@pytest.mark.parametrize(("function", "shape", "kernel", "options"), CONVOLUTIONS)
def test_gradients_of_convolutions(
    function: Any, shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]
) -> None:
    """TensorFlow's CPU kernels have no gradient for groups or dilation."""
    x, weight = torch.randn(shape, requires_grad=True), torch.randn(kernel, requires_grad=True)
    graph = gc.transpile(
        lambda x, w: function(x, w, **options), to="tensorflow", args=(x.detach(), weight.detach())
    )
    given = [tf.constant(array.detach().numpy()) for array in (x, weight)]
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = tf.reduce_sum(tf.sin(graph.functional({}, *given)))
    expected = torch.autograd.grad(function(x, weight, **options).sin().sum(), (x, weight))
    for found, wanted in zip(tape.gradient(loss, given), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-3, atol=1e-4)


# ---------------------------------------------------------------------------------------------- tf.function
@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_sizes(name: str) -> None:
    """One trace with unknown sizes must serve both shapes."""
    case, graph = tiny(name), converted(name, "tensorflow")
    names = list(case.inputs)
    ranks = {name: [None] * tensor.ndim for name, tensor in case.inputs.items()}
    for image in (key for key, tensor in case.inputs.items() if tensor.ndim == 4):
        # TensorFlow needs a static number of channels where they meet a weight.
        ranks[image][1] = 3
    signature = [tf.TensorSpec(ranks[name], to_tensorflow(case.inputs)[name].dtype) for name in names]

    @tf.function(input_signature=signature)
    def traced(*given: Any) -> Any:
        return graph.functional(graph.parameters, **dict(zip(names, given, strict=True)), **case.options)

    for inputs in (case.inputs, case.other_inputs):
        assert_same(traced(*to_tensorflow(inputs).values()), eager(case, inputs))
    assert traced.experimental_get_tracing_count() == 1


def test_guards_on_unknown_sizes_are_checked_when_the_function_runs() -> None:
    graph = gc.transpile(lambda x: x * 2 if x.shape[0] > 2 else x - 1, to="tensorflow", args=(torch.ones(3),))
    for jit_compile in (False, True):
        traced = tf.function(
            lambda x: graph.functional({}, x),
            input_signature=[tf.TensorSpec([None])],
            jit_compile=jit_compile,
        )
        assert traced(tf.ones([4])).numpy().tolist() == [2, 2, 2, 2]
        # XLA omits assertions.
        if jit_compile:
            assert np.isnan(traced(tf.ones([2])).numpy()).all()
        else:
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match=r"GuardFailed: .* was recorded for x\.shape\[0\] > 2, which",
            ):
                traced(tf.ones([2]))


@pytest.mark.parametrize("expected", [True, [1.0, 2.0, 3.0], [[True, False]], []], ids=str)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_elements_of_another_shape_differ_from_the_recorded_ones(expected: Any, jit_compile: bool) -> None:
    dtype = tf.as_dtype(np.asarray(expected).dtype)
    guard = Guard(Value("check", None), expected, Origin("f.py", 3))
    matches = tf.function(
        lambda check: _matches_recorded(check, guard), [tf.TensorSpec(None, dtype)], jit_compile=jit_compile
    )
    for other in (
        expected,
        True,
        [1.0],
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0],
        [[True], [False]],
        np.ones((0, 2)),
    ):
        check = np.asarray(other).astype(dtype.as_numpy_dtype)
        assert bool(matches(check)) == np.array_equal(check, expected)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32], ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_real_parts_wrap_around_in_narrow_integers(dtype: torch.dtype) -> None:
    x = torch.tensor([300 + 5j, -3, 70000 - 1j])
    graph = gc.transpile(lambda x: x.to(dtype), to="tensorflow", args=(x,))
    # The second call is compiled by XLA.
    for _ in range(2):
        assert_same(graph(x), x.to(dtype))


def halved(x: Any) -> Any:
    return x[: int(x.shape[0] / 2)] * float(x.shape[0]), torch.tensor([x.shape[0], x.shape[0] / 4])


def by_root(x: Any) -> Any:
    return x / math.sqrt(x.shape[0])


def first_quarter(x: Any) -> Any:
    return x[: math.ceil(x.shape[0] / 4)]


def test_what_python_computes_of_unknown_sizes_is_right_or_an_error() -> None:
    def traced(function: Any) -> Any:
        graph = gc.compile(function, to="tensorflow", args=(torch.ones(6),))
        return tf.function(lambda x: graph.functional({}, x), input_signature=[tf.TensorSpec([None])])

    assert_same(traced(halved)(tf.range(9.0)), halved(torch.arange(9.0)))
    for function, words in (
        (by_root, "by_root: Python has to know a size that is not known yet"),
        (first_quarter, "cannot be told of sizes that are unknown"),
    ):
        with pytest.raises(GuardFailed, match=words):
            traced(function)(tf.range(9.0))


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}, {"reduce_retracing": True}])
def test_compiled_by_tensorflow(options: dict[str, Any]) -> None:
    case = tiny("bert")
    graph = gc.compile(
        case.model,
        to="tensorflow",
        kwargs=case.inputs,
        return_backend_compiled_fn=True,
        compile_options=options,
    )
    for inputs in (case.inputs, case.other_inputs):
        assert_same(graph(**inputs), eager(case, inputs))


@dataclasses.dataclass
class Answer:
    array: Any
    text: str
    size: int


@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_functions_return_more_than_tensors(jit_compile: bool) -> None:
    def function(x: Any) -> Any:
        return {
            1: Answer(x * 2, f"of {x.shape[0]}", x.shape[0]),
            "flag": (True, None, 0.5, x.dtype is torch.float32),
        }

    graph = gc.compile(
        function,
        to="tensorflow",
        return_backend_compiled_fn=True,
        compile_options={"jit_compile": jit_compile},
    )
    for length in (2, 3, 2):
        assert_same(graph(torch.ones(length)), function(torch.ones(length)))


def interleaved(x: torch.Tensor) -> Any:
    """Write slices with gaps, negate unsigned bytes, and use operations that loop over columns."""
    waves = torch.zeros_like(x)
    waves[:, 0::2], waves[:, 1::2] = torch.sin(x[:, 0::2]), torch.cos(x[:, 1::2])
    waves[1::2, -1] += 1
    return (
        waves,
        -(9 * x.abs()).to(torch.uint8),
        torch.cummax(x, 0),
        torch.cummin(x, 1),
        torch.geqrf(x),
        torch.linalg.lu_factor(x),
    )


@pytest.mark.parametrize("jit_compile", [False, True])
def test_loops_and_writes_with_gaps_are_compiled(jit_compile: bool) -> None:
    graph = gc.compile(
        interleaved,
        to="tensorflow",
        return_backend_compiled_fn=True,
        compile_options={"jit_compile": jit_compile},
    )
    for shape in ((3, 5), (6, 4)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        assert_same(graph(x), interleaved(x))


def test_a_convolution_of_no_rows_is_compiled() -> None:
    """TensorFlow fuses padding and convolution to one kernel, whose shape inference ignores the padding."""
    convolution = torch.nn.Conv2d(2, 3, 2)
    graph = gc.compile(convolution, to="tensorflow", return_backend_compiled_fn=True)
    for rows in (2, 0):
        x = torch.ones(rows, 2, 4, 3)
        assert_same(graph(x), convolution(x))


_CONSTANTS: dict[str, Any] = {
    "where": lambda x: tf.where(x > 2, tf.ones(3, x.dtype), x),
    "where of a number": lambda x: tf.where(x > 2, tf.constant(1, x.dtype), x),
    "where at the end": lambda x: tf.where(x > 2, x, tf.zeros(3, x.dtype)),
    "maximum": lambda x: tf.maximum(tf.constant(2, x.dtype), x),
    "minimum": lambda x: tf.minimum(tf.constant([2, 3, 1], x.dtype), x),
    "operators": lambda x: (2 - x, tf.ones(3, x.dtype) * x, tf.constant(7, x.dtype) // (x + 1)),
    "concat": lambda x: tf.concat([tf.zeros(2, x.dtype), x], 0),
    "stack": lambda x: tf.stack([tf.constant(1, x.dtype), x[0]]),
}


@pytest.mark.parametrize("compiled", [None, True, False])
@pytest.mark.parametrize("dtype", ["int64", "float64", "uint8"])
@pytest.mark.parametrize("name", _CONSTANTS)
def test_constants_have_their_dtypes(name: str, dtype: str, compiled: bool | None) -> None:
    """In a traced function TensorFlow takes the dtype of the first operand, however it is written."""
    function, x = _CONSTANTS[name], tf.constant([1, 2, 3], dtype)
    graph = gc.compile(
        function, source="tensorflow", to="tensorflow", args=(x,), return_backend_compiled_fn=compiled
    )
    assert_same(graph(x + 1), function(x + 1))


def test_decisions_on_sizes_of_elements_run_uncompiled() -> None:
    def function(x: Any) -> Any:
        return [part * 2 for part in x[x > 0]]

    graph = gc.compile(function, to="tensorflow", return_backend_compiled_fn=True)
    with logged() as messages:
        for numbers in ([1.0, -1.0, 2.0], [1.0, 2.0, 3.0], [-1.0, 4.0, 5.0]):
            assert_same(graph(torch.tensor(numbers)), function(torch.tensor(numbers)))
    assert any("is not compiled" in message for message in messages)


def test_a_guard_on_elements_is_checked_in_a_tf_function() -> None:
    graph = gc.transpile(lambda x: x * 2 if x.sum() > 0 else x - 1, to="tensorflow", args=(torch.ones(3),))
    traced = tf.function(lambda x: graph.functional({}, x))
    assert traced(tf.ones([3])).numpy().tolist() == [2, 2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="was True when recorded and for this call is"):
        traced(-tf.ones([3]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.masked_fill(~(x < 1), 5.0),
        lambda x: torch.where(torch.logical_not(x >= 0), x, 2.0),
        lambda x: x * 2 if torch.logical_not(x.sum() > 0) else x - 1,
    ],
)
def test_nan_is_neither_above_nor_below_in_a_tf_function(function: Any) -> None:
    """Grappler rewrites ``not a < b`` to ``a >= b``, which is wrong for NaN."""
    graph = gc.compile(function, to="tensorflow", return_backend_compiled_fn=True)
    for numbers in ([1.0, -1.0, 2.0], [1.0, float("nan"), 0.5], [-1.0, -2.0, 3.0]):
        assert_same(graph(torch.tensor(numbers)), function(torch.tensor(numbers)))


def test_a_tf_function_calls_a_graph_as_it_is() -> None:
    """AutoGraph must not convert the code of a graph; it would warn and change Python expressions."""
    graph = gc.transpile(torch.nn.Linear(3, 2), to="tensorflow", args=(torch.ones(1, 3),))
    with logged(name="tensorflow") as messages:
        found = tf.function(lambda x: graph(x) + 1)(tf.ones([4, 3]))
        with pytest.raises(CallMismatch, match="tensorflow traces this call, which fits no recorded variant"):
            tf.function(graph)(tf.ones([2, 2, 3]))
    assert_same(found, graph(torch.ones(4, 3)) + 1)
    assert not messages


def test_saved_model(tmp_path: Path) -> None:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
    )
    graph = gc.transpile(model, to="tensorflow", args=(torch.randn(2, 3, 8, 8),))
    holder = tf.Module()
    holder.call = tf.function(
        lambda x: graph.functional(graph.parameters, x),
        input_signature=[tf.TensorSpec([None, 3, None, None], tf.float32)],
    )
    tf.saved_model.save(holder, str(tmp_path))
    again, x = tf.saved_model.load(str(tmp_path)), torch.randn(3, 3, 7, 9)
    assert_same(again.call(tf.constant(x.numpy())), model(x))


# ---------------------------------------------------------------------------------------------- memory
def test_weights_share_memory_and_arguments_do_not() -> None:
    layer = torch.nn.Linear(2, 2, bias=False)
    graph = gc.transpile(layer, to="tensorflow", args=(torch.ones(1, 2),))
    with torch.no_grad():
        layer.weight.fill_(3.0)
    assert graph.parameters["weight"].numpy().tolist() == [[3, 3], [3, 3]]
    same = gc.transpile(lambda x: x.reshape(-1), to="tensorflow", args=(torch.ones(2, 2),))
    for given in (torch.ones(2, 2), np.ones((2, 2), np.float32)):
        result = same(given)
        given[:] = 7
        assert result.numpy().tolist() == [1, 1, 1, 1]


def test_weights_at_odd_places_are_copied() -> None:
    """Memory of NumPy and slices of arrays may begin at any multiple of the element size, which TensorFlow
    does not accept.
    """
    layer = torch.nn.Linear(3, 1, bias=False)
    layer.weight = torch.nn.Parameter(torch.arange(20.0)[1:4].reshape(1, 3))
    graph = gc.transpile(layer, to="tensorflow", args=(torch.ones(1, 3),))
    assert_same(graph(torch.ones(2, 3)), layer(torch.ones(2, 3)))


def add_one(x: Any) -> Any:
    x.add_(1)
    return x * 2


def test_arguments_are_written_to_where_they_can_be() -> None:
    graph = gc.transpile(add_one, to="tensorflow", args=(torch.ones(2),))
    for given in (torch.ones(2), np.ones(2, np.float32), tf.Variable([1.0, 1.0])):
        assert graph(given).numpy().tolist() == [4, 4]
        assert np.asarray(given).tolist() == [2, 2]
    with pytest.raises(GuardFailed, match=r"a tf\.Tensor cannot be written to"):
        graph(tf.ones([2]))


# ---------------------------------------------------------------------------------------------- keras
def test_a_keras_model_trains() -> None:
    keras = pytest.importorskip("keras")
    source, x = Normed(), torch.randn(6, 3)
    graph = gc.transpile(source, to="tensorflow", args=(x,))
    before = int(source.layers[1].num_batches_tracked)
    model = graph.as_module()
    assert isinstance(model, keras.Model)
    trained = sorted(variable.name for variable in model.trainable_variables)
    assert trained == sorted(dict(source.named_parameters()))
    assert {variable.name for variable in model.non_trainable_variables} == set(dict(source.named_buffers()))
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    losses = model.fit(x.numpy(), np.ones((6, 4), np.float32), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert int(model.variable("layers.1.num_batches_tracked").numpy()) == before + 5


def test_random_numbers_follow_the_seed() -> None:
    from graph_compiler.backends.tensorflow import target

    graph = gc.transpile(lambda x: x + torch.rand(4), to="tensorflow", args=(torch.zeros(4),))
    target.seed(3)
    first, second = graph(torch.zeros(4)).numpy(), graph(torch.zeros(4)).numpy()
    target.seed(3)
    assert (graph(torch.zeros(4)).numpy() == first).all() and (first != second).any()


def test_what_is_computed_again_for_a_gradient_has_the_signs_of_its_zeros() -> None:
    from graph_compiler.backends.tensorflow.prelude.control import run_again

    def scaled_angle(x: Any, scale: Any) -> Any:
        return (tf.math.atan2(x, -tf.ones_like(x)) * scale,)

    @tf.function
    def gradient(function: Any, x: Any, scale: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(scale)
            (result,) = function(x, scale)
            loss = tf.reduce_sum(tf.square(result))
        return tape.gradient(loss, scale)

    x, scale = tf.constant([-0.0, 0.0, 1.0]), tf.constant([1.0, 2.0, 3.0])
    assert_same(gradient(run_again(scaled_angle), x, scale), gradient(scaled_angle, x, scale))


def test_maxima_of_windows_of_uint64() -> None:
    build = Builder(Graph("f", "canonical"))
    x, numbers = build.input("x", ArraySpec((2, 8), "uint64")), np.empty((2, 8), np.uint64)
    numbers[0], numbers[1] = [3, 2**63, 5, 2**64 - 1, 2**63 + 7, 2**63 + 8, 2**62, 1], [0, 0, 2**63, 0] * 2
    windows = {"kernel": (2,), "strides": (2,), "dilation": (1,)}
    build.graph.outputs = [
        *build.max_pool_with_indices(x, **windows, padding=((0, 0),)),
        *build.adaptive_max_pool_with_indices(x, size=(4,)),
        build.max_pool(x, **windows, padding=((0, 0),)),
        build.max_pool(x, **windows, padding=((1, 1),)),
    ]
    build.graph.output_tree = flat_tree(6)
    found = load(write(build.graph, backend.dialect, "Maxima."))(tf.constant(numbers))
    pairs, wide = numbers.reshape(2, 4, 2), np.pad(numbers, ((0, 0), (1, 1))).reshape(2, 5, 2)
    places = pairs.argmax(-1) + 2 * np.arange(4)
    expected = pairs.max(-1), places, pairs.max(-1), places, pairs.max(-1), wide.max(-1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other)
        assert one.numpy().dtype == other.dtype


def test_rows_of_small_models_are_known() -> None:
    assert set(UNKNOWN) | set(TRAINED) <= set(small.BY_NAME)
