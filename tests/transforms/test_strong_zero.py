"""Tests of ``strong_zero=True``: what does not reach the result adds nothing to a derivative, even if its own
derivative is infinite or NaN.
"""

from __future__ import annotations

import types
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
from graph_compiler import transforms
from graph_compiler.errors import CallMismatch
from graph_compiler.passes import strong_zero

TARGETS = ("torch", "jax", "tensorflow")

# Functions of x, and their derivative at 0 and at 2, where zero times anything is zero.
CASES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], float, float]] = {
    "minimum": (lambda x: torch.minimum(torch.tensor(1.0), 1 / x), 0.0, -0.25),
    "maximum": (lambda x: torch.maximum(torch.log(x), x - 1), 1.0, 1.0),
    "amin": (lambda x: torch.stack([1 / x, torch.ones_like(x)]).amin(), 0.0, -0.25),
    "sqrt": (lambda x: torch.where(x > 0, torch.sqrt(x), 0.0), 0.0, 0.5 / 2**0.5),
    "log": (lambda x: torch.where(x > 0, x * torch.log(x), 0.0), 0.0, np.log(2) + 1),
    "pow": (lambda x: torch.where(x > 0, x**0.25 + x**-2.0, 0.0), 0.0, 0.25 * 2**-0.75 - 0.25),
    "gammainc": (
        lambda x: torch.where(x > 0, torch.special.gammainc(torch.tensor(0.5), x), 0.0),
        0.0,
        np.exp(-2.0) / np.sqrt(2 * np.pi),
    ),
    "rsqrt": (lambda x: torch.where(x > 0, torch.rsqrt(x), 0.0), 0.0, -0.5 * 2**-1.5),
    "exp": (lambda x: torch.where(x >= 0, x, torch.exp(1000 - 600 * x)), 1.0, 1.0),
    "norm": (lambda x: torch.where(x > 0, torch.linalg.vector_norm(torch.stack([x, x])) / x, 0.0), 0.0, 0.0),
    "abs": (lambda x: torch.sqrt(torch.abs(x)), 0.0, 0.5 / 2**0.5),
    "relu": (lambda x: torch.sqrt(torch.relu(x)), 0.0, 0.5 / 2**0.5),
    "cos": (lambda x: torch.sqrt(1 - torch.cos(x)), 0.0, np.sin(2.0) / 2 / np.sqrt(1 - np.cos(2.0))),
    "tanh": (lambda x: torch.log(torch.relu(x * torch.tanh(x))), 0.0, 1 / 2 + (1 - np.tanh(2.0) ** 2) / np.tanh(2.0)),
    "ties": (lambda x: torch.stack([x, x, 2 * x, torch.log(x)]).amax(), 4 / 3, 2.0),
    "var": (lambda x: torch.sqrt(torch.var(torch.stack([x, 2 * x]))), 0.0, 0.5**0.5),
    "var of all": (lambda x: torch.sqrt(torch.var(torch.stack([x, 2 * x]), correction=0)), 0.0, 0.5),
    "std": (lambda x: torch.where(x > 0, torch.std(torch.stack([x, 2 * x])), 0.0), 0.0, 0.5**0.5),
    "asinh": (lambda x: torch.exp(torch.asinh(1 / x)), 0.0, -np.exp(np.arcsinh(0.5)) / 4 / 1.25**0.5),
    "xlogy": (lambda x: torch.special.xlogy(2 * x * x, x), 0.0, 8 * np.log(2) + 4),
    "xlog1py": (lambda x: torch.special.xlog1py(x * x, x - 2) + x * 0 * torch.special.xlogy(x, x), 0.0, 4.0),
    "abs of complex": (lambda x: torch.sqrt(torch.abs(torch.complex(x, -x))), 0.0, 2**0.25 / 2 / 2**0.5),
    "log of complex": (lambda x: torch.where(x > 0, (torch.log(torch.complex(x, x)) * torch.complex(x, x)).imag, 0.0), 0.0, None),  # type: ignore[dict-item]
    "powers of complex": (lambda x: torch.where(x > 0, (torch.sqrt(torch.complex(x, x)) / torch.complex(x * x, x)).real, 0.0), 0.0, None),  # type: ignore[dict-item]
    "composed": (lambda x: torch.where(x > 0, torch.sqrt(torch.log(1 / x) ** 2 + x**1.5) / x, 0.0), 0.0, None),  # type: ignore[dict-item]
}  # fmt: skip


def as_numpy(array: Any) -> Any:
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_zeros_stay(name: str, to: str) -> None:
    function, at_zero, at_two = CASES[name]
    x = torch.tensor([0.0, 2.0])
    own = torch.func.grad(function)(x[1])
    expected = np.array([at_zero, float(own) if at_two is None else at_two], "float32")
    np.testing.assert_allclose(own, expected[1], rtol=1e-5)
    graph = graph_compiler.transpile(
        lambda x: torch.vmap(function)(x).sum(), source="torch", to=to, args=(torch.ones(3),)
    )
    np.testing.assert_allclose(as_numpy(transforms.grad(graph, strong_zero=True)(x)), expected, rtol=1e-5)
    forward = [transforms.jvp(graph, (x,), (one,), strong_zero=True)[1] for one in torch.eye(2)]
    np.testing.assert_allclose([float(item) for item in forward], expected, rtol=1e-5)


