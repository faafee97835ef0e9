"""Tests of passes that users write, and of printing, walking and interpreting programs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import InvalidGraph, InvalidOption
from graph_compiler.ir.node import Block
from graph_compiler.ops import ArraySpec, get
from graph_compiler.passes import Interpreter, Pass

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def loop(x: Any, w: Any) -> Any:
    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        carry = jnp.tanh(carry @ w + row)
        return carry, carry.sum()

    last, totals = jax.lax.scan(step, x[0], x)
    return jnp.tanh(last), totals


def arrays(rows: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(rows)
    return draw.normal(size=(rows, 3)).astype("float32"), draw.normal(size=(3, 3)).astype("float32")


def _as_sine(block: Block) -> Block:
    return Block(
        block.inputs,
        tuple(dataclasses.replace(node, op="sin") if node.op == "tanh" else node for node in block.nodes),
        block.outputs,
    )


@pytest.mark.parametrize(
    ("depth", "inside", "outside"), [("deep", jnp.sin, jnp.sin), ("top", jnp.tanh, jnp.sin)]
)
def test_a_pass_of_the_users_own_rewrites_what_is_written(depth: Any, inside: Any, outside: Any) -> None:
    def expected(x: Any, w: Any) -> Any:
        last, totals = jax.lax.scan(lambda carry, row: (inside(carry @ w + row),) * 2, x[0], x)
        return outside(last), totals.sum(1)

    graph = graph_compiler.compile(
        loop, to="numpy", source="jax", args=arrays(4), passes=[Pass("as sine", _as_sine, depth)]
    )
    for rows in (4, 6):
        for found, wanted in zip(graph(*arrays(rows)), expected(*map(jnp.asarray, arrays(rows)))):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_what_a_pass_breaks_is_found() -> None:
    broken = Pass("drops the first", lambda block: Block(block.inputs, block.nodes[1:], block.outputs))
    with pytest.raises(InvalidGraph, match="before anything makes it"):
        graph_compiler.compile(loop, to="numpy", source="jax", args=arrays(4), passes=[broken])


def test_passes_are_asked_for_in_a_list() -> None:
    with pytest.raises(InvalidOption, match="passes= is 'cse', and has to be a list of passes"):
        graph_compiler.compile(loop, to="numpy", source="jax", args=arrays(4), passes="cse")


def test_a_program_is_printed_with_its_regions_types_and_lines() -> None:
    text = str(graph_compiler.compile(loop, to="numpy", source="jax", args=arrays(4)).program)
    assert "scan(" in text and "\n       " in text and "float32[" in text
    assert "test_user_passes.py:" in text
    body = next(line for line in text.splitlines() if line.strip().startswith("body("))
    assert len(body) - len(body.lstrip()) > 3


class Counted(Interpreter):
    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self.counts: Counter[str] = Counter()

    def operation(self, node: Any, operands: Any, params: Any) -> Any:
        self.counts[node.op] += 1
        return get(node.op).infer(*operands, **params)

    def row(self, item: Any, place: int) -> Any:
        return ArraySpec(item.shape[1:], item.dtype)

    def stack(self, items: Any, output: Any, shape: Any) -> Any:
        return ArraySpec((len(items), *items[0].shape), items[0].dtype)


def test_an_interpreter_runs_loops() -> None:
    program = graph_compiler.compile(loop, to="numpy", source="jax", args=arrays(4)).program
    counted = Counted(program)
    found = counted.run(ArraySpec((7, 3), "float32"), ArraySpec((3, 3), "float32"))
    assert found == [ArraySpec((3,), "float32"), ArraySpec((7,), "float32")]
    assert counted.counts["tanh"] == 8


@pytest.mark.parametrize(("inputs", "parameters"), [(1, 1), (3, 0), (2, 1)])
def test_an_interpreter_refuses_other_numbers_of_arrays(inputs: int, parameters: int) -> None:
    program = graph_compiler.compile(loop, to="numpy", source="jax", args=arrays(4)).program
    with pytest.raises(ValueError, match=r"loop has \d (inputs|parameters), and \d are given"):
        Counted(program).run(
            *(ArraySpec((3, 3), "float32"),) * inputs, parameters=[ArraySpec((3,), "float32")] * parameters
        )


def prefixes(x: Any) -> Any:
    return jax.lax.associative_scan(lambda a, b: a * b + jnp.sin(a) * 0, x, axis=1, reverse=True)


class Arrays(Counted):
    def operation(self, node: Any, operands: Any, params: Any) -> Any:
        self.counts[node.op] += 1
        return {"multiply": np.multiply, "add": np.add, "sin": np.sin}[node.op](*operands)

    def joined(self, items: Any, output: Any, axis: int, shape: Any) -> Any:
        return np.concatenate(items, axis) if items else np.zeros(shape, output.dtype)


def test_an_interpreter_combines_one_after_the_other() -> None:
    program = graph_compiler.compile(
        prefixes, to="numpy", source="jax", args=(np.ones((2, 4), "float32"),)
    ).program
    x, counted = np.arange(1.0, 11, dtype="float32").reshape(2, 5), Arrays(program)
    np.testing.assert_allclose(counted.run(x)[0], np.cumprod(x[:, ::-1], 1)[:, ::-1])
    assert counted.counts["sin"] == 4
    np.testing.assert_array_equal(Arrays(program).run(x[:, :0])[0], x[:, :0])
