"""Tests of ``verify`` of derivatives against differences in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import jax.numpy as jnp
import tensorflow as tf
import torch

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch, NotCompilable, VerificationFailed

DERIVATIVES = {
    "grad": lambda f: transforms.grad(f, argnums=(0, 1)),
    "value_and_grad": transforms.value_and_grad,
    "jacrev": lambda f: transforms.jacrev(f, argnums=1),
    "jacfwd": transforms.jacfwd,
    "hessian": transforms.hessian,
    "strong": lambda f: transforms.grad(f, strong_zero=True),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_right_derivatives(name: str, to: str) -> None:
    x, y = torch.tensor([0.3, -0.4]), torch.tensor([0.5, 0.25, 2.0])
    graph = graph_compiler.transpile(
        lambda x, y: (torch.sin(x)[:, None] * y).exp().sum(), source="torch", to=to, args=(x, y)
    )
    checked = DERIVATIVES[name](graph).verify(x, y)
    assert checked.dtype == "float64" and checked.error < 7e-7


@pytest.mark.parametrize("name", ["grad", "hessian"])
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_arguments_are_those_of_the_recording_where_none_are_given(name: str, to: str) -> None:
    graph = graph_compiler.transpile(
        lambda x: (jnp.sin(x) * x).sum(), source="jax", to=to, args=(jnp.ones(3),)
    )
    checked = getattr(transforms, name)(graph).verify()
    # Outside of ``verify`` a JAX function computes in 32 bits.
    assert checked.dtype == ("float64" if to == "jax" else "float32")
    # Only ``functional`` takes the parameters as its first argument.
    assert getattr(transforms, name)(graph.__call__).verify().dtype == checked.dtype
    with pytest.raises(CallMismatch, match=r"verify\(\): nothing is recorded"):
        getattr(transforms, name)(graph_compiler.transpile(jnp.sum, source="jax", to=to)).verify()


def test_parameters_are_arguments_of_a_functional_graph() -> None:
    graph = graph_compiler.compile(linear := torch.nn.Linear(3, 1), args=(torch.ones(3),))
    assert transforms.jacrev(graph.functional).verify().error < 1e-2 and linear.weight.grad is None


@pytest.mark.parametrize(
    "transform",
    [
        lambda graph: transforms.grad(graph, strong_zero=True),
        lambda graph: transforms.grad(transforms.grad(graph), strong_zero=True),
        lambda graph: transforms.grad(graph_compiler.jit(graph)),
    ],
    ids=["strong zero", "strong zero of a gradient", "jit"],
)
def test_wrappers_take_the_arguments_of_their_graph(transform: Callable[[Any], Any]) -> None:
    graph = graph_compiler.transpile(lambda x: x**3, to="jax", args=(torch.tensor(1.0),))
    assert transform(graph).verify().error < 1e-6


def test_a_loaded_graph_tells_no_arguments(tmp_path: Path) -> None:
    graph_compiler.compile(torch.nn.Linear(3, 1), args=(torch.ones(3),)).save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    with pytest.raises(CallMismatch, match=r"verify\(\): nothing is recorded"):
        transforms.jacrev(loaded.functional).verify()


def test_complex_arguments_structures_and_aux() -> None:
    function = lambda pair, scale: ((pair["z"].abs() ** 2 * pair["x"]).sum() * scale, "aux")  # noqa: E731
    pair = {"x": torch.tensor([1.0, 2.0]), "z": torch.tensor([1 + 2j, 0.5j])}
    assert transforms.grad(function, has_aux=True).verify(pair, 3.0).error < 7e-7


@pytest.mark.parametrize(
    "function", [lambda z: z.abs() ** 2, lambda z: z**2], ids=["real results", "complex results"]
)
def test_jacobians_of_complex_arguments(function: Any) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert transforms.jacrev(function).verify(z).error < 7e-7


def test_weights_of_another_type_keep_the_type() -> None:
    linear = torch.nn.Linear(3, 1)
    assert transforms.grad(lambda x: linear(x).sum()).verify(torch.ones(3)).dtype == "float32"


@pytest.mark.parametrize("x", [torch.ones(2), jnp.ones(2), tf.ones(2)], ids=["torch", "jax", "tensorflow"])
def test_wrong_derivatives(x: Any) -> None:
    wrong = transforms.grad(lambda x: (x * transforms.stop_gradient(x))[0])
    with pytest.raises(VerificationFailed, match=r"grad\(<lambda>\) differs from central differences by 0.5"):
        wrong.verify(x)


def test_what_is_no_derivative() -> None:
    with pytest.raises(NotCompilable, match=r"vmap\(sin\) is no derivative"):
        transforms.vmap(torch.sin).verify(torch.ones(2))
    assert isinstance(transforms.grad(np.sum).verify(np.ones(3)).error, float)


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_derivative_that_is_nan_is_found(to: str) -> None:
    x = torch.zeros(3)
    graph = graph_compiler.transpile(
        lambda x: torch.where(x > 0, x.sqrt(), 0.0).sum(), source="torch", to=to, args=(x,)
    )
    with pytest.raises(VerificationFailed, match="differs from central differences by inf"):
        transforms.grad(graph).verify(x)
