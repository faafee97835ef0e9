"""Tests of decoders with a sliding-window cache in the carry of ``lax.scan``: each kind of container, caches that
calls take and return, and messages that name the item of the cache that differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import graph_compiler
from graph_compiler.errors import GuardFailed
from tests.support.compare import assert_same

from .test_samples import TARGETS, plain

WINDOW = 3


class Rows(NamedTuple):
    keys: Any
    positions: Any


@jax.tree_util.register_dataclass
@dataclass
class Cache:
    keys: Any
    positions: Any


KINDS: list[Callable[..., Any]] = [dict, Rows, Cache]


def empty(kind: Callable[..., Any], batch: int) -> Any:
    """Return caches of a layer with a window and of one without, both of ``kind``."""
    return {
        name: kind(keys=jnp.zeros((batch, size, 4)), positions=jnp.full((batch, size), -1, jnp.int32))
        for name, size in (("local", WINDOW), ("whole", 8))
    }


def items(cache: Any) -> tuple[Any, Any]:
    return (cache["keys"], cache["positions"]) if isinstance(cache, dict) else (cache.keys, cache.positions)


def attended(x: Any, cache: Any, position: Any) -> tuple[Any, Any]:
    """Write ``x`` over the oldest row of the cache, and return the attention to its rows and the new cache."""
    keys, positions = items(cache)
    size = keys.shape[1]
    slot = position % size
    keys = lax.dynamic_update_slice(keys, x[:, None], (0, slot, 0))
    positions = positions.at[:, slot].set(position)
    seen = (positions >= 0) & (positions > position - size)
    scores = jnp.where(seen, jnp.einsum("bd,bld->bl", x, keys), -jnp.inf)
    kind = type(cache)
    return jnp.einsum("bl,bld->bd", jax.nn.softmax(scores), keys), kind(keys=keys, positions=positions)


def decode(caches, start, rows):
    def step(carry, row):
        caches, position = carry
        x, local = attended(row, caches["local"], position)
        y, whole = attended(jnp.tanh(x), caches["whole"], position)
        return ({"local": local, "whole": whole}, position + 1), y

    (caches, position), found = lax.scan(step, (caches, start), rows)
    return found, caches, position


def given(kind: Callable[..., Any], length: int, batch: int) -> Any:
    rows = np.random.default_rng(length).normal(size=(length, batch, 4)).astype("float32")
    return empty(kind, batch), jnp.int32(0), jnp.asarray(rows)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_caches_go_through_a_scan(kind: Callable[..., Any], to: str) -> None:
    graph = graph_compiler.transpile(decode, source="jax", to=to, args=given(kind, 2, 2))
    # The second call continues where the first one ended, beyond the window.
    for call in (given(kind, 5, 3), given(kind, 4, 3)):
        expected = decode(*call)
        found = graph(*plain(call, to))
        assert_same(found, expected)
        assert_same(graph(*found[1:], plain(call[2], to)), decode(*expected[1:], call[2]))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_gradients_go_through_the_caches(kind: Callable[..., Any]) -> None:
    graph = graph_compiler.transpile(decode, source="jax", to="torch", args=given(kind, 2, 2))
    caches, start, rows = given(kind, 5, 3)
    given_rows = torch.from_numpy(np.array(rows)).requires_grad_()
    graph(*plain((caches, start), "torch"), given_rows)[0].sum().backward()
    assert_same(given_rows.grad, jax.grad(lambda rows: decode(caches, start, rows)[0].sum())(rows))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_carry_of_another_structure_names_the_item(kind: Callable[..., Any]) -> None:
    def changed(caches, rows):
        def step(caches, row):
            keys, positions = items(caches["local"])
            return {**caches, "local": kind(keys=keys[:, :2], positions=positions)}, row

        return lax.scan(step, caches, rows)[1]

    caches, _, rows = given(kind, 2, 2)
    with pytest.raises(TypeError, match=r"caches\['local'\](\.keys|\['keys'\]) has type float32\[2,3,4\]"):
        graph_compiler.transpile(changed, source="jax", to="torch", args=(caches, rows))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_call_with_another_structure_names_the_item(kind: Callable[..., Any], tmp_path: Any) -> None:
    graph = graph_compiler.transpile(decode, source="jax", to="torch", args=given(kind, 2, 2))
    graph.save(tmp_path / "decode.graph")
    loaded = graph_compiler.load(tmp_path / "decode.graph")
    caches, start, rows = plain(given(kind, 2, 2), "torch")
    keys, _ = items(caches["local"])
    with pytest.raises(GuardFailed, match=r"argument caches\['local'\]\['positions'\] is"):
        loaded({**caches, "local": kind(keys=keys, positions="none")}, start, rows)
    with pytest.raises(GuardFailed, match="argument caches is dict"):
        loaded({"local": caches["local"]}, start, rows)
