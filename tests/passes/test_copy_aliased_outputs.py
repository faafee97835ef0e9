"""Tests of copies of results that may share storage with an argument, including results of regions, in
targets with writable arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.ir import Effect, Graph, Value  # noqa: E402
from graph_compiler.ops import ArraySpec  # noqa: E402
from graph_compiler.passes import copy_aliased_outputs, copy_overwritten  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

from .graphs import SPEC, canonical, ops_of  # noqa: E402

VIEWS = frozenset({"reshape"})
FLAG = ArraySpec((), "bool")


def _chosen(b: Any, flag: Value, x: Value, y: Value) -> Any:
    return b.run(
        "branch", [flag], [b.body("otherwise", [], lambda: (x,)), b.body("then", [], lambda: (b.exp(y),))]
    )


def _scanned(b: Any, flag: Value, x: Value, y: Value) -> Any:
    row, inner = Value("row", SPEC), Value("held", SPEC)
    rows = b.stack(x, y, axis=0)
    return b.run(
        "scan",
        [x, rows],
        [b.body("body", [inner, row], lambda held, row: (row, held))],
        carried=1,
        sequences=1,
        length=2,
    )


def test_what_a_branch_hands_on_is_copied() -> None:
    graph, _ = copy_aliased_outputs(canonical(_chosen, FLAG, SPEC, SPEC), VIEWS, ())
    assert ops_of(graph) == ["branch", "copy"]


def test_what_a_loop_stacks_is_its_own_and_what_it_carries_is_not() -> None:
    graph, _ = copy_aliased_outputs(canonical(_scanned, FLAG, SPEC, SPEC), VIEWS, ())
    assert ops_of(graph) == ["stack", "scan", "copy"]
    assert [graph.maker(value).op for value in graph.outputs] == ["copy", "scan"]


def _written(write: Any) -> Graph:
    graph = canonical(write, FLAG, SPEC, SPEC)
    graph.effects.append(Effect("argument", 1, graph.outputs[0]))
    return graph


def test_a_branch_that_hands_on_what_is_overwritten_is_copied() -> None:
    def write(b: Any, flag: Value, x: Value, y: Value) -> Any:
        return b.sin(y), b.reshape(_chosen(b, flag, x, y)[0], shape=(3, 2))

    graph, changed = copy_overwritten(_written(write), VIEWS)
    assert changed and ops_of(graph)[-1] == "copy"


def test_a_branch_of_other_arrays_is_not() -> None:
    def write(b: Any, flag: Value, x: Value, y: Value) -> Any:
        return b.sin(y), *_chosen(b, flag, y, y)

    assert not copy_overwritten(_written(write), VIEWS)[1]


def _selected(x: Any) -> Any:
    row = x[x[:, 0].argmax()].clone()
    x.mul_(2)
    return row


def _same(x: Any) -> Any:
    found = +x
    x += 1
    return found


def _parts(x: Any) -> Any:
    found = torch.view_as_real(torch.view_as_complex(x)).clone()
    x.mul_(2)
    return found


@pytest.mark.parametrize(
    ("function", "make", "to"),
    [
        (_selected, lambda: torch.arange(6.0).reshape(3, 2), "numpy"),
        (_parts, lambda: torch.arange(6.0).reshape(3, 2), "numpy"),
        (_same, lambda: np.arange(3.0), "torch"),
        (_same, lambda: np.arange(3.0), "numpy"),
    ],
    ids=["row", "parts", "same-torch", "same-numpy"],
)
def test_a_later_write_does_not_reach_a_result(function: Any, make: Any, to: str) -> None:
    graph = graph_compiler.transpile(function, to=to, args=(make(),))
    given = make()
    assert_same(graph(given.numpy() if to == "numpy" and function is not _same else given), function(make()))
