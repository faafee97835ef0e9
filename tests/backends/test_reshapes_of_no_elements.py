"""Tests of reshapes to shapes with a 0, whose other sizes no target can infer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402

RESHAPES: dict[str, Callable[..., Any]] = {
    "a quotient": lambda x, y: x[:0].sin().reshape(0, x.shape[1] // y.shape[0]),
    "a quotient and its divisor": lambda x, y: x[:0].sin().reshape(y.shape[0], 0, x.shape[1] // y.shape[0]),
}


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize("name", RESHAPES)
def test_sizes_beside_a_zero(name: str, to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(RESHAPES[name], to=to, args=(torch.ones(2, 6), torch.ones(2)))
    for x, y in ((torch.ones(2, 6), torch.ones(2)), (torch.ones(2, 12), torch.ones(3))):
        found = graph(*((x, y) if to == "torch" else (x.numpy(), y.numpy())))
        assert np.asarray(found).shape == tuple(RESHAPES[name](x, y).shape)
    assert len(graph.variants) == 1, graph.explain()
