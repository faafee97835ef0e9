"""Tests of inlined expressions: the order of random numbers and writes stays, and nothing is evaluated twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


def drawn_in_other_order(p: Any, x: Any) -> Any:
    def draw(x: Any) -> Any:
        first = torch.rand(3)
        second = torch.rand(3)
        return second, first

    return torch.cond(p, draw, lambda x: (x - 1, x + 1), (x,))


def read_before_a_write(p: Any, x: Any) -> Any:
    def write(x: Any) -> Any:
        whole = x.clone()
        before = whole * 2
        after = whole.add_(1)
        return after.clone(), before

    return torch.cond(p, write, lambda x: (x - 1, x + 1), (x,))


def drawn_twice_in_a_line(p: Any, x: Any) -> Any:
    return torch.rand(3) - torch.rand(3) * x if p is not None else x


def written_between_reads(p: Any, x: Any) -> Any:
    x = x.clone()
    return (x.sum() - x.add_(1).sum()) * x.mul_(2).sum(), p


def differences_of_differences(p: Any, x: Any) -> Any:
    return (x - (x - (x - 1))) / (x / (x / 3)), -((x**2) ** 2), p


def inverted_and_converted(p: Any, x: Any) -> Any:
    """In NumPy a method is called on the inverse of a mask: ``(~x.astype(bool)).astype(float)``."""
    return x.sign().logical_not_(), (-(x * 2)).pow(2), p


FUNCTIONS = [
    drawn_in_other_order,
    read_before_a_write,
    drawn_twice_in_a_line,
    written_between_reads,
    differences_of_differences,
    inverted_and_converted,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("chosen", [True, False])
def test_order_is_kept(function: Callable[..., Any], chosen: bool) -> None:
    graph = graph_compiler.compile(function, args=(torch.tensor(True), torch.ones(3)))
    args = torch.tensor(chosen), torch.tensor([0.5, -1.5, 3.0])
    torch.manual_seed(3)
    expected = function(*args)
    torch.manual_seed(3)
    assert_same(graph(*args), expected)


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
def test_an_operator_in_front_stays_with_its_operand(to: str) -> None:
    pytest.importorskip(to)
    args = torch.tensor(True), torch.tensor([0.0, -1.5, 3.0])
    for function in (differences_of_differences, inverted_and_converted):
        graph = graph_compiler.compile(function, to=to, args=(torch.tensor(True), torch.ones(3)))
        assert_same(graph(*args), function(*args))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_calls_stand_where_they_are_written(to: str) -> None:
    """The page of a graph shows each operation next to its line, even if several are on one line."""

    def function(x: Any) -> Any:
        y = x * 2
        y[0] = y[1] - (y.mean() + 3)
        a, b = y.chunk(2)
        return a.exp() + b.log()

    program = graph_compiler.compile(function, to=to, args=(torch.ones(4),)).variants[0].program
    lines = program.source.splitlines()
    written = [
        [lines[line - 1].strip() for line, origin in program.origins if origin.line == given]
        for given in _lines(function)
    ]
    assert [len(set(texts)) for texts in written] == [1, 1, 1, 1] and len(written[1]) == 5
    assert ["mean" in text for texts in written for text in texts[:1]] == [False, True, False, False]


def test_a_call_of_a_region_is_returned_at_once() -> None:
    jax = pytest.importorskip("jax")

    def function(x: Any) -> Any:
        def halved(x: Any) -> Any:
            return jax.lax.cond(x[0] > 4, lambda: x / 4, lambda: jax.lax.map(lambda row: row / 2, x))

        return jax.lax.while_loop(lambda x: x.sum() > 1, halved, x)

    graph = graph_compiler.compile(function, to="jax", args=(jax.numpy.ones(3),))
    assert "return lax.cond(" in graph.source and "return lax.while_loop(" in graph.source
    x = jax.numpy.asarray([9.0, 1.0, 3.0, 0.5])
    assert_same(graph(x), function(x))


def _lines(function: Any) -> range:
    first = function.__code__.co_firstlineno + 1
    return range(first, first + 4)
