"""Of guards that compare one size with numbers, the strongest are left."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.ir.graph import Graph, Guard  # noqa: E402
from graph_compiler.ir.node import Origin  # noqa: E402
from graph_compiler.ops.registry import ArraySpec  # noqa: E402
from graph_compiler.passes import drop_implied  # noqa: E402
from graph_compiler.sizes import Size, Symbol, apply, substitute  # noqa: E402

from .support.canonical import through_canonical  # noqa: E402
from .support.compare import assert_same  # noqa: E402

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
            apply(f, size, n) if n % 2 else apply({"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}.get(f, f), n, size) for f, n in chosen
        ]
        graph.guards += [Guard(condition, True, Origin()) for condition in conditions]
        left = [guard.condition for guard in drop_implied(graph)[0].guards]
        for number in range(14):
            read = lambda symbol: number  # noqa: B023, E731
            assert all(substitute(one, read) for one in left) == all(substitute(one, read) for one in conditions), (chosen, left)
        assert len(left) <= (1 if ("eq", HINT) in chosen else 2 + sum(function == "ne" for function, _ in chosen))


def test_a_guard_that_others_need_stays_before_them() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        if n != 0 and 12 // n == 3 and n >= 2:
            return x * 2
        return x

    graph = through_canonical(function, "numpy", (torch.ones(4),))
    assert [repr(guard.condition) for guard in graph.variants[0].graph.guards] == ["x.shape[0] >= 2", "(12 // x.shape[0]) == 3"]
    for size in (0, 4, 2):
        assert_same(graph(torch.ones(size)), function(torch.ones(size)))
