"""Tests of JAX programs and flax.nnx modules in every target, recorded once and called at other sizes."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

import graph_compiler
from tests.support.compare import arrays, assert_no_further, dtype_name
from tests.support.contexts import wide_types
from tests.support.jitted import by_jit
from tests.support.samples import array, made

from .programs import MODULES, PROGRAMS
from .test_samples import TARGETS, as_jax, plain


def wide(function: Any, *args: Any) -> Any:
    """Return the result in float64, the reference for float32."""
    with wide_types():
        return by_jit(
            function,
            *jax.tree_util.tree_map(lambda x: x.astype("float64") if x.dtype == jnp.float32 else x, args),
        )


# The targets of a program run one after the other, so few entries are enough.
@functools.lru_cache(maxsize=2)
def calls_of(place: int) -> list[tuple[Any, Any, Any]]:
    """Return (arguments, JAX's result, its result in float64) of the recorded call and of the other one."""
    function, *calls = PROGRAMS[place]
    return [(args, function(*args), wide(function, *args)) for args in map(as_jax, map(made, calls))]


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_program(program: Any, to: str) -> None:
    calls = calls_of(PROGRAMS.index(program))
    graph = graph_compiler.compile(program[0], to=to, source="jax", args=calls[0][0])
    for args, expected, exact in calls:
        actual = graph(*plain(args, to))
        assert list(map(dtype_name, arrays(actual).values())) == list(
            map(dtype_name, arrays(expected).values())
        )
        assert_no_further(actual, expected, exact, factor=4.0)
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("case", MODULES, ids=lambda case: case[0].__name__)
def test_module(case: Any, to: str) -> None:
    module = case[0](nnx.Rngs(0))
    args, other = ((as_jax(made(item)),) for item in case[1:])
    graph = graph_compiler.compile(module, to=to, source="jax", args=args)
    for given in (args, other):
        np.testing.assert_allclose(
            np.asarray(detached(graph(*plain(given, to)))), module(*given), rtol=1e-4, atol=1e-5
        )
    assert len(graph.variants) == 1, graph.explain()
    paths = {".".join(map(str, path)) for path, _ in nnx.to_flat_state(nnx.state(module, nnx.Param))}
    assert paths <= graph.parameters.keys()


def test_tensors_of_the_target_are_recorded_with() -> None:
    """NumPy cannot convert tensors that require a gradient, have dtype bfloat16 or are conjugated."""
    graph = graph_compiler.compile(lambda x: (jnp.square(x) * 3).sum(), source="jax", to="torch")
    tensor = torch.tensor([1.0, 2.0], requires_grad=True)
    graph(tensor * 1).backward()
    assert tensor.grad.tolist() == [6.0, 12.0]
    assert (
        graph(torch.tensor([1.5, 2.5]).bfloat16()).item()
        == jnp.square(jnp.array([1.5, 2.5], "bfloat16")).sum() * 3
    )
    assert graph(torch.tensor([1 + 2j]).conj()).item() == 3 * (1 - 2j) ** 2
    graph.verify(args=(tensor,))


def solved(a, b):
    """JAX cuts the factors off from the gradient, which follows from the equation that is solved."""
    definite = a @ a.T + jnp.eye(a.shape[0])
    by_factors = jax.scipy.linalg.solve(definite, b, assume_a="pos")
    return (by_factors * jnp.sin(b)).sum() + jax.vmap(jnp.linalg.solve, (0, None))(
        jnp.stack([definite, definite.T * 2 + a]), b
    )[1, 0]


def test_gradients_of_solutions() -> None:
    args, other = (as_jax((made(array(n, n)), made(array(n)))) for n in (3, 4))
    expected, second = jax.grad(solved, (0, 1))(*other), jax.hessian(solved)(*other)
    tensors = [torch.tensor(np.asarray(item), requires_grad=True) for item in other]
    in_torch = graph_compiler.compile(solved, source="jax", to="torch", args=args)
    for found, wanted in zip(torch.autograd.grad(in_torch(*tensors), tensors), expected):
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)
    in_jax = graph_compiler.compile(solved, args=args)
    for found, wanted in zip(jax.grad(in_jax, (0, 1))(*other), expected):
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)
    hessian = torch.func.jacrev(torch.func.jacrev(in_torch))(*(item.detach() for item in tensors))
    np.testing.assert_allclose(hessian, second, rtol=1e-2, atol=1e-2)


def detached(array: Any) -> Any:
    return array.detach() if hasattr(array, "detach") else array
