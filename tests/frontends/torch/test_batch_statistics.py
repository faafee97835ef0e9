"""Tests of the running statistics of batch normalization at the batches of extreme sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402

LAYERS: dict[str, Callable[..., Any]] = {
    "batch_norm": lambda x, *running: torch.batch_norm(x, None, None, *running, True, 0.1, 1e-5, False),
    "functional": lambda x, *running: torch.nn.functional.batch_norm(x, *running, training=True),
    "native": lambda x, *running: torch.native_batch_norm(x, None, None, *running, True, 0.1, 1e-5)[0],
}
# torch refuses these.
REFUSED = {("functional", 1), ("native", 0)}


@pytest.mark.parametrize("to", ["torch", "jax", "numpy", "tensorflow"])
@pytest.mark.parametrize("name", LAYERS)
def test_statistics(name: str, to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(LAYERS[name], to=to)
    for count in (4, 1, 0, 5):
        if (name, count) in REFUSED:
            continue
        running, x = [torch.zeros(2), torch.ones(2)], torch.arange(2.0 * count).reshape(count, 2)
        ours = [item.clone() if to == "torch" else item.numpy().copy() for item in (x, *running)]
        found, expected = graph(*ours), LAYERS[name](x, *running)
        np.testing.assert_allclose(np.asarray(found), expected.numpy(), atol=1e-4)
        for one, other in zip(ours[1:], running):
            np.testing.assert_allclose(np.asarray(one), other.numpy(), rtol=1e-5)
