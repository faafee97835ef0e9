"""Tests of graphs of TensorFlow functions: state, weights, modules, files, SavedModels, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import graph_compiler  # noqa: E402
from graph_compiler.errors import TracingError, UnsupportedOperation  # noqa: E402
from graph_compiler.frontends.tensorflow import recording  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

TARGETS = ("tensorflow", "torch", "jax", "numpy")


def drawn(rows: int = 4) -> Any:
    return tf.constant(np.random.default_rng(rows).standard_normal((rows, 3)).astype("float32"))


class Counts(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable(drawn()[0], name="another_name")
        self.calls = tf.Variable(0, trainable=False)

    @tf.function
    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(1)
        return tf.tanh(x * self.scale) + tf.cast(self.calls, tf.float32)

    def right(self, x: Any) -> Any:
        """Return the expected result of the next call."""
        return np.tanh(x * self.scale.numpy()) + self.calls.numpy() + 1


@pytest.mark.parametrize(("to", "is_compiled"), [*((to, False) for to in TARGETS), ("tensorflow", True)])
def test_variables_are_parameters_and_state(to: str, is_compiled: bool) -> None:
    module, x = Counts(), drawn()
    graph = graph_compiler.compile(module, to=to, args=(x,), return_backend_compiled_fn=is_compiled)
    assert (sorted(graph.parameters), sorted(graph.trained), module.calls.numpy()) == (
        ["calls", "scale"],
        ["scale"],
        0,
    )
    for rows in (4, 6):
        right = module.right(drawn(rows))
        np.testing.assert_allclose(np.asarray(graph(drawn(rows))), right, rtol=1e-5, atol=1e-5)
    assert module.calls.numpy() == 2
    module.scale.assign([1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.asarray(graph(x)), np.tanh(x * [1.0, 2.0, 3.0]) + 3, rtol=1e-5, atol=1e-5)
    # TensorFlow updates the memory in place if it has no other owner.
    module.scale.assign_add([1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.asarray(graph(x)), np.tanh(x * [2.0, 4.0, 6.0]) + 4, rtol=1e-5, atol=1e-5)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_assignments_show_where_many_variables_are_read_together(to: str) -> None:
    variables = [tf.Variable(float(number)) for number in range(30)]
    graph = graph_compiler.compile(
        lambda x: x * tf.add_n([variable * number for number, variable in enumerate(variables)]),
        to=to,
        args=(drawn(),),
    )
    for call in range(14):
        variables[call].assign_add(1.0) if call % 2 else variables[call].assign(call * 2.0)
        right = drawn() * sum(number * variable.numpy() for number, variable in enumerate(variables))
        np.testing.assert_allclose(np.asarray(graph(drawn())), right, rtol=1e-5)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_graph_is_verified_saved_and_loaded(to: str, tmp_path: Path) -> None:
    module, x = Counts(), drawn(5)
    graph = graph_compiler.compile(module, to=to, args=(drawn(),), verify=True)
    graph.verify()
    graph.save(tmp_path / "graph.zip")
    for target in (None, "numpy", "torch"):
        np.testing.assert_allclose(
            np.asarray(graph_compiler.load(tmp_path / "graph.zip", to=target)(x)),
            module.right(x),
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("to", TARGETS)
def test_recorded_at_the_first_call(to: str) -> None:
    @graph_compiler.compile(to=to)
    def function(x: Any) -> Any:
        return tf.exp(x) * 2

    for compiled in (function, graph_compiler.compile(tf.function(lambda x: tf.exp(x) * 2), to=to)):
        np.testing.assert_allclose(np.asarray(compiled(drawn())), np.exp(drawn()) * 2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_gradients_reach_variables(is_compiled: bool) -> None:
    module, x = Counts(), drawn()
    graph = graph_compiler.compile(module, args=(x,), return_backend_compiled_fn=is_compiled)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(graph(x))
    with tf.GradientTape() as own:
        right = tf.reduce_sum(module(x))
    np.testing.assert_allclose(
        tape.gradient(total, module.scale), own.gradient(right, module.scale), rtol=1e-4
    )


def test_a_compiled_graph_reads_its_variables_itself() -> None:
    """It uses their current values, inside the user's functions too; the pure function uses those that it is
    given.
    """
    scale, x = tf.Variable(drawn()[0]), drawn()
    graph = graph_compiler.compile(lambda x: tf.tanh(x * scale), args=(x,), return_backend_compiled_fn=True)
    within = tf.function(lambda x: graph(x) * 2)
    for factor in (1.0, 3.0):
        scale.assign([factor] * 3)
        for rows in (4, 6):
            right = np.tanh(drawn(rows) * factor)
            np.testing.assert_allclose(graph(drawn(rows)), right, rtol=1e-5)
            np.testing.assert_allclose(within(drawn(rows)), right * 2, rtol=1e-5)
    (name,) = graph.parameters
    result = graph.functional({name: tf.constant([2.0] * 3)}, x)
    np.testing.assert_allclose(result, np.tanh(x * 2), rtol=1e-5)
    assert len(graph.variants) == 1


def test_module_of_torch_has_the_variables() -> None:
    torch = pytest.importorskip("torch")
    module, x = Counts(), drawn()
    made = graph_compiler.transpile(module, to="torch", args=(x,)).as_module()
    assert [name for name, _ in made.named_parameters()] == ["scale"]
    assert [name for name, _ in made.named_buffers()] == ["calls"]
    made(torch.tensor(x.numpy())).sum().backward()
    with tf.GradientTape() as own:
        right = tf.reduce_sum(module(x))
    np.testing.assert_allclose(made.scale.grad, own.gradient(right, module.scale), rtol=1e-4)


def test_written_for_the_compiler_of_tensorflow() -> None:
    def function(x: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x) * x.shape[0])

    graph = graph_compiler.compile(
        function, args=(drawn(),), return_backend_compiled_fn=True, compile_options={"jit_compile": True}
    )
    for rows in (4, 7):
        np.testing.assert_allclose(graph(drawn(rows)), function(drawn(rows)), rtol=1e-5, atol=1e-5)
    open_sizes = tf.function(lambda x: graph.functional({}, x), input_signature=[tf.TensorSpec((None, None))])
    np.testing.assert_allclose(open_sizes(drawn(6)), function(drawn(6)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("to", TARGETS)
def test_saved_model(to: str, tmp_path: Path) -> None:
    module = Counts()
    signature = module.__call__.get_concrete_function(tf.TensorSpec((None, 3), name="x"))
    tf.saved_model.save(module, str(tmp_path), signatures=signature)
    loaded = tf.saved_model.load(str(tmp_path))
    graph = graph_compiler.compile(loaded, to=to, args=(drawn(),))
    assert sorted(graph.parameters) == ["calls", "scale"]
    np.testing.assert_allclose(np.asarray(graph(drawn(6))), module.right(drawn(6)), rtol=1e-5, atol=1e-5)
    # A signature does not keep the variables alive, so the loaded object must stay referenced.
    again = tf.saved_model.load(str(tmp_path))
    served = graph_compiler.compile(again.signatures["serving_default"], to=to, kwargs={"x": drawn()})
    (result,) = served(x=drawn(5)).values()
    np.testing.assert_allclose(np.asarray(result), module.right(drawn(5)), rtol=1e-5, atol=1e-5)


def calls_numpy(x: Any) -> Any:
    return tf.numpy_function(lambda a: a * 2, [x], tf.float32)


def reads_texts(x: Any) -> Any:
    return x + tf.cast(tf.strings.length("four"), tf.float32) + tf.strings.to_number(tf.strings.as_string(x))


TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1]), tf.constant([5.0, 6.0])), 0.0
)


def uses_a_table(x: Any) -> Any:
    return x + TABLE.lookup(tf.constant(1))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (calls_numpy, "call back into Python"),
        (reads_texts, "texts have no counterpart"),
        (uses_a_table, "table"),
    ],
    ids=["callback", "texts", "table"],
)
def test_refused_with_the_line(function: Any, words: str) -> None:
    line = function.__code__.co_firstlineno
    with pytest.raises(
        UnsupportedOperation, match=rf"{words}(.|\n)*{Path(__file__).name}:({line + 1}|{line + 2})"
    ):
        graph_compiler.transpile(function, to="torch", args=(drawn(),))


def test_many_elements_are_no_constants() -> None:
    with pytest.raises(TracingError, match=r"reads 300 elements"):
        graph_compiler.transpile(lambda x: x + tf.reduce_sum(x.numpy()), to="torch", args=(drawn(100),))


@pytest.mark.parametrize("convert", [lambda function: function, tf.function], ids=["eager", "tf.function"])
@pytest.mark.parametrize("error", [KeyError, NotImplementedError])
def test_exceptions_of_the_function_are_its_own(error: type[Exception], convert: Any) -> None:
    @convert  # type: ignore[untyped-decorator]
    def function(x: Any) -> Any:
        raise error("mine")

    with pytest.raises(error, match="mine"):
        graph_compiler.transpile(function, to="torch", source="tensorflow", args=(drawn(),))


def raises_its_own(x: Any) -> Any:
    raise ValueError("the size is None")


def raises_through_tensorflow(x: Any) -> Any:
    return tf.reshape(x, (7, 11))


def raises_of_a_size(x: Any) -> Any:
    # This size is unknown, whatever the sizes of the arguments are.
    return tf.TensorShape([None, 3])[0] * x


@pytest.mark.parametrize(
    ("function", "most"),
    [(raises_its_own, 1), (raises_through_tensorflow, 1), (raises_of_a_size, 3)],
)
def test_a_function_that_fails_is_run_as_often_as_may_help(
    function: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    original = recording.forward

    def counting(called: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(called)
        return original(called, *args, **kwargs)

    monkeypatch.setattr(recording, "forward", counting)
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
        graph_compiler.transpile(function, to="torch", source="tensorflow", args=(tf.ones((2, 3)),))
    assert 1 <= calls.count(function) <= most


@pytest.mark.parametrize("to", TARGETS)
def test_slices_of_arrays_of_numbers_are_updated_with_numbers(to: str) -> None:
    def function(x: Any) -> Any:
        regions = keras.ops.zeros((4, 4), "int32")
        for count, start in enumerate(((0, 0), (2, 1), (3, 3))):
            regions = keras.ops.slice_update(regions, start, keras.ops.full((2, 2), count + 1, "int32"))
        row = keras.ops.slice_update(keras.ops.zeros(5), [1], [2.0, 3.0])
        return x + tf.cast(regions[:3, 1:], tf.float32), tf.reduce_sum(x) + row

    graph = graph_compiler.compile(function, to=to, args=(drawn(3),))
    assert_same(graph(drawn(3) + 1.0), function(drawn(3) + 1.0))
