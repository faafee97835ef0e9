"""Smoke tests: what an installation must be able to do, however it was installed."""

from __future__ import annotations

from typing import Any

import pytest

import graph_compiler

pytestmark = pytest.mark.smoke


def test_a_torch_function_runs_in_jax_at_another_size() -> None:
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")

    def rectified(x: Any, weight: Any) -> Any:
        return torch.relu(x @ weight) + x.shape[0]

    graph = graph_compiler.transpile(rectified, to="jax", args=(torch.ones(2, 3), torch.ones(3, 4)))
    result = graph(jnp.ones((5, 3)), jnp.ones((3, 4)))
    assert isinstance(result, jnp.ndarray)
    assert result.tolist() == [[8.0] * 4] * 5
