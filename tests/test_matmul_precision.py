"""How precise products of float32 are on an accelerator is the source's choice: on a CPU only the program tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402

X = torch.ones(3, 3)


@pytest.fixture(autouse=True)
def _precision_kept() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


def precisions(graph: Any, *arrays: Any) -> set[str]:
    """Those of the products in the traced program."""
    program = jax.make_jaxpr(lambda *given: graph.functional(graph.parameters, *given))(*arrays)
    return {
        str(equation.params["precision"]) for equation in program.eqns if equation.primitive.name in ("dot_general", "conv_general_dilated")
    }


@pytest.mark.parametrize(("setting", "expected"), [("highest", "HIGHEST"), ("high", "HIGH"), ("medium", "DEFAULT")])
def test_torch(setting: str, expected: str, tmp_path: Path) -> None:
    torch.set_float32_matmul_precision(setting)
    graph = graph_compiler.transpile(lambda x: torch.nn.functional.conv1d((x @ x.T)[None], x[:, :, None]), to="jax", args=(X,))
    torch.set_float32_matmul_precision("highest")
    graph.save(tmp_path / "graph")
    for one in (graph, graph_compiler.load(tmp_path / "graph"), graph_compiler.load(tmp_path / "graph", to="numpy").to("jax")):
        found = precisions(one, X.numpy())
        assert found and all(expected in text for text in found), found


def test_numpy_and_jax() -> None:
    from_numpy = graph_compiler.transpile(lambda x: x @ x.T, to="jax", args=(X.numpy(),))
    found = precisions(from_numpy, X.numpy())
    assert found and all("HIGHEST" in text for text in found), found
    from_jax = graph_compiler.transpile(lambda x: jax.numpy.matmul(x, x), to="jax", args=(jax.numpy.ones((3, 3)),))
    assert precisions(from_jax, X.numpy()) == {"None"}  # JAX's own default


def test_no_line_for_a_graph_without_products() -> None:
    assert "precision" not in graph_compiler.transpile(lambda x: x.exp() + 1, to="jax", args=(X,)).source
    np.testing.assert_allclose(graph_compiler.transpile(lambda x: x @ x, to="jax", args=(X,))(X), X @ X)
