"""Tests of the operation ``custom_derivative`` on graphs written by hand: its rules, its text, and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graph_compiler.errors import InvalidGraph
from graph_compiler.ir import Builder, Graph, Value, verify
from graph_compiler.ops import ArraySpec

pytest.importorskip("jax")
pytest.importorskip("torch")

from graph_compiler.backends import jax as jax_backend
from graph_compiler.backends import torch as torch_backend
from graph_compiler.codegen.source import write

SPEC = ArraySpec((2, 3), "float32")
Write = Callable[..., Any]


def clipped(graph: Graph, x: Value, rule: Write | None = None, name: str = "clipped", **params: Any) -> Value:
    """Append a call that returns twice its argument and clips the gradient."""
    build = Builder(graph)

    def like(wish: str) -> Value:
        return Value(wish, x.spec)

    function = build.body(name, [like("x")], lambda x: (build.multiply(x, 2.0),))
    write_rule = rule or (lambda build, result, cotangent, x: (build.clip(cotangent, -0.5, 0.5),))
    body = build.body(
        "rule", [like("result"), like("cotangent"), like("x")], lambda *given: write_rule(build, *given)
    )
    (made,) = build.run(
        "custom_derivative", [x], [function, body], **{"kind": "vjp", "differentiated": (0,), **params}
    )
    return made


def graph_of(count: int, name: str = "clipped", wish: str = "x") -> Graph:
    graph = Graph("f", "canonical")
    value = Builder(graph).input(wish, SPEC)
    for _ in range(count):
        value = clipped(graph, value, name=name)
    graph.outputs = [value]
    return verify(graph)


def source(graph: Graph, backend: Any) -> str:
    return write(graph, backend.dialect, "f").source


def test_equal_functions_are_one_definition() -> None:
    assert source(graph_of(3), jax_backend).count("def clipped(") == 1
    assert source(graph_of(3), torch_backend).count("class Clipped(") == 1


@pytest.mark.parametrize("wish", ["clipped", "Clipped", "clipped_forward", "x"])
@pytest.mark.parametrize("backend", [jax_backend, torch_backend])
def test_no_variable_hides_a_definition(backend: Any, wish: str) -> None:
    import ast

    text = source(graph_of(2, wish=wish), backend)
    tree = ast.parse(text)
    defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    inside = [node for outer in tree.body for node in ast.walk(outer)]
    stored = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in inside if isinstance(node, ast.arg)}
    assert len(defined) >= 2 and not defined & stored


WRONG: dict[str, dict[str, Any]] = {
    "a gradient of another shape": {
        "rule": lambda build, result, cotangent, x: (build.sum(cotangent, axis=0),)
    },
    "a gradient of another type": {
        "rule": lambda build, result, cotangent, x: (build.astype(cotangent, dtype="float64"),)
    },
    "two gradients for one operand": {"rule": lambda build, result, cotangent, x: (cotangent, x)},
    "a kind that there is not": {"kind": "hessian"},
    "residuals that nothing gives": {"residuals": 1},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_nodes_are_refused(name: str) -> None:
    graph = Graph("f", "canonical")
    with pytest.raises(InvalidGraph):
        clipped(graph, Builder(graph).input("x", SPEC), **WRONG[name])


def test_a_rule_that_lacks_an_operand_is_found() -> None:
    graph = graph_of(1)
    node = graph.nodes[0]
    function, rule = node.regions
    block = replace(rule.block, inputs=rule.block.inputs[:-1])
    graph.nodes[0] = replace(node, regions=(function, replace(rule, block=block)))
    with pytest.raises(InvalidGraph, match="rule takes"):
        verify(graph)
