"""Tests of uint64 in torch, which has few kernels for it; NumPy is the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from graph_compiler.backends import torch as target  # noqa: E402
from graph_compiler.codegen import load, write  # noqa: E402
from graph_compiler.ir import Builder, Graph  # noqa: E402
from graph_compiler.ops import ArraySpec  # noqa: E402
from tests.passes.graphs import flat_tree  # noqa: E402

EDGES = np.array([0, 1, 5, 2**32, 2**63 - 1, 2**63, 2**63 + 7, 2**64 - 1], np.uint64)
FIRST, SECOND = map(np.ravel, np.meshgrid(EDGES, EDGES))
NUMPY: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "maximum": np.maximum, "minimum": np.minimum, "remainder": np.remainder,
    "floor_divide": np.floor_divide, "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "bitwise_and": np.bitwise_and,
}  # fmt: skip


@pytest.mark.parametrize("op", NUMPY)
def test_every_pair_of_edges(op: str) -> None:
    second = (
        SECOND % 64
        if "shift" in op
        else np.maximum(SECOND, 1)
        if op in ("remainder", "floor_divide")
        else SECOND
    )
    build = Builder(Graph("f", "canonical"))
    x, y = (build.input(name, ArraySpec(FIRST.shape, "uint64")) for name in "xy")
    build.graph.outputs = [getattr(build, op)(x, y), getattr(build, op)(x, 7)]
    build.graph.output_tree = flat_tree(2)
    program = write(build.graph, target.dialect, "Integers.")
    expected = NUMPY[op](FIRST, second), NUMPY[op](FIRST, np.uint64(7))
    for found, wanted in zip(load(program)(torch.tensor(FIRST), torch.tensor(second)), expected):
        assert found.numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)
