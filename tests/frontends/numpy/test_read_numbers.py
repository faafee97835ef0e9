"""Tests of numbers that Python reads from arrays in NumPy functions: one variant computes with them unless
Python must know them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import graph_compiler  # noqa: E402

TARGETS = ("numpy", "jax", "tensorflow", "torch")


def written(x: Any) -> Any:
    y = x.copy()
    y[int(np.argmax(x))] = -1
    return y


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a result": lambda x: int(np.argmax(x)),
    "a float": lambda x: float(x.max()) * 2,
    "item": lambda x: x.argmax().item() + 1,
    "an index": lambda x: x[int(np.argmax(x))],
    "an index from the end": lambda x: x[-int(np.argmax(x)) - 1],
    "two indices": lambda x: x[int(np.argmax(x))] + x[int(np.argmin(x))],
    "an index of another array": lambda x: np.eye(6)[int(np.argmax(x))],
    "an index that is written to": written,
    "a factor": lambda x: x * int(np.argmax(x)),
    "a quotient": lambda x: x / (int(np.argmax(x)) + 1),
    "Python's quotient": lambda x: 7 // (int(np.argmax(x)) + 1) * x,
    "a quotient that is rounded down": lambda x: (int(np.argmax(x)) - 3) // 2 * x,
    "a remainder": lambda x: (int(np.argmax(x)) - 3) % 4 * x,
    "a comparison": lambda x: (np.arange(6) == int(np.argmax(x))) * x,
    "a branch": lambda x: x * 2 if int(np.argmax(x)) > 5 else x,
    "a class": lambda x: x * (2 if isinstance(int(np.argmax(x)), int) else 3),
    "more than the type of the array holds": lambda x: int(x.astype(np.int8)[2]) * 300,
    "less than the type of the array holds": lambda x: int(x.astype(np.uint8).max()) - 20,
    "sizes": lambda x: int((x > 0).sum()) / len(x),
    "a whole part": lambda x: (int(float(x.max()) * 10) // 3 - int(x.min() * 10)) * x,
    "round": lambda x: (round(float(x.max())) + round(x.min() * 10)) * x,
    "a float of a whole number": lambda x: float(np.argwhere(x == x.max())[0, 0]) * x,
    "a truth value": lambda x: x * (int(np.argmax(x)) > 2),
}
# Here Python needs the number itself.
KNOWN: dict[str, Callable[[Any], Any]] = {
    "a range": lambda x: sum(range(int(np.argmax(x)))) * x,
    "a bound": lambda x: x[: int(np.argmax(x)) + 1],
    "a shape": lambda x: np.zeros(int(np.argmax(x)) + 1),
    "a text": lambda x: len(f"{10 ** int(np.argmax(x))}") * x,
    "json": lambda x: len(json.dumps(10 ** int(np.argmax(x)))) * x,
    "a class of numpy": lambda x: np.float32(int(np.argmax(x))) * x,
    "a method of int": lambda x: int(np.argmax(x)).bit_length() * x,
    "a complex power": lambda x: (x.max().item() ** 2j).real * x,
    "a power": lambda x: 2 ** int(np.argmax(x)) * x,
}


def inputs() -> Iterator[Any]:
    for place in range(4):
        x = np.zeros(6, np.float32)
        x[place] = place + 1
        yield x


def check(graph: Any, function: Callable[[Any], Any]) -> None:
    for x in inputs():
        found, expected = graph(x), function(x)
        # A Python number has no shape.
        assert hasattr(found, "shape") == hasattr(expected, "shape"), (
            found,
            expected,
        )
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", COMPUTED)
def test_one_variant_computes_with_the_number(name: str, to: str) -> None:
    graph = graph_compiler.transpile(COMPUTED[name], to=to, source="numpy")
    check(graph, COMPUTED[name])
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", KNOWN)
def test_where_python_has_the_number_it_is_a_guard(name: str, to: str) -> None:
    check(graph_compiler.transpile(KNOWN[name], to=to, source="numpy"), KNOWN[name])


def test_integers_that_int64_does_not_hold_are_told_apart() -> None:
    function = lambda x: x * len(str(int(x[0])))  # noqa: E731
    graph = graph_compiler.compile(function, source="numpy", to="numpy")
    for number in (1e300, 2e305, -1e300, 2.0**63, -(2.0**63), 5.5, 5.7):
        x = np.array([number])
        np.testing.assert_array_equal(graph(x), function(x))


ROOTS: dict[str, Callable[[Any], Any]] = {
    "half of a size": lambda x: np.asarray(float(x[0]) ** (len(x) / 2)),
    "a size as a float": lambda x: np.asarray(float(x[0]) ** (len(x) * 1.0)),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", ROOTS)
def test_a_power_is_complex_where_python_makes_it_so(name: str, to: str) -> None:
    graph = graph_compiler.transpile(ROOTS[name], to=to, source="numpy")
    for size in (2, 4, 3, 5):
        for element in (-3.0, -2.0, 2.0):
            x = np.full(size, element)
            found, expected = np.asarray(graph(x)), ROOTS[name](x)
            assert found.dtype.kind == expected.dtype.kind
            np.testing.assert_allclose(found, expected, rtol=1e-6)


INDICES: dict[str, Callable[[Any], Any]] = {
    "one": lambda x: x[int(x[0])],
    "two": lambda x: x.reshape(2, 3)[int(x[1]), int(x[2])],
    "behind an ellipsis": lambda x: x.reshape(2, 3)[..., int(x[1])],
    "of a constant": lambda x: np.arange(4)[x[1].item()] * 2,
    "a division": lambda x: 10 // int(x[0]) % int(x[1]) * x,
    "a power": lambda x: int(x[0]) ** int(x[1]) * x,
    "a shift": lambda x: (int(x[0]) << int(x[1])) * x,
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", INDICES)
def test_what_numpy_and_python_refuse_is_refused(name: str, to: str) -> None:
    graph = graph_compiler.transpile(INDICES[name], to=to, source="numpy")
    refused = 0
    for begin in (
        [1, 1, 2],
        [0, 1, 0],
        [5, 1, 0],
        [3, -1, -2],
        [7, 7, 7],
        [2, 0, 4],
        [-6, -2, 2],
        [-7, -3, 1],
        [0, -1, 3],
    ):
        x = np.array([*begin, 20, 30, 40])
        try:
            expected = INDICES[name](x)
        except Exception as problem:
            with pytest.raises(type(problem)):
                graph(x)
            refused += 1
        else:
            np.testing.assert_allclose(np.asarray(graph(x)), expected)
    assert refused


CLASS = """
class Model:
    def kind(self): return int
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code does not say what it calls before Python 3.11")
@pytest.mark.parametrize("more", ["", "def other(x): return x.astype(int)", CLASS])
def test_functions_without_source_text(more: str) -> None:
    held: dict[str, Any] = {"np": np, "__name__": "__main__"}
    exec(compile(f"def place(x): return int(np.argmax(x))\n{more}", "<no text>", "exec"), held)
    graph = graph_compiler.transpile(held["place"], to="numpy", source="numpy")
    check(graph, held["place"])
    assert len(graph.variants) == 1


def test_such_graphs_are_compiled_differentiated_and_saved(tmp_path: Any) -> None:
    graph = graph_compiler.transpile(
        COMPUTED["an index"], to="jax", args=(np.arange(4.0, dtype=np.float32),), source="numpy"
    )
    x = jax.numpy.asarray([3.0, 9.0, 1.0])
    assert jax.jit(graph.functional)({}, x) == 9 and jax.grad(graph)(x).tolist() == [0, 1, 0]
    graph.save(tmp_path / "graph.zip")
    assert graph_compiler.load(tmp_path / "graph.zip")(x) == 9
