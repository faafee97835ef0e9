"""Tests of ``scan`` and ``fori_loop`` in functions of every source, eager and recorded, with gradients in
memory proportional to the square root of the trip count.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax
import jax.numpy as jnp
import tensorflow as tf
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch, GraphCompilerError, InvalidOption

TARGETS = ("torch", "jax", "tensorflow")
SOURCES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "torch": (torch.tanh, torch.sum, torch.tensor),
    "jax": (jnp.tanh, jnp.sum, jnp.asarray),
    "tensorflow": (tf.tanh, tf.reduce_sum, tf.constant),
    "numpy": (np.tanh, np.sum, np.asarray),
}
KEPT = {
    "torch": (False, "sqrt", 7, "steps"),
    "jax": (False, "sqrt", 7, "steps"),
    "tensorflow": (False, "sqrt"),
    "numpy": ("sqrt",),
}
x, w, rows = np.array([0.3, -0.5, 1.0], "float32"), np.float32(0.9), np.linspace(-1, 1, 23, dtype="float32")


def as_numpy(array: Any) -> Any:
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


def function_of(source: str, checkpoint: Any) -> Callable[..., Any]:
    """Return a function with a loop that captures an argument and carries a dict."""
    tanh, total, _ = SOURCES[source]

    def function(x: Any, w: Any, rows: Any) -> Any:
        def step(carry: dict[str, Any], row: Any) -> Any:
            state = tanh(carry["state"] * w + row)
            return {"state": state, "last": row}, state * row

        carry, outputs = transforms.scan(step, {"state": x, "last": rows[0]}, rows, checkpoint=checkpoint)
        return total(carry["state"] * outputs)

    return function


def gradients(function: Any, arrays: list[Any]) -> list[Any]:
    return [as_numpy(item) for item in transforms.grad(function, argnums=(0, 1, 2))(*arrays)]


EXPECTED = gradients(function_of("torch", False), list(map(torch.tensor, (x, w, rows))))


@pytest.mark.parametrize(
    ("source", "checkpoint"), [(source, kept) for source, each in KEPT.items() for kept in each]
)
def test_gradients_are_the_same_whatever_is_kept(source: str, checkpoint: Any) -> None:
    arrays = list(map(SOURCES[source][2], (x, w, rows)))
    for found, expected in zip(gradients(function_of(source, checkpoint), arrays), EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_recorded_loops(source: str, to: str) -> None:
    arrays = list(map(SOURCES[source][2], (x, w, rows)))
    graph = graph_compiler.transpile(function_of(source, True), source=source, to=to, args=arrays)
    for found, expected in zip(gradients(graph, arrays), EXPECTED, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def test_what_is_recorded_is_one_loop_that_keeps_its_checkpoints() -> None:
    arrays = list(map(torch.tensor, (x, w, rows)))
    graph = graph_compiler.transpile(function_of("torch", True), source="torch", to="jax", args=arrays)
    # One is in the loop over segments, the other in the loop over the remaining iterations.
    assert graph.source.count("lax.tanh(") == 2
    assert "lax.scan(jax.checkpoint(" in graph.source


def long_loop(steps: int, checkpoint: Any) -> Callable[[Any], Any]:
    return lambda x: transforms.fori_loop(
        0, steps, lambda i, state: jnp.sin(state) * jnp.cos(state), x, checkpoint=checkpoint
    ).sum()


def bytes_in_jax(steps: int, checkpoint: Any) -> int:
    gradient = jax.jit(transforms.grad(long_loop(steps, checkpoint)))
    return int(gradient.lower(jnp.ones(4096)).compile().memory_analysis().temp_size_in_bytes)


def test_memory_grows_as_the_root_of_the_steps_in_jax() -> None:
    assert bytes_in_jax(400, False) > 3.5 * bytes_in_jax(100, False)
    assert bytes_in_jax(400, True) < 2.2 * bytes_in_jax(100, True)
    assert bytes_in_jax(400, True) < 0.2 * bytes_in_jax(400, False)


class Alive(TorchDispatchMode):
    """Mode that records the largest number of tensors that exist at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.now += 1
            self.most = max(self.most, self.now)
            weakref.finalize(result, self._gone)
        return result

    def _gone(self) -> None:
        self.now -= 1


def most_alive(steps: int, checkpoint: Any) -> int:
    """Return the largest number of tensors during a loop and its gradient."""
    start = torch.ones(3, requires_grad=True)
    with Alive() as alive:
        state = transforms.fori_loop(
            0, steps, lambda i, state: torch.sin(state) * torch.cos(state), start, checkpoint=checkpoint
        )
        state.sum().backward()
    return alive.most


def test_memory_grows_as_the_root_of_the_steps_in_torch() -> None:
    assert most_alive(400, False) > 3.5 * most_alive(100, False)
    assert most_alive(400, True) < 2.5 * most_alive(100, True)
    assert most_alive(400, True) < 0.3 * most_alive(400, False)


def test_counters_and_ranges() -> None:
    assert float(transforms.fori_loop(2, 5, lambda i, x: x * i, torch.tensor(1.0))) == 24
    carry, outputs = transforms.scan(lambda carry, _: (carry + 1, carry), jnp.asarray(0), length=4)
    assert int(carry) == 4 and outputs.tolist() == [0, 1, 2, 3]
    assert transforms.scan(lambda c, row: (c + row, None), np.zeros(2), np.ones((3, 2)))[0].tolist() == [3, 3]


