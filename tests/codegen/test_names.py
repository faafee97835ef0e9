"""Tests of the names in generated source: those of the user's variables, of operations, and of state."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.naming import Namespace
from tests.support.compare import assert_same

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jnp = jax.numpy


def scaled(x: Any) -> Any:
    low, high = x.min(), x.max()
    return (x - low) / (high - low), low * high


def four_at_once(x: Any) -> Any:
    low, high, middle, spread = x.min(), x.max(), x.mean(), x.std()
    return (x - low) / high + (x - middle) / spread, low * high, middle * spread


def unpacked(x: Any) -> Any:
    first, second = x[:2]
    return first * 2 - second, first + second


def selected(x: Any) -> Any:
    return [jnp.where(x > 0, x, -x), x.astype(jnp.int32), x.sum(0)]


def of_rows(x: Any) -> Any:
    squares = [(row * row) - row for row in x[:3]]
    for other in x[:2]:
        squares.append(other / 2)
    return squares


def decomposed(x: Any) -> Any:
    left, values, right = jnp.linalg.svd(x, full_matrices=False)
    return (left * values) @ right, values


class Held:
    last: Any = None


def assigned_twice(x: Any) -> Any:
    held = Held()
    low = least = x.min(0)
    held.last = high = x.max(0)
    middle = held.last = x.mean(0)
    return (x - low) / (high - least), middle * (spread := x.std(0)) + spread * middle


def of_items(x: Any) -> Any:
    first, second, third = (row * 2 for row in x[:3])
    low, high = [part.min() for part in (x[0], x[1])]
    return (first - second) * third + first * second, low * high - low / high


def of_items_again(x: Any) -> Any:
    parts = []
    for row in x[:2]:
        left, right = (part * 2 for part in (row[:1], row[1:]))
        parts.append(left * left + right * right)
    return parts


def arrays(shape: tuple[int, ...], dtype: str = "float64") -> Any:
    return np.random.default_rng(shape[0]).normal(size=shape).astype(dtype)


def floats(shape: tuple[int, ...]) -> Any:
    return jnp.asarray(arrays(shape, "float32"))


# Each row: function, argument of a shape, target, texts in the source, texts that are not in it.
SAMPLES: list[tuple[Callable[..., Any], Callable[..., Any], str, list[str], list[str]]] = [
    (scaled, arrays, "torch", ["low = ", "high = ", "(x - low) / (high - low)"], []),
    (scaled, floats, "torch", ["low = ", "high = ", "(x - low) / (high - low)"], []),
    (scaled, arrays, "numpy", ["low = ", "high = "], []),
    (four_at_once, arrays, "jax", ["low = ", "high = ", "middle = ", "spread = "], []),
    (unpacked, arrays, "torch", [], ["first = x[1]", "first = getitem[1]"]),
    (of_rows, arrays, "torch", ["row = ", "row * row - row", "other"], ["getitem_1"]),
    (decomposed, floats, "torch", [], ["values, left", "left ="]),
    (assigned_twice, arrays, "torch", ["low = ", "high = ", "middle = ", "spread = "], ["least", "held"]),
    (assigned_twice, floats, "torch", ["low = ", "high = ", "middle = ", "spread = "], ["least", "held"]),
    (of_items, arrays, "torch", ["first = ", "second = ", "third = "], []),
    (of_items, floats, "torch", ["first = ", "second = ", "third = "], []),
    (of_items_again, arrays, "torch", ["left = ", "right = "], []),
    (selected, floats, "torch", [], ["chosen", "converted", "total"]),
]


@pytest.mark.parametrize(
    ("function", "make", "to", "present", "absent"),
    SAMPLES,
    ids=[f"{function.__name__}-{to}-{place}" for place, (function, _, to, _, _) in enumerate(SAMPLES)],
)
def test_names(
    function: Callable[..., Any], make: Callable[..., Any], to: str, present: list[str], absent: list[str]
) -> None:
    graph = graph_compiler.transpile(function, to=to, args=(make((4, 3)),))
    body = graph.source.partition(f"def {graph.name}(")[2]
    assert [text for text in present if text not in body] == [], body
    assert [text for text in absent if text in body] == [], body
    x = make((7, 3))
    assert_same(graph(x), function(x))


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="the code of a list's items is part of the function's"
)
def test_items_of_a_list_have_the_names_of_their_variables() -> None:
    source = graph_compiler.transpile(of_items, to="torch", args=(arrays((4, 3)),)).source
    assert "low = " in source and "high = " in source, source


class Momentum:
    """Descent that keeps the velocity of each parameter in a dict by parameter, as optimizers of torch do."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(3, 2)
        self.velocity = {weight: torch.zeros_like(weight) for weight in self.model.parameters()}

    def step(self, x: Any) -> Any:
        with torch.no_grad():
            for weight in self.model.parameters():
                self.velocity[weight].mul_(0.9).add_(weight)
        return self.model(x) + self.velocity[self.model.bias]


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_state_of_a_parameter_has_the_name_of_the_parameter(to: str) -> None:
    descent, other = Momentum(), Momentum()
    other.model.load_state_dict(descent.model.state_dict())
    graph = graph_compiler.transpile(descent.step, to=to, args=(torch.ones(4, 3),))
    assert "velocity_weight" in graph.source.replace("model_", "") and "containing" not in graph.source
    assert "containing" not in graph.explain()
    for _ in range(2):
        x = torch.randn(5, 3)
        assert_same(graph(x), other.step(x))


def test_a_name_that_is_reserved_after_its_release_is_not_given_out() -> None:
    names = Namespace()
    assert names.unique("x") == "x"
    names.release("x")
    names.reserve("x", "y")
    assert names.unique("x") == "x_1" and names.unique("y") == "y_1"
