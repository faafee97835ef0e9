"""Tests that bugs of the package are visible: no fallback hides them, and public functions raise
``InternalError`` with the user's line.

A fault is planted in each part of a conversion and must reach the caller, whatever fallback exists.
"""

from __future__ import annotations

import functools
import importlib
import logging
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler import errors, parallel, training, transforms
from graph_compiler.codegen import source
from graph_compiler.errors import (
    InternalError,
    InvalidGraph,
    TracingError,
    UnknownOperation,
    UnsupportedOperation,
)
from graph_compiler.recording.recorder import Recorder
from graph_compiler.runtime import boundary, pipeline
from graph_compiler.runtime.variants import TracedStatementVariants
from tests.support.logs import logged

X = np.linspace(-1, 1, 6, dtype=np.float32)
FAULTS = (
    InvalidGraph("a value is made by nothing"),
    AssertionError(),
    KeyError("axis"),
    IndexError("out of range"),
    TypeError("no number"),
)


def with_a_loop(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2 + i
    return x


def with_an_exit(x: Any, n: int) -> Any:
    for i in range(n):
        if x[i] > 0:
            break
        x = x + 1
    return x


def raising(problem: Exception) -> Any:
    """Return a function in a module of this package that raises ``problem``, as a bug would."""
    scope = {"__name__": "graph_compiler.planted", "problem": problem}
    exec(compile("def planted(*args, **kwargs):\n    raise problem", "planted.py", "exec"), scope)
    return scope["planted"]


# part of a conversion -> where a fault is planted in it
PLACES: dict[str, tuple[Any, str]] = {
    "recording": (Recorder, "new_values"),
    "folding": (pipeline, "fold_loops"),
    "a pass over recorded calls": (pipeline, "simplify_guards"),
    "passes over canonical operations": (pipeline, "canonical_passes"),
    "writing": (source, "BlockWriter"),
}


@pytest.mark.parametrize("problem", FAULTS, ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_no_fallback_hides_a_bug(monkeypatch: pytest.MonkeyPatch, place: str, problem: Exception) -> None:
    monkeypatch.setattr(*PLACES[place], raising(problem))
    with pytest.raises((InternalError, InvalidGraph)) as caught:
        graph_compiler.compile(with_a_loop, to="jax" if "canonical" in place else None, args=(X.copy(),))
    assert problem in (caught.value, caught.value.__cause__)


@pytest.mark.parametrize("problem", FAULTS, ids=lambda problem: type(problem).__name__)
def test_no_fallback_hides_a_bug_where_statements_are_traced(
    monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    graph = graph_compiler.compile(with_an_exit, args=(X.copy(), 2))
    monkeypatch.setattr(TracedStatementVariants, "_checked_against_original", raising(problem))
    with pytest.raises((InternalError, InvalidGraph)) as caught:
        graph(-X, 3)
    assert problem in (caught.value, caught.value.__cause__)


def reader_of(framework: str) -> tuple[Any, str]:
    """Return (class, name of a method) of the frontend that every recorded call passes through."""
    if framework == "torch":
        return importlib.import_module("graph_compiler.frontends.torch.capture.capture").Capture, "value"
    if framework == "numpy":
        return importlib.import_module(
            "graph_compiler.frontends.numpy.capture"
        ).NumpyCapture, "recorded_argument"
    if framework == "jax":
        return importlib.import_module("graph_compiler.frontends.jax.equations").Reader, "read_whole"
    return importlib.import_module("graph_compiler.frontends.tensorflow.reader").GraphReader, "value"


def softened(framework: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a function of a framework that reads a size, and its arguments."""
    if framework == "torch":
        torch = pytest.importorskip("torch")
        return lambda x: torch.relu(x) / x.shape[0], (torch.ones(3, 3),)
    if framework == "numpy":
        return lambda x: np.maximum(x, 0) / x.shape[0], (np.ones((3, 3)),)
    if framework == "jax":
        jax = pytest.importorskip("jax")
        return lambda x: jax.nn.relu(x) / x.shape[0], (jax.numpy.ones((3, 3)),)
    tf = pytest.importorskip("tensorflow")
    return lambda x: tf.nn.relu(x) / tf.cast(tf.shape(x)[0], x.dtype), (tf.ones((3, 3)),)


@pytest.mark.parametrize("problem", FAULTS[1:], ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("framework", ["torch", "numpy", "jax", "tensorflow"])
def test_no_attempt_of_a_frontend_hides_a_bug(
    monkeypatch: pytest.MonkeyPatch, framework: str, problem: Exception
) -> None:
    function, args = softened(framework)
    monkeypatch.setattr(*reader_of(framework), raising(problem))
    with pytest.raises(InternalError) as caught:
        graph_compiler.compile(function, source=framework, args=args)
    assert caught.value.__cause__ is problem


def refused_by_jax(*args: Any) -> Any:
    """Trace code that JAX rejects, from a module of this package. JAX removes its own frames from the
    traceback.
    """
    source = "import jax\ndef planted(*args):\n    return jax.make_jaxpr(lambda x: jax.lax.dot(x, x))(jax.numpy.ones((2, 3)))"
    scope: dict[str, Any] = {"__name__": "graph_compiler.planted"}
    exec(compile(source, "planted.py", "exec"), scope)
    return scope["planted"](*args)


def test_what_jax_refuses_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = importlib.import_module("graph_compiler.frontends.jax.lifting.table").rows
    monkeypatch.setattr(rows, "get", lambda name: refused_by_jax)
    with pytest.raises(UnsupportedOperation, match=r"could not be translated \(ValueError"):
        graph_compiler.compile(
            lambda x: x + 1, source="jax", to="torch", args=(importlib.import_module("jax").numpy.ones(2),)
        )


@pytest.mark.parametrize(
    "problem",
    (*FAULTS, UnknownOperation("no operation of this name")),
    ids=lambda problem: type(problem).__name__,
)
@pytest.mark.parametrize("framework", ["torch", "numpy", "jax", "tensorflow"])
def test_no_row_hides_a_bug(monkeypatch: pytest.MonkeyPatch, framework: str, problem: Exception) -> None:
    function, args = softened(framework)
    lifter = importlib.import_module("graph_compiler.frontends.common.lifter").Lifter
    monkeypatch.setattr(lifter, "_check_types", raising(problem))
    with pytest.raises((InternalError, InvalidGraph, UnknownOperation)) as caught:
        graph_compiler.compile(
            function, source=framework, to="numpy" if framework != "numpy" else "torch", args=args
        )
    assert problem in (caught.value, caught.value.__cause__)


def saved_by_jax() -> Any:
    """Choose the variables that a backward pass of JAX saves."""
    jax = pytest.importorskip("jax")
    program = jax.make_jaxpr(lambda x: jax.numpy.sin(x) * 2)(1.0).jaxpr
    return importlib.import_module("graph_compiler.backends.jax.transforms").variables_to_save(program)


def buffers_of_torch() -> Any:
    """Recompute a buffer of a module on the device ``meta``."""
    torch = pytest.importorskip("torch")

    class Positions(torch.nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size
            self.register_buffer("positions", torch.arange(size), persistent=False)

    with torch.device("meta"):
        module = Positions(3)
    parameters = importlib.import_module("graph_compiler.frontends.torch.state.parameters")
    return parameters.recomputed(module, ["positions"], ())


# a function with a fallback, and where a fault is planted
FALLBACKS: dict[str, tuple[Any, str]] = {
    "saved_by_jax": (saved_by_jax, "graph_compiler.backends.jax.transforms._bound"),
    "buffers_of_torch": (buffers_of_torch, "graph_compiler.frontends.torch.state.parameters._is_like"),
}


@pytest.mark.parametrize("problem", FAULTS, ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("name", FALLBACKS)
def test_no_optional_step_hides_a_bug(monkeypatch: pytest.MonkeyPatch, name: str, problem: Exception) -> None:
    function, place = FALLBACKS[name]
    function()
    monkeypatch.setattr(place, raising(problem))
    with pytest.raises(type(problem)) as caught:
        function()
    assert caught.value is problem


def test_a_rule_that_cannot_be_traced_alone_reads_all_operands() -> None:
    jax = pytest.importorskip("jax")
    function = jax.custom_jvp(jax.lax.sin)
    function.defjvp(lambda primals, tangents: raises(primals))
    program = jax.make_jaxpr(lambda x: function(x * 2) + 1)(1.0).jaxpr
    saved = importlib.import_module("graph_compiler.backends.jax.transforms").variables_to_save(program)
    assert saved <= {*program.eqns[0].outvars}


# ------------------------------------------------------------------------------ the message
def test_the_message_names_the_line_the_stage_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "canonical_passes", raising(KeyError("axis")))
    with pytest.raises(InternalError) as caught:
        graph_compiler.transpile(with_a_loop, source="numpy", to="jax", args=(X.copy(),))
    text = str(caught.value)
    assert f"{__file__}:" in text and "translating to jax" in text and "KeyError: 'axis'" in text
    assert "planted.py:2" in text and "report it" in text and "GRAPH_COMPILER_TRACEBACK=full" in text


def test_the_message_names_the_line_that_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(Recorder, "new_values", raising(KeyError("axis")))
    with pytest.raises(InternalError) as caught:
        graph_compiler.compile(lambda x: torch.relu(x) + 1, args=(torch.ones(2),))
    line = test_the_message_names_the_line_that_was_recorded.__code__.co_firstlineno + 4
    assert str(caught.value).startswith(f"{__file__}:{line}: ")


CALLS = {
    "transforms": lambda graph: transforms.grad(lambda x: graph.functional({}, x).sum())(graph.example),
    "a call": lambda graph: graph(graph.example[:2]),
    "to": lambda graph: graph.to("numpy"),
    "save": lambda graph: graph.save("never.zip"),
    "verify": lambda graph: graph.verify(),
    "pulling cotangents": lambda graph: transforms.vjp(lambda x: x * 2, graph.example)[1](graph.example),
    "pushing tangents": lambda graph: transforms.linearize(lambda x: x * 2, graph.example)[1](graph.example),
    "explain": lambda graph: graph.explain(),
    "list_missing": lambda graph: graph.list_missing("numpy"),
    "load": lambda graph: graph_compiler.load("missing.zip"),
    "load_weights": lambda graph: graph.load_weights({}),
    "training": lambda graph: training.TrainState.create(graph, "sgd", lambda out, wanted: out.sum()),
    "a batch": lambda graph: next(iter(training.DeviceIterator([graph.example], "torch"))),
    "parallel": lambda graph: parallel.replicate(graph.parameters, 2),
}
BROKEN = {
    "transforms": "transforms.transformed.resolve_function",
    "a call": "runtime.graph.CallMiss",
    "to": "runtime.pipeline.write",
    "save": "runtime.saving.save.save",
    "verify": "runtime.verify.verify_graph",
    "pulling cotangents": "transforms.functions.DifferentiatedCall.cotangents",
    "pushing tangents": "transforms.functions.DifferentiatedCall.tangents",
    "explain": "runtime.calling.mismatch.explain",
    "list_missing": "runtime.pipeline.Pipeline.missing",
    "load": "runtime.saving.load.load",
    "load_weights": "runtime.original_weights.load_weights",
    "training": "training.state._engine_of",
    "a batch": "training.fitting._is_array",
    "parallel": "parallel.sharding.engine_of_arrays",
}


@pytest.mark.parametrize("name", CALLS)
def test_no_raw_error_leaves(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(lambda x: torch.relu(x) * 2, args=(torch.ones(3),))
    graph.example = torch.ones(3)  # type: ignore[attr-defined]
    problem = KeyError("axis")
    monkeypatch.setattr(f"graph_compiler.{BROKEN[name]}", raising(problem))
    if name == "a call":
        monkeypatch.setattr(type(graph), "_miss", raising(problem))
        monkeypatch.setattr(graph.variants[0], "attempt", raising(problem))
    with pytest.raises(InternalError) as caught:
        CALLS[name](graph)
    assert caught.value.__cause__ is problem and __file__ in str(caught.value)


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_no_raw_error_leaves_a_module_of_a_graph(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    module = graph_compiler.transpile(
        lambda x: np.maximum(x, 0) * 2, source="numpy", to=to, args=(X,)
    ).as_module()
    problem = KeyError("axis")
    monkeypatch.setattr(
        importlib.import_module("graph_compiler.runtime.calling.pure"), "in_mode", raising(problem)
    )
    with pytest.raises(InternalError) as caught:
        module(X if to != "torch" else importlib.import_module("torch").ones(6))
    assert "KeyError: 'axis'" in str(caught.value) and f"{__file__}:" in str(caught.value)


def test_no_raw_error_leaves_a_module_around_the_originals_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(torch.nn.Linear(2, 2), args=(torch.ones(3, 2),))
    problem = KeyError("axis")
    monkeypatch.setattr(type(graph), "_miss", raising(problem))
    with pytest.raises(InternalError) as caught:
        graph.as_module()(torch.ones(3, 2, dtype=torch.float64))
    assert caught.value.__cause__ is problem


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin", "all_gather", "axis_index", "axis_size"])
def test_no_raw_error_leaves_a_collective(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    problem = KeyError("axis")
    monkeypatch.setattr(
        importlib.import_module("graph_compiler.parallel.collectives"), "_is_recorded", raising(problem)
    )
    with pytest.raises(InternalError) as caught:
        getattr(parallel, name)(*(("devices",) if name.startswith("axis") else (X, "devices")))
    assert caught.value.__cause__ is problem


# ------------------------------------------------------------------------------ what is no bug
class Own(Exception): ...


def raises(x: Any) -> Any:
    raise Own("mine")


def looks_up(x: Any) -> Any:
    return {}["nothing"]


def asserts(x: Any) -> Any:
    assert x is None
    return x


def multiplies_with_text(x: Any) -> Any:
    return x * [len]


@pytest.mark.parametrize("framework", ["torch", "numpy", "jax", "tensorflow"])
@pytest.mark.parametrize("function", [raises, looks_up, asserts, multiplies_with_text])
def test_exceptions_of_the_users_code_come_out_as_they_are(framework: str, function: Any) -> None:
    array = softened(framework)[1][0]
    with pytest.raises(Exception) as expected:
        function(array)
    with pytest.raises(Exception) as caught:
        graph_compiler.compile(function, source=framework, args=(array,))
    assert not isinstance(caught.value, InternalError)
    assert isinstance(caught.value, (type(expected.value), TracingError, TypeError))


def test_code_of_a_module_without_a_name() -> None:
    space: dict[str, Any] = {"__name__": None}
    exec("def function(x):\n    raise ValueError('mine')\n", space)
    with pytest.raises(ValueError, match="mine"):
        graph_compiler.compile(space["function"], args=(X,))


WRONG_CALLS_OF_TORCH: dict[str, tuple[Any, str]] = {
    "a product": (lambda torch, x: x @ x, "mat1 and mat2"),
    "a gradient of a constant": (
        lambda torch, x: torch.autograd.grad(x.sum(), x),
        "does not require grad",
    ),
    "a product in a gradient": (
        lambda torch, x: torch.func.grad(lambda y: (y @ x).sum())(x),
        "mat1 and mat2",
    ),
    "a product under vmap": (lambda torch, x: torch.vmap(lambda row: row @ x.T)(x.T), "Expected size"),
}


@pytest.mark.parametrize("name", WRONG_CALLS_OF_TORCH)
def test_errors_of_frameworks_come_out_as_they_are(name: str) -> None:
    torch = pytest.importorskip("torch")
    function, message = WRONG_CALLS_OF_TORCH[name]
    with pytest.raises(RuntimeError, match=message) as caught:
        graph_compiler.compile(lambda x: function(torch, x), args=(torch.ones(2, 3),))
    assert not isinstance(caught.value, InternalError)


def test_an_error_of_a_loader_comes_out_as_it_is() -> None:
    pytest.importorskip("torch")
    # ``map`` is C code, so that no frame of the loader is in the traceback.
    with pytest.raises(ValueError, match="invalid literal"):
        next(iter(training.DeviceIterator(map(int, ["no number"]), "torch")))


def test_a_wrong_call_of_a_public_function_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        transforms.grad()  # type: ignore[call-arg]


# ------------------------------------------------------------------------------ what was given up


def test_what_was_given_up_is_told() -> None:
    def hashed(x: Any, n: int) -> Any:
        h = 7
        for item in x:
            h = h * 31 + int(item)
        return x, h

    with logged(logging.INFO) as messages:
        graph = graph_compiler.compile(hashed, args=(np.arange(1, 20), 3))
    (gave_up,) = graph.gave_up
    assert gave_up.way == "making numbers that Python reads inputs or symbols"
    assert gave_up.problem.startswith("TracingError") and f"{__file__}:" in gave_up.place
    assert f"  gave up: {gave_up}" in graph.explain() and f"hashed: gave up: {gave_up}" in messages


def an_associative_scan() -> tuple[Any, Any]:
    jax = pytest.importorskip("jax")
    combine = lambda a, b: a + b if a.shape[0] > 1 else b + a  # noqa: E731
    return lambda x: jax.lax.associative_scan(combine, x), jax.numpy.arange(6.0)


def variables_that_are_created() -> tuple[Any, Any]:
    tf = pytest.importorskip("tensorflow")
    kept: list[Any] = []

    def function(x: Any) -> Any:
        if not kept:
            kept.append(tf.Variable(2.0))
            raise ValueError("called before it is built")
        return x * kept[0]

    return function, tf.ones(3)


def hooks_that_are_installed() -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 3)

    def function(x: Any) -> Any:
        if layer._forward_hooks:
            raise ValueError("installed already")
        layer.register_forward_hook(lambda layer, given, result: result * 2)
        return layer(x)

    return function, torch.ones(3)


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (an_associative_scan, "recording an associative scan for any number of rows"),
        (variables_that_are_created, "recording the call that creates variables or builds layers"),
        (hooks_that_are_installed, "recording with the hooks that the function installs"),
    ],
)
def test_what_a_part_of_a_recording_gave_up_is_told(make: Any, way: str) -> None:
    function, x = make()
    with logged(logging.INFO) as messages:
        graph = graph_compiler.compile(function, args=(x,))
    (gave_up,) = (each for each in graph.gave_up if each.way == way)
    assert f"  gave up: {gave_up}" in graph.explain()
    assert any(f"gave up: {gave_up}" in message for message in messages)


def test_nothing_was_given_up() -> None:
    graph = graph_compiler.compile(with_a_loop, args=(X.copy(),))
    assert graph.gave_up == () and "gave up" not in graph.explain()


# ------------------------------------------------------------------------------ tracebacks
def shown(script: str, tmp_path: Path, **variables: str) -> str:
    """Return what Python prints for a script that fails."""
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(script))
    environment = {
        "PYTHONPATH": str(Path(graph_compiler.__file__).parents[1]),
        "PATH": "",
        "JAX_PLATFORMS": "cpu",
        **variables,
    }
    return subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, env=environment, check=False
    ).stderr


SCRIPT = """
    import graph_compiler, numpy as np

    def inner(x):
        return x.nothing()

    def outer(x):
        return inner(x) + 1

    graph_compiler.transpile(outer, source="numpy", to="numpy", args=(np.ones(3),))
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 two frames of the package remain")
def test_tracebacks_show_the_users_lines_alone(tmp_path: Path) -> None:
    files = [line for line in shown(SCRIPT, tmp_path).splitlines() if line.lstrip().startswith("File ")]
    assert len(files) == 3 and all("script.py" in line for line in files), files
    assert "pipeline.py" in shown(SCRIPT, tmp_path, GRAPH_COMPILER_TRACEBACK="full")


def test_frames_of_the_package_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPH_COMPILER_TRACEBACK", raising=False)
    with pytest.raises(Own) as caught:
        graph_compiler.compile(raises, source="numpy", args=(X,))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[0] == "test_frames_of_the_package_are_left_out" and names[-1] == "raises"
    assert len(names) == (2 if sys.version_info >= (3, 11) else 4)


def test_a_folder_beside_the_package_is_the_users() -> None:
    scope = {"__name__": "model", "level": boundary.level_of_user}
    file = f"{Path(graph_compiler.__file__).parent}_demo/model.py"
    exec(compile("def call(): return level()", file, "exec"), scope)
    assert scope["call"]() == 1  # type: ignore[operator]


def test_every_public_error_is_documented_as_one() -> None:
    assert issubclass(errors.InternalError, errors.GraphCompilerError) and not issubclass(
        errors.Signal, errors.GraphCompilerError
    )
    assert boundary.public(functools.partial).__wrapped__ is functools.partial  # type: ignore[attr-defined]
