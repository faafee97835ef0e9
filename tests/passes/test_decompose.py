"""Tests of decomposition: operations without a row are replaced by smaller ones, recursively, or refused with
the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from functools import partial

import numpy as np
import pytest

from graph_compiler.backends import numpy as numpy_backend
from graph_compiler.backends.common import rows as backend_rows
from graph_compiler.errors import DuplicateRow, UnknownOperation, UnsupportedOperation
from graph_compiler.ir import Graph, Node, Region
from graph_compiler.ops import ArraySpec, all_ops
from graph_compiler.passes import decompose

from .graphs import SPEC, Recording, after, canonical, computed, ops_of, random_arrays


@dataclasses.dataclass
class Rows:
    known: Container[str]
    unsupported: Mapping[str, str] = dataclasses.field(default_factory=dict)
    framework: str = "somewhere"
    compute_dtypes: Mapping[tuple[str, str], str] = dataclasses.field(default_factory=dict)

    def can_write(self, node: Node) -> bool:
        return node.op in self.known

    def compute_dtype(self, op: str, dtype: str) -> str | None:
        return self.compute_dtypes.get((op, dtype))


def hard_swish() -> Graph:
    return canonical(lambda b, x: b.add(b.hard_swish(x), 1.0), SPEC)


def opened(graph: Graph, *without: str) -> Graph:
    """Return the graph decomposed for a target without rows for ``without``."""
    return after(partial(decompose, rows=Rows(all_ops().keys() - set(without))), graph)


def test_decompositions_of_decompositions() -> None:
    graph = hard_swish()
    made = opened(graph, "hard_swish", "relu6", "hard_tanh")
    assert not {"hard_swish", "relu6", "hard_tanh"} & set(ops_of(made)) and len(made.nodes) > 3
    arrays = random_arrays(graph)
    wanted = computed(decompose(graph, numpy_backend.rows)[0], *arrays)
    np.testing.assert_allclose(computed(decompose(made, numpy_backend.rows)[0], *arrays), wanted, rtol=1e-6)


def test_nothing_changes_where_all_have_rows() -> None:
    graph = hard_swish()
    assert opened(graph) is graph


def test_the_error_tells_the_operation_and_the_reason() -> None:
    without = all_ops().keys() - {"add"}
    with pytest.raises(
        UnsupportedOperation,
        match=r"somewhere has no row for these operations of f, .*\n  add, for .*: it cannot count$",
    ):
        decompose(hard_swish(), Rows(without, {"add": "it cannot count"}))


def test_all_that_is_missing_is_told_at_once_that_of_regions_too() -> None:
    body, made = canonical(lambda b, x: b.cos(b.exp(x)), SPEC).block, Recording()
    result = made.call("loop", made.call("sin", made.input("x")))
    made.graph.nodes[1] = dataclasses.replace(made.graph.nodes[1], regions=(Region("body", body, {}),))
    with pytest.raises(UnsupportedOperation, match=r"\n  sin, for .*\n  cos, for") as found:
        decompose(made.returning(result), Rows({"exp", "loop"}))
    assert len(found.value.problems) == 2


def test_what_decompositions_lack_is_told_with_the_rest() -> None:
    graph = canonical(lambda b, x: b.cos(b.mish(b.hard_swish(b.hard_swish(x)))), SPEC)
    with pytest.raises(UnsupportedOperation) as found:
        decompose(graph, Rows(all_ops().keys() - {"cos", "mish", "tanh", "hard_swish", "divide"}))
    assert [problem.partition(",")[0] for problem in found.value.problems] == ["divide", "tanh", "cos"]


def test_in_regions() -> None:
    body, made = hard_swish().block, Recording()
    result = made.call("loop", made.input("x"))
    made.graph.nodes[0] = dataclasses.replace(made.graph.nodes[0], regions=(Region("body", body, {}),))
    rows = Rows({*all_ops(), "loop"} - {"hard_swish"})
    loop = after(partial(decompose, rows=rows), made.returning(result)).nodes[0]
    assert "hard_swish" not in ops_of(loop.regions[0].block) and ops_of(body) == ["hard_swish", "add"]


def test_a_decomposition_is_computed_in_the_type_that_stands_in() -> None:
    rows = Rows(all_ops().keys() - {"hard_swish"}, compute_dtypes={("hard_swish", "float32"): "float64"})
    made = after(partial(decompose, rows=rows), hard_swish())
    first, *inner, last, added = made.nodes
    assert (first.op, last.op, added.op) == ("astype", "astype", "add")
    assert {node.outputs[0].dtype for node in (first, *inner)} == {"float64"} and last.outputs[
        0
    ].dtype == "float32"


def test_a_row_may_leave_some_nodes_to_the_decomposition() -> None:
    table = backend_rows.Rows("somewhere")
    table.row("hard_swish", only=lambda x: x.ndim == 2)(lambda x: f"hard_swish({x})")
    assert [
        table.can_write(canonical(lambda b, x: b.hard_swish(x), spec).nodes[0])
        for spec in (SPEC, ArraySpec((3,), "float32"))
    ] == [
        True,
        False,
    ]


def test_included_rows_leave_the_same_nodes_to_the_decomposition() -> None:
    table, others = backend_rows.Rows("somewhere"), backend_rows.Rows("elsewhere")
    others.row("hard_swish", only=lambda x: x.ndim == 2)(lambda x: f"hard_swish({x})")
    others.table({"exp": "exp({x})"})
    table.include(others)
    one_axis = canonical(lambda b, x: b.exp(b.hard_swish(x)), ArraySpec((3,), "float32"))
    assert [table.can_write(node) for node in one_axis.nodes] == [False, True]


@pytest.mark.parametrize("is_structured_first", [True, False])
def test_an_operation_has_one_row_or_writer(is_structured_first: bool) -> None:
    table = backend_rows.Rows("somewhere")
    adds = [
        lambda: table.structure({"scan": lambda scope, node: None}),
        lambda: table.table({"scan": lambda *operands, **params: "scan()"}),
    ]
    first, second = adds if is_structured_first else adds[::-1]
    first()
    with pytest.raises(DuplicateRow, match="somewhere has two rows for 'scan'"):
        second()


@pytest.mark.parametrize(
    ("name", "template", "missing"),
    [
        ("argsort", "np.argsort({x}, {axis=}, {descending=})", "stable"),
        ("clip", "np.maximum({x}, {min})", "max"),
        ("concat", "np.concatenate([{*arrays}])", "axis"),
    ],
)
def test_a_template_names_every_input_and_parameter(name: str, template: str, missing: str) -> None:
    table = backend_rows.Rows("somewhere")
    with pytest.raises(UnknownOperation, match=f"template of '{name}' does not name '{missing}'"):
        table.table({name: template})
    table.table({name: template}, unused={missing: "a reason"})
    assert name in table
