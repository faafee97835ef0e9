"""Tests of loops with an exit and a proven upper bound of the trip count: in JAX they have gradients in both
modes, at every exit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.ir.node import every

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")


def fixed_point(w: Any, x: Any) -> Any:
    z = torch.zeros_like(x)
    n = 0
    while n < 100:
        new = torch.tanh(w @ z + x)
        n += 1
        if (new - z).abs().max() < 1e-4:
            break
        z = new
    return new, n


def first_above(w: Any, x: Any) -> Any:
    s = (w[0] * 0.0).sum()
    for i in range(x.shape[0]):
        s = torch.sin(s + x[i] * w[0, 0])
        if s > 0.9:
            break
    return s


def to_the_residual(w: Any, x: Any) -> Any:
    """After the last iteration the residual is 0, where the body has no derivative."""
    r, y = torch.floor(x.abs().sum()) + 0 * x.sum(), x * w[0, 0]
    for _ in range(20):
        if r < 0.5:
            break
        y = y * torch.sqrt(r) + 1 / r
        r = r - 1
    return y


def counting_down(w: Any, x: Any) -> Any:
    k, y = 40, x * 1.0
    while k > 3 and y.sum() < 5:
        y = y * 1.1 + w[0, 0] ** 2
        k -= 2
    return y, k


def left_behind(w: Any, x: Any) -> Any:
    n, y = 0, x * 1.0
    while y.abs().sum() > 1e-3:
        y = y * w[0, 0] * 0.5
        n += 1
        if n > 6:
            break
    return y, n


def orthogonal(w: Any, x: Any) -> Any:
    q = torch.zeros_like(w)
    for i in range(w.shape[0]):
        v = w[i] + x[0]
        for j in range(i):
            v = v - (q[j].clone() @ w[i]) * q[j].clone()
        if v.norm() > 1e-2:
            q[i] = v / v.norm()
    return q


def never(w: Any, x: Any) -> Any:
    y = x * w[0, 0]
    for _ in range(x.shape[0] - 1):
        if y.sum() > -1e9:
            break
        y = y / 0.0
    return y


BOUNDED = (fixed_point, first_above, to_the_residual, counting_down, left_behind, orthogonal, never)
CALLS = tuple(
    (0.4 * np.random.default_rng(n).normal(size=(n, n)), scale * np.random.default_rng(n + 9).normal(size=n))
    for n, scale in ((3, 1.0), (2, 3.0), (4, 0.0))
)


def total(result: Any) -> Any:
    return (result[0] if isinstance(result, tuple) else result).sum()


def of_torch(function: Callable[..., Any], call: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    arrays = [torch.tensor(item, requires_grad=True) for item in call]
    result = function(*arrays)
    made = torch.autograd.grad(total(result), arrays, allow_unused=True)
    return result, [
        np.zeros_like(item) if found is None else found.numpy() for item, found in zip(call, made)
    ]


@pytest.fixture(scope="module")
def graphs() -> dict[Callable[..., Any], Any]:
    arrays = [torch.tensor(item) for item in CALLS[0]]
    traced = {each: graph_compiler.trace(each) for each in BOUNDED}
    with jax.enable_x64(True):
        return {
            each: graph_compiler.compile(one, source="torch", to="jax", args=arrays)
            for each, one in traced.items()
        }


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("function", BOUNDED)
def test_values_and_gradients_are_those_of_torch_at_other_exits(
    function: Callable[..., Any], graphs: Any
) -> None:
    graph = graphs[function]
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(lambda *call: total(graph(*call)), (0, 1)))
        for call in CALLS:
            result, expected = of_torch(function, call)
            found = graph(*map(jax.numpy.asarray, call))
            near(total(found), total(result).detach())
            if isinstance(result, tuple):
                assert int(found[1]) == result[1]
            for one, other in zip(gradient(*call), expected):
                near(one, other)
    assert len(graph.variants) == 1
    loops = [node for node in every(graph.variants[0].graph.nodes) if node.op == "while_loop"]
    assert loops and all(node.params.get("most") is not None for node in loops)


@pytest.mark.parametrize("function", [fixed_point, to_the_residual, never])
def test_steps_that_are_not_taken_leave_no_trace_under_vmap(
    function: Callable[..., Any], graphs: Any
) -> None:
    weights, x = CALLS[0]
    rows = np.stack([x, 0 * x, 3 * x, 0.1 * x])
    with jax.enable_x64(True):
        run = lambda *call: total(graphs[function](*call))  # noqa: E731
        each = jax.vmap(jax.grad(run, (0, 1)), (None, 0))(weights, rows)
        together = jax.grad(lambda *call: jax.vmap(run, (None, 0))(*call).sum(), (0, 1))(weights, rows)
    expected = [of_torch(function, (weights, row))[1] for row in rows]
    for place, row in enumerate(expected):
        near(each[0][place], row[0])
        near(each[1][place], row[1])
        near(together[1][place], row[1])
    near(together[0], sum(row[0] for row in expected))


def halves(x: Any, count: Any) -> Any:
    for i in range(x.shape[0]):
        x = (x * 0.5).to(x.dtype)
        count = count + i
        if x.abs().max() < 0.1:
            break
    return x, count


def test_half_precision_and_whole_numbers_stay_what_they_are() -> None:
    x, count = (
        torch.tensor([3.0, 1.0, 0.5, 0.25], dtype=torch.bfloat16),
        torch.tensor([2, 5], dtype=torch.int32),
    )
    graph = graph_compiler.compile(graph_compiler.trace(halves), source="torch", to="jax", args=(x, count))
    for size in (4, 2, 1):
        expected = halves(x[:size], count)
        given = (
            jax.numpy.asarray(x[:size].float().numpy(), jax.numpy.bfloat16),
            jax.numpy.asarray(count.numpy()),
        )
        made, number = graph(*given)
        assert (str(made.dtype), str(number.dtype)) == ("bfloat16", "int32")
        assert number.tolist() == expected[1].tolist() and made.astype(float).tolist() == expected[0].tolist()
        slope = jax.grad(lambda x, count: graph(x, count)[0].astype("float32").sum())(*given)
        assert slope.dtype == given[0].dtype and set(slope.tolist()) == {float(expected[0][0] / x[0])}


def test_derivatives_in_forward_mode_and_second_ones(graphs: Any) -> None:
    weights, x = CALLS[1]
    with jax.enable_x64(True):
        forward = jax.jacfwd(lambda *call: total(graphs[first_above](*call)), (0, 1))(weights, x)
        found = jax.hessian(lambda w: graphs[first_above](w * 1.0, jax.numpy.asarray(x)))(
            jax.numpy.asarray(weights)
        )
    expected = torch.autograd.functional.hessian(
        lambda w: first_above(w, torch.tensor(x)), torch.tensor(weights)
    )
    near(found, expected)
    for one, other in zip(forward, of_torch(first_above, (weights, x))[1]):
        near(one, other)


def of_a_number(x: Any, n: int) -> Any:
    s = torch.zeros_like(x[0])
    for i in range(n):
        s = s + x[i % x.shape[0]] * x[0]
        if s.sum() > 3.0:
            break
    return s


def test_a_length_that_is_an_argument_may_be_traced_where_no_gradient_is_asked_for() -> None:
    x = torch.tensor(abs(CALLS[0][0]), requires_grad=True)
    with jax.enable_x64(True):
        graph = graph_compiler.compile(
            graph_compiler.trace(of_a_number), source="torch", to="jax", args=(x.detach(), 3)
        )
        given = jax.numpy.asarray(x.detach().numpy())
        for n in (7, 1):
            expected = of_a_number(x, n)
            near(jax.jit(graph)(given, n), expected.detach())
            near(
                jax.grad(lambda x, n: graph(x, n).sum())(given, n), torch.autograd.grad(expected.sum(), x)[0]
            )
    assert len(graph.variants) == 1


def by_a_value(x: Any) -> Any:
    y = x * 1.0
    while y.sum() > 1e-3:
        y = y * 0.5
    return y


def test_a_loop_without_a_counter_stays_a_loop_with_forward_mode() -> None:
    graph = graph_compiler.compile(
        graph_compiler.trace(by_a_value), source="torch", to="jax", args=(torch.ones(3),)
    )
    (loop,) = [node for node in every(graph.variants[0].graph.nodes) if node.op == "while_loop"]
    assert loop.params.get("most") is None
    assert "lax.while_loop" in graph.source and "bounded_while" not in graph.source


def until(y: Any, end: Any) -> Any:
    t, n = 0.0, 0
    while t < end:
        y, t, n = y - 0.1 * y, t + 0.3, n + 1
        if n > 8:
            break
    return y, n


def test_loops_of_jax_that_stay_in_jax_have_gradients_and_one_variant() -> None:
    graph = graph_compiler.compile(until, args=(jax.numpy.ones(2), jax.numpy.asarray(1.0)))
    for end in (1.0, 4.0, 0.0, 0.2):
        call = jax.numpy.arange(2.0), jax.numpy.asarray(end)
        (found, count), (expected, number) = graph(*call), until(*call)
        near(found, expected)
        assert count == number
        near(
            jax.grad(lambda y, end: graph(y, end)[0].sum())(*call),
            jax.grad(lambda y, end: until(y, end)[0].sum(), 0)(*call),
        )
    assert len(graph.variants) == 1
