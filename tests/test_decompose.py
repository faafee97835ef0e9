"""Operations without a row are written in smaller ones, through as many steps as it takes, or refused with the reason."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import pytest

from graph_compiler.errors import UnsupportedOperation
from graph_compiler.ir import Builder, Graph, Node, verify
from graph_compiler.ops import ArraySpec, all_ops
from graph_compiler.passes import decompose


@dataclass
class Rows:
    """A lowering table that has only these rows."""

    known: Container[str]
    unsupported: Mapping[str, str] = field(default_factory=dict)
    framework: str = "somewhere"

    def can_write(self, node: Node) -> bool:
        return node.op in self.known

    def stand_in(self, op: str, dtype: str) -> str | None:
        return None


def hard_swish() -> Graph:
    """``hard_swish(x) + 1``."""
    graph = Graph("f", "canonical")
    b = Builder(graph)
    graph.outputs = [b.add(b.hard_swish(b.input("x", ArraySpec((2, 3), "float32"))), 1.0)]
    return graph


def test_decompositions_of_decompositions() -> None:
    graph, changed = decompose(hard_swish(), Rows(all_ops().keys() - {"hard_swish", "relu6", "hard_tanh"}))
    assert changed
    assert not {"hard_swish", "relu6", "hard_tanh"} & {node.op for node in graph.nodes}
    verify(graph)


def test_nothing_changes_where_all_have_rows() -> None:
    graph = hard_swish()
    assert decompose(graph, Rows(all_ops())) == (graph, False)


def test_the_error_tells_the_operation_and_the_reason() -> None:
    without = all_ops().keys() - {"add"}
    with pytest.raises(UnsupportedOperation, match=r"somewhere has no row for these operations of f, .*\n  add, for .*: it cannot count$"):
        decompose(hard_swish(), Rows(without, {"add": "it cannot count"}))