@pytest.mark.parametrize("source", SOURCES)
def test_a_carried_dict_may_come_in_another_order(source: str) -> None:
    array = SOURCES[source][2]
    step = lambda i, c: {"b": c["b"] * 2, "a": c["a"] + c["b"]}  # noqa: E731
    last = transforms.fori_loop(0, 3, step, {"a": array(np.float32(0)), "b": array(np.float32(1))})
    expected = jax.lax.fori_loop(0, 3, step, {"a": jnp.float32(0), "b": jnp.float32(1)})
    assert list(last) == ["a", "b"] and {key: float(last[key]) for key in last} == expected


def test_several_loops_in_one_recording() -> None:
    """The counter of the second loop may get memory that the first loop has freed."""
    step = lambda i, x: x * torch.cos(x) + i  # noqa: E731
    function = lambda x: sum(transforms.fori_loop(0, length, step, x) for length in (7, 5, 7, 7))  # noqa: E731
    x = torch.tensor([0.3, 0.7])
    for to in ("torch", "jax"):
        graph = graph_compiler.transpile(function, source="torch", to=to, args=(x,))
        np.testing.assert_allclose(np.asarray(graph(x)), function(x), rtol=1e-6)


def test_a_loop_without_steps_gives_what_it_begins_with() -> None:
    init = {"x": torch.ones(2)}
    assert transforms.fori_loop(5, 2, lambda i, c: {"x": c["x"] * 2}, init, checkpoint="sqrt") == init


ERRORS: dict[str, tuple[Callable[[], Any], type[GraphCompilerError], str]] = {
    "lengths": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), (torch.ones(3), torch.ones(4))),
        CallMismatch,
        r"the arrays of xs and length= have \[3, 4\] rows",
    ),
    "no axis": (lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), torch.tensor(1.0)), CallMismatch, "an array without axes"),
    "numbers": (lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), [1.0, 2.0]), CallMismatch, "a number or an array"),
    "a length below 0": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), length=-1),
        InvalidOption,
        "length= is -1",
    ),
    "a length of NumPy below 0": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), length=np.int64(-1)),
        InvalidOption,
        "length= is np.int64",
    ),
    "a text": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), length="3"),
        InvalidOption,
        "length= is '3'",
    ),
    "half a length": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), length=2.5),
        InvalidOption,
        "length= is 2.5",
    ),
    "length that is a float of NumPy": (
        lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), length=np.float32(2.5)),
        InvalidOption,
        "length= is np.float32",
    ),
    "nothing": (lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1)), InvalidOption, "pass xs= or length="),
    "no step": (lambda: transforms.scan(lambda c, row: (c, c), torch.ones(1), torch.ones(0, 2)), CallMismatch, "there is no step"),
    "no pair": (lambda: transforms.scan(lambda c, row: c, torch.ones(1), torch.ones(3)), CallMismatch, r"\(carry, output\), not Tensor"),
    "shape": (
        lambda: transforms.fori_loop(0, 3, lambda i, c: torch.cat([c, c]), torch.ones(1)),
        CallMismatch,
        r"fori_loop of <lambda>: carried array 0 is float32\[2\] after a step, and float32\[1\] before.* \(.*test_loops.py:\d+\)",
    ),
    **{
        f"dtype in {source}": (
            lambda array=array: transforms.scan(lambda c, row: (c + 0.5, None), array(np.zeros(2, "int32")), array(np.ones(3))),  # type: ignore[misc]
            CallMismatch,
            r"scan of <lambda>: carried array 0 is float\d\d\[2\] after a step, and int32\[2\] before.* \(.*test_loops.py:\d+\)",
        )
        for source, (_, _, array) in SOURCES.items()
        if source != "tensorflow"
    },
    "dtype in TensorFlow": (
        lambda: transforms.scan(lambda c, row: (tf.cast(c, tf.float32), None), tf.zeros(2, tf.int32), tf.ones(3)),
        CallMismatch,
        r"carried array 0 is float32\[2\] after a step, and int32\[2\] before",
    ),
    "structure": (
        lambda: transforms.fori_loop(0, 3, lambda i, c: (c, c), torch.ones(1)),
        CallMismatch,
        r"a step gives the carry tuple\(0=\*, 1=\*\), and is given \*; what is carried keeps its structure.*\(.*test_loops.py:\d+\)",
    ),
    "classes": (lambda: transforms.fori_loop(0, 3, lambda i, c: [*c], (torch.ones(1),)), CallMismatch, r"list\(0=\*\), and is given tuple\(0=\*\)"),
    "a Python integer": (lambda: transforms.fori_loop(0, 3, lambda i, c: c + 1, 0), CallMismatch, "the carry 1, and is given 0; .*integers of Python"),
    "bounds": (lambda: transforms.fori_loop(0, 2.5, lambda i, c: c, torch.ones(1)), InvalidOption, "low= and high= are integers"),
    "checkpoint": (lambda: transforms.fori_loop(0, 3, lambda i, c: c, torch.ones(1), checkpoint="no"), InvalidOption, "'sqrt', 'steps'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()
