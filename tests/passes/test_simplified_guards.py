"""Tests of guards that compare one size with numbers: only the strongest remain."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.ir.graph import Graph, Guard  # noqa: E402
from graph_compiler.ir.node import Origin  # noqa: E402
from graph_compiler.ops.registry import ArraySpec  # noqa: E402
from graph_compiler.passes import simplify_guards  # noqa: E402
from graph_compiler.sizes import Size, Symbol, apply, substitute  # noqa: E402
from tests.support.canonical import through_canonical  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

HINT = 6
COMPARISONS = [
    ("ge", 2),
    ("gt", 1),
    ("gt", 4),
    ("le", 9),
    ("lt", 9),
    ("ne", 0),
    ("ne", 2),
    ("ne", 7),
    ("ne", 9),
    ("ne", 12),
    ("eq", HINT),
    ("le", HINT),
    ("ge", HINT),
]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_left_says_the_same(count: int) -> None:
    for chosen in itertools.permutations(COMPARISONS, count):
        graph = Graph("f", "canonical")
        value = graph_compiler.ir.Value("x", ArraySpec((HINT,), "float32"))
        graph.inputs.append(value)
        size = Size.of(Symbol(value, 0, HINT))
        conditions: list[Any] = [
            apply(f, size, n)
            if n % 2
            else apply({"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}.get(f, f), n, size)
            for f, n in chosen
        ]
        graph.guards += [Guard(condition, True, Origin()) for condition in conditions]
        left = [guard.condition for guard in simplify_guards(graph)[0].guards]
        for number in range(14):
            read = lambda symbol: number  # noqa: B023, E731
            assert all(substitute(one, read) for one in left) == all(
                substitute(one, read) for one in conditions
            ), (chosen, left)
        assert len(left) <= (
            1 if ("eq", HINT) in chosen else 2 + sum(function == "ne" for function, _ in chosen)
        )


OF_TWO = [
    lambda n, m: apply("eq", n, m),
    lambda n, m: apply("eq", m, 4),
    lambda n, m: apply("le", n - 1, m),
    lambda n, m: apply("lt", n - 2, m),
    lambda n, m: apply("ge", m - n, -3),
    lambda n, m: apply("ne", m, n + 1),
    lambda n, m: apply("ge", (n - 1) * (m - 1) * 3, 0),
    lambda n, m: apply("eq", n * (m // 4) * 4, n * m),
    lambda n, m: apply("le", n * 2 - m // 2, 9),
    lambda n, m: apply("gt", m % 3, -1),
    lambda n, m: apply("or", apply("le", n, 2), apply("ge", m, n)),
]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_guards_on_two_sizes_that_are_left_say_the_same(count: int) -> None:
    for chosen in itertools.permutations(OF_TWO, count):
        graph = Graph("f", "canonical")
        graph.inputs.append(graph_compiler.ir.Value("x", ArraySpec((4, 4), "float32")))
        n, m = (Size.of(Symbol(graph.inputs[0], axis, 4)) for axis in (0, 1))
        conditions: list[Any] = [make(n, m) for make in chosen]
        graph.guards += [Guard(condition, True, Origin()) for condition in conditions]
        left = [guard.condition for guard in simplify_guards(graph)[0].guards]
        for numbers in itertools.product(range(7), repeat=2):
            read = lambda symbol: numbers[symbol.axis]  # noqa: B023, E731
            assert all(substitute(one, read) for one in left) == all(
                substitute(one, read) for one in conditions
            ), (conditions, left)
        assert len(left) <= count


def test_a_guard_that_others_need_stays_before_them() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        if n != 0 and 12 // n == 3 and n >= 2:
            return x * 2
        return x

    graph = through_canonical(function, "numpy", (torch.ones(4),))
    assert [repr(guard.condition) for guard in graph.variants[0].graph.guards] == [
        "x.shape[0] >= 2",
        "(12 // x.shape[0]) == 3",
    ]
    for size in (0, 4, 2):
        assert_same(graph(torch.ones(size)), function(torch.ones(size)))


def test_guards_on_windows_are_one_guard_on_the_image() -> None:
    function = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3, stride=2, padding=1), torch.nn.MaxPool2d(2), torch.nn.Conv2d(2, 2, 3)
    )
    graph = through_canonical(function, "numpy", (torch.ones(1, 1, 24, 24),))
    on_sizes = [repr(guard.condition) for guard in graph.variants[0].graph.guards]
    assert on_sizes == ["input.shape[1] == 1", "input.shape[2] >= 11", "input.shape[3] >= 11"]
    for size in (11, 30):
        assert_same(graph(torch.ones(1, 1, size, size)), function(torch.ones(1, 1, size, size)))
    assert len(graph.variants) == 1


def test_a_fixed_size_settles_the_guards_about_it() -> None:
    def function(x: Any) -> Any:
        return torch.stack([x[start : start + 4].sum(0) for start in range(0, x.shape[0], 4)])

    graph = through_canonical(function, "numpy", (torch.ones(10, 3),))
    assert [repr(guard.condition) for guard in graph.variants[0].graph.guards] == ["x.shape[0] == 10"]
    assert_same(graph(torch.ones(7, 3)), function(torch.ones(7, 3)))
