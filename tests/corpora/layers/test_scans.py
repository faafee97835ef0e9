"""Tests of ``roll="scan"``: calls of equal layers become a loop over stacked weights in JAX, whose parameters
keep their names.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of

from .models import CASES, Stack, sequences
from .test_calls import calls, same

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

LOOPS = {
    "stack": 1, "hidden states": 1, "alternating": 1, "backwards": 1, "skips": 1, "two layers": 0, "convolutions": 0,
    "two by turns": 1, "two of three turns": 1, "as it comes": 0, "writes of its own": 1, "convolutions inside": 1,
}  # fmt: skip
"""How many loops there are; in the second half of ``skips`` layers differ in more than their weights."""


def loops(graph: Any) -> int:
    return sum(node.op == "scan" for node in nodes_of(graph.program.block))


@functools.cache
def scanned(name: str) -> tuple[Any, Any]:
    torch.manual_seed(1)
    model = CASES[name].make().eval()
    return model, graph_compiler.compile(
        model, to="jax", args=CASES[name].arguments(2, 5), roll="scan", return_backend_compiled_fn=True
    )


@pytest.mark.parametrize("name", LOOPS)
def test_layers_are_a_loop(name: str) -> None:
    model, graph = scanned(name)
    assert loops(graph) == LOOPS[name], graph.source
    for shape in ((2, 5), (3, 7)):
        given = CASES[name].arguments(*shape)
        with torch.no_grad():
            same(graph(*given), model(*given))
    assert len(graph.variants) == 1, graph.explain()


def test_weights_have_their_own_names_and_are_stacked_once() -> None:
    model, graph = scanned("stack")
    assert graph.parameters.keys() >= dict(model.named_parameters()).keys()
    given, variant = sequences(2, 5), graph.variants[0]
    first, again = variant.executable.read_weights(), variant.executable.read_weights()
    assert (
        first is again
        and first["layers.0,1,2,3.out.weight"].shape == (4, 8, 8)
        and "layers.2.out.weight" not in first
    )
    with torch.no_grad():
        model.layers[2].out.weight.mul_(-2.0)
        same(graph(*given), model(*given))
    assert variant.executable.read_weights() is not first


def test_gradients_have_the_names_of_the_weights() -> None:
    model, graph = scanned("stack")
    x, mask = sequences(3, 7)
    model.zero_grad()
    model(x, mask).square().sum().backward()
    given = jax.numpy.asarray(x.numpy()), jax.numpy.asarray(mask.numpy())
    found = jax.jit(jax.grad(lambda weights: (graph.functional(weights, *given) ** 2).sum()))(
        dict(graph.parameters)
    )
    for name, value in model.named_parameters():
        np.testing.assert_allclose(
            np.asarray(found[name]), value.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name
        )


def test_a_loop_is_saved(tmp_path: Any) -> None:
    model, graph = scanned("stack")
    graph.save(tmp_path / "stack")
    again, given = graph_compiler.load(tmp_path / "stack"), sequences(3, 7)
    assert (
        loops(again) == 1 and 'stacked_weights(parameters, "layers.*.out.weight", range(4))' in again.source
    )
    with torch.no_grad():
        same(again(*given), model(*given))


@pytest.mark.parametrize("to", ["torch", "numpy", "tensorflow"])
def test_other_targets_call_the_layers(to: str) -> None:
    pytest.importorskip(to)
    model, given = Stack().eval(), sequences(2, 5)
    graph = graph_compiler.compile(model, to=to, args=given, roll="scan")
    assert calls(graph) == 4 and not loops(graph)
    with torch.no_grad():
        same(graph(*given), model(*given))


def test_the_program_does_not_grow_with_depth() -> None:
    def lines(layers: int) -> int:
        graph = graph_compiler.compile(Stack(layers).eval(), to="jax", args=sequences(2, 5), roll="scan")
        return str(graph.source).count("\n")

    assert lines(12) == lines(4)
