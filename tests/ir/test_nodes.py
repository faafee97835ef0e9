"""Tests of nodes as values, and of lookups of the producer of a value in graphs and blocks."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from graph_compiler.ir import Block, Builder, CallRecord, Graph, Node, Origin, Value
from graph_compiler.ir.graph import call_signature
from graph_compiler.ops import ArraySpec
from graph_compiler.sizes import Size, Symbol
from graph_compiler.trees import Branch, Leaf

SPEC = ArraySpec((2, 3), "float32")


def node(*inputs: Any, **params: Any) -> Node:
    return Node("op", inputs, params, Origin(), (Value("made", SPEC),))


class TestNode:
    @pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Node)])
    def test_nothing_can_be_assigned(self, field: str) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(node(), field, ())

    def test_what_it_uses(self) -> None:
        x, y, z = (Value(name, SPEC) for name in "xyz")
        made = node(x, [y, (x, 2)], by={"key": slice(None, Size.of(Symbol(z, 0, 2)))})
        assert made.uses == (x, y, z)
        assert dataclasses.replace(made, inputs=(y,)).uses == (y, z)
        assert dataclasses.replace(made, inputs=(y,)).outputs == made.outputs

    def test_two_of_the_same_form_are_two(self) -> None:
        x = Value("x", SPEC)
        assert len({node(x), node(x)}) == 2

    def test_a_canonical_node_records_nothing(self) -> None:
        made = node()
        assert (made.key, made.result, made.writes, dict(made.views)) == ("", None, (), {})
        assert not made.is_random and not made.no_grad


def test_all_values_of_a_record_are_mapped() -> None:
    @dataclasses.dataclass(frozen=True)
    class Own:
        held: Any

        def mapped(self, function: Any) -> Own:
            return Own(function(self.held))

    seen: list[Any] = []

    def note(item: Any) -> Any:
        seen.append(item)
        return item

    x = Value("x", SPEC)
    record = CallRecord("add_", result=[x], writes=(x,), views={0: x}, is_detached_write=True, extra=Own(x))
    assert record.mapped(note) == record
    assert seen == [[x], (x,), {0: x}, x]


class TestMakers:
    def test_of_a_graph_that_grows_is_cut_back_and_has_nodes_moved(self) -> None:
        graph = Graph("f", "torch")
        one, two, three, four = (node() for _ in range(4))

        def known() -> list[Node | None]:
            return [graph.maker(each.outputs[0]) for each in (one, two, three, four)]

        assert known() == [None] * 4
        graph.nodes += [one, two]
        assert known() == [one, two, None, None]
        del graph.nodes[1:]
        assert known() == [one, None, None, None]
        graph.nodes += [three, four]
        assert known() == [one, None, three, four]
        del graph.nodes[1:]
        # The number of nodes is the same as before.
        graph.nodes += [two, three]
        assert known() == [one, two, three, None]
        graph.nodes.insert(0, four)
        assert known() == [one, two, three, four]
        graph.nodes.remove(two)
        assert known() == [one, None, three, four]
        graph.nodes = [two]
        assert known() == [None, two, None, None]

    def test_of_derived_graphs(self) -> None:
        graph = Graph("f", "torch", nodes=[node(), node()])
        first, second = graph.nodes
        less = graph.derive(nodes=[second])
        assert graph.maker(first.outputs[0]) is first and less.maker(first.outputs[0]) is None
        assert less.maker(second.outputs[0]) is second

    def test_of_a_block(self) -> None:
        x, made = Value("x", SPEC), node()
        block = Block((x,), (made,), made.outputs)
        assert block.maker(x) is None and block.maker(made.outputs[0]) is made

    def test_of_a_builder(self) -> None:
        graph = Graph("f", "canonical")
        build = Builder(graph)
        x = build.input("x", SPEC)
        y = build.exp(x)
        assert build.maker(x) is None and build.maker(2.0) is None and build.maker(y) is graph.nodes[0]
        other = Builder(Graph("g", "canonical"), outside=graph.maker)
        z = other.sin(y)
        assert other.maker(y) is graph.nodes[0] and other.maker(z) is other.graph.nodes[0]
        assert Builder(graph).maker(y) is graph.nodes[0]


def test_arguments_of_one_name_stay_two() -> None:
    graph = Graph("f", "canonical")
    graph.inputs = [Value(name, SPEC) for name in ("x", "y", "y", "key")]
    positional = Branch(tuple, (0, 1, 2), (Leaf(),) * 3)
    graph.input_tree = Branch(tuple, (0, 1), (positional, Branch(dict, ("x",), (Leaf(),))))
    assert list(call_signature(graph).parameters) == ["argument_0", "y", "argument_2", "x"]


def test_a_container_and_a_keyword_of_its_name_stay_two() -> None:
    graph = Graph("f", "canonical")
    graph.inputs = [Value(name, SPEC) for name in ("x", "argument_0")]
    positional = Branch(tuple, (0,), (Branch(tuple, (0,), (Leaf(),)),))
    graph.input_tree = Branch(tuple, (0, 1), (positional, Branch(dict, ("argument_0",), (Leaf(),))))
    assert list(call_signature(graph).parameters) == ["argument_0_", "argument_0"]
