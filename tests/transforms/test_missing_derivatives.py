"""Tests of operations without forward mode or without a derivative: another way to compute it, or an error
that names the function; never zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import graph_compiler
from graph_compiler import transforms
from graph_compiler.errors import GradientRefused, TracingError

jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")


def scattered(x: torch.Tensor) -> torch.Tensor:
    return (
        torch.ones(3, 2, dtype=x.dtype)
        .scatter_reduce(1, torch.tensor([[0, 1, 1, 0]] * 3), x, "prod")
        .pow(3)
        .sum()
    )


def scattered_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.scatter_reduce_(1, torch.tensor([[0, 1, 1]] * 3), x[:, 1:], reduce="prod")
    return y.pow(2).sum()


def by_index(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(2, 4, dtype=x.dtype).index_reduce(0, torch.tensor([0, 1, 1]), x, "prod").pow(2).sum()


def aligned(x: torch.Tensor) -> torch.Tensor:
    log_probabilities, targets = F.log_softmax(x[:, None], -1), torch.tensor([[1, 2]])
    return F.ctc_loss(log_probabilities, targets, torch.tensor([3]), torch.tensor([2]))


X, V = (torch.from_numpy(np.random.default_rng(seed).random((3, 4)) + 0.5) for seed in (0, 1))


def expected(function: Callable[..., Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first and second derivative in one direction by reverse mode."""
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
    (second,) = torch.autograd.grad((gradient * V).sum(), x)
    return (gradient * V).sum().detach(), second


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("is_graph", [False, True])
@pytest.mark.parametrize("function", [scattered, scattered_in_place, by_index])
def test_forward_mode_by_reverse_mode(function: Callable[..., Any], is_graph: bool) -> None:
    """torch's own forward mode is wrong for products with scatter (the tangent is 0), and lacks
    ``index_reduce``.
    """
    first, second = expected(function)
    taken = graph_compiler.transpile(function, to="torch", args=(X,)) if is_graph else function
    torch.testing.assert_close(transforms.jvp(taken, (X,), (V,))[1], first)
    torch.testing.assert_close(transforms.jacfwd(taken)(X).mul(V).sum(), first)
    torch.testing.assert_close(transforms.hvp(taken, (X,), (V,)), second)
    torch.testing.assert_close(transforms.hessian(taken)(X).mul(V).sum((2, 3)), second)


def test_linear_functions_are_taken_where_backward_passes_with_logarithms_have_a_derivative() -> None:
    first, _ = expected(lambda x: x.logcumsumexp(1).sum())
    torch.testing.assert_close(transforms.linearize(lambda x: x.logcumsumexp(1).sum(), X)[1](V), first)


def test_every_derivative_of_a_running_logsumexp_in_tensorflow() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.exp().cumsum(1).log()[:, ::2] ** 2).sum()

    graph = graph_compiler.transpile(
        lambda x: (x.logcumsumexp(1)[:, ::2] ** 2).sum(), to="tensorflow", args=(X,)
    )
    first, second = expected(function)
    third = torch.func.grad(
        lambda x: (torch.func.grad(lambda x: (torch.func.grad(function)(x) * V).sum())(x) * V).sum()
    )(X)
    np.testing.assert_allclose(transforms.jvp(graph, (X,), (V,))[1], first)
    x, v = tf.constant(X), tf.constant(V)
    by_reverse = lambda f: transforms.grad(lambda x: tf.reduce_sum(f(x) * v))  # noqa: E731
    np.testing.assert_allclose(by_reverse(transforms.grad(graph))(x), second)
    np.testing.assert_allclose(transforms.jvp(transforms.grad(graph), (x,), (v,))[1], second)
    np.testing.assert_allclose(by_reverse(by_reverse(transforms.grad(graph)))(x), third)
    np.testing.assert_allclose(transforms.jvp(by_reverse(transforms.grad(graph)), (x,), (v,))[1], third)


