"""``nn.LSTM`` over 512 steps, converted to JAX, against an LSTM by hand over ``lax.scan``.

Both run under ``jax.jit``.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import torch

from .. import peers
from ..measure import Call, interleave, ratio
from ..results import Results
from ..settings import Settings

STEPS = 512
OURS, THEIRS = "graph", "hand-written"
Function = Callable[[dict[str, Any], Any], Any]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Shape of an LSTM.

    batch: number of sequences.
    hidden: number of hidden features, and of input features.
    layers: number of layers.
    bidirectional: True if each layer runs in both directions.
    """

    batch: int
    hidden: int
    layers: int = 1
    bidirectional: bool = False

    def __str__(self) -> str:
        kind = f"{self.layers} layer{'s' if self.layers > 1 else ''}{', both directions' if self.bidirectional else ''}"
        return f"batch {self.batch}, hidden {self.hidden}, {kind}"


KINDS = ({}, {"layers": 2}, {"bidirectional": True})
SHAPES = tuple(
    Shape(batch, hidden, **kind) for kind in KINDS for batch in (1, 16, 64) for hidden in (64, 256)
)  # type: ignore[arg-type]
QUICK = (Shape(1, 64), Shape(16, 64, layers=2))


def by_hand(shape: Shape) -> Function:
    """Return a function that computes the outputs of the last layer in plain JAX.

    The product with the whole sequence is computed before the loop.
    """
    jax = importlib.import_module("jax")
    jnp = jax.numpy

    def layer(weights: dict[str, Any], name: str, x: Any, reverse: bool) -> Any:
        w_ih, w_hh, b_ih, b_hh = (
            weights[f"{kind}_{name}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )

        def step(carry: Any, entering: Any) -> Any:
            hidden, cell = carry
            i, f, g, o = jnp.split(entering + hidden @ w_hh.T, 4, axis=-1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        start = jnp.zeros((x.shape[1], shape.hidden), x.dtype)
        return jax.lax.scan(step, (start, start), x @ w_ih.T + (b_ih + b_hh), reverse=reverse)[1]

    def run(weights: dict[str, Any], x: Any) -> Any:
        for place in range(shape.layers):
            made = [layer(weights, f"l{place}", x, False)]
            made += [layer(weights, f"l{place}_reverse", x, True)] if shape.bidirectional else []
            x = jnp.concatenate(made, axis=2)
        return x

    return run


def _calls(shape: Shape) -> tuple[dict[str, Call], dict[str, Call]]:
    """Return calls of the forward pass and of the gradient, by contender.

    Raise ``AssertionError`` if the results of the contenders differ.
    """
    jax = importlib.import_module("jax")
    model = torch.nn.LSTM(shape.hidden, shape.hidden, shape.layers, bidirectional=shape.bidirectional)
    x = torch.randn(STEPS, shape.batch, shape.hidden)
    graph = importlib.import_module("graph_compiler").transpile(model, to="jax", args=(x,))
    weights, array = dict(graph.parameters), peers.to_jax({"x": x})["x"]
    functions: dict[str, Function] = {
        OURS: lambda weights, x: graph.functional(weights, x)[0],
        THEIRS: by_hand(shape),
    }
    forward = {name: _bound(jax.jit(function), weights, array) for name, function in functions.items()}
    gradient = {
        name: _bound(jax.jit(jax.grad(_loss(function))), weights, array)
        for name, function in functions.items()
    }
    for calls in (forward, gradient):
        peers.assert_close(*([*map(_tensor, jax.tree.leaves(calls[name]()))] for name in (OURS, THEIRS)))
    return forward, gradient


def _loss(function: Function) -> Function:
    return lambda weights, x: (function(weights, x) ** 2).mean()


def _bound(function: Function, weights: dict[str, Any], x: Any) -> Call:
    return peers.synchronised(lambda: function(weights, x))


def _tensor(array: Any) -> torch.Tensor:
    return torch.tensor(importlib.import_module("numpy").asarray(array))


@torch.no_grad()
def run(settings: Settings) -> Results:
    """Measure batches and widths with one layer, with two, and in both directions."""
    results = Results("recurrent")
    for shape in QUICK if settings.quick else SHAPES:
        for stage, calls in zip(("forward", "gradient"), _calls(shape)):
            samples = interleave(calls, rounds=settings.rounds // 2, batch=settings.batch)
            results.add_samples(str(shape), f"steady {stage}", samples)
            results.add_figure(
                str(shape), f"LSTM, {stage}, against hand-written", ratio(samples, OURS, THEIRS), "x"
            )
    return results
