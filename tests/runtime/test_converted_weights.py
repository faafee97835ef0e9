"""Tests of the conversion of weights at the first call: current values, as arrays that no trace contains."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

torch = pytest.importorskip("torch")
_X = torch.arange(6.0).reshape(3, 2)


def _written(model: Any) -> None:
    with torch.no_grad():
        model.weight.mul_(3)


def _replaced(model: Any) -> None:
    model.weight = torch.nn.Parameter(torch.full((4, 2), 0.5))


def _by_others(model: Any) -> None:
    model.weight.data[1] = 7


def _other_shape(model: Any) -> None:
    model.weight, model.bias = torch.nn.Parameter(torch.ones(5, 2)), torch.nn.Parameter(torch.ones(5))


def _left(model: Any) -> None: ...


def _plain(target: str, graph: Any) -> Any:
    return np.asarray(graph(_X.numpy()))


def _traced(target: str, graph: Any) -> Any:
    """Call the graph inside the target's compiler and then directly, which must give the same."""
    if target == "jax":
        import jax

        first = jax.jit(graph)(_X.numpy())
    else:
        import tensorflow as tf

        first = tf.function(graph)(tf.constant(_X.numpy()))
    np.testing.assert_allclose(np.asarray(graph(_X.numpy())), np.asarray(first), rtol=1e-6)
    return np.asarray(first)


@pytest.mark.parametrize("target", ["jax", "tensorflow"])
@pytest.mark.parametrize(
    ("change", "call"),
    [
        *(
            (change, call)
            for change in (_left, _written, _replaced, _by_others)
            for call in (_plain, _traced)
        ),
        # Inside a compiler no other variant can be recorded.
        (_other_shape, _plain),
    ],
)
def test_a_first_call_has_the_weights_of_its_moment(
    change: Callable[[Any], None], call: Callable[..., Any], target: str
) -> None:
    pytest.importorskip(target)
    model = torch.nn.Linear(2, 4)
    graph = graph_compiler.compile(model, args=(_X,), to=target)
    change(model)
    np.testing.assert_allclose(call(target, graph), model(_X).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert all(not isinstance(array, torch.Tensor) for array in graph.parameters.values())


def test_parameters_that_are_asked_for_before_a_call_are_those_of_the_moment() -> None:
    pytest.importorskip("jax")
    model = torch.nn.Linear(2, 4)
    graph = graph_compiler.compile(model, args=(_X,), to="jax")
    _replaced(model)
    np.testing.assert_array_equal(graph.parameters["weight"], model.weight.detach().numpy())


@pytest.mark.parametrize("target", ["jax", "tensorflow", "torch", "numpy"])
def test_replaced_weights_are_let_go(target: str) -> None:
    pytest.importorskip(target)
    held = {"weight": np.zeros((3, 4))}
    graph = graph_compiler.transpile(
        lambda x: x @ held["weight"] + held["weight"].T[:, 0].sum(), to=target, args=(np.ones((2, 3)),)
    )
    seen = []
    for step in range(6):
        held["weight"] = np.full((3, 4), float(step))
        seen.append(weakref.ref(held["weight"]))
        np.testing.assert_allclose(np.asarray(graph(np.ones((2, 3)))), np.full((2, 4), 7.0 * step))
    gc.collect()
    # The last one is the user's, and a variant may refer to the one that it converted last.
    assert sum(reference() is not None for reference in seen) <= 2


class _Scaled(torch.nn.Module):  # type: ignore[misc]
    """Model whose result depends on the shape and the dtype of its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), 1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        halves = self.weight.size(0) * 0.5
        return (x * self.weight).sum() * halves * (2 if self.weight.dtype == torch.float16 else 1)


def _other_data(model: Any) -> None:
    model.weight.data = torch.full((1,), 0.5)


def _detached(array: Any) -> Any:
    return array.detach() if isinstance(array, torch.Tensor) else array


_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "other shape": _other_data,
    "half": torch.nn.Module.half,
    "double": torch.nn.Module.double,
}


# `Module.half` and `Module.double` assign to `.data`, too, so that the tensor stays the same object.
@pytest.mark.parametrize("made", [_Scaled, lambda: torch.jit.script(_Scaled())], ids=["module", "scripted"])
@pytest.mark.parametrize("change", _LAYOUTS)
@pytest.mark.parametrize("target", ["torch", "jax", "tensorflow", "numpy"])
def test_other_data_of_a_weight_is_noticed(target: str, change: str, made: Callable[[], Any]) -> None:
    pytest.importorskip(target)
    model = made()
    graph = graph_compiler.transpile(model, to=target, args=(_X,))
    x = _X if target == "torch" else _X.numpy()
    graph(x)
    _LAYOUTS[change](model)
    want = model(_X).detach().double().numpy()
    np.testing.assert_allclose(np.asarray(_detached(graph(x))).astype(float), want, rtol=1e-3)
