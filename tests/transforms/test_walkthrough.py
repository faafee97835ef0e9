"""Tests of a typical tutorial of automatic differentiation (Rosenbrock's function, a small network) in three
targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("tensorflow")

import torch

import graph_compiler
from graph_compiler import transforms

TARGETS = ("torch", "jax", "tensorflow")
one, two = torch.tensor(1.0), torch.tensor(2.0)


def rosenbrock(x: Any, y: Any) -> Any:
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def of_point(point: Any) -> Any:
    return rosenbrock(point[0], point[1])


def written(function: Any, to: str, *args: Any) -> Any:
    return graph_compiler.transpile(function, source="torch", to=to, args=args)


def numbers(item: Any) -> Any:
    return np.asarray(item.detach() if isinstance(item, torch.Tensor) else item).tolist()


@pytest.mark.parametrize("to", TARGETS)
def test_reverse_and_forward_mode(to: str) -> None:
    graph = written(rosenbrock, to, one, two)
    assert [numbers(item) for item in transforms.grad(graph, argnums=(0, 1))(one, two)] == [-400, 200]
    value, gradient = transforms.value_and_grad(graph)(one, two)
    assert (numbers(value), numbers(gradient)) == (100, -400)
    assert list(map(numbers, transforms.jvp(graph, (one, two), (one, torch.tensor(0.0))))) == [100, -400]
    assert list(map(numbers, transforms.jvp(graph, (one, two), (one, one)))) == [100, -200]
    _, pull = transforms.vjp(graph, one, two)
    assert list(map(numbers, pull(two))) == [-800, 400]


@pytest.mark.parametrize("to", TARGETS)
def test_vector_mode_and_second_order(to: str) -> None:
    point, directions = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    graph = written(of_point, to, point)
    assert numbers(transforms.grad(graph)(point)) == [-400, 200]
    along = transforms.vmap(lambda direction: transforms.jvp(graph, (native(graph, point),), (direction,))[1])
    assert numbers(along(native(graph, directions))) == [-400, 200, -200]
    assert numbers(transforms.jacfwd(graph)(point)) == numbers(transforms.jacrev(graph)(point)) == [-400, 200]
    assert numbers(transforms.hessian(graph)(point)) == [[402, -400], [-400, 200]]
    assert numbers(transforms.hvp(graph, (point,), (directions[2],))) == [2, -200]
    nested = transforms.grad(
        lambda point: transforms.jvp(graph, (point,), (native(graph, directions[2]),))[1]
    )
    assert numbers(nested(native(graph, point))) == [2, -200]


def native(graph: Any, array: Any) -> Any:
    return graph._pipeline.target.target.convert(array)


@pytest.mark.parametrize("to", TARGETS)
def test_zeros_constants_and_complex_numbers(to: str) -> None:
    smallest = written(lambda x: torch.minimum(torch.tensor(1.0), 1 / x), to, one)
    assert np.isnan(numbers(transforms.grad(smallest)(torch.tensor(0.0)))) or to == "torch"
    assert numbers(transforms.grad(smallest, strong_zero=True)(torch.tensor(0.0))) == 0
    held = written(lambda x, y: transforms.ignore_derivatives(x) * x * y, to, one, two)
    assert [numbers(item) for item in transforms.grad(held, argnums=(0, 1))(two, two)] == [4, 4]
    z = torch.tensor(3 + 1j)
    assert numbers(transforms.grad(written(lambda z: (z * z).real, to, z))(z)) == 6 - 2j
    assert numbers(transforms.grad(written(lambda z: z.abs() ** 2, to, z))(z)) == pytest.approx(
        6 + 2j, rel=1e-6
    )


@pytest.mark.parametrize("to", TARGETS)
def test_loops_with_checkpoints(to: str) -> None:
    def power(x: Any) -> Any:
        return transforms.fori_loop(
            0, 10, lambda _, product: product * x, torch.ones_like(x), checkpoint=True
        )

    graph = written(power, to, two)
    assert numbers(graph(two)) == 1024 and numbers(transforms.grad(graph)(two)) == 5120
    assert numbers(transforms.grad(transforms.checkpoint(graph, "min_cut"))(two)) == 5120


@pytest.mark.parametrize("to", TARGETS)
def test_a_small_network_learns(to: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), torch.tensor([[0.0], [1], [1], [0]])
    graph = written(lambda x, y: ((model(x) - y) ** 2).mean(), to, x, y)
    step = transforms.value_and_grad(graph.functional)
    parameters, losses = {name: 1 * array for name, array in graph.parameters.items()}, []
    for _ in range(200):
        loss, gradients = step(parameters, x, y)
        parameters = {name: array - 0.1 * gradients[name] for name, array in parameters.items()}
        losses.append(numbers(loss))
    assert losses[-1] < losses[0] / 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for expected in losses[:20]:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        assert loss.item() == pytest.approx(expected, rel=1e-4)
