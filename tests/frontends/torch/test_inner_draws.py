"""Tests of random numbers in torch branches and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

# torch itself gives this warning when ``torch.cond`` runs.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

TARGETS = ("torch", "jax", "numpy", "tensorflow")


def rows(count: int, width: int = 3, shift: float = 0.0) -> Any:
    return ((torch.arange(count * width) * 0.61 + 0.3) % 1 - 0.45 + shift).reshape(count, width)


CALLS = (rows(2), rows(5, shift=-0.4), rows(1, shift=0.9), rows(7, shift=0.3), rows(4, shift=-2.0))


def drawing(x: Any) -> Any:
    last, _ = scan(lambda c, row: (c + torch.rand(3) * row, c.clone()), torch.zeros(3), x)
    return torch.cond(x.sum() > 0, lambda c: c + torch.rand(3), lambda c: c - 1, (last,)), torch.rand(2)


def test_draws_in_torch_are_those_of_the_branch_and_the_steps_of_the_call() -> None:
    graph = graph_compiler.compile(drawing, args=(CALLS[0],))
    for x in CALLS:
        torch.manual_seed(5)
        found = graph(x)
        torch.manual_seed(5)
        assert_same(found, drawing(x))
    assert len(graph.variants) == 1


RANDOM = ("jax", "numpy", "tensorflow")


def noise(x: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        _, inner = scan(lambda c, row: (c + row, torch.rand(50)), torch.zeros(()), torch.ones(2))
        return c + row.sum(), torch.cat([inner, torch.rand(1, 50), torch.rand(1, 50)])

    _, scanned = scan(outer, torch.zeros(()), x)
    start = (torch.tensor(0), torch.zeros(3, 50))
    _, looped = while_loop(
        lambda i, y: (i < 3) & (torch.rand(()) < 2),
        lambda i, y: (i + 1, torch.cat([y[1:], torch.rand(1, 50)])),
        start,
    )
    return torch.cat([scanned.reshape(-1, 50), looped, torch.rand(1, 50)])


@pytest.mark.parametrize("to", RANDOM)
def test_every_step_draws_numbers_of_its_own(to: str) -> None:
    graph = graph_compiler.compile(noise, to=to, args=(CALLS[0],))
    drawn = [np.asarray(graph(x)) for x in CALLS]
    rows_drawn = np.concatenate(drawn)
    assert [len(one) for one in drawn] == [4 * len(x) + 4 for x in CALLS] and len(graph.variants) == 1
    assert len(np.unique(rows_drawn, axis=0)) == len(rows_drawn)
    assert (
        ((rows_drawn >= 0) & (rows_drawn < 1)).all()
        and abs(rows_drawn.mean() - 0.5) < 0.02
        and abs(rows_drawn.var() - 1 / 12) < 0.01
    )
    graph.seed(3)
    first = np.asarray(graph(CALLS[1]))
    graph.seed(3)
    assert_same(np.asarray(graph(CALLS[1])), first)


class Dropping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            made = torch.nn.functional.dropout(self.layer(c + row).tanh(), 0.25)
            return made, made.clone()

        return scan(step, torch.zeros(8, 3), x)[1]


def test_dropout_in_a_step_trains() -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(Dropping().train(), to="jax", args=(torch.ones(4, 8, 3),))
    x = np.random.default_rng(0).normal(size=(6, 8, 3)).astype("float32")

    def loss(parameters: Any, key: Any) -> Any:
        made = graph.functional(parameters, x, rng=key)
        return ((made - 0.5) ** 2).mean(), (made == 0).mean()

    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    parameters, losses, dropped = dict(graph.parameters), [], []
    for key in jax.random.split(jax.random.key(0), 60):
        (value, share), slopes = step(parameters, key)
        parameters = {name: parameters[name] - 0.2 * slopes[name] for name in parameters}
        losses.append(float(value))
        dropped.append(float(share))
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:3])
    assert abs(np.mean(dropped) - 0.25) < 0.02


@pytest.mark.parametrize("to", ["jax", "numpy", "tensorflow"])
def test_draws_in_a_branch_are_fresh(to: str) -> None:
    graph = graph_compiler.compile(
        lambda x: torch.cond(x.sum() > 0, lambda y: torch.rand(3) + 7, lambda y: y[0] * 0, (x,)),
        to=to,
        args=(CALLS[0],),
    )
    first, second = (np.asarray(graph(CALLS[2])) for _ in range(2))
    assert ((first >= 7) & (first < 8)).all() and (first != second).all()
    assert (np.asarray(graph(CALLS[4])) == 0).all()
