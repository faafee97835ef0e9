"""Tests of collectives over the axis of ``vmap(axis_name=)`` in every target, mapped and differentiated in
any order, compared with JAX.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque
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

import graph_compiler
from graph_compiler import parallel, transforms
from graph_compiler.errors import GradientRefused, InvalidOption, NotCompilable

ROWS = np.random.default_rng(0).normal(size=(3, 2)).astype("float32")
TO = {"torch": torch.tensor, "tensorflow": tf.constant, "jax": jnp.asarray, "numpy": np.asarray}
TARGETS = ("torch", "tensorflow")


def added(x: Any) -> Any:
    return tf.reduce_sum(x) if tf.is_tensor(x) else x.sum()


def rows(function: Callable[[Any], Any]) -> Any:
    return transforms.vmap(function, axis_name="rows")


def statistics(x: Any) -> Any:
    centred = x - parallel.pmean(x, "rows")
    return centred * parallel.axis_size("rows") + parallel.all_gather(x * x, "rows", tiled=True)[
        1:3
    ] * parallel.psum(x, "rows")


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "psum": lambda x: (x - parallel.psum(x, "rows")) * x,
    "pmean": lambda x: x * parallel.pmean({"squares": x * x}, "rows")["squares"],
    "gather": lambda x: (
        parallel.all_gather(x * x, "rows")[1] * x + parallel.all_gather(x, "rows", tiled=True)[2:4]
    ),
    "the same": lambda x: (
        x * parallel.psum(2.0, "rows")
        + parallel.pmean(3.0, "rows")
        + parallel.all_gather(1.0, "rows")[parallel.axis_size("rows") - 1]
    ),
    "statistics": statistics,
    "pmax": lambda x: x * parallel.pmax(x, "rows") - parallel.pmin(x, "rows"),
}
WORDS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "vmap": rows,
    "gradients of slices": lambda f: rows(transforms.grad(lambda x: added(f(x)))),
    "gradient of the map": lambda f: transforms.grad(lambda x: added(rows(f)(x))),
    "forward mode": lambda f: lambda x: transforms.jvp(rows(f), (x,), (x * x,))[1],
    "hessians of slices": lambda f: rows(transforms.hessian(lambda x: added(f(x)))),
    "a map around": lambda f: lambda x: transforms.vmap(rows(f), in_axes=2)(x[..., None] + x[:, :, None] * x[:1, :1]),
    "a map inside": lambda f: rows(lambda row: transforms.vmap(lambda y: y * added(f(row)))(row)),
    "two names": lambda f: rows(lambda row: transforms.vmap(lambda y: f(row * y) + parallel.psum(y, "y"), axis_name="y")(row)),
}  # fmt: skip


@functools.cache
def wanted(word: str, name: str) -> Any:
    return np.asarray(jax.jit(WORDS[word](FUNCTIONS[name]))(jnp.asarray(ROWS)))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("word", WORDS)
def test_plain_functions(word: str, to: str) -> None:
    is_derivative = word not in ("vmap", "a map around", "a map inside", "two names")
    for name, function in FUNCTIONS.items():
        # JAX has no derivative of ``pmax``.
        if not (is_derivative and name == "pmax"):
            np.testing.assert_allclose(
                WORDS[word](function)(TO[to](ROWS)), wanted(word, name), rtol=1e-5, atol=1e-5, err_msg=name
            )


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("source", ["torch", "jax", "tensorflow", "numpy"])
def test_graphs_of_all_sources(source: str, to: str) -> None:
    graph = graph_compiler.transpile(statistics, source=source, to=to, args=(TO[source](ROWS[0]),))
    for word in ("vmap", "gradients of slices"):
        np.testing.assert_allclose(
            WORDS[word](graph)(TO[to](ROWS)), wanted(word, "statistics"), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("source", ["torch", "jax", "tensorflow"])
def test_a_map_that_is_recorded(source: str) -> None:
    transformed = rows(transforms.grad(lambda x: added(statistics(x))))
    graph = graph_compiler.compile(
        lambda x: rows(statistics)(x) + transformed(x), source=source, args=(TO[source](ROWS[:2]),)
    )
    x = TO[source](np.concatenate([ROWS, ROWS]))
    np.testing.assert_allclose(graph(x), rows(statistics)(x) + transformed(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("to", TARGETS)
def test_numbers_of_slices_and_no_axis_but_a_size(to: str) -> None:
    def function(x: Any) -> Any:
        return parallel.axis_index("rows"), parallel.psum(x, "rows")

    places, total = transforms.vmap(function, in_axes=None, axis_size=4, axis_name="rows")(TO[to](ROWS[0]))
    np.testing.assert_array_equal(places, np.arange(4, dtype="int32"))
    np.testing.assert_allclose(total, np.stack([ROWS[0] * 4] * 4))
    whole = transforms.vmap(lambda n: parallel.psum(n, "rows"), axis_name="rows")(
        TO[to](np.arange(3, dtype="int32"))
    )
    assert np.asarray(whole).dtype == "int32" and np.asarray(whole).tolist() == [3, 3, 3]


@dataclasses.dataclass
class Sums:
    total: Any
    text: str


class Named(dict[str, Any]):
    pass


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "OrderedDict": (lambda x: OrderedDict(a=[x], b="kept"), lambda found: found["a"][0]),
    "subclass of dict": (lambda x: Named(a=x), lambda found: found["a"]),
    "defaultdict": (lambda x: defaultdict(list, a=x), lambda found: found["a"]),
    "deque": (lambda x: deque([x], maxlen=2), lambda found: found[0]),
    "dataclass": (lambda x: Sums(x, "kept"), lambda found: found.total),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_of_other_classes(name: str, to: str) -> None:
    hold, of = CONTAINERS[name]

    def function(x: Any) -> Any:
        found, gathered = parallel.psum(hold(x), "rows"), parallel.all_gather(hold(x), "rows", axis=1)
        assert type(found) is type(hold(x)) and getattr(found, "maxlen", 2) == 2
        return of(found), of(gathered)

    total, gathered = rows(function)(TO[to](ROWS))
    np.testing.assert_allclose(total, np.stack([ROWS.sum(0)] * 3), rtol=1e-6)
    np.testing.assert_array_equal(gathered, np.stack([ROWS.T] * 3))


def test_wrong_uses() -> None:
    with pytest.raises(
        InvalidOption, match=r"runs over 'rows'.* or transforms.vmap\(function, axis_name='columns'\)"
    ):
        rows(lambda x: parallel.psum(x, "columns"))(torch.tensor(ROWS))
    for to in TARGETS:
        with pytest.raises(GradientRefused, match="have no gradient inside of the function"):
            rows(transforms.grad(lambda x: added(parallel.pmax(x, "rows"))))(TO[to](ROWS))
    compiled = tf.function(lambda x: parallel.psum(x, "rows"), autograph=False)
    with pytest.raises(NotCompilable, match=r"runs in a tf\.function"):
        rows(compiled)(tf.constant(ROWS))


def curved(x: Any) -> Any:
    total = tf.reduce_sum(x**3)
    return tf.cond(total > 0, lambda: total * total, lambda: total * 3)


def test_collectives_of_slices_that_run_one_after_the_other() -> None:
    """``tf.vectorized_map`` converts no second derivatives of branches."""
    x = tf.constant(ROWS)
    mapped = rows(
        lambda row: parallel.psum(transforms.jvp(transforms.grad(curved), (x[0],), (row,))[1], "rows")
    )
    for run in (mapped, tf.function(mapped, autograph=False)):
        with pytest.raises(NotCompilable, match=r"psum .* one slice after the other"):
            run(x)


def test_a_compiled_map() -> None:
    for compiled in (jax.jit(rows(statistics)), tf.function(rows(statistics), autograph=False)):
        x = jnp.asarray(ROWS) if compiled.__class__.__module__.startswith("jax") else tf.constant(ROWS)
        np.testing.assert_allclose(compiled(x), rows(statistics)(jnp.asarray(ROWS)), rtol=1e-5, atol=1e-6)
