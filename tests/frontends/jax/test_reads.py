"""Tests of elements that Python reads in uncompiled JAX functions: they become symbolic numbers or guards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.selection import pairs

jax = pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax.numpy as jnp  # noqa: E402
from flax import nnx  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import TracingError  # noqa: E402

OTHERS = ("numpy", "tensorflow", "torch")
TARGETS = ("jax", *OTHERS)
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a factor": lambda x: x * int(jnp.argmax(x)),
    "item": lambda x: x + x.argmax().item(),
    "a float": lambda x: x * float(x.max()) * 2,
    "an index": lambda x: x[int(jnp.argmax(x))],
    "an index from the end": lambda x: x[-int(jnp.argmax(x)) - 1],
    "a quotient": lambda x: x / (int(jnp.argmax(x)) + 1),
    "a quotient that is rounded down": lambda x: (int(jnp.argmax(x)) - 3) // 2 * x,
    "a comparison": lambda x: (jnp.arange(x.shape[0]) == int(jnp.argmax(x))) * x,
    "a branch": lambda x: x * 2 if int(jnp.argmax(x)) > 5 else x,
    "a sum of several": lambda x: x * sum(int(one) for one in x[:3]),
    "sizes": lambda x: x * (int((x > 0).sum()) / len(x)),
    "half precision": lambda x: x.astype(jnp.bfloat16) * int(jnp.argmax(x)),
}


def newton(x: Any) -> Any:
    root = x
    while abs(root * root - x).max() > 1e-5:
        root = (root + x / jnp.maximum(root, 1e-3)) / 2
    return root


def first_large(x: Any) -> Any:
    for place in range(x.shape[0]):
        if x[place] > 2:
            break
    else:
        return x
    return x * place


def collatz(x: Any) -> Any:
    steps, n = 0, int(x.sum()) + 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x + steps


def halved(x: Any) -> Any:
    return x / 2 if x.max() > 1 and not x[0] > 3 else x


KNOWN: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: x * 2 if x.sum() > 2 else x - 1,
    "and, not": halved,
    "while": newton,
    "break": first_large,
    "a number that goes on": collatz,
    "a range": lambda x: sum(range(int(jnp.argmax(x)))) * x,
    "a bound": lambda x: x[: int(jnp.argmax(x)) + 1],
    "a shape": lambda x: jnp.zeros(int(jnp.argmax(x)) + 1),
    "a list": lambda x: x * sum(x.tolist()),
    "math": lambda x: x * math.sqrt(x.max()),
    "a function of Python": lambda x: max(x[0], x[1], x[2]) * x,
    "a key": lambda x: x * {True: 2, False: 3}[bool(x.sum() > 2)],
    "a gradient": jax.grad(lambda y: (y**2).sum() if y[1] > 0 else (y**3).sum()),
    "of an array that is captured": lambda x: jax.vmap(lambda row: row * 2 if x[0] > 0 else row)(x),
    "random": lambda x: x * 2 if jax.random.uniform(jax.random.key(x[0].astype(jnp.int32))) > 0.5 else x,
}


def inputs() -> Iterator[Any]:
    for place in range(4):
        x = np.zeros(6, np.float32)
        x[place] = place + 1
        yield x
    yield np.arange(4, dtype=np.float32)


def check(graph: Any, function: Callable[[Any], Any]) -> None:
    for x in inputs():
        found, expected = np.asarray(graph(jnp.asarray(x))), np.asarray(function(jnp.asarray(x)))
        assert found.shape == expected.shape and found.dtype.name == expected.dtype.name
        np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=1e-5)


@pytest.mark.parametrize(("name", "to"), pairs(COMPUTED, OTHERS))
def test_one_variant_computes_with_the_number(name: str, to: str) -> None:
    graph = graph_compiler.transpile(COMPUTED[name], to=to, source="jax", args=(jnp.arange(6.0),))
    check(lambda x: _as_jax(graph(_native(x, to))), COMPUTED[name])
    assert len(graph.variants) == 1


@pytest.mark.parametrize(("name", "to"), pairs(KNOWN, TARGETS))
def test_what_python_has_to_know_is_a_guard(name: str, to: str) -> None:
    graph = graph_compiler.transpile(KNOWN[name], to=to, source="jax")
    check(lambda x: _as_jax(graph(_native(x, to))), KNOWN[name])


def _native(x: Any, to: str) -> Any:
    import tensorflow as tf
    import torch

    return {
        "numpy": np.asarray,
        "torch": lambda x: torch.tensor(np.asarray(x)),
        "tensorflow": tf.constant,
        "jax": jnp.asarray,
    }[to](np.asarray(x))


def _as_jax(found: Any) -> Any:
    if hasattr(found, "detach"):
        return jnp.asarray(found.float().numpy(), str(found.dtype).removeprefix("torch."))
    return jnp.asarray(np.asarray(found))


class Gate(nnx.Module):
    """Branches on elements and counts its calls."""

    def __init__(self) -> None:
        self.weight, self.calls = nnx.Param(jnp.arange(1.0, 7.0)), nnx.BatchStat(jnp.asarray(0))

    def __call__(self, x: Any) -> Any:
        self.calls[...] = self.calls[...] + 1
        return x * self.weight[...] if x.max() > 1 else x - self.weight[...]


def test_models_may_read_elements_and_keep_their_state() -> None:
    plain, compiled = Gate(), Gate()
    graph = graph_compiler.compile(compiled, args=(jnp.zeros(6),))
    for x in list(inputs())[:3]:
        np.testing.assert_allclose(graph(jnp.asarray(x)), plain(jnp.asarray(x)))
    assert compiled.calls[...] == plain.calls[...] == 3


def test_what_jax_refuses_untraced_is_refused_as_jax_does() -> None:
    function = jax.jit(lambda x: x * 2 if x.sum() > 0 else x)
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"test_reads.py:\d+"):
        graph_compiler.compile(function, args=(jnp.ones(3),))


def test_too_many_elements_are_refused() -> None:
    with pytest.raises(TracingError, match="Python reads 100 elements"):
        graph_compiler.compile(lambda x: x * sum(x.tolist()), args=(jnp.ones(100),))


def test_a_function_that_does_not_do_the_same_twice_is_refused() -> None:
    turns = iter(range(10))

    def function(x: Any) -> Any:
        return x * 2 if next(turns) % 2 or x.sum() > 0 else x

    with pytest.raises(TracingError):
        graph_compiler.compile(function, args=(jnp.ones(3),))


def test_what_was_read_is_a_guard_of_the_line(tmp_path: Any) -> None:
    graph = graph_compiler.transpile(KNOWN["if"], to="torch", source="jax", args=(jnp.ones(6),))
    assert "test_reads.py" in str(graph.explain())
    graph.save(tmp_path / "graph.zip")
    import torch

    np.testing.assert_allclose(graph_compiler.load(tmp_path / "graph.zip")(torch.ones(6)), 2 * np.ones(6))
