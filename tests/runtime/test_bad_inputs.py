"""Tests of invalid arguments of public functions: the error says what is wrong, where, and what to do."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler import errors, parallel, training, transforms  # noqa: E402

X = torch.ones(4, 3)
ROWS = np.ones((4, 3), np.float32)


def square(x: Any) -> Any:
    return (x**2).sum()


def in_numpy() -> Any:
    # NumPy's operators would leave a product of JAX's tracers to JAX, but its functions do not.
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    return graph_compiler.transpile(network, to="numpy", args=(X,))


@pytest.fixture(scope="module")
def graph() -> Any:
    torch.manual_seed(0)
    return graph_compiler.compile(torch.nn.Linear(3, 2), args=(X,))


@pytest.fixture(scope="module")
def in_jax(graph: Any) -> Any:
    return graph.to("jax")


@pytest.fixture(scope="module")
def folder(graph: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("files")
    (folder / "text.zip").write_text("no graph")
    (folder / "empty.zip").write_bytes(b"")
    graph.save(folder / "whole.zip")
    (folder / "cut.zip").write_bytes((folder / "whole.zip").read_bytes()[:300])
    return folder


def told(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((errors.GraphCompilerError, FileNotFoundError), match=words) as caught:
        call()
    assert not isinstance(caught.value, errors.InternalError)


TRANSFORMS: dict[str, tuple[Callable[[], Any], str]] = {
    "grad of None": (lambda: transforms.grad(None), "grad takes a function, a model or a graph, and was given None"),
    "grad of a text": (lambda: transforms.grad("f"), "grad takes a function.*was given 'f'"),
    "grad at a text": (lambda: transforms.grad(square)("x"), "argument 0 is 'x', which has no derivative"),
    "grad at None": (lambda: transforms.grad(square)(None), "argument 0 is None, which has no derivative"),
    "grad of nothing": (transforms.grad(square), "there is no argument 0"),
    "grad at a generator": (lambda: transforms.grad(square)(i for i in range(3)), "generator.*has no derivative"),
    "grad of integers": (lambda: transforms.grad(square)(torch.ones(3, dtype=torch.int32)), r"int32\[3\], which has no derivative"),
    "argnums": (lambda: transforms.grad(square, argnums="x")(X), "argnums= is 'x'"),
    "argnums as a float": (lambda: transforms.grad(square, argnums=1.5)(X), "argnums= is 1.5"),
    "grad of an array": (lambda: transforms.grad(lambda x: x * 2)(X), "the result has to be one real number"),
    "grad of a result of text": (lambda: transforms.grad(lambda x: "a")(X), "its result is a str"),
    "jvp of no tuple": (lambda: transforms.jvp(square, X, X), "primals are a tuple"),
    "jvp of other shapes": (lambda: transforms.jvp(square, (X,), (torch.ones(2),)), r"tangent 0 has the shape \[2\]"),
    "jvp of other structures": (lambda: transforms.jvp(square, (X,), (X, X)), "tangents have 2 arrays, and the arguments 1"),
    "vjp of another shape": (lambda: transforms.vjp(lambda x: x * 2, X)[1](torch.ones(7)), r"cotangent 0 has the shape \[7\]"),
    "vjp of a text": (lambda: transforms.vjp(lambda x: x * 2, X)[1]("x"), "0 cotangents were given for 1 results"),
    "hessian of None": (lambda: transforms.hessian(None), "hessian takes a function|jacrev takes a function"),
    "vmap over a text": (lambda: transforms.vmap(square, in_axes="a")(X), "in_axes= has 'a'"),
    "vmap over no axis": (lambda: transforms.vmap(square, in_axes=9)(X), "no axis 9"),
    "vmap to no axis": (lambda: transforms.vmap(lambda x: x, out_axes=7)(X), "out_axes= is 7, and result 0 has 2 axes"),
    "vmap of a number": (lambda: transforms.vmap(square)(3.0), "no argument has an axis; pass axis_size="),
    "vmap of other sizes": (lambda: transforms.vmap(lambda x, y: x + y)(torch.ones(2), torch.ones(3)), "array 1 has 3"),
    "checkpoint of a text": (lambda: transforms.checkpoint("f"), "checkpoint takes a function"),
    "scan of a text": (lambda: transforms.scan("f", X, X), "scan takes a function.*was given 'f'"),  # type: ignore[arg-type]
    "scan of no step": (lambda: transforms.scan(lambda c, x: c, X[0], X), r"a step gives \(carry, output\)"),
    "scan over nothing": (lambda: transforms.scan(lambda c, x: (c, x), X[0], None), "pass xs= or length="),
    "fori_loop of a number": (lambda: transforms.fori_loop(0, 3, 5, X), "fori_loop takes a function.*was given 5"),  # type: ignore[arg-type]
    "Parallel of None": (lambda: parallel.Parallel(None), "Parallel takes a function"),
    "Parallel by a text": (lambda: parallel.Parallel(square, reduce="median"), "reduce= is 'median'"),
    "psum over None": (lambda: parallel.psum(X, None), "axis_name= is None"),  # type: ignore[arg-type]
    "axis_size of a number": (lambda: parallel.axis_size(3), "axis_name= is 3"),  # type: ignore[arg-type]
    "hint of a text": (lambda: parallel.hint(jax.numpy.ones(3), "x"), "parallel.hint has 'x'"),
    "hint of None among axes": (lambda: parallel.hint(jax.numpy.ones(3), (("x", None),)), "a layout is a tuple"),  # type: ignore[arg-type]
    "optimizer of no name": (lambda: training.optimizer("nothing"), "there is no optimizer 'nothing'"),
    "schedule of a list": (lambda: training.schedule(["linear"], 0.1), "there is no schedule"),  # type: ignore[arg-type]
    "schedule of a text": (lambda: training.schedule("linear", "x", steps=3), "learning_rate= of the schedule 'linear' is 'x'"),  # type: ignore[arg-type]
    "schedule of no number": (lambda: training.schedule("linear", float("nan"), steps=3), "has to be a finite number"),
    "schedule of other steps": (lambda: training.schedule("linear", 0.1, steps="x"), "steps= of the schedule 'linear' is 'x'"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_of_transforms_parallel_and_training(name: str) -> None:
    told(*TRANSFORMS[name])


class BytesPath(os.PathLike[bytes]):
    def __fspath__(self) -> bytes:
        return b"graph.zip"


FILES: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "save to None": (lambda graph, folder: graph.save(None), "path is None, and has to be the name of a file"),
    "save to a number": (lambda graph, folder: graph.save(3), "path is 3"),
    "save to nothing": (lambda graph, folder: graph.save(""), "path is ''"),
    "save to a path of bytes": (lambda graph, folder: graph.save(BytesPath()), "path is an object of type BytesPath|path is <"),
    "save to a buffer": (lambda graph, folder: graph.save(io.BytesIO()), "path is <_io.BytesIO"),
    "save to no folder": (lambda graph, folder: graph.save(folder / "no" / "x.zip"), "there is no folder"),
    "load None": (lambda graph, folder: graph_compiler.load(None), "path is None"),  # type: ignore[arg-type]
    "load a number": (lambda graph, folder: graph_compiler.load(7), "path is 7"),  # type: ignore[arg-type]
    "load what is not there": (lambda graph, folder: graph_compiler.load(folder / "none.zip"), "there is no file"),
    "load a text": (lambda graph, folder: graph_compiler.load(folder / "text.zip"), "is no saved graph"),
    "load an empty file": (lambda graph, folder: graph_compiler.load(folder / "empty.zip"), "is no saved graph"),
    "load half a file": (lambda graph, folder: graph_compiler.load(folder / "cut.zip"), "is no saved graph, or a damaged one"),
    "load for another framework": (lambda graph, folder: graph_compiler.load(folder / "whole.zip", to="caffe"), "to='caffe'"),
    "weights of None": (lambda graph, folder: graph.load_weights(None), "source is None, and has to be a safetensors file"),
    "weights of a list": (lambda graph, folder: graph.load_weights([1]), r"source is \[1\]"),
    "weights of texts": (lambda graph, folder: graph.load_weights({"weight": "a", "bias": "b"}), "weight is no array but of type str"),
    "weights of a text file": (lambda graph, folder: graph.load_weights(folder / "text.zip"), "is no readable safetensors file"),
    "weights of no file": (lambda graph, folder: graph.load_weights(folder / "none.safetensors"), "there is no safetensors file"),
    "to None": (lambda graph, folder: graph.to(None), "to=None is not supported"),
    "parameters as a list": (lambda graph, folder: graph.functional([1], X), "parameters come first, a dict of arrays"),
    "parameters as texts": (lambda graph, folder: graph.functional({"weight": "a", "bias": X[0, :2]}, X), "'weight' is a str"),
    "no parameters": (lambda graph, folder: graph.functional({}, X), "there is no weight 'weight'"),
    "parameters of another framework": (
        lambda graph, folder: graph.to("jax").functional(graph.parameters, X),
        "the weight '(weight|bias)' is a Parameter of torch, and has to be an array of jax, as in graph.parameters",
    ),
    "weights that JAX differentiates": (
        lambda graph, folder: jax.grad(lambda weights: in_numpy().functional(weights, ROWS).sum())(in_numpy().parameters),
        r"jax traces the weight '0\.(weight|bias)'.* a graph for numpy cannot take part.* with transpile\(\.\.\., to=\"jax\"\)\n",
    ),
    **{
        f"an argument for {to} that JAX differentiates": (
            lambda graph, folder, to=to: jax.grad(lambda x: graph.to(to)(x).sum())(ROWS),
            rf"cannot become one of {to}.*JAX differentiates or traces this call.*transpile\(\.\.\., to=\"jax\"\)",
        )
        for to in ("torch", "tensorflow", "numpy")
    },
    "a pure call of another dtype": (
        lambda graph, folder: graph.functional(graph.parameters, X.double()),
        r"float64.*A pure call records none: record one before, with graph\.add_variant\(\(\.\.\.,\), \{\}\)",
    ),
    "a pure call by a misspelt keyword": (
        lambda graph, folder: graph_compiler.compile(lambda **given: given["input_ids"] * 1, kwargs={"input_ids": X}).functional({}, input_id=X),
        r"was recorded with input_ids; did you mean 'input_ids'\?.* with graph\.add_variant\(\(\), \{\"input_id\": \.\.\.\}\)",
    ),
    "a pure call of a file": (
        lambda graph, folder: graph_compiler.load(folder / "whole.zip").functional(graph.parameters, X.double()),
        "float64.*record one before, and save the graph again",
    ),
    "a key by another name": (
        lambda graph, folder: graph_compiler.compile(torch.nn.Dropout(), to="jax", args=(X,)).functional({}, X, key=1),
        r"its random key is rng=jax.random.key\(0\)",
    ),
    "a pass that is a text": (lambda graph, folder: graph.with_passes("cse"), "with_passes takes a function.*'cse'"),
    "a pass that gives None": (lambda graph, folder: graph.with_passes(lambda made: None), r"gives None, and has to give \(graph"),
    "a seed that is a text": (lambda graph, folder: graph.seed("x"), "seed= is 'x'"),
    "runs that are a text": (lambda graph, folder: graph.verify(runs="x"), "runs= is 'x'"),
    "a variant of a text": (lambda graph, folder: graph.add_variant("x", {}), "args= is 'x', and has to be a tuple"),
    "a variant of a list": (lambda graph, folder: graph.add_variant((X,), [1]), r"kwargs= is \[1\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_of_graphs_and_files(name: str, graph: Any, folder: Path) -> None:
    call, words = FILES[name]
    told(lambda: call(graph, folder), words)


ARRAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "sparse": (X.to_sparse, r"sparse_coo.*x\.to_dense\(\)"),
    "meta": (lambda: X.to("meta"), "meta.*has no elements; pass one that has"),
    "quantized": (lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.quint8), r"quint8.*x\.dequantize\(\)"),
    "nested": (lambda: torch.nested.nested_tensor([X[:1], X[:2]]), "to_padded_tensor"),
    "objects": (lambda: np.array([[1, "a", None]], dtype=object), "object.*pass an array of numbers"),
    "texts": (lambda: np.array([["a", "b", "c"]]), "<U1.*pass an array of numbers"),
    "dates": (
        lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
        "datetime64.*pass an array of numbers",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", ["sparse", "meta", "quantized", "nested"])
def test_tensors_that_have_no_counterpart(name: str, to: str, graph: Any) -> None:
    make, words = ARRAYS[name]
    told(lambda: graph.to(to)(make()), f"cannot become one of {to}.*{words.partition('.*')[2]}")


@pytest.mark.filterwarnings("ignore")
def test_a_nested_tensor_fits_no_graph_of_torch(graph: Any) -> None:
    make, _ = ARRAYS["nested"]
    told(lambda: graph(make()), "nested tensors cannot be recorded; pad them")


@pytest.mark.parametrize("name", ["objects", "texts", "dates"])
def test_arrays_that_have_no_counterpart(name: str, in_jax: Any) -> None:
    make, words = ARRAYS[name]
    told(lambda: in_jax(make()), f"cannot become one of jax.*{words.partition('.*')[2]}")