@pytest.mark.parametrize("to", TARGETS)
def test_every_word_has_the_option(to: str) -> None:
    x, ones = torch.tensor([0.0, 2.0]), torch.ones(2)
    graph = graph_compiler.transpile(
        lambda x: torch.where(x > 0, x.sqrt() * x.log(), 0.0).sum(), source="torch", to=to, args=(x,)
    )
    assert np.isnan(as_numpy(transforms.grad(graph)(x))[0])
    slope, curve = np.array([0, (np.log(2) / 2 + 1) / 2**0.5]), np.array([0, -np.log(2) / 4 / 2**1.5])
    first = {
        "value_and_grad": transforms.value_and_grad(graph, strong_zero=True)(x)[1],
        "vjp": transforms.vjp(graph, x, strong_zero=True)[1](torch.tensor(1.0))[0],
        "jacrev": transforms.jacrev(graph, strong_zero=True)(x),
        "jacfwd": transforms.jacfwd(graph, strong_zero=True)(x),
        "vmap": as_numpy(transforms.vmap(transforms.grad(graph, strong_zero=True))(x[:, None]))[:, 0],
    }
    for name, found in first.items():
        np.testing.assert_allclose(as_numpy(found), slope, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(
        float(transforms.linearize(graph, x, strong_zero=True)[1](ones)), slope.sum(), rtol=1e-5
    )
    second = {
        "hvp": transforms.hvp(graph, (x,), (ones,), strong_zero=True),
        "hessian": as_numpy(transforms.hessian(graph, strong_zero=True)(x)).sum(0),
        "of a gradient": as_numpy(transforms.jacrev(transforms.grad(graph), strong_zero=True)(x)).sum(0),
    }
    for name, found in second.items():
        np.testing.assert_allclose(as_numpy(found), curve, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("to", TARGETS)
def test_a_cotangent_that_is_zero_at_a_point_has_a_derivative(to: str) -> None:
    """The cotangent of the logarithm is 0 at 1 and changes there, so selecting zeros would lose the second
    derivative.
    """
    x = torch.tensor(1.0)
    graph = graph_compiler.transpile(
        lambda x: torch.log(x) ** 2, source="torch", to=to, args=(torch.tensor(3.0),)
    )
    for second in (
        transforms.grad(transforms.grad(graph), strong_zero=True),
        transforms.hessian(graph, strong_zero=True),
    ):
        np.testing.assert_allclose(float(second(x)), 2.0, rtol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
def test_loops_branches_and_parameters(to: str) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([0.0, 2.0]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for row in x:
                x = x + torch.where(self.weight > 0, self.weight.sqrt(), 0.0) * row
            return x.sum()

    x = torch.ones(12, 2)
    graph = graph_compiler.transpile(Model(), to=to, args=(x,), roll="scan")
    gradient = transforms.grad(graph.functional, strong_zero=True)(graph.parameters, x)
    assert as_numpy(gradient["weight"])[0] == 0 and np.isfinite(as_numpy(gradient["weight"])).all()


def minimum(x: Any) -> Any:
    return min(1.0, 1 / x)


@pytest.mark.parametrize(
    "zero",
    [0.0, torch.tensor(0.0), tf.constant(0.0), np.asarray(0.0)],
    ids=["Python", "torch", "tensorflow", "numpy"],
)
def test_branches_of_python(zero: Any) -> None:
    with np.errstate(divide="ignore"):
        assert float(transforms.grad(minimum, strong_zero=True)(zero)) == 0
    assert float(transforms.grad(minimum, strong_zero=True)(zero + 2.0)) == -0.25


@pytest.mark.parametrize("to", TARGETS)
def test_branches_of_python_in_targets(to: str) -> None:
    graph = graph_compiler.transpile(minimum, source="torch", to=to, args=(torch.tensor(4.0),))
    assert float(transforms.grad(graph, strong_zero=True)(torch.tensor(0.0))) == 0
    assert float(transforms.grad(graph, strong_zero=True)(torch.tensor(2.0))) == -0.25


def test_functions_of_jax_and_what_numpy_computes() -> None:
    function = lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)  # noqa: E731
    gradient = transforms.grad(function, strong_zero=True)
    assert float(gradient(jnp.asarray(0.0))) == 0 and float(jax.jit(gradient)(jnp.asarray(0.25))) == 1.0
    found = transforms.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum(), strong_zero=True)(
        np.array([0.0, 0.25])
    )
    assert type(found) is np.ndarray and found.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("x", [torch.tensor(3.0), jnp.asarray(3.0), tf.constant(3.0)], ids=TARGETS)
def test_what_a_recording_would_take_for_a_constant_is_refused(x: Any) -> None:
    def outer(x: Any) -> Any:
        return transforms.grad(lambda y: x * y * y, strong_zero=True)(x)

    with pytest.raises(
        CallMismatch, match=r"holds arrays beside its arguments \(x\): .* Make them arguments"
    ):
        transforms.grad(outer)(x)


def test_the_pass_takes_operations_that_may_be_singular() -> None:
    graph = graph_compiler.compile(
        lambda x, z: (x.exp() + x, z / 2), args=(torch.ones(2), torch.ones(2) + 1j)
    ).with_passes(strong_zero)
    assert graph.source.count("= strong_zero(") == 2 and "def exp" in graph.source


def test_functions_of_complex_numbers() -> None:
    z = np.array([0.5 - 1j, -1.5 + 0.25j], "complex64")
    functions = {"torch": torch_length, "jax": jax_length, "tensorflow": tensorflow_length}
    arrays = {"torch": torch.tensor(z), "jax": jnp.asarray(z), "tensorflow": tf.constant(z)}
    expected = as_numpy(transforms.grad(torch_length)(arrays["torch"]))
    second = as_numpy(
        transforms.grad(lambda z: torch.abs(transforms.grad(torch_length)(z)).sum())(arrays["torch"])
    )
    for framework, function in functions.items():
        gradient = transforms.grad(function, strong_zero=True)
        np.testing.assert_allclose(
            as_numpy(gradient(arrays[framework])), expected, rtol=1e-4, err_msg=framework
        )
        again = transforms.grad(lambda z, f=function: absolute(transforms.grad(f)(z)), strong_zero=True)
        np.testing.assert_allclose(as_numpy(again(arrays[framework])), second, rtol=1e-4, err_msg=framework)


def torch_length(z: Any) -> Any:
    return torch.abs(torch.log(z) * torch.sqrt(z) + z / (1 + z)).sum()


def jax_length(z: Any) -> Any:
    return jnp.abs(jnp.log(z) * jnp.sqrt(z) + z / (1 + z)).sum()


def tensorflow_length(z: Any) -> Any:
    return tf.reduce_sum(tf.abs(tf.math.log(z) * tf.sqrt(z) + z / (1 + z)))


def absolute(z: Any) -> Any:
    return (
        tf.reduce_sum(tf.abs(z))
        if tf.is_tensor(z)
        else jnp.abs(z).sum()
        if isinstance(z, jax.Array)
        else torch.abs(z).sum()
    )


def test_primals_are_those_of_the_function() -> None:
    x = torch.tensor([[0.1, 0.1, 0.1], [np.inf, 1.0, np.inf], [np.nan, 0.0, 1.0], [-np.inf] * 3])

    def function(x: Any) -> Any:
        z = torch.complex(x, 2 * x)
        return (
            x.amax(1),
            x.amin(),
            torch.special.xlogy(x - x[:, :1], x),
            x.var(1),
            x.var(0, correction=0),
            torch.abs(z),
            torch.sqrt(z).real,
        )

    for to in (*TARGETS, "numpy"):
        graph = graph_compiler.transpile(function, source="torch", to=to, args=(x,))
        for one, other in zip(graph.with_passes(strong_zero)(x), graph(x)):
            np.testing.assert_allclose(as_numpy(one), as_numpy(other), rtol=1e-6, err_msg=to)


@pytest.mark.parametrize("y", [np.ones(3, "float32"), np.float16(2)])
def test_factors_in_jax_of_different_shapes_or_dtypes_are_refused(y: Any) -> None:
    from graph_compiler.backends.jax.prelude.control import strong_product

    with pytest.raises(TypeError, match="equal shapes and dtypes"):
        strong_product(jnp.float32(2), jnp.asarray(y))


class Twice:
    def __call__(self, graph: Any, x: Any) -> Any:
        return graph(x) * 2


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("twice", [lambda graph, x: graph(x) * 2, Twice()], ids=["function", "object"])
def test_a_function_that_is_bound_to_a_graph(twice: Any, to: str, strong: bool) -> None:
    graph = graph_compiler.transpile(lambda x: (x**3).sum(), source="torch", to=to, args=(torch.ones(2),))
    bound = types.MethodType(twice, graph)
    found = transforms.grad(bound, strong_zero=strong)(torch.tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.asarray(found), [6, 24, 54])


@pytest.mark.parametrize("array", [torch.tensor, jnp.array, tf.constant], ids=["torch", "jax", "tensorflow"])
def test_a_function_that_jit_returned(array: Any) -> None:
    library = {torch.tensor: torch, tf.constant: tf}.get(array, jnp)
    function = graph_compiler.jit(lambda x: library.where(x > 0.0, library.sqrt(x), 0.0 * x))
    slope = transforms.grad(function, strong_zero=True)
    assert [float(slope(array(number))) for number in (0.0, 4.0)] == [0.0, 0.25]


def test_a_variant_that_is_recorded_later() -> None:
    graph = graph_compiler.compile(lambda x: torch.where(x > 0, x.sqrt(), 0.0).sum(), args=(torch.ones(2),))
    slope = transforms.grad(graph, strong_zero=True)
    assert slope(torch.zeros(2)).tolist() == [0, 0]
    graph(torch.ones(2, 2))
    slope = transforms.grad(graph.functional, argnums=1, strong_zero=True)
    assert slope({}, torch.zeros(2, 2)).tolist() == [[0, 0], [0, 0]]
