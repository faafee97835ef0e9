"""Tests of writes from torch branches and loops to tensors outside, without gradients."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GraphCompilerError  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402
from tests.support.torch_operators import loops_of_python  # noqa: E402

# torch itself gives this warning when ``torch.cond`` runs.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


def expected_of(function: Any, x: Any) -> Any:
    """Return the result with torch's operators replaced by Python loops and branches."""
    with loops_of_python(globals()):
        return function(x)


TARGETS = ("torch", "jax", "numpy", "tensorflow")


def rows(count: int, width: int = 3, shift: float = 0.0) -> Any:
    return ((torch.arange(count * width) * 0.61 + 0.3) % 1 - 0.45 + shift).reshape(count, width)


CALLS = (rows(2), rows(5, shift=-0.4), rows(1, shift=0.9), rows(7, shift=0.3), rows(4, shift=-2.0))


class Cached(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
        self.register_buffer("cache", torch.zeros(8, 3))

    @torch.no_grad()
    def forward(self, x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            y = self.layer(y).tanh()
            self.cache.index_copy_(0, i[None], y[:1])
            return i + 1, self.norm(y + self.cache.mean(0))

        _, y = while_loop(lambda i, y: i < 5, step, (torch.tensor(0), x))
        return torch.cond(
            y[0].sum() > 0, lambda y: y + self.cache.mul_(2)[0], self.norm, (y,)
        ), self.cache + 0


@torch.no_grad()
def writing_to_arguments(x: Any, memory: Any) -> Any:
    def branch(y: Any) -> Any:
        y.mul_(0.5)
        memory[0].add_(1)
        return y.sum()

    chosen = torch.cond(x.sum() > 0, branch, lambda y: y.sum() - 1, (x,))
    local = x * 0.1

    def step(i: Any, total: Any) -> Any:
        local.add_(i * 0.1)
        return i + 1, total + local.sum()

    def steps(i: Any, total: Any) -> Any:
        return i + 1, while_loop(lambda i, total: i < 2, step, (torch.tensor(0), total))[1]

    _, total = while_loop(lambda i, total: i < 3, step, (torch.tensor(0), torch.tensor(0.0)))
    return chosen, while_loop(lambda i, total: i < 2, steps, (torch.tensor(0), total)), local


@pytest.mark.parametrize("to", TARGETS)
def test_buffers_that_a_loop_writes_to(to: str) -> None:
    model, original = Cached(), Cached()
    graph = graph_compiler.compile(model, to=to, args=(CALLS[3],))
    assert_same(dict(model.named_buffers()), dict(original.named_buffers()))
    for x in (CALLS[3], CALLS[1], CALLS[4], CALLS[0]):
        assert_same(graph(x), expected_of(original, x))
        assert_same(dict(model.named_buffers()), dict(original.named_buffers()))
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("to", TARGETS)
def test_arguments_that_a_loop_writes_to(to: str) -> None:
    graph = graph_compiler.compile(writing_to_arguments, to=to, args=(CALLS[0] + 1, torch.zeros(2, 2)))
    for x in (CALLS[0] + 1, CALLS[1], CALLS[3] + 1):
        given, expected = [x.clone(), torch.ones(2, 2)], [x.clone(), torch.ones(2, 2)]
        assert_same(graph(*given), writing_to_arguments(*expected))
        assert_same(given, expected)
    assert len(graph.variants) == 1, graph.explain()


def test_the_compiler_of_torch_takes_writes_in_loops() -> None:
    model, original = Cached().eval(), Cached().eval()
    graph = graph_compiler.compile(model, args=(CALLS[3],))
    compiled = torch.compile(graph, fullgraph=True, backend="eager")
    for x in (CALLS[3], CALLS[1]):
        with torch.no_grad():
            assert_same(compiled(x), expected_of(original, x))
        assert_same(model.cache, original.cache)
    torch._dynamo.reset()


@torch.no_grad()
def writing_to_a_view(x: Any) -> Any:
    memory = x * 2
    first = memory[0]
    return torch.cond(x.sum() > 0, lambda y: y + memory.mul_(2) + first, lambda y: y - 1, (x,))


@torch.no_grad()
def writing_in_a_scan(x: Any) -> Any:
    memory = x * 2
    return scan(lambda c, row: (c + row, memory.mul_(2)[0].clone()), torch.zeros(3), x)


@torch.no_grad()
def writing_to_the_carry(x: Any) -> Any:
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y.mul_(2).clone()), (torch.tensor(0), x))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            writing_to_a_view,
            r"test_inner_writes.py:\d+: .* is a view, made outside, of .*, which is written to",
        ),
        (writing_in_a_scan, r"mul_ at .*test_inner_writes.py:\d+: .* is written to"),
        (writing_to_the_carry, r"mul_ at .*test_inner_writes.py:\d+: .* is written to"),
    ],
)
def test_writes_that_are_refused_without_gradients(function: Any, words: str) -> None:
    given = CALLS[0] + 1
    with pytest.raises(GraphCompilerError, match=words):
        graph_compiler.compile(function, args=(given,))
    assert_same(given, CALLS[0] + 1)
