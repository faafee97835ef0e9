"""Tests of ``jax.checkpoint`` in each target with gradients: less is stored for the backward pass, and
gradients stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graph_compiler
from graph_compiler.passes import segment_scans

from .running import as_jax, by_jax, by_tape, by_tf_function, by_torch, native, weighted
from .table import floats


def loop(rows: Any, w: Any) -> Any:
    return lax.scan(_step(w), jnp.zeros(rows.shape[1], rows.dtype), rows)


def kept_loop(rows: Any, w: Any) -> Any:
    return lax.scan(jax.checkpoint(_step(w)), jnp.zeros(rows.shape[1], rows.dtype), rows)


def backwards(rows: Any, w: Any) -> Any:
    return lax.scan(_step(w), jnp.zeros(rows.shape[1], rows.dtype), rows, reverse=True)


def _step(w: Any) -> Callable[..., Any]:
    def step(held: Any, row: Any) -> Any:
        return jnp.tanh(jnp.sin(jnp.cos(held @ w) + row)), held * 2

    return step


def around(rows: Any, w: Any) -> Any:
    return jax.checkpoint(loop)(rows, w)


def _arguments(count: int) -> tuple[Any, Any]:
    return as_jax((floats(count, 3, scale=0.5), floats(3, 3, scale=0.5)))


def _saved(function: Any, args: Any) -> int:
    """Return the number of tensors that torch stores for the backward pass of a call."""
    torch = pytest.importorskip("torch")
    kept: list[Any] = []

    def keep(tensor: Any) -> Any:
        kept.append(tensor)
        return tensor

    given = [item.requires_grad_() for item in native(args, "torch")]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function(*given)
        count = len(kept)
    weighted(result).backward()
    return count


def _compiled(function: Any, to: str, count: int, **options: Any) -> Any:
    return graph_compiler.compile(function, to=to, source="jax", args=_arguments(count), **options)


@pytest.mark.parametrize("function", [kept_loop, around])
def test_torch_keeps_less(function: Any) -> None:
    plain, kept = (_saved(_compiled(each, "torch", 40), _arguments(40)) for each in (loop, function))
    assert kept <= 3 * 40 < plain * 0.7


@pytest.mark.parametrize(
    ("function", "text"), [(kept_loop, "lax.scan(jax.checkpoint("), (around, "jax.checkpoint(loop)(")]
)
def test_jax_is_told_again(function: Any, text: str) -> None:
    graph = _compiled(function, "jax", 40)
    assert text in graph.source
    kept = [_kept(each) for each in (loop, function, lambda *args: graph.functional(graph.parameters, *args))]
    assert kept[1] == kept[2] < kept[0]


def _kept(function: Any) -> int:
    """Return the number of elements that JAX stores for the backward pass."""
    return sum(item.size for item in jax.tree.leaves(jax.vjp(function, *_arguments(40))[1]))


def test_what_tensorflow_and_torch_write() -> None:
    assert "captured=(w,)" in _compiled(kept_loop, "tensorflow", 4).source
    assert "run_again(loop)(" in _compiled(around, "tensorflow", 4).source
    assert "run_again(" in _compiled(kept_loop, "torch", 4).source
    assert "checkpoint" not in _compiled(kept_loop, "numpy", 4).source


def test_transforms_of_torch_run_a_step_once() -> None:
    """These transforms do not allow the saved-tensor hooks with which torch would recompute a step."""
    torch = pytest.importorskip("torch")
    graph, (rows, w) = _compiled(kept_loop, "torch", 5), native(_arguments(5), "torch")
    found = torch.func.grad(lambda w: weighted(graph.functional(graph.parameters, rows, w)))(w)
    np.testing.assert_allclose(found, by_jax(kept_loop, _arguments(5), "reverse")[1], rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------- segments
@pytest.mark.parametrize("function", [loop, backwards])
@pytest.mark.parametrize("to", ["numpy", "torch", "tensorflow"])
def test_segments_give_the_same(function: Any, to: str) -> None:
    graph = _compiled(function, to, 25, passes=[segment_scans])
    for count in (25, 26, 57, 3, 1, 0):
        args = _arguments(count)
        for found, expected in zip(graph(*native(args, to)), function(*args)):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("function", [loop, backwards])
@pytest.mark.parametrize(
    ("to", "taken"), [("torch", by_torch), ("tensorflow", by_tape), ("tensorflow", by_tf_function())]
)
def test_segments_have_the_same_gradients(function: Any, to: str, taken: Any) -> None:
    graph = _compiled(function, to, 25, passes=[segment_scans])
    for count in (25, 31):
        args = _arguments(count)
        for found, expected in zip(taken(graph, args, "reverse"), by_jax(function, args, "reverse")):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_segments_keep_about_two_roots_of_the_steps() -> None:
    """Three tensors of each segment are stored (its rows, the carry, the weights), and those of one segment
    while it is recomputed.
    """
    for count, root in ((100, 10), (400, 20)):
        plain, segments = (
            _saved(_compiled(loop, "torch", count, passes=each), _arguments(count))
            for each in ([], [segment_scans])
        )
        assert plain > 4 * count
        assert segments <= 3 * root


def test_short_loops_stay_as_they_are() -> None:
    assert "segment" not in _compiled(loop, "numpy", 4, passes=[segment_scans]).source
