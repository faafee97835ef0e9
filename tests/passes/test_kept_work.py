"""Tests of what passes must not change: work that is shared, computed once, or not copied where that is
observable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidFile  # noqa: E402
from graph_compiler.ir import Builder, Graph, Value  # noqa: E402
from graph_compiler.ir.sameness import same_program  # noqa: E402
from graph_compiler.ops.registry import ArraySpec  # noqa: E402
from graph_compiler.passes.cleanup.redundancy import cse  # noqa: E402


def calls_of(graph: Any, name: str) -> int:
    return int(
        sum(count for call, count in graph.program.count_operations().items() if call.endswith(f".{name}"))
    )


class TestShare:
    def test_what_has_a_gradient_is_apart_from_what_has_none(self) -> None:
        def twice(x: Any) -> Any:
            with torch.no_grad():
                held = x.exp()
            return x.exp() * 2 + held * 3 + x.exp() * 4

        graph = graph_compiler.compile(twice, args=(torch.ones(2, requires_grad=True),))
        assert calls_of(graph, "exp") == 2
        ours, theirs = (torch.linspace(-1, 1, 5, requires_grad=True) for _ in range(2))
        graph(ours).sum().backward()
        twice(theirs).sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad)

    def test_branches_on_one_condition_that_run_other_blocks(self) -> None:
        b = Builder(Graph("f", "canonical"))
        x, chooses = b.input("x", ArraySpec((3,), "float32")), b.input("chooses", ArraySpec((), "bool"))
        sine, cosine = (
            b.body(name, [], lambda op=op: (op(x),)) for name, op in (("sine", b.sin), ("cosine", b.cos))
        )
        first = b.run("branch", [chooses], [sine, cosine])
        b.graph.outputs = [*first, *b.run("branch", [chooses], [cosine, sine])]
        shared, _ = cse(b.graph)
        assert [region.name for node in shared.nodes for region in node.regions] == [
            "sine",
            "cosine",
            "cosine",
            "sine",
        ]
        assert same_program(b.graph, shared)
        swapped = b.graph.derive(nodes=[b.graph.nodes[1], b.graph.nodes[0]], outputs=b.graph.outputs[::-1])
        assert not same_program(b.graph, swapped)

    def test_loops_that_subtract_in_another_order(self) -> None:
        b = Builder(Graph("f", "canonical"))
        rows = b.input("rows", ArraySpec((3, 4), "float32"))

        def step(row: Any, is_swapped: bool) -> tuple[Any, ...]:
            first, second = b.unstack(b.reshape(row, shape=(2, 2)), axis=0, count=2)
            sine = b.sin(first)
            return (b.subtract(sine, second) if is_swapped else b.subtract(second, sine),)

        loops = [
            b.run(
                "scan",
                [rows],
                [b.body("step", [row], lambda row, is_swapped=is_swapped: step(row, is_swapped))],
                carried=0,
                sequences=1,
                length=3,
                reverse=False,
                checkpoint=False,
            )
            for is_swapped in (False, True)
            for row in [Value("row", ArraySpec((4,), "float32"))]
        ]
        b.graph.outputs = [output for outputs in loops for output in outputs]
        _, changed = cse(b.graph)
        assert not changed


class TestCacheConstants:
    def test_what_is_read_from_memory_that_is_written_to(self, tmp_path: Path) -> None:
        def counting() -> Any:
            memory = torch.zeros(4)
            part, table = memory[:2], torch.arange(2.0)

            def function(x: Any) -> Any:
                before = part * 2
                memory.add_(1)
                return x + before + part * 2 + table.exp()

            return function

        ours, theirs = graph_compiler.compile(counting(), args=(torch.ones(3, 2),)), counting()
        assert calls_of(ours, "exp") == 0
        for x in (torch.zeros(1, 2), torch.ones(4, 2), torch.ones(4, 2)):
            torch.testing.assert_close(ours(x), theirs(x))
        assert len(ours.variants) == 1
        with pytest.raises(InvalidFile, match="shared memory"):
            ours.save(tmp_path / "graph.zip")


class Keeping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("latest", torch.zeros(2))
        self.register_buffer("scale", torch.full((2,), 3.0))

    def forward(self, x: Any) -> Any:
        before = self.latest * self.scale
        self.latest.copy_(x)
        return before


class TestFreeze:
    def test_what_is_written_to_stays_a_parameter(self) -> None:
        ours, theirs = graph_compiler.compile(Keeping(), args=(torch.ones(2),), freeze=True), Keeping()
        assert set(ours.parameters) == {"latest"}
        for x in (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.zeros(2)):
            torch.testing.assert_close(ours(x), theirs(x))


class TestOwnResults:
    def test_state_shares_no_memory_with_arguments(self) -> None:
        graph, x = (
            graph_compiler.transpile(Keeping(), to="numpy", args=(torch.ones(2),)),
            np.array([1, 2], np.float32),
        )
        _, state = graph.functional(graph.parameters, x)
        x[:] = 5
        np.testing.assert_array_equal(state["latest"], [1, 2])


class TestOwnEffects:
    @pytest.mark.parametrize("to", ["torch", "numpy"])
    def test_a_write_does_not_reach_what_is_written_after_it(self, to: str) -> None:
        def rotate(a: Any, b: Any, c: Any) -> Any:
            a[:], b[:], c[:] = b.clone(), c.clone(), a.clone()
            return a.clone()

        graph = graph_compiler.transpile(rotate, to="numpy", args=tuple(torch.zeros(2) for _ in range(3))).to(
            to
        )
        given = [np.full(3, n, np.float32) for n in range(3)]
        arrays = given if to == "numpy" else [torch.from_numpy(array) for array in given]
        np.testing.assert_array_equal(np.asarray(graph(*arrays)), given[0])
        np.testing.assert_array_equal([array[0] for array in given], [1, 2, 0])


class TestDropSnapshots:
    def test_a_guard_looks_at_what_was_there_before_a_write(self) -> None:
        def once(x: Any, flag: Any) -> Any:
            if flag:
                flag.logical_not_()
                return x * 2
            return x

        graph = graph_compiler.compile(once, args=(torch.ones(2), torch.tensor(True)))
        flag = torch.tensor(True)
        assert [graph(torch.ones(3), flag).sum().item() for _ in range(3)] == [6, 3, 3]
        assert len(graph.variants) == 2
