"""Process in which one contender calls one Keras model, once for each line that it reads: see ``main``.

Keras has one backend for each process, and the threads of TensorFlow would disturb those of JAX. The
folder has the weights, and gets the result of a call. For each call, a line with its seconds, and with
those of the processors, is written.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import keras_cases

Call = Callable[[], Any]
GRAPH_JAX, KERAS_JAX = "graph, jax.jit", "Keras on JAX"
GRAPH_TENSORFLOW, PREDICT = "graph, tf.function", "predict_on_batch"
GRAPH_XLA, PREDICT_XLA = "graph, tf.function with XLA", "predict_on_batch with XLA"
BACKENDS = {
    GRAPH_JAX: "tensorflow",
    KERAS_JAX: "jax",
    GRAPH_TENSORFLOW: "tensorflow",
    GRAPH_XLA: "tensorflow",
    PREDICT: "tensorflow",
    PREDICT_XLA: "tensorflow",
}


def weights_file(folder: Path) -> Path:
    return folder / "model.weights.h5"


def _one_or_list(items: list[Any]) -> Any:
    return items if len(items) > 1 else items[0]


def _keras_on_jax(model: Any, arrays: list[Any]) -> Call:
    """Return a call of the model as Keras runs it: its weights are arguments of the compiled function."""
    # A process imports only the frameworks of its contender.
    jax = importlib.import_module("jax")
    function = jax.jit(lambda trained, others, x: model.stateless_call(trained, others, x, training=False)[0])
    given = _one_or_list([jax.numpy.asarray(array) for array in arrays])
    trained, others = (
        [variable.value for variable in kind]
        for kind in (model.trainable_variables, model.non_trainable_variables)
    )
    return lambda: jax.block_until_ready(function(trained, others, given))


def _graph(model: Any, arrays: list[Any], to: str) -> Any:
    constant = importlib.import_module("tensorflow").constant
    given = _one_or_list([constant(array) for array in arrays])
    return importlib.import_module("graph_compiler").transpile(model, to=to, args=(given,))


def _graph_in_jax(model: Any, arrays: list[Any]) -> Call:
    jax, graph = importlib.import_module("jax"), _graph(model, arrays, "jax")
    function = jax.jit(graph.functional)
    given, parameters = _one_or_list([jax.numpy.asarray(array) for array in arrays]), dict(graph.parameters)
    return lambda: jax.block_until_ready(function(parameters, given))


def _graph_in_tensorflow(model: Any, arrays: list[Any], **options: Any) -> Call:
    tf, graph = importlib.import_module("tensorflow"), _graph(model, arrays, "tensorflow")
    function = tf.function(graph.__call__, autograph=False, **options)
    given = _one_or_list([tf.constant(array) for array in arrays])
    return lambda: function(given).numpy()


def _predict_on_batch(model: Any, arrays: list[Any], **options: Any) -> Call:
    model.compile(**options)
    constant = importlib.import_module("tensorflow").constant
    given = _one_or_list([constant(array) for array in arrays])
    return lambda: model.predict_on_batch(given)


CONTENDERS: dict[str, Callable[[Any, list[Any]], Call]] = {
    GRAPH_JAX: _graph_in_jax,
    KERAS_JAX: _keras_on_jax,
    GRAPH_TENSORFLOW: _graph_in_tensorflow,
    GRAPH_XLA: lambda model, arrays: _graph_in_tensorflow(model, arrays, jit_compile=True),
    PREDICT: lambda model, arrays: _predict_on_batch(model, arrays, jit_compile=False),
    PREDICT_XLA: lambda model, arrays: _predict_on_batch(model, arrays, jit_compile=True),
}


def main(contender: str, case: str, folder: Path) -> None:
    """Run ``python -m benchmarks.keras_peer CONTENDER CASE FOLDER``.

    Save the result of a first call, print ``ready``, and call once more for each line of the input.
    """
    numpy = importlib.import_module("numpy")
    model = keras_cases.CASES[case]()
    model.load_weights(weights_file(folder))
    call = CONTENDERS[contender](model, keras_cases.arrays(case))
    # The first call compiles. Its result is compared with those of other contenders.
    numpy.save(folder / f"{contender}.npy", numpy.asarray(call()))
    # The reader would wait for ever for a line in a buffer.
    print("ready", flush=True)
    for _ in sys.stdin:
        start, busy = time.perf_counter(), time.process_time()
        call()
        print(time.perf_counter() - start, time.process_time() - busy, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