class Squared(torch.autograd.Function):
    """A function with a gradient that differs from its derivative."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, cotangent: torch.Tensor) -> torch.Tensor:
        return 3 * ctx.saved_tensors[0] * cotangent


@jax.custom_vjp
def squared(x: Any) -> Any:
    return x * x


squared.defvjp(lambda x: (squared(x), x), lambda x, cotangent: (3 * x * cotangent,))


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
@pytest.mark.parametrize("source", ["torch", "jax"])
def test_forward_mode_of_functions_with_a_rule_for_reverse_mode(source: str, to: str) -> None:
    """It is computed by two reverse modes, also in JAX, which has no forward mode for these functions."""
    x, v = X[0].float(), V[0].float()
    functions = {"torch": lambda x: Squared.apply(x).sin(), "jax": lambda x: jax.numpy.sin(squared(x))}
    like = x if source == "torch" else jax.numpy.asarray(x.numpy())
    graph = graph_compiler.transpile(functions[source], source=source, to=to, args=(like,))
    wanted = 3 * x * torch.cos(x**2) * v
    for found in (
        transforms.jvp(graph, (x,), (v,))[1],
        transforms.linearize(graph, x)[1](v),
        np.asarray(transforms.jacfwd(graph)(x)) @ v.numpy(),
        transforms.vmap(lambda x, v: transforms.jvp(graph, (x,), (v,))[1])(
            *(own(to, array[None]) for array in (x, v))
        )[0],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    second = np.asarray(transforms.jacfwd(transforms.jacfwd(graph))(x))
    np.testing.assert_allclose(
        second, np.asarray(transforms.jacrev(transforms.jacrev(graph))(x)), rtol=1e-4, atol=1e-5
    )


def own(to: str, array: torch.Tensor) -> Any:
    return {"torch": lambda x: x, "jax": lambda x: jax.numpy.asarray(x.numpy()), "tensorflow": tf.constant}[
        to
    ](array)


def test_the_forward_mode_of_torch_over_a_graph_gives_no_wrong_zero() -> None:
    graph = graph_compiler.transpile(
        lambda x: (x.at[0, 1].multiply(3.0) ** 2).sum(),
        source="jax",
        to="torch",
        args=(jax.numpy.ones((3, 4)),),
    )
    x, v = X.float(), V.float()
    with pytest.raises(NotImplementedError, match=r"scattered; take graph_compiler\.transforms"):
        torch.func.jvp(graph, (x,), (v,))
    torch.testing.assert_close(transforms.jvp(graph, (x,), (v,))[1], (torch.func.grad(graph)(x) * v).sum())


def mistaken(x: Any) -> Any:
    return transforms.grad(aligned)(x).sum()


@pytest.mark.parametrize(
    ("call", "words"),
    {
        "a graph": (lambda: transforms.hvp(graph_compiler.transpile(aligned, to="torch", args=(X,)), (X,), (V,)), r"jvp of grad\(aligned\)"),
        "a function": (lambda: transforms.hvp(aligned, (X,), (V,)), r"jvp of grad\(aligned\)"),
        "outside": (lambda: transforms.grad(mistaken)(X), "grad of mistaken"),
        "a Jacobian": (lambda: transforms.jacrev(transforms.grad(aligned))(X), r"jacrev of grad\(aligned\)"),
    }.values(),
)  # fmt: skip
def test_a_derivative_that_torch_lacks(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(
        GradientRefused,
        match=rf"{words}: its framework has no such derivative \(.*_ctc_loss_backward.*{__name__.split('.')[-1]}",
    ):
        call()


def penalised(x: torch.Tensor) -> torch.Tensor:
    mixed = (x * 2).requires_grad_()
    return torch.autograd.grad(mixed.pow(3).sum(), mixed, create_graph=True)[0].pow(2).sum()


def test_what_torch_func_cannot_follow_is_refused_and_goes_elsewhere() -> None:
    with pytest.raises(
        GradientRefused, match=r"grad of penalised: .*requires_grad_.*written for another framework"
    ):
        transforms.grad(penalised)(X)
    graph = graph_compiler.transpile(penalised, to="tensorflow", args=(X,))
    np.testing.assert_allclose(transforms.grad(graph)(X), 9 * 16 * 4 * X**3, rtol=1e-6)


def test_a_derivative_that_jax_lacks() -> None:
    with pytest.raises(
        GradientRefused,
        match=r"grad of <lambda>: .* \(Reverse-mode differentiation does not work for lax.while_loop",
    ):
        transforms.grad(lambda x: jax.lax.while_loop(lambda y: y < 9, lambda y: y * 2, x))(
            jax.numpy.float32(1.0)
        )


def test_a_derivative_that_tensorflow_lacks() -> None:
    with pytest.raises(GradientRefused, match=r"grad of <lambda>: .* \(.*gradient.*MatrixLogarithm"):
        transforms.grad(lambda x: tf.math.real(tf.linalg.logm(tf.cast(x, tf.complex64)))[0, 0])(tf.eye(2))


def test_forward_mode_of_what_is_computed_again() -> None:
    """TensorFlow's own forward mode treats a gradient from a tape as a constant."""
    x, v = tf.constant([0.3, 0.5]), tf.constant([1.0, 2.0])
    again = transforms.checkpoint(lambda x: tf.reduce_sum(tf.sin(x) ** 2))
    np.testing.assert_allclose(
        transforms.jvp(again, (x,), (v,))[1], np.sin(2 * np.array([0.3, 0.5])) @ [1.0, 2.0], rtol=1e-6
    )
    np.testing.assert_allclose(
        transforms.hvp(again, (x,), (v,)), 2 * np.cos(2 * np.array([0.3, 0.5])) * [1.0, 2.0], rtol=1e-6
    )
    with (
        pytest.raises(NotImplementedError, match=r"take transforms\.jvp"),
        tf.autodiff.ForwardAccumulator(x, v),
    ):
        again(x)


def test_why_a_graph_would_have_to_be_recorded_inside_of_a_transform() -> None:
    graph = graph_compiler.transpile(
        lambda x: torch.linalg.cholesky(x).sum(), to="torch", args=(torch.eye(3),)
    )
    with pytest.raises(
        TracingError, match=r"variant 0: it fails with _LinAlgError: .* not positive-definite"
    ):
        torch.func.grad(graph)(-torch.eye(3))


def test_second_derivatives_of_a_branch_in_tensorflow() -> None:
    """``tf.vectorized_map`` cannot convert branches."""

    def chosen(x: torch.Tensor) -> torch.Tensor:
        total = (x**3).sum()
        return torch.cond(total > 0, lambda total: total * total, lambda total: total * 3, (total,))

    hessian = transforms.hessian(graph_compiler.transpile(chosen, to="tensorflow", args=(torch.ones(2),)))
    above, below = np.array([1.0, 2.0], np.float32), np.array([-1.0, 1.0], np.float32) - 1
    cubes = float((above**3).sum())
    np.testing.assert_allclose(
        hessian(above), 18 * np.outer(above**2, above**2) + np.diag(12 * cubes * above), rtol=1e-5
    )
    np.testing.assert_allclose(hessian(below), np.diag(18 * below), rtol=1e-5)
