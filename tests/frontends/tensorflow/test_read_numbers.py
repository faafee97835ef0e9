"""Tests of numbers that Python reads from tensors in TensorFlow functions: one variant computes with them
unless Python must know them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

TARGETS = ("numpy", "jax", "tensorflow", "torch")


def place(x: Any) -> int:
    return int(tf.argmax(x))


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a result": lambda x: int(tf.argmax(x)),
    "a float": lambda x: float(tf.reduce_max(x)) * 2,
    "an index": lambda x: x[int(tf.argmax(x))],
    "an index from the end": lambda x: x[-int(tf.argmax(x)) - 1],
    "two indices": lambda x: x[int(tf.argmax(x))] + x[int(tf.argmin(x))],
    "an index of a matrix": lambda x: tf.eye(6)[int(tf.argmax(x)), 1:],
    "a factor": lambda x: x * int(tf.argmax(x)),
    "a float as a factor": lambda x: float(tf.reduce_max(x)) * x + 1.5,
    "a quotient": lambda x: x / (int(tf.argmax(x)) + 1),
    "Python's quotient": lambda x: 7 // (int(tf.argmax(x)) + 1) * x,
    "a quotient that is rounded down": lambda x: (int(tf.argmax(x)) - 3) // 2 * x,
    "a remainder": lambda x: (int(tf.argmax(x)) - 3) % 4 * x,
    "a comparison": lambda x: tf.cast(tf.range(6) == int(tf.argmax(x)), tf.float32) * x,
    "a branch": lambda x: x * 2 if int(tf.argmax(x)) > 5 else x,
    "a class": lambda x: x * (2 if isinstance(int(tf.argmax(x)), int) else 3),
    "math": lambda x: x * math.sqrt(float(tf.reduce_max(x))),
    "round": lambda x: round(float(tf.reduce_max(x)) / 3) * x,
    "an element of a tensor": lambda x: tf.gather(x, [int(tf.argmax(x)), 0]),
    "filled": lambda x: tf.fill((2,), float(tf.reduce_max(x))),
    "truncated": lambda x: x * int(tf.reduce_max(x) * 1.5),
    "sizes": lambda x: int(tf.reduce_sum(tf.cast(x > 0, tf.int32))) / len(x) * x,
    "a size of TensorFlow": lambda x: x * int(tf.size(x)),
}
# Here Python, or the target before it runs, needs the number itself.
KNOWN: dict[str, Callable[[Any], Any]] = {
    "a range": lambda x: sum(range(int(tf.argmax(x)))) * x,
    "a bound": lambda x: x[: int(tf.argmax(x)) + 1],
    "a shape": lambda x: tf.zeros(int(tf.argmax(x)) + 1),
    "an axis of a reshaped one": lambda x: tf.reshape(x, (int(tf.reduce_max(x)) * 0 + 2, 3)),
    "a text": lambda x: len(f"{10 ** int(tf.argmax(x))}") * x,
    "a method of int": lambda x: int(tf.argmax(x)).bit_length() * x,
    "another function's int": lambda x: [*range(9)][place(x)] * x,
    "elements of numpy": lambda x: x * tf.reduce_max(x).numpy(),
    "a truth value": lambda x: x * int(tf.reduce_max(x) > 2),
}


def inputs() -> Iterator[Any]:
    for position in range(4):
        x = np.zeros(6, np.float32)
        x[position] = position + 1
        yield tf.constant(x)


def check(graph: Any, function: Callable[[Any], Any]) -> None:
    for x in inputs():
        found, expected = graph(x), function(x)
        # A Python number has no shape.
        assert hasattr(found, "shape") == hasattr(expected, "shape"), (
            found,
            expected,
        )
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", COMPUTED)
def test_one_variant_computes_with_the_number(name: str, to: str) -> None:
    graph = graph_compiler.transpile(COMPUTED[name], to=to, source="tensorflow")
    check(graph, COMPUTED[name])
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", KNOWN)
def test_where_python_has_the_number_it_is_a_guard(name: str, to: str) -> None:
    check(graph_compiler.transpile(KNOWN[name], to=to, source="tensorflow"), KNOWN[name])


def test_more_numbers_than_there_may_be_variants() -> None:
    graph = graph_compiler.transpile(lambda x: x * int(tf.reduce_sum(x)), to="numpy", source="tensorflow")
    for number in range(20):
        assert np.asarray(graph(tf.constant([number])))[0] == number**2
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_what_python_refuses_is_refused(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: 10 // int(x[0]) * x, to=to, source="tensorflow")
    assert np.asarray(graph(tf.constant([2, 3]))).tolist() == [10, 15]
    with pytest.raises(ZeroDivisionError):
        graph(tf.constant([0, 3]))
    assert np.asarray(graph(tf.constant([5, 3]))).tolist() == [10, 6]


@pytest.mark.parametrize("to", TARGETS)
def test_an_index_outside_is_refused(to: str) -> None:
    graph = graph_compiler.transpile(lambda x: x[int(x[0])], to=to, source="tensorflow")
    assert [int(graph(tf.constant(x))) for x in ([1, 7, 8], [2, 7, 8], [-2, 7, 8])] == [7, 8, 7]
    for x in ([3, 7, 8], [-4, 7, 8]):
        # A trace raises ``ValueError``.
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            graph(tf.constant(x))


def test_a_gradient_is_taken_beside_a_number() -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.transpile(
        lambda x: tf.reduce_sum(x * x) * float(x[0]), to="torch", source="tensorflow"
    )
    graph(tf.constant([1.0, 2.0]))
    x = torch.tensor([3.0, 5.0], requires_grad=True)
    graph(x).backward()
    assert x.grad is not None and x.grad.tolist() == [18.0, 30.0]


@pytest.mark.parametrize("compiled", [None, False], ids=["by default", "operation by operation"])
def test_a_division_by_zero_raises_in_programs_that_are_compiled(compiled: bool | None) -> None:
    """A compiled program divides tensors, which gives infinity where Python raises."""

    def scaled(x: Any) -> Any:
        try:
            return x * (1.0 / float(tf.round(x[0])))
        except ZeroDivisionError:
            return x + 7.0

    x = tf.constant([2.0, 3.0])
    graph = graph_compiler.compile(scaled, to="tensorflow", args=(x,), return_backend_compiled_fn=compiled)
    for first in (4.0, 0.0, -0.2, 2.0):
        given = tf.constant([first, 1.0])
        assert_same(graph(given), scaled(given))


def test_a_power_that_python_refuses_raises_in_a_compiled_program() -> None:
    def inverse(x: Any) -> Any:
        return x * float(x[0]) ** -1.0

    graph = graph_compiler.compile(inverse, to="tensorflow", args=(tf.constant([2.0, 3.0]),))
    with pytest.raises(ZeroDivisionError):
        graph(tf.constant([0.0, 1.0]))
