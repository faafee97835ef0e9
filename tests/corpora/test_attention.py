"""Tests of attention rows that mask everything: results are zero and gradients finite, as in torch, even if
XLA fuses a row into one loop.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402

MASKS = ("bool", "float", "scores")


def attend(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)


def inputs(kind: str, queries: int, keys: int) -> list[Any]:
    """Return query, key, value and, depending on ``kind``, a mask.

    Row 1 is masked completely, by the mask or because its scores are -inf.
    """
    random = torch.Generator().manual_seed(queries)
    query, key, value = (torch.randn(1, 4, n, 32, generator=random) for n in (queries, keys, keys))
    if kind == "scores":
        query[:, :, 1] = torch.inf
        return [query, -key.abs(), value]
    kept = torch.rand(1, 1, queries, keys, generator=random) > 0.3
    kept[:, :, 1] = False
    return [
        query,
        key,
        value,
        kept if kind == "bool" else torch.zeros(kept.shape).masked_fill(~kept, -torch.inf),
    ]


@pytest.mark.parametrize("kind", MASKS)
def test_rows_that_keep_nothing_are_zero(kind: str) -> None:
    graph = graph_compiler.compile(attend, args=inputs(kind, 5, 6), to="jax")
    given = inputs(kind, 48, 64)
    arrays = [jnp.asarray(to_numpy(x)) for x in given]
    assert_same(jax.jit(lambda *args: graph.functional({}, *args))(*arrays), attend(*given))
    assert not to_numpy(attend(*given))[:, :, 1].any()


@pytest.mark.parametrize(
    ("kind", "dtype"), [("bool", torch.float32), ("float", torch.float32), ("bool", torch.float16)]
)
def test_gradients_of_rows_that_keep_nothing(kind: str, dtype: torch.dtype) -> None:
    """The loss has large slopes at these rows, so that an overflow on the way would give NaN (0 times
    infinity).
    """
    slope = 1e4 if dtype == torch.float32 else 0.1
    graph = graph_compiler.compile(attend, args=_in_type(inputs(kind, 5, 6), dtype), to="jax")
    given = _in_type(inputs(kind, 48, 64), dtype)
    arrays = [jnp.asarray(to_numpy(x)) for x in given]
    found = jax.jit(jax.grad(lambda *args: (graph.functional({}, *args) * slope).sum(), (0, 1, 2)))(*arrays)
    leaves = [x.requires_grad_() for x in given[:3]]
    (attend(*leaves, *given[3:]) * slope).sum().backward()
    assert_same([x / slope for x in found], [x.grad / slope for x in leaves])


def _in_type(given: list[Any], dtype: torch.dtype) -> list[Any]:
    return [x.to(dtype) if x.is_floating_point() else x for x in given]
